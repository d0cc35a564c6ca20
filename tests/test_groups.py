from __future__ import annotations

from scrapy_replica.sites.evidence import HostEvidence
from scrapy_replica.sites.groups import keeper


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
