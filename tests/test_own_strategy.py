"""A strategy of the user's own: what is wrong with it is told once, and every page is fetched all the same."""

from __future__ import annotations

import numpy as np
import pytest
from test_strategy_runner import TOP, web
from web import REPLICA, crawl

from scrapy_replica import TopicSpider
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.order.strategy_runner import StrategyRunner
from scrapy_replica.crawldb import visits
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.focus.strategy import Strategy

PAGES = web(20)
IN_TURN = {**REPLICA, "REPLICA_WARMUP_PAGES": 0, "REPLICA_TRAPS": False, "CONCURRENT_REQUESTS": 1}
IN_TURN |= {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 0}


class Shortest(Strategy):
    name = "shortest"
    needs_topic = False
    remembers = False

    def scores(self, page, links):
        return np.array([-len(link.url) for link in links])


class TooFew(Shortest):
    def scores(self, page, links):
        return np.zeros(max(0, len(links) - 1))


class NoNumber(Shortest):
    def scores(self, page, links):
        return [float("nan")] * len(links)


class NoArray(Shortest):
    def scores(self, page, links):
        return None


class Raises(Shortest):
    def scores(self, page, links):
        raise KeyError(page.host)


class RaisesAnywhere(Raises):
    def visited(self, page, relevance):
        raise RuntimeError("visited")

    def unproductive(self, url):
        raise RuntimeError("unproductive")

    def rescored(self):
        raise RuntimeError("rescored")

    def scores_now(self, urls):
        raise RuntimeError("now")

    def distances_told(self):
        raise RuntimeError("distances")


class WrongLater(Shortest):
    """What it says of waiting URLs is no score."""

    def rescored(self):
        return {f"{TOP}misc/1": float("nan")}

    def scores_now(self, urls):
        return np.zeros(len(urls) + 1)


class OtherKeys(Shortest):
    def rescored(self):
        return {7: 1.0}


class ManyLines(Shortest):
    def scores(self, page, links):
        raise RuntimeError("one line\nand another")


class NotSaved(Shortest):
    """Nobody can go on with it."""

    remembers = True


class SavesRubbish(Shortest):
    remembers = True

    def state(self):
        return {"what": object()}

    def restore(self, state):
        raise AssertionError("nothing was saved")


class Unmade(Shortest):
    def __init__(self):
        raise RuntimeError("no model on this machine")


class OtherState(Shortest):
    remembers = True

    def state(self):
        return {"what": 1}

    def restore(self, state):
        raise KeyError("it was written by an older class")


def own(kind, **more):
    return {**IN_TURN, "REPLICA_STRATEGY": f"{__name__}:{kind.__name__}", **more}


def told(caplog):
    return [record.getMessage() for record in caplog.records if "REPLICA_STRATEGY" in record.getMessage()]


@pytest.mark.asyncio
class TestWhatFails:
    @pytest.mark.parametrize(
        ("kind", "why"),
        [
            (TooFew, "it was to return 7 scores, and the shape is (6,)"),
            (NoNumber, "it returned NaN"),
            (NoArray, "it was to return 7 scores, and the shape is ()"),
            (Raises, "KeyError: 'a.example'"),
            (OtherKeys, "TypeError: rescored() is to return URLs"),
            (ManyLines, "RuntimeError: one line and another"),
            (RaisesAnywhere, "RuntimeError: now"),
            (WrongLater, "it was to return 1 scores, and the shape is (2,)"),
        ],
    )
    async def test_is_told_in_one_line_and_no_page_is_lost(self, kind, why, caplog):
        result = await crawl(TopicSpider, PAGES, own(kind), seeds=TOP)
        assert sorted(result.urls) == sorted(PAGES)
        (line,) = told(caplog)
        assert f"{__name__}:{kind.__name__} fails: " in line
        assert why in line
        assert "\n" not in line
        assert [record for record in caplog.records if record.exc_info] == []
        assert result.stats["replica/strategy/failed"] >= len(PAGES)
        assert "replica/page/error" not in result.stats

    async def test_names_the_line_of_the_user_s_file(self, caplog):
        await crawl(TopicSpider, PAGES, own(Raises), seeds=TOP)
        assert f"({__file__}, line " in told(caplog)[0]

    @pytest.mark.parametrize("kind", [TooFew, Raises, RaisesAnywhere])
    async def test_the_crawl_is_breadth_first_then(self, kind):
        plain = await crawl(TopicSpider, PAGES, {**IN_TURN, "REPLICA_STRATEGY": "breadth-first"}, seeds=TOP)
        failing = await crawl(TopicSpider, PAGES, own(kind), seeds=TOP)
        assert failing.urls == plain.urls

    async def test_one_that_works_orders_the_crawl_and_counts_nothing(self, caplog):
        result = await crawl(TopicSpider, PAGES, own(Shortest), seeds=TOP)
        assert result.urls != sorted(result.urls)
        assert "replica/strategy/failed" not in result.stats
        assert told(caplog) == []


@pytest.mark.asyncio
class TestWhatIsKept:
    async def test_one_that_cannot_be_saved_goes_on_and_begins_anew(self, tmp_path, monkeypatch, caplog):
        monkeypatch.setattr(visits, "EVERY", 10)
        kept = own(SavesRubbish, JOBDIR=str(tmp_path))
        first = await crawl(TopicSpider, PAGES, {**kept, "CLOSESPIDER_PAGECOUNT": 14}, seeds=TOP)
        second = await crawl(TopicSpider, PAGES, kept, seeds=TOP)
        assert sorted(first.urls + second.urls) == sorted(PAGES)
        assert len(told(caplog)) == 1
        assert "replica/page/error" not in {**first.stats, **second.stats}

    async def test_one_that_cannot_load_what_it_saved_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(visits, "EVERY", 10)
        kept = own(OtherState, JOBDIR=str(tmp_path))
        await crawl(TopicSpider, PAGES, {**kept, "CLOSESPIDER_PAGECOUNT": 14}, seeds=TOP)
        with pytest.raises(ConfigError, match=r"REPLICA_STRATEGY: .*OtherState cannot load .*; give another JOBDIR"):
            await crawl(TopicSpider, PAGES, kept, seeds=TOP)


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("name", "why"),
        [
            (f"{__name__}:NotSaved", "remembers pages and has no state.*remembers = False"),
            (f"{__name__}:Unmade", "cannot be made: RuntimeError: no model on this machine"),
            ("scrapy_replica.focus.strategy:Strategy", "cannot be made: TypeError: .*abstract"),
            (f"{__name__}:Away", "cannot be imported: AttributeError"),
            ("no_such_module:Away", "cannot be imported: ModuleNotFoundError"),
            (f"{__name__}:web", "is no subclass of"),
        ],
    )
    def test_before_anything_is_fetched(self, name, why):
        with pytest.raises(ConfigError, match=f"REPLICA_STRATEGY: '{name}' {why}"):
            StrategyRunner(Config(strategy=name, topic=None, scorer=f"{__name__}:told"), SqliteCrawlDB(None))

    def test_a_module_that_cannot_be_read(self, tmp_path, monkeypatch):
        (tmp_path / "broken_order.py").write_text("class Mine(:\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(ConfigError, match="'broken_order:Mine' cannot be imported: SyntaxError"):
            StrategyRunner(Config(strategy="broken_order:Mine"), SqliteCrawlDB(None))
