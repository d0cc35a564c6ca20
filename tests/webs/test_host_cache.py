"""What is known of hosts is held within bounds, and read again as it was."""

from __future__ import annotations

import itertools
import random

import pytest
from test_live_dust import ALONE, N, acting, sessions
from test_live_replicas import ALL, seeds, site
from web import crawl

from scrapy_replica import TopicSpider
from scrapy_replica.config import Config
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.pages.duplicates import Duplicates
from scrapy_replica.crawl.pages.repetition import Repetition
from scrapy_replica.crawl.pages.search_forms import Forms
from scrapy_replica.crawl.urls import crawl_rules, guard
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import Reason
from scrapy_replica.host_cache import HostCache
from scrapy_replica.sites import candidates
from scrapy_replica.urls import budgets
from scrapy_replica.urls.budgets import NoveltyBudgets


class TestCache:
    def test_the_host_met_longest_ago_goes_first_and_is_read_again(self):
        read = []
        cache = HostCache(lambda host: read.append(host) or [host], 3, len)
        for host in "abcad":
            cache.of(host)
        assert list(cache) == ["c", "a", "d"]
        assert read == ["a", "b", "c", "d"]
        cache.of("b")
        assert read[-1] == "b"

    def test_what_grew_weighs_more_when_another_is_met(self):
        cache = HostCache(lambda host: [host], 10, len)
        cache.of("a")
        cache.of("b").extend("x" * 9)
        cache.of("b").extend("x" * 90)
        cache.of("c")
        assert (list(cache), cache.weight) == (["c"], 1)
        cache.of("c").extend("x" * 7)
        cache.of("d")
        assert (list(cache), cache.weight) == (["c", "d"], 9)
        cache.forget("d")
        cache.forget("c")
        assert (len(cache), cache.weight) == (0, 0)


@pytest.fixture
def forgetful(monkeypatch):
    """Every host is evicted when another is met."""
    monkeypatch.setattr(crawl_rules, "MAX_BYTES", 1)
    monkeypatch.setattr(guard, "MAX_WEIGHT", 1)
    monkeypatch.setattr(candidates, "MAX_EVIDENCE_BYTES", 1)


@pytest.mark.asyncio
class TestForgetful:
    """A crawl that holds one host at a time fetches what one does that holds all."""

    async def test_rules(self, request, tmp_path):
        """In which turn a lesson ends is chance, and with it the session ids that were met and some repetitions."""

        def web(asked):
            return sessions(asked)

        def settings(name):
            (tmp_path / name).mkdir()
            return ALONE | {"REPLICA_MIRRORS": False, "JOBDIR": str(tmp_path / name)}

        hosts = "\n".join(f"http://{name}.example/" for name in "ab")
        whole = await crawl(TopicSpider, web, settings("whole"), seeds=hosts)
        request.getfixturevalue("forgetful")
        narrow = await crawl(TopicSpider, web, settings("narrow"), seeds=hosts)
        articles = {f"http://{name}.example/a/{number}" for name in "ab" for number in range(1, N)}
        for result in (whole, narrow):
            assert {url.partition("?")[0] for url in result.urls} >= articles
        assert sorted(map(str, acting(tmp_path / "narrow"))) == sorted(map(str, acting(tmp_path / "whole"))) != []
        assert len(narrow.urls) == pytest.approx(len(whole.urls), rel=0.1)

    async def test_copies(self, request):
        """But for made-up text, which that of these sites is: it is measured anew where a host was evicted."""
        sites = [site(f"http://{name}.example", work) for name, work in (("a", "w"), ("b", "w"), ("c", "v"))]
        pages = {url: page for each in sites for url, page in each.items()}
        settings = {**ALL, "REPLICA_TRAPS": False}
        whole = await crawl(TopicSpider, pages, settings, seeds=seeds(*sites))
        request.getfixturevalue("forgetful")
        assert (await crawl(TopicSpider, pages, settings, seeds=seeds(*sites))).urls == whole.urls
        assert whole.stats["replica/host/blocked"] == 1


class TestBudgets:
    def test_the_users_limit_is_never_forgotten(self, monkeypatch):
        monkeypatch.setattr(budgets, "MAX_PREFIXES", 50)
        counted = NoveltyBudgets(0, path_budget=2)
        for _ in range(2):
            counted.count("http://a.example/full/x", is_novel=True)
        for number in range(300):
            for _ in range(5):
                counted.count(f"http://a.example/d{number}/x", is_novel=False)
            assert len(counted) <= 51
        assert counted.spent("http://a.example/full/y")[0] is Reason.PATH_BUDGET

    def test_a_guard_counts_from_the_database_what_it_counted_in_memory(self):
        db, times = SqliteCrawlDB(None), itertools.count()
        stranger = db.urls.discover([NewUrl("http://b.example/", "b.example", -1)])[0][0]
        db.pages.enter(Fetched(stranger, next(times), 200, is_news=False))
        live = TrapGuard(Config(), db.pages, db.urls.url_of)
        live.rejection_of("http://a.example/", "a.example")
        found_on = None
        for number, is_news in enumerate([True, None, False] * 60 + [False] * 90):
            url = f"http://a.example/{'cal' if number % 2 else 'x'}/{number}"
            if number >= 180:
                url = f"http://a.example/{'days' if number % 2 else 'empty'}/2024-{number % 12 + 1:02}"
            # Months below "empty" are found on pages without news, those below "days" on a stranger's.
            parent = stranger if number >= 180 and number % 2 else found_on
            url_id = db.urls.discover([NewUrl(url, "a.example", number, parent=parent)])[0][0]
            db.pages.enter(Fetched(url_id, next(times), 200, is_news=is_news))
            live.count(url, "a.example", parent, is_novel=is_news)
            found_on = url_id
        assert live.rejection_of("http://a.example/empty/2030-01", "a.example").evidence == {"kind": "calendar"}
        again = TrapGuard(Config(), db.pages, db.urls.url_of)
        for path in ("cal/y", "x/y", "new/y", "empty/2030-01", "days/2030-01"):
            url = f"http://a.example/{path}"
            assert live.rejection_of(url, "a.example") == again.rejection_of(url, "a.example")

    @pytest.mark.parametrize("config", [Config(), Config(path_budget=5), Config(traps=False)])
    def test_a_guard_that_holds_one_host_bars_what_one_that_holds_all_does(self, monkeypatch, config):
        db, chance = SqliteCrawlDB(None), random.Random(1)
        wide = TrapGuard(config, db.pages, db.urls.url_of)
        monkeypatch.setattr(guard, "MAX_WEIGHT", 1)
        narrow = TrapGuard(config, db.pages, db.urls.url_of)
        hosts = [f"h{number}.example" for number in range(5)]
        news = {"trap": [False], "dull": [False] * 4 + [True, None], "good": [True]}
        barred, found_on = 0, None
        for number in range(400):
            host, kind = chance.choice(hosts), chance.choice(list(news))
            url, is_novel = f"http://{host}/{kind}/{number}", chance.choice(news[kind])
            url_id = db.urls.discover([NewUrl(url, host, number, parent=found_on)])[0][0]
            db.pages.enter(Fetched(url_id, float(number), 200, is_news=is_novel))
            for one in (wide, narrow):
                one.count(url, host, found_on, is_novel=is_novel)
            found_on = url_id
            for other in chance.sample(hosts, 3):
                for path in ("trap/x", "dull/x", "good/x", "new/x", "good/x?rev=3"):
                    asked = f"http://{other}/{path}"
                    assert narrow.rejection_of(asked, other) == wide.rejection_of(asked, other)
                    barred += wide.rejection_of(asked, other) is not None
        assert barred or not config.traps


class TestTakenBack:
    """A page whose transaction is rolled back leaves no trace in the rooms."""

    def test_every_room_forgets(self):
        db = SqliteCrawlDB(None)
        config = Config(path_budget=1)
        duplicates = Duplicates(db.pages, config)
        replicas = Replicas(config, db, float, duplicates.index)
        rooms = (
            TrapGuard(config, db.pages, db.urls.url_of),
            replicas,
            CrawlRules(config, db, float),
            Repetition(db.blocks),
            Forms(db.forms),
        )
        counted = rooms[0]
        db.commit()
        assert counted.rejection_of("http://a.example/d/x", "a.example") is None
        counted.count("http://a.example/d/", "a.example", None, is_novel=True)
        assert counted.rejection_of("http://a.example/d/x", "a.example") is not None
        for room in rooms:
            room.forget("a.example")
        assert counted.rejection_of("http://a.example/d/x", "a.example") is None
