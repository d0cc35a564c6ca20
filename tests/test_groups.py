from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.sites.evidence import HostEvidence
from scrapy_replica.sites.groups import Conflict, connected_groups, keeper

pairs_of = st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from("def")), st.floats(0.5, 1), max_size=9)


class TestConnectedGroups:
    def test_components(self):
        groups, conflicts = connected_groups({("a", "b"): 0.9, ("b", "c"): 0.8, ("x", "y"): 0.7}, lambda *_: False)
        assert groups == [frozenset("abc"), frozenset("xy")]
        assert conflicts == []

    def test_a_chain_with_a_contradiction_is_reported_not_merged(self):
        groups, conflicts = connected_groups({("a", "b"): 0.9, ("b", "c"): 0.8}, lambda a, b: {a, b} == {"a", "c"})
        assert groups == [frozenset("ab")]
        assert conflicts == [Conflict("b", "c", ("a", "c"))]

    @given(pairs_of, st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("def"))))
    def test_no_group_holds_a_contradiction(self, scores, contradictions):
        def contradicts(a, b):
            return (a, b) in contradictions or (b, a) in contradictions

        groups, _ = connected_groups(scores, contradicts)
        assert not any(contradicts(a, b) for group in groups for a in group for b in group)
        assert sum(map(len, groups)) == len(set().union(*groups))


class TestKeeper:
    def hosts(self):
        return [HostEvidence("bb.example"), HostEvidence("a.example")]

    def test_each_mark_beats_those_after_it(self):
        first, second = self.hosts()

        def kept(in_links=None, seen=None):
            return keeper([first, second], in_links or {}, seen or {})

        assert kept() == "a.example"  # the shorter name
        assert kept(seen={"bb.example": 1.0, "a.example": 2.0}) == "bb.example"
        second.add_path("x")
        assert kept(seen={"bb.example": 1.0, "a.example": 2.0}) == "a.example"
        assert kept({"bb.example": 3}) == "bb.example"
        second.is_https = True
        assert kept({"bb.example": 3}) == "a.example"
        second.canonical_to["bb.example"] += 1
        assert kept() == "bb.example"
        first.redirects_to["a.example"] += 1
        assert kept() == "a.example"
