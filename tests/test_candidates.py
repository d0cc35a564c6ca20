from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from replica_sites import page, site, text_of

from scrapy_replica.lab.replicas.held import HeldCandidates
from scrapy_replica.sites import candidates as candidates_module
from scrapy_replica.sites import suffix_lists
from scrapy_replica.sites.evidence import MAX_PATHS, HostEvidence, PageMark, mark_of, path_of


def candidate_names(candidates):
    return {pair for pair, found in candidates.pairs.items() if found.is_candidate}


class TestCandidates:
    def test_two_shared_suffixes_make_a_candidate_wherever_they_lie(self):
        candidates = HeldCandidates()
        for name in ("/intro.html", "/usage.html"):
            candidates.add_url("a.example", name)
            candidates.add_url("b.example", f"/copy/of{name}")
        assert candidate_names(candidates) == {("a.example", "b.example")}
        assert candidates.pair("b.example", "a.example").election.winner() == ("", "copy/of")

    def test_one_shared_suffix_is_not_enough(self):
        candidates = HeldCandidates()
        for host in ("a.example", "b.example"):
            candidates.add_url(host, "/about.html")
            candidates.add_url(host, "/about.html")
        assert candidate_names(candidates) == set()

    def test_one_near_text_is_enough(self):
        candidates = HeldCandidates()
        text = text_of(1)
        candidates.add_fetched(page("a.example", "/x", text))
        candidates.add_fetched(page("b.example", "/y", text))
        assert candidate_names(candidates) == {("a.example", "b.example")}

    @given(st.lists(st.integers(0, 63), max_size=9, unique=True), st.integers(0, 2**64 - 1))
    def test_texts_within_six_bits_and_no_others(self, bits, simhash):
        other = simhash
        for bit in bits:
            other ^= 1 << bit
        candidates = HeldCandidates()
        for host, value in (("a.example", simhash), ("b.example", other)):
            candidates.add_mark(host, f"/{host}", PageMark(value, 1, 0, 0, 0, 50, None, None))
        assert (candidate_names(candidates) != set()) == (len(bits) <= 6)

    def test_lists_above_100_hosts_give_no_further_evidence(self):
        candidates = HeldCandidates()
        text = text_of(1)
        for number in range(150):
            candidates.add_fetched(page(f"h{number}.example", "/parked/page.html", text))
        assert all(int(name[1:].split(".")[0]) <= 100 for pair in candidate_names(candidates) for name in pair)
        assert candidates.pair("h0.example", "h149.example").is_candidate is False

    def test_order_of_arrival_does_not_matter(self):
        events = [
            page for host, prefix in (("a.example", ""), ("b.example", "/m")) for page in site(host, "w", prefix=prefix)
        ]
        found = []
        for seed in range(3):
            candidates = HeldCandidates()
            for each in random.Random(seed).sample(events, len(events)):
                candidates.add_fetched(each)
            pair = candidates.pair("a.example", "b.example")
            found.append((pair.n_suffixes, pair.election.winner(), len(candidates.host("a.example").pages)))
        assert found[0] == found[1] == found[2]
        assert found[0][1] == ("", "m")

    def test_forgotten_hosts_leave_no_pair_and_make_room_in_lists(self):
        candidates = HeldCandidates()
        for host in ("a.example", "b.example"):
            for each in site(host, "w"):
                candidates.add_fetched(each)
        candidates.forget("b.example")
        assert not candidates.pairs
        for each in site("c.example", "w"):
            candidates.add_fetched(each)
        assert candidate_names(candidates) == {("a.example", "c.example")}

    def test_short_pages_are_no_text_evidence(self):
        candidates = HeldCandidates()
        for host in ("a.example", "b.example"):
            candidates.add_fetched(page(host, f"/{host}", "under construction"))
        assert candidate_names(candidates) == set()


class TestBounds:
    """Memory of a broad crawl: what is kept over all hosts."""

    def test_lists_keep_a_sample_that_mirrors_draw_alike(self, monkeypatch):
        monkeypatch.setattr(suffix_lists, "MAX_ENTRIES", 2_000)
        candidates = HeldCandidates()
        for host in range(300):
            for number in range(20):
                candidates.add_url(f"h{host}.example", f"/own-{host}/page-{host}-{number}.html")
                assert candidates.lists.n_entries <= 2_000 + 6
        for number in range(200):
            candidates.add_url("a.example", f"/work/chapter-{number}.html")
            candidates.add_url("b.example", f"/mirror/work/chapter-{number}.html")
        pair = candidates.pair("a.example", "b.example")
        assert pair.is_candidate
        assert pair.election.winner() == ("", "mirror")
        assert len(candidates.host("a.example").paths) == 200

    def test_a_host_of_100_000_urls(self):
        candidates = HeldCandidates()
        for number in range(100_000):
            candidates.add_url("big.example", f"/items/{number % 7}/item-{number}.html")
        assert MAX_PATHS // 4 < len(candidates.host("big.example").paths) <= MAX_PATHS
        assert candidates.lists.n_entries <= 3 * 8 * MAX_PATHS
        for number in range(3_000):
            candidates.add_url("copy.example", f"/m/items/{number % 7}/item-{number}.html")
        assert candidate_names(candidates) == {("big.example", "copy.example")}

    def test_pairs_with_least_evidence_are_forgotten_first(self, monkeypatch):
        monkeypatch.setattr(candidates_module, "MAX_PAIRS", 200)
        candidates = HeldCandidates()
        for host in ("a.example", "b.example"):
            for each in site(host, "w"):
                candidates.add_fetched(each)
        for number in range(60):
            for host in range(10):
                candidates.add_url(f"h{number}-{host}.example", f"/shared-{number}")
                candidates.add_url(f"h{number}-{host}.example", f"/shared-too-{number}")
            assert len(candidates.pairs) <= 200
        assert ("a.example", "b.example") in candidate_names(candidates)
        assert all(
            candidates.pairs[tuple(sorted((host, other)))] is pair
            for host, found in candidates.partners.items()
            for other, pair in found.items()
        )

    def test_forgotten_hosts_take_no_place_in_lists(self):
        candidates = HeldCandidates()
        for number in range(300):
            for host in (f"w{number}.example", "a.example"):
                candidates.add_url(host, "/x/one.html")
                candidates.add_url(host, "/x/two.html")
            assert candidate_names(candidates) == {("a.example", f"w{number}.example")}
            candidates.forget(f"w{number}.example")
        assert candidates.lists.n_entries <= 2 * 4

    def test_pairs_that_share_one_suffix(self, monkeypatch):
        monkeypatch.setattr(candidates_module, "MAX_WEAK", 200)
        candidates = HeldCandidates()
        for number in range(60):
            for host in range(10):
                candidates.add_url(f"h{number}-{host}.example", f"/shared-{number}")
            assert len(candidates._weak) <= 200
        assert not candidates.pairs
        candidates.add_url("h59-0.example", "/too")
        candidates.add_url("h59-1.example", "/too")
        assert candidate_names(candidates) == {("h59-0.example", "h59-1.example")}

    def test_pairs_of_one_host(self, monkeypatch):
        monkeypatch.setattr(candidates_module, "MAX_PARTNERS", 20)
        candidates = HeldCandidates()
        for number in range(90):
            for host in ("a.example", f"h{number}.example"):
                candidates.add_url(host, f"/page-{number}")
                candidates.add_url(host, f"/page-{number}-more")
            assert len(candidates.partners["a.example"]) <= 20
        assert len(candidates.pairs) == len(candidates.partners["a.example"])

    def test_hosts_met_longest_ago_are_forgotten_unless_they_are_in_a_pair(self, monkeypatch):
        monkeypatch.setattr(candidates_module, "MAX_MET", 200)
        candidates = HeldCandidates()
        for host in ("a.example", "b.example"):
            candidates.add_url(host, "/shared")
            candidates.add_url(host, "/shared-too")
        for number in range(500):
            candidates.add_url(f"h{number}.example", f"/own-{number}")
            assert len(candidates.met) <= 200
        assert {"a.example", "b.example"} <= candidates.met.keys()


class TestMarks:
    @given(st.integers(0, 2**64 - 1) | st.none(), st.integers(0, 2**31 - 1), st.sampled_from([None, "en"]))
    def test_survive_packing(self, simhash, words, language):
        mark = PageMark(simhash, 2**64 - 1, 7, 8, 9, words, language, None)
        assert PageMark.unpack(mark.pack()) == mark

    def test_fit_into_120_bytes_with_their_path_hash(self):
        mark = mark_of(page("a.example", "/x", text_of(3)))
        assert len(mark.pack()) + 8 <= 120
        assert PageMark.unpack(mark.pack()) == mark

    def test_an_empty_page_has_no_traces(self):
        mark = mark_of(page("a.example", "/x", "", title=""))
        assert (mark.simhash, mark.signature, mark.title, mark.sketch) == (None, 0, 0, None)


class TestHostEvidence:
    def test_views_follow_what_is_added(self):
        host = HostEvidence("a.example")
        mark = mark_of(page("a.example", "/book/one", text_of(1)))
        before = host.view("book")
        host.add_path("book/one")
        host.add_page("book/one", mark)
        host.add_path("else/two")
        assert before == ({"one": mark}, {"one"})
        assert host.view("book") is before

    def test_a_million_urls_are_a_sample_that_mirrors_draw_alike(self):
        hosts = HostEvidence("a.example"), HostEvidence("b.example")
        for number in range(20_000):
            for host, prefix in zip(hosts, ("", "mirror/"), strict=True):
                host.add_path(f"{prefix}page-{number}")
        mine, theirs = hosts[0].view("")[1], hosts[1].view("mirror")[1]
        assert len(mine) <= MAX_PATHS
        assert mine == theirs


class TestPathOf:
    def test_path_of(self):
        assert path_of("http://example.org") == "/"
        assert path_of("http://example.org?x=1/2") == "/?x=1/2"
        assert path_of("http://example.org/a?b=1#c") == "/a?b=1"
