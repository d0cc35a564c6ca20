"""Strategies in the live crawl: warm-up, resumption, present scores, odd topics."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import sqlite3

import numpy as np
import pytest
from web import REPLICA, crawl, page, text

from scrapy_replica import TopicSpider
from scrapy_replica.components import topic as topics
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.fetches import Fetches
from scrapy_replica.crawl.order import strategy_runner, successor
from scrapy_replica.crawl.order.recipe import made_again
from scrapy_replica.crawl.order.strategy_runner import StrategyRunner
from scrapy_replica.crawldb import visits
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.reader import open_reader
from scrapy_replica.crawldb.visits import Visit, VisitTable
from scrapy_replica.focus import state, strategies
from scrapy_replica.focus.background import Background
from scrapy_replica.focus.early_order import EarlyOrder
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.strategies import place_of
from scrapy_replica.records import Link, Page

TOP = "http://a.example/"
PAGES = 80
ORDINARY = ("auto", "best-first", "breadth-first")
"""What most people crawl with; ``tests/lab`` has the others."""
NEEDS_TOPIC = sorted(name for name, strategy in strategies.STRATEGIES.items() if strategy.needs_topic)


def is_topical(number):
    return number % 8 == 3


def web(pages=PAGES, topical=is_topical):
    """Pages that link to seven others; those on topic, which link to each other as well, lie in a directory."""
    urls = [TOP] + [f"{TOP}{'markov' if topical(n) else 'misc'}/{n}" for n in range(1, pages)]
    found = {}
    for number, url in enumerate(urls):
        links = [urls[(3 * number + step) % pages] for step in range(1, 7)] + [urls[(number + 8) % pages]]
        words = "markov chain hidden model " * 15 if number and topical(number) else ""
        found[url] = page(links, seed=number).replace("<p>", f"<p>{words}", 1)
    return found


@pytest.fixture
def topic(tmp_path):
    path = tmp_path / "topic.jsonl"
    rows = [{"text": "markov chain hidden model " * 10 + text(("example", n))} for n in range(8)]
    rows += [{"text": text(("other", n)), "label": "unlabelled"} for n in range(250)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def settings(strategy, topic, **more):
    """One page at a time: the next is chosen once the links of the last are entered, whenever the engine asks."""
    return {
        **REPLICA,
        "REPLICA_STRATEGY": strategy,
        "REPLICA_TOPIC": str(topic),
        "REPLICA_WARMUP_PAGES": 10,
        "REPLICA_TRAPS": False,
        "REPLICA_PROBES": 0,
        "CONCURRENT_REQUESTS": 1,
        "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 0,
        **more,
    }


def first_found(result):
    """Mean place of the pages on topic in the order of the crawl, 0..1."""
    return np.mean([place for place, url in enumerate(result.urls) if "/markov/" in url]) / len(result.urls)


@pytest.fixture(scope="module")
def breadth_first(tmp_path_factory):
    """Mean place of the pages on topic where no topic orders the crawl."""
    path = tmp_path_factory.mktemp("topic") / "topic.jsonl"
    path.write_text('{"text": "hidden markov chain model"}')
    return first_found(asyncio.run(crawl(TopicSpider, web(), settings("breadth-first", path), seeds=TOP)))


async def fetch_all_and_resume(name, topic, tmp_path):
    """Hold a crawl that was stopped and gone on with against one that was not."""
    whole = await crawl(TopicSpider, web(), settings(name, topic), seeds=TOP)
    assert sorted(whole.urls) == sorted(web())
    assert whole.unfinished == {}
    assert "replica/page/error" not in whole.stats
    kept = settings(name, topic, JOBDIR=str(tmp_path / "job"))
    first = await crawl(TopicSpider, web(), {**kept, "CLOSESPIDER_PAGECOUNT": 30}, seeds=TOP)
    second = await crawl(TopicSpider, web(), kept, seeds=TOP)
    assert 30 <= len(first.urls) < PAGES
    assert first.urls + second.urls == whole.urls


@pytest.mark.asyncio
class TestEveryName:
    @pytest.mark.parametrize("name", ORDINARY)
    async def test_fetches_all_and_resumes_in_the_same_order(self, name, topic, tmp_path):
        await fetch_all_and_resume(name, topic, tmp_path)

    @pytest.mark.parametrize("name", ["best-first", "best-first-anchors", "hmm-dynamic", "link-aware"])
    async def test_finds_the_topic_early(self, name, topic, breadth_first):
        focused = await crawl(TopicSpider, web(), settings(name, topic), seeds=TOP)
        assert first_found(focused) < breadth_first - 0.1

    async def test_auto_is_link_aware_with_a_topic(self, topic):
        auto = await crawl(TopicSpider, web(), settings("auto", topic), seeds=TOP)
        assert auto.urls == (await crawl(TopicSpider, web(), settings("link-aware", topic), seeds=TOP)).urls

    @pytest.mark.parametrize("name", NEEDS_TOPIC)
    async def test_one_that_needs_a_topic_says_so(self, name):
        with pytest.raises(ConfigError, match=rf"REPLICA_STRATEGY is {name}, which needs a topic: set REPLICA_TOPIC"):
            StrategyRunner(Config(strategy=name), SqliteCrawlDB(None))

    async def test_without_topic_breadth_first(self):
        auto = await crawl(TopicSpider, web(), {**REPLICA, "CONCURRENT_REQUESTS": 1}, seeds=TOP)
        plain = {**REPLICA, "CONCURRENT_REQUESTS": 1, "REPLICA_STRATEGY": "breadth-first"}
        assert auto.urls == (await crawl(TopicSpider, web(), plain, seeds=TOP)).urls

    async def test_unknown_name(self):
        with pytest.raises(ConfigError, match="there is no strategy 'best'"):
            StrategyRunner(Config(strategy="best"), SqliteCrawlDB(None))


@pytest.fixture
def recorded(monkeypatch):
    """A strategy that notes what it is shown, one list for each object."""

    class Recorded(Strategy):
        name = "recorded"
        needs_topic = False
        objects = []  # noqa: RUF012

        def __init__(self):
            self.shown = []
            self.objects.append(self.shown)

        def visited(self, page, relevance):
            self.shown.append((page.url, relevance, dict(page.terms)))

        def scores(self, page, links):
            assert page.url == pages_of(self.shown)[-1]
            self.shown.append([(link.url, link.text) for link in links])
            return np.zeros(len(links))

    monkeypatch.setitem(strategies.STRATEGIES, "recorded", Recorded)
    return Recorded.objects


def pages_of(shown):
    return [row[0] for row in shown if isinstance(row, tuple)]


@pytest.mark.asyncio
class TestWarmUp:
    async def test_a_fresh_strategy_is_shown_each_page_once(self, recorded, topic):
        result = await crawl(TopicSpider, web(), settings("recorded", topic), seeds=TOP)
        for shown, stage in zip(recorded[:-1], (10, 40), strict=True):
            assert stage <= len(pages_of(shown)) <= stage + 2
            assert pages_of(shown) == result.urls[: len(pages_of(shown))]
        assert pages_of(recorded[-1]) == result.urls

    async def test_the_pages_have_the_relevance_of_the_new_model(self, recorded, topic):
        await crawl(TopicSpider, web(), settings("recorded", topic), seeds=TOP)
        early, *_, late = recorded
        old = [row[1] for row in early if isinstance(row, tuple)]
        new = [row[1] for row in late if isinstance(row, tuple)][: len(old)]
        assert old != new
        for (url, relevance, _), before in zip((row for row in late if isinstance(row, tuple)), old, strict=False):
            assert (relevance > 0.5) == (before > 0.5) == ("/markov/" in url)

    async def test_without_topic_the_same_strategy_goes_on(self, recorded):
        result = await crawl(TopicSpider, web(), {**REPLICA, "REPLICA_STRATEGY": "recorded"}, seeds=TOP)
        assert [sorted(pages_of(shown)) for shown in recorded] == [sorted(result.urls)]

    async def test_stopped_in_the_warm_up(self, recorded, topic, tmp_path):
        kept = settings("recorded", topic, JOBDIR=str(tmp_path / "job"), REPLICA_WARMUP_PAGES=20)
        first = await crawl(TopicSpider, web(), {**kept, "CLOSESPIDER_PAGECOUNT": 5}, seeds=TOP)
        second = await crawl(TopicSpider, web(), kept, seeds=TOP)
        assert len(recorded) == 3
        assert pages_of(recorded[-1]) == first.urls + second.urls
        assert len({row[1] for row in recorded[-1] if isinstance(row, tuple) and row[0] == TOP}) == 1


@pytest.mark.asyncio
class TestStageThatFails:
    """With a stage after 20 pages and one after 80."""

    @pytest.mark.parametrize("fails", [(2,), (2, 3)])
    async def test_what_cannot_be_learnt_is_left_and_the_crawl_goes_on(self, fails, topic, monkeypatch, caplog):
        fits, fit = [], Relevance.fit

        def failing(model, *given):
            fits.append(model)
            if len(fits) in fails:
                raise ZeroDivisionError("no text")
            fit(model, *given)

        monkeypatch.setattr(Relevance, "fit", failing)
        result = await crawl(TopicSpider, web(100), settings("best-first", topic, REPLICA_WARMUP_PAGES=20), seeds=TOP)
        assert sorted(result.urls) == sorted(web(100))
        assert "replica/page/error" not in result.stats
        assert len(fits) == 3
        told = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert told == ["The topic is not learnt again, and the crawl goes on as it was: no text"] * len(fails)

    async def test_a_page_that_cannot_be_observed_takes_no_stage_back(self, topic, tmp_path, monkeypatch):
        """The page before which the topic is learnt again fails: the next crawl goes on after the stage."""
        observe, seen = Fetches.observe, []

        def failing(self, *given):
            seen.append(self)
            if len(seen) == 21:
                raise RuntimeError("a bad page")
            return observe(self, *given)

        monkeypatch.setattr(Fetches, "observe", failing)
        kept = settings("link-aware", topic, REPLICA_WARMUP_PAGES=20, JOBDIR=str(tmp_path / "job"))
        first = await crawl(TopicSpider, web(), {**kept, "CLOSESPIDER_PAGECOUNT": 30}, seeds=TOP)
        second = await crawl(TopicSpider, web(), kept, seeds=TOP)
        assert first.stats["replica/page/error"] == 1
        assert set(first.urls + second.urls) == set(web())
        assert not seen[-1]._runner.is_warming_up
        with contextlib.closing(SqliteCrawlDB(tmp_path / "job", "topic")) as db:
            assert db.meta("stage") == b"20"


class TestScoresOfTheWarmUp:
    @pytest.mark.parametrize("is_learnt_anew", [True, False])
    def test_at_its_end_the_best_of_each_link(self, is_learnt_anew, tmp_path):
        runner = StrategyRunner(Config(strategy="best-first", topic=tmp_path, warmup_pages=10), SqliteCrawlDB(None))
        if is_learnt_anew:
            runner.relevance.learn(lambda *_: fitted())
        best = {}
        for number in (5, 6, 7, 10):
            shown, relevance = random_page(number), number / 10
            early, moved = runner.scores(shown, relevance, shown.links)
            assert set(early) <= {0.0, -1.0}
            assert moved == {}
            relevance = fitted().relevance(shown.terms) if is_learnt_anew else relevance
            for link in shown.links:
                best[link.url] = max(relevance, best.get(link.url, 0.0))
        scores = runner.learn_anew(10)
        assert {url: score for url, score in scores.items() if score} == {
            url: score for url, score in best.items() if score
        }
        assert runner.scores(random_page(8), 0.8, random_page(8).links)[0] == [0.8] * 9


class TestOrderOfTheWarmUp:
    def test_words_of_the_topic_first_and_what_another_host_has_last(self):
        order = EarlyOrder(lambda: LinkWords(fitted().relevance, lambda text: dict.fromkeys(text.split(), 1)))
        links = [
            Link("http://a.example/1", "other"),
            Link("http://a.example/2", "markov chains"),
            Link("http://b.example/deep/1/?sid=7", "other"),
            Link("http://b.example/1", "another"),
        ]
        other, topical, twin, another = order.scores(links)
        assert twin < other == another == 0 < topical
        assert order.end() == {links[1].url, links[2].url}


def random_page(number):
    lots = random.Random(number)
    links = [
        Link(f"http://h{lots.randint(0, 3)}.example/{lots.randint(0, 400)}", f"to {place}", place) for place in range(9)
    ]
    terms = {"markov": 3, "chain": 2} if number % 5 == 0 else {f"word{lots.randint(0, 30)}": 1, "odd \udc80": 2}
    return Page(f"http://h0.example/{number}", "h0.example", terms=terms, links=tuple(links))


@pytest.fixture
def often(monkeypatch):
    """A checkpoint every 30 visits, in many pieces; rows are deleted by few."""
    monkeypatch.setattr(visits, "EVERY", 30)
    monkeypatch.setattr(visits, "DELETED_VISITS", 3)
    monkeypatch.setattr(state, "PIECE", 50_000)


def visits_kept(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT COUNT(*) FROM visits").fetchone()[0]


def job(folder, name):
    """A JOBDIR."""
    (folder / name).mkdir(exist_ok=True)
    return folder / name


def left_behind(folder):
    """What a killed process leaves of job a, as job b."""
    old, new = (sqlite3.connect(job(folder, name) / FILE_NAME) for name in "ab")
    with contextlib.closing(old), contextlib.closing(new):
        old.backup(new)


def killed(db, folder):
    """Return job a as it is opened again after a kill, which *db* was not closed before."""
    db.commit()
    left_behind(folder)
    db.close()
    (folder / "b" / FILE_NAME).replace(folder / "a" / FILE_NAME)
    return SqliteCrawlDB(job(folder, "a"))


class TestResumed:
    @pytest.mark.parametrize("name", sorted(strategies.STRATEGIES))
    def test_a_killed_crawl_goes_on_with_the_same_scores(self, name, tmp_path):
        """What was committed is all that a killed process leaves; later pages are not told of."""
        config = Config(strategy=name, topic=tmp_path, warmup_pages=0)
        db = SqliteCrawlDB(job(tmp_path, "a"))
        runner = StrategyRunner(config, db)
        runner.relevance.learn(lambda *_: fitted())
        undisturbed_db = SqliteCrawlDB(None)
        undisturbed = StrategyRunner(config, undisturbed_db)
        undisturbed.relevance.learn(lambda *_: fitted())
        for number in range(90):
            shown = random_page(number)
            for each in (runner, undisturbed) if number < 60 else (runner,):
                each.scores(shown, 0.9 if number % 5 == 0 else 0.1, shown.links)
            if number == 59:
                db.commit()
                left_behind(tmp_path)
        again = StrategyRunner(config, SqliteCrawlDB(job(tmp_path, "b")))
        after = random_page(1000)
        assert again.scores(after, 0.7, after.links) == undisturbed.scores(after, 0.7, after.links)
        urls = [link.url for link in random_page(7).links]
        assert again.scores_now(urls) == undisturbed.scores_now(urls)
        db.close()

    @pytest.mark.parametrize("name", ["best-first", "link-aware"])
    def test_killed_while_the_topic_is_learnt_again(self, name, often, tmp_path, monkeypatch):
        """Before, between and after the stages 5, 20 and 80 (with pages and failed fetches), what is left goes on."""
        monkeypatch.setattr(successor, "SHOWN_AT_ONCE", 1_000)
        config = Config(strategy=name, topic=tmp_path, warmup_pages=5)
        whole_db, db = SqliteCrawlDB(None), SqliteCrawlDB(job(tmp_path, "a"))
        whole, runner = StrategyRunner(config, whole_db), StrategyRunner(config, db)
        for each in (whole, runner):
            each.relevance.learn(learnt_from)
        for number in range(130):
            told = []
            for each in (whole, runner):
                moved = each.learn_anew(number)
                shown = random_page(number)
                told.append((moved, each.scores(shown, each.relevance.of(shown), shown.links)))
                if number % 4 == 0:
                    each.unproductive(f"http://h1.example/{number}")
            assert told[0] == told[1]
            if number in {3, 5, 12, 20, 50, 80, 100}:
                db = killed(db, tmp_path)
                runner = StrategyRunner(config, db)
                assert runner.is_learning
                runner.relevance.learn(learnt_from)
        db.close()

    def test_a_fresh_strategy_is_not_outrun(self, tmp_path, monkeypatch):
        """A page with many links is several visits, and more of them come between two pages than are shown at once."""
        monkeypatch.setattr(successor, "SHOWN_AT_ONCE", 2)
        db = SqliteCrawlDB(None)
        runner = StrategyRunner(Config(strategy="best-first", topic=tmp_path, warmup_pages=5), db)
        runner.relevance.learn(learnt_from)
        for number in range(15):
            runner.learn_anew(number)
            shown = random_page(number)
            for link in shown.links:
                runner.scores(shown, 0.5, [link])
        assert not runner.is_warming_up

    @pytest.mark.parametrize("name", ["best-first", "link-aware"])
    def test_killed_while_a_fresh_strategy_catches_up(self, name, tmp_path, monkeypatch):
        """It sees seven visits a page, gives three scores a page; in the end the order is that of a crawl in one go."""
        monkeypatch.setattr(successor, "SHOWN_AT_ONCE", 7)
        monkeypatch.setattr(strategy_runner, "SCORES_AT_ONCE", 3)
        config = Config(strategy=name, topic=tmp_path, warmup_pages=40)
        pages = [random_page(number) for number in range(75)]
        orders = []
        for kills in ((), (41, 44, 60)):
            job_dir = job(tmp_path, f"killed_{len(kills)}")
            db = SqliteCrawlDB(job(job_dir, "a"))
            runner = StrategyRunner(config, db)
            runner.relevance.learn(learnt_from)
            for number, shown in enumerate(pages):
                assert len(runner.learn_anew(number)) <= 3
                runner.scores(shown, runner.relevance.of(shown), shown.links)
                if number % 4 == 0:
                    runner.unproductive(shown.links[0].url)
                if number in kills:
                    db = killed(db, job_dir)
                    runner = StrategyRunner(config, db)
                    runner.relevance.learn(learnt_from)
            assert not runner.is_warming_up
            orders.append(runner.scores(pages[3], 0.5, pages[3].links)[0])
            db.close()
        assert orders[0] == pytest.approx(orders[1])

    @pytest.mark.parametrize("name", sorted(n for n, strategy in strategies.STRATEGIES.items() if strategy.remembers))
    def test_a_checkpoint_and_the_visits_since_give_the_same_scores(self, name, often, tmp_path):
        """Killed before the first checkpoint, while one is written, and while what it made needless is deleted."""
        config = Config(strategy=name, topic=tmp_path, warmup_pages=0)
        undisturbed = StrategyRunner(config, SqliteCrawlDB(None))
        undisturbed.relevance.learn(lambda *_: fitted())
        db = SqliteCrawlDB(job(tmp_path, "a"))
        runner = StrategyRunner(config, db)
        runner.relevance.learn(lambda *_: fitted())
        kept = []
        for number in range(330):
            shown, relevance = random_page(number), 0.9 if number % 5 == 0 else 0.1
            expected = undisturbed.scores(shown, relevance, shown.links)
            assert runner.scores(shown, relevance, shown.links) == expected
            if number in {15, 40, 75, 180, 300}:
                db.commit()
                kept.append(visits_kept(tmp_path / "a" / FILE_NAME))
                db = killed(db, tmp_path)
                runner = StrategyRunner(config, db)
        db.close()
        assert kept[0] == 16
        assert max(kept) < 150

    @pytest.mark.parametrize("name", ["hmm-dynamic", place_of("hmm-liu"), "link-aware"])
    def test_who_reads_the_job_has_the_same_scores(self, name, often, tmp_path):
        """Of a crawl that runs, after a checkpoint and with fetches that brought nothing."""
        db = SqliteCrawlDB(job(tmp_path, "a"))
        runner = StrategyRunner(Config(strategy=name, topic=tmp_path, warmup_pages=0), db)
        runner.relevance.learn(lambda *_: fitted())
        for number in range(120):
            shown = random_page(number)
            runner.scores(shown, 0.9 if number % 5 == 0 else 0.1, shown.links)
            if number % 3 == 0:
                runner.unproductive(shown.links[0].url)
        db.commit()
        with open_reader(tmp_path / "a" / FILE_NAME) as reader:
            read = made_again(reader)
        urls = [link.url for number in range(100, 120) for link in random_page(number).links]
        expected = runner.scores_now(urls)
        now = read.scores_now(urls)
        assert expected == (None if now is None else now.tolist())
        after = random_page(1000)
        read.visited(after, 0.7)
        assert read.scores(after, after.links).tolist() == runner.scores(after, 0.7, after.links)[0]
        assert read.distances_told() != {}
        db.close()

    def test_a_piece_that_was_rolled_back_leaves_the_checkpoint_before(self, tmp_path):
        connection = Connection(tmp_path / "a.sqlite")
        table = VisitTable(connection)
        for pieces in ([b"a", b"b"], [b"c", b"d", b"e"]):
            table.add(Visit("http://a.example/", 0.5, {}, ()))
            table.begin("known", iter(pieces))
            for piece in (*pieces, None):
                connection.commit()
                table.work()
                if piece == b"d":
                    connection.read("ROLLBACK")
        for _ in range(5):
            assert list(table.checkpoint("known")) == [b"a", b"b"]
            table.work()
        assert table.checkpoint("other") is None
        assert len(list(table.tail())) == 1
        connection.close()

    def test_more_links_of_the_page_shown_last(self, recorded, tmp_path):
        db = SqliteCrawlDB(job(tmp_path, "a"))
        runner = StrategyRunner(Config(strategy="recorded", warmup_pages=0), db)
        one, other = random_page(1), random_page(2)
        for shown, links in ((one, one.links[:4]), (one, one.links[4:]), (other, ()), (one, one.links[:1])):
            runner.scores(shown, 0.5, links)
        db.commit()
        left_behind(tmp_path)
        StrategyRunner(Config(strategy="recorded", warmup_pages=0), SqliteCrawlDB(job(tmp_path, "b")))
        assert recorded[0] == recorded[1]
        assert len(pages_of(recorded[0])) == 3
        db.close()


def learnt_from(unlabelled, yes=(), no=()):
    model = Relevance()
    model.fit([{"markov": 2, "chain": 1}], Background.from_documents([{"word1": 1}, {"word2": 2}, *unlabelled]))
    return model


def fitted():
    model = Relevance()
    model.fit([{"markov": 2, "chain": 1}], Background.from_documents([{"word1": 1}, {"word2": 2}]))
    return model


@pytest.mark.asyncio
class TestPresentScores:
    @pytest.mark.parametrize("hosts", [1, 4])
    async def test_order_of_present_scores(self, hosts, monkeypatch):
        """Every page changes what the waiting URLs are worth; the best by present scores is taken, over all hosts."""

        class Changing(Strategy):
            name = "changing"
            needs_topic = False

            def __init__(self):
                self.worth = {}

            def visited(self, page, relevance):
                self.worth = {url: worth * 0.9 for url, worth in self.worth.items()}

            def scores(self, page, links):
                for link in links:
                    self.worth.setdefault(link.url, float(int(link.url.rpartition("/")[2]) * 37 % 101))
                return np.array([self.worth[link.url] for link in links])

            def scores_now(self, urls):
                return np.array([self.worth.get(url, 0.0) for url in urls])

        monkeypatch.setitem(strategies.STRATEGIES, "changing", Changing)
        urls = [f"http://h{n % hosts}.example/{n}" for n in range(60)]
        linked = {url: [urls[(5 * n + 7 * k * k + n * k + 1) % 60] for k in range(6)] for n, url in enumerate(urls)}
        expected, worth, done = [urls[0]], {}, {urls[0]}
        while True:
            worth = {url: value * 0.9 for url, value in worth.items()}
            for link in linked[expected[-1]]:
                worth.setdefault(link, float(int(link.rpartition("/")[2]) * 37 % 101))
            waiting = [url for url in worth if url not in done]
            if not waiting:
                break
            done.add(max(waiting, key=worth.__getitem__))
            expected.append(max(waiting, key=worth.__getitem__))
        more = {**REPLICA, "REPLICA_STRATEGY": "changing", "REPLICA_WARMUP_PAGES": 0, "CONCURRENT_REQUESTS": 1}
        html = {url: page(links, seed=url) for url, links in linked.items()}
        result = await crawl(TopicSpider, html, more, seeds=urls[0])
        assert len(expected) > 40
        assert result.urls == expected


FOCUSED = ["best-first", "best-first-anchors", "hmm-dynamic", "link-aware"]


@pytest.mark.asyncio
class TestOddTopics:
    async def finishes(self, name, topic, pages, **more):
        result = await crawl(TopicSpider, pages, settings(name, topic, **more), seeds=TOP)
        assert sorted(result.urls) == sorted(pages)
        assert result.unfinished == {}
        assert "replica/page/error" not in result.stats
        return result

    async def test_no_positive_example(self, tmp_path):
        path = tmp_path / "topic.jsonl"
        path.write_text('{"text": "markov chain", "label": "unlabelled"}')
        with pytest.raises(ValueError, match="no positive example"):
            await crawl(TopicSpider, web(), settings("link-aware", path), seeds=TOP)

    async def test_examples_without_a_word_stop_the_crawl(self, tmp_path, caplog):
        path = tmp_path / "topic.jsonl"
        path.write_text('{"text": "1 2 3 4 . . ."}')
        with caplog.at_level(logging.ERROR):
            result = await crawl(TopicSpider, web(), settings("link-aware", path), seeds=TOP)
        assert result.stats["finish_reason"] == "no_topic"
        assert "no positive example with any text" in caplog.text

    @pytest.mark.parametrize("name", FOCUSED)
    async def test_one_example(self, name, tmp_path, breadth_first):
        path = tmp_path / "topic.jsonl"
        path.write_text('{"text": "hidden markov chain model"}')
        assert first_found(await self.finishes(name, path, web())) < breadth_first

    @pytest.mark.parametrize("name", FOCUSED)
    async def test_examples_in_another_language_find_nothing_and_crawl_on(self, name, tmp_path):
        path = tmp_path / "topic.jsonl"
        path.write_text("\n".join(json.dumps({"text": f"скрытая марковская модель цепь {n}"}) for n in range(6)))
        result = await self.finishes(name, path, web())
        assert result.stats["replica/page/relevant"] == 0

    async def test_ten_thousand_examples(self, tmp_path, breadth_first):
        path = tmp_path / "topic.jsonl"
        path.write_text("\n".join(json.dumps({"text": f"hidden markov chain model {n} w{n}x"}) for n in range(10_000)))
        assert first_found(await self.finishes("link-aware", path, web())) < breadth_first - 0.1

    @pytest.mark.parametrize("name", ["best-first", "link-aware"])
    async def test_equal_examples_are_one(self, name, tmp_path):
        one, many = tmp_path / "one.jsonl", tmp_path / "many.jsonl"
        one.write_text('{"text": "hidden markov chain model"}')
        many.write_text('{"text": "hidden markov chain model"}\n' * 30)
        assert (await self.finishes(name, one, web())).urls == (await self.finishes(name, many, web())).urls

    @pytest.mark.parametrize(
        ("about", "says"),
        [
            ("скрытая модель", "None of the first 60 pages is on topic: examples should be in their language"),
            (
                "welcome news contact imprint search home sitemap",
                "60 of the first 60 pages are on topic: if they should",
            ),
            ("hidden markov chain model", None),
        ],
    )
    async def test_a_topic_that_no_page_or_every_page_is_on_is_told(self, about, says, tmp_path, caplog, monkeypatch):
        """Examples in another language; front pages, which share the frame that every page of the site has."""
        monkeypatch.setattr(topics, "DOUBTED_AT", 60)
        path = tmp_path / "topic.jsonl"
        path.write_text("\n".join(json.dumps({"text": f"{about} {n}"}) for n in range(6)))
        frame = "<p>" + "welcome news contact imprint search home sitemap " * 2
        pages = {url: html.replace("<p>", frame, 1) for url, html in web().items()}
        with caplog.at_level(logging.WARNING):
            await self.finishes("best-first", path, pages)
        told = [line for line in caplog.messages if "on topic" in line]
        assert len(told) == (says is not None)
        assert all(line.startswith(says) for line in told)

    @pytest.mark.parametrize("name", FOCUSED)
    @pytest.mark.parametrize("share", ["all", "none"])
    async def test_all_or_no_pages_relevant(self, name, share, topic):
        await self.finishes(name, topic, web(topical=lambda _: share == "all"))

    @pytest.mark.parametrize("name", FOCUSED)
    async def test_pages_without_links_and_self_links(self, name, topic):
        pages = {TOP: page([TOP, "/self", "/end"], seed=0), f"{TOP}end": page(seed=1)}
        pages[f"{TOP}self"] = page(["/self"] * 5, seed=2)
        await self.finishes(name, topic, pages)

    @pytest.mark.parametrize("name", FOCUSED)
    async def test_a_model_that_returns_nan_is_no_relevance(self, name, topic, monkeypatch):
        monkeypatch.setattr(Relevance, "relevance", lambda self, terms: float("nan"))
        result = await self.finishes(name, topic, web())
        assert {item["relevance"] for item in result.items} == {0.0}

    @pytest.mark.parametrize("name", FOCUSED)
    async def test_one_giant_host(self, name, topic):
        pages = web(140)
        for n, url in enumerate(list(pages)[1:4]):
            pages[f"http://h{n}.example/"] = page([url], seed=("other", n))
        pages[TOP] = page([*list(pages)[1:9], *(f"http://h{n}.example/" for n in range(3))], seed=0)
        pages = {url: body for url, body in pages.items() if url != "unreached"}
        result = await crawl(TopicSpider, pages, settings(name, topic), seeds=TOP)
        assert result.unfinished == {}
        assert len(set(result.urls)) == len(result.urls) >= 130
