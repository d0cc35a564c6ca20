from __future__ import annotations

import dataclasses
import math

import pytest
from replica_sites import page, site, text_of

from scrapy_replica.lab.replicas.held import HeldCandidates
from scrapy_replica.sites.canonical_host import MIN_READERS, held_share, host_to_keep
from scrapy_replica.sites.evidence import mark_of
from scrapy_replica.sites.features import Comparison
from scrapy_replica.sites.neighbours import Neighbours


def evidence(pages):
    """What is known of a host by its *pages*, all fetched at one moment."""
    candidates = HeldCandidates()
    for each in pages:
        candidates.add_page(each, mark_of(each), Neighbours.of(each), 0.0)
    return candidates.host(pages[0].host)


def pair(first, second, prefixes=("", "")):
    return Comparison(evidence(first), evidence(second), prefixes)


def kept(compared, seed=None, **readers):
    return host_to_keep(compared, lambda host: readers.get(host.partition(".")[0], 0), lambda host: host == seed).name


class TestCanonical:
    def test_each_mark_beats_those_after_it(self):
        both = pair(site("bb.example", "w"), site("a.example", "w"))
        first, second = both.first, both.second
        first.established = second.established = math.inf
        assert kept(both) == "a.example"  # the shorter name
        first.is_https = True
        assert kept(both) == "bb.example"
        first.first_seen, second.first_seen = 2.0, 1.0
        assert kept(both) == "a.example"
        assert kept(both, bb=MIN_READERS) == "bb.example"
        second.established = 1.5
        assert kept(both, bb=MIN_READERS) == "a.example"
        assert kept(both, seed="bb.example") == "bb.example"
        second.canonical_to["bb.example"] = 0
        first.canonical_to["a.example"] = first.n_pages
        assert kept(both, seed="bb.example") == "a.example"
        first.canonical_to.clear()
        second.canonical_to["bb.example"] = second.n_pages
        assert kept(both) == "bb.example"
        del first.pages["chapter-3"]
        first.add_missing("chapter-3")
        assert kept(both) == "a.example"

    def test_a_few_domains_buy_nothing(self):
        both = pair(site("bb.example", "w"), site("a.example", "w"))
        assert kept(both, bb=MIN_READERS - 1) == "a.example"
        assert kept(both, bb=MIN_READERS, a=MIN_READERS - 1) == "a.example"

    def test_what_stands_on_its_own_pages_is_no_evidence(self):
        both = pair(site("bb.example", "w", canonical="http://bb.example/"), site("a.example", "w"))
        assert kept(both) == "a.example"

    def test_a_few_pages_that_call_it_canonical_are_not_most(self):
        both = pair(site("bb.example", "w"), site("a.example", "w"))
        both.second.canonical_to["bb.example"] = 3
        assert kept(both) == "a.example"


class TestHeldShare:
    def test_of_what_both_were_asked_for(self):
        both = pair(site("bb.example", "w", 10), site("a.example", "w", 6))
        assert held_share(both, both.second) == 1
        for number in (6, 7, 8, 9):
            both.second.add_missing(f"chapter-{number}")
        assert held_share(both, both.second) == pytest.approx(0.6)
        assert held_share(both, both.first) == 1

    def test_links_to_pages_that_nobody_fetched_count_for_nothing(self):
        both = pair(site("bb.example", "w", 10), site("a.example", "w", 10))
        for number in range(400):
            both.first.add_path(f"junk-{number}")
        assert held_share(both, both.second) == 1
        assert kept(both) == "a.example"

    def test_another_text_in_the_same_place_is_not_that_page(self):
        other = [page("a.example", "/chapter-1.html", text_of("other")), *site("a.example", "w", 10)[2:]]
        both = pair(site("bb.example", "w", 10), other)
        assert held_share(both, both.second) == pytest.approx(8 / 9)

    def test_a_session_id_makes_no_other_page(self):
        pages = site("a.example", "w", 10)
        again = [dataclasses.replace(each, url=f"{each.url}?sid=7") for each in pages]
        both = pair(site("bb.example", "w", 10), [*pages, *again])
        for each in range(1, 10):
            both.first.add_missing(f"chapter-{each}/?sid=7")
        assert held_share(both, both.first) == 1

    def test_below_prefixes(self):
        both = pair(site("bb.example", "w", 10, prefix="/m"), site("a.example", "w", 6), ("m", ""))
        both.second.add_missing("chapter-9")
        assert held_share(both, both.second) == pytest.approx(6 / 7)
