"""Pairs of hosts that the judge is not sure about are kept for a person."""

from __future__ import annotations

import contextlib
import json

import pytest
from command_line import replica
from test_hosts_command import enter
from test_live_replicas import ALL, crawl_sites, held, per_host, site

from scrapy_replica.commands.job import ordering, reading
from scrapy_replica.crawl.hosts.uncertain_pairs import MAX_TEXTS, UncertainPairs
from scrapy_replica.crawldb.orders import BLOCK, DIFFERENT
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.crawldb.verdicts import MAX_PAIRS
from scrapy_replica.lab.replicas.held import HeldDetector
from scrapy_replica.records import Doubt, Page, PagePair, UncertainPair, Verdict
from scrapy_replica.sites.judge import Judge


def uncertain(job):
    with reading(job) as reader:
        return reader.uncertain_pairs()


def give(job, kind, what):
    with ordering(job) as give:
        give(kind, what)


def pair(copy, canonical="a.example", score=0.4):
    return UncertainPair(Verdict(copy, canonical, "", "", score, 5, {"sm10": 0.5}), 0.6, Doubt.SCORE)


@pytest.fixture
def store(tmp_path):
    db = SqliteCrawlDB(tmp_path)
    yield db
    db.close()


class TestCrawl:
    @pytest.mark.asyncio
    async def test_alike_but_for_a_quarter_of_the_words(self, tmp_path):
        kept, other = site("http://a.example", "w", n=12), site("http://b.example", "w", n=12, edit=0.25)
        await crawl_sites(kept, other, settings=ALL | {"JOBDIR": tmp_path})
        assert held(tmp_path) == {}
        (found,) = uncertain(tmp_path)
        assert {found.verdict.copy, found.verdict.canonical} == {"a.example", "b.example"}
        assert found.doubt is Doubt.SCORE
        assert 0 < found.verdict.score < found.wanted
        assert found.verdict.evidence["teq"] > 0.9
        pages = kept | other
        assert len(found.pages) == 3
        for urls, titles, texts in found.pages:
            assert [url.split("/")[2] for url in urls] == [found.verdict.copy, found.verdict.canonical]
            assert len({url.split("/")[3] for url in urls}) == 1
            for url, title, text in zip(urls, titles, texts, strict=True):
                assert title in pages[url]
                assert text[:100] in pages[url]

    @pytest.mark.asyncio
    async def test_none_of_a_copy_nor_of_two_works(self, tmp_path):
        sites = [site("http://a.example", "w"), site("http://b.example", "w"), site("http://c.example", "other")]
        await crawl_sites(*sites, settings=ALL | {"JOBDIR": tmp_path})
        assert len(held(tmp_path)) == 1
        assert uncertain(tmp_path) == []


class TestDecidedByHand:
    @pytest.mark.asyncio
    async def test_two_sites_are_fetched_both_and_stay_apart(self, tmp_path):
        settings = ALL | {"JOBDIR": tmp_path}
        kept, copy = site("http://a.example", "w"), site("http://b.example", "w")
        first = await crawl_sites(kept, copy, settings=settings)
        (host,) = held(tmp_path)
        assert per_host(first)[host] < 15
        give(tmp_path, DIFFERENT, {"host": "b.example", "other": "a.example"})
        second = await crawl_sites(kept, copy, settings=settings)
        assert {*first.urls, *second.urls} >= kept.keys() | copy.keys()
        assert held(tmp_path) == {}
        third = await crawl_sites(kept, copy, settings=settings)
        assert (third.urls, held(tmp_path)) == ([], {})

    @pytest.mark.asyncio
    async def test_one_site_below_other_paths(self, tmp_path):
        settings = ALL | {"JOBDIR": tmp_path, "CLOSESPIDER_PAGECOUNT": 5}
        kept = site("http://a.example/docs", "w", n=30)
        copy = site("http://b.example", "w", n=30, edit=0.25)
        await crawl_sites(kept, copy, settings=settings)
        what = {"host": "b.example", "canonical": "a.example", "canonical_prefix": "docs"}
        give(tmp_path, BLOCK, what)
        result = await crawl_sites(kept, copy, settings=settings | {"CLOSESPIDER_PAGECOUNT": 0})
        assert set(per_host(result)) == {"a.example"}
        assert set(result.unfinished) == set()
        assert uncertain(tmp_path) == []

    def test_the_queue_as_a_command(self, store, tmp_path):
        assert replica("hosts", "--undecided", "--job", tmp_path)[1] == "no pair of hosts is uncertain by now\n"
        pages = (PagePair(("http://b.example/?token=s3cret", "http://a.example/"), (None, None), ("x", "y")),)
        found = UncertainPair(
            Verdict("b.example", "a.example", "", "docs", 0.4, 5, {"teq": 0.95}), 0.6, Doubt.SCORE, pages
        )
        store.uncertain_pairs.enter(found)
        store.commit()
        code, out, _ = replica("hosts", "--undecided", "--job", tmp_path)
        assert code == 0
        assert "Is b.example the same site as a.example/docs?" in out
        assert "score 0.40, a verdict takes 0.60: the judge is not sure enough yet" in out
        assert f"scrapy replica steer block b.example --as a.example/docs --job {tmp_path}" in out
        assert f"scrapy replica steer allow b.example --beside a.example --job {tmp_path}" in out
        assert "s3cret" not in out
        told = json.loads(replica("hosts", "--undecided", "--job", tmp_path, "--json")[1])
        assert told["figures"] == {"pairs": 1}
        assert told["pairs"][0]["pages"] == [
            {"urls": ["http://b.example/?token=***", "http://a.example/"], "texts": ["x", "y"]}
        ]

    def test_with_a_command(self, tmp_path):
        with contextlib.closing(SqliteCrawlDB(tmp_path)) as db:
            for number, host in enumerate(("a.example", "b.example")):
                enter(db, f"http://{host}/", host, number)
        assert replica("steer", "allow", "b.example", "--beside", "A.example", "--job", tmp_path)[0] == 0
        assert replica("steer", "block", "b.example/", "--as", "a.example/docs/", "--job", tmp_path)[0] == 0
        with reading(tmp_path) as reader:
            block, different = reader.orders(5)
        assert (different.kind, different.what) == (DIFFERENT, {"host": "b.example", "other": "a.example"})
        assert block.what == {"host": "b.example", "canonical": "a.example", "canonical_prefix": "docs"}
        code, _, err = replica("steer", "allow", "b.example", "--beside", "b.example", "--job", tmp_path)
        assert (code, err.count("\n")) == (2, 1)


def test_texts_of_the_last_pages_only_are_remembered(store):
    pairs = UncertainPairs(store.uncertain_pairs, HeldDetector(Judge.load()))
    for number in range(MAX_TEXTS + 100):
        page = Page(f"http://a.example/{number}", "a.example", title="t" * 10_000, text="x" * 100_000)
        pairs.remember(page)
    assert len(pairs._texts) == MAX_TEXTS
    assert sum(len(kept.text) + len(kept.title) for kept in pairs._texts.values()) < 2_000_000


class TestTable:
    def test_the_nearest_to_a_verdict_are_kept(self, store, tmp_path):
        for number in range(MAX_PAIRS + 50):
            store.uncertain_pairs.enter(pair(f"{number}.example", score=number / 1000))
        store.commit()
        scores = [found.verdict.score for found in uncertain(tmp_path)]
        assert scores == [number / 1000 for number in range(MAX_PAIRS + 49, 49, -1)]

    def test_two_hosts_are_one_pair_whichever_would_be_kept(self, store, tmp_path):
        pages = (PagePair(("http://b.example/", "http://a.example/"), ("<b>", None), ("x", "y")),)
        store.uncertain_pairs.enter(pair("a.example", "b.example"))
        changed = UncertainPair(pair("b.example", "a.example").verdict, 0.7, Doubt.UNTRIED, pages)
        store.uncertain_pairs.enter(changed)
        store.commit()
        assert uncertain(tmp_path) == [changed]

    def test_what_was_decided_goes(self, store, tmp_path):
        for copy, canonical in (("b.example", "a.example"), ("c.example", "a.example"), ("d.example", "b.example")):
            store.uncertain_pairs.enter(pair(copy, canonical))
        store.uncertain_pairs.decided("a.example", "c.example")
        store.commit()
        assert [found.verdict.copy for found in uncertain(tmp_path)] == ["b.example", "d.example"]
        store.uncertain_pairs.forget("b.example")
        store.commit()
        assert uncertain(tmp_path) == []
