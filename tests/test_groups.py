from __future__ import annotations

from scrapy_replica.sites.evidence import HostEvidence
from scrapy_replica.sites.groups import keeper


class TestKeeper:
    def hosts(self):
        return [HostEvidence("bb.example"), HostEvidence("a.example")]

    def test_each_mark_beats_those_after_it(self):
        first, second = self.hosts()

        def kept(in_links=None):
            return keeper([first, second], lambda host: (in_links or {}).get(host, 0))

        assert kept() == "a.example"  # the shorter name
        first.first_seen, second.first_seen = 1.0, 2.0
        assert kept() == "bb.example"
        second.add_path("x")
        assert kept() == "a.example"
        assert kept({"bb.example": 3}) == "bb.example"
        second.is_https = True
        assert kept({"bb.example": 3}) == "a.example"
        second.canonical_to["bb.example"] += 1
        assert kept() == "bb.example"
        second.redirected_from["bb.example"] += 1
        assert kept() == "a.example"
