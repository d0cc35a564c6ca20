"""Pages that a person marks: which are asked about, what the crawl makes of the answers."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import threading

import numpy as np
import pytest
import pytest_asyncio
from command_line import replica
from web import REPLICA, crawl, page, text

from scrapy_replica import TopicSpider
from scrapy_replica.commands.job import ordering, reading
from scrapy_replica.config import Config
from scrapy_replica.crawl.order.recipe import relevance_model
from scrapy_replica.crawl.order.strategy_runner import StrategyRunner
from scrapy_replica.crawl.topic import active_learning
from scrapy_replica.crawl.topic.active_learning import ActiveLearning
from scrapy_replica.crawl.topic.marks import LEARNT, Marks
from scrapy_replica.crawl.topic.questions import asked_about
from scrapy_replica.crawldb import visits
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.orders import MARK, NOT_DONE
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.focus.active_learning import Candidate, most_telling, shares, uncertainty
from scrapy_replica.focus.background import Background
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.records import Link, Page

TOP = "http://a.example/"
PAGES = 80


# Which pages are asked about


def candidate(name, relevance, words, host="a.example"):
    return Candidate(f"http://{host}/{name}", host, relevance, dict.fromkeys(words.split(), 1))


class TestMostTelling:
    def test_those_nearest_to_the_line(self):
        pages = [candidate(n, n / 10, f"word{n}", f"{n}.example") for n in range(11)]
        assert {page.relevance for page in most_telling(pages, 3)} == {0.4, 0.5, 0.6}

    def test_a_page_like_one_that_is_asked_about_is_not(self):
        pages = [candidate("a", 0.5, "x y z"), candidate("b", 0.5, "x y z"), candidate("c", 0.1, "u v w")]
        assert [page.url[-1] for page in most_telling(pages, 2)] == ["a", "c"]

    def test_many_hosts(self):
        pages = [candidate(n, 0.5, f"word{n}") for n in range(5)]
        pages += [candidate(n, 0.4, f"other{n}", f"{n}.example") for n in range(3)]
        assert len({page.host for page in most_telling(pages, 4)}) == 4

    def test_few_pages_and_none(self):
        assert most_telling([], 10) == []
        assert len(most_telling([candidate("a", 0.0, "x"), candidate("b", 1.0, "x")], 10)) == 2

    def test_uncertainty(self):
        assert [uncertainty(value) for value in (0.0, 0.5, 1.0)] == [0.0, 1.0, 0.0]


def test_shares_tell_which_words_speak_for_and_against():
    model = Relevance()
    others = [{"jazz": 2, f"word{n}": 1, "page": 1} for n in range(80)]
    model.fit([{"markov": 3, f"x{n}": 1, "page": 1} for n in range(6)], Background.from_documents(others))
    found = {share.term: share.share for share in shares({"markov": 2, "jazz": 2, "page": 1}, model.relevance, 3)}
    assert found["markov"] > 0 > found["jazz"]


class TestAsking:
    """The texts that are kept, within their bounds."""

    @pytest.fixture
    def kept(self, monkeypatch):
        monkeypatch.setattr(active_learning, "MOST", 6)
        monkeypatch.setattr(active_learning, "MOST_OF_HOST", 3)
        db = SqliteCrawlDB(None)
        topic = StrategyRunner(Config(), db).relevance
        topic.learn(fit)
        return db, topic, ActiveLearning(db, topic)

    def add(self, db, canonical, relevance, host="a.example"):
        name = f"http://{host}/{relevance}"
        ((url_id, _),) = db.urls.discover([NewUrl(name, host, hash(name))])
        canonical.add(Page(name, host, text="text " * 1000, terms={"markov": 1}), url_id, relevance)

    def test_the_most_uncertain_of_many_hosts(self, kept):
        db, _, canonical = kept
        for number in range(40):
            self.add(db, canonical, number / 80, "ab"[number % 2] + ".example")
        worths = sorted(row.worth for row in db.texts.kept())
        assert worths == pytest.approx([2 * number / 80 for number in range(34, 40)])

    def test_no_host_has_all(self, kept):
        db, _, canonical = kept
        for number in range(20):
            self.add(db, canonical, 0.4 + number / 1000)
        for number in range(3):
            self.add(db, canonical, 0.1 + number / 1000, "b.example")
        assert sorted(row.host[0] for row in db.texts.kept()) == list("aaabbb")
        assert min(row.worth for row in db.texts.kept() if row.host == "a.example") == pytest.approx(2 * 0.417)

    def test_all_are_judged_anew_by_another_model(self, kept, monkeypatch):
        monkeypatch.setattr(active_learning, "REJUDGED", 2)
        db, topic, canonical = kept
        for number in range(5):
            self.add(db, canonical, number / 10, f"{number}.example")
        topic.relearn([])
        for _ in range(4):
            canonical.work()
        expected = uncertainty(topic.of_terms({"markov": 1}))
        assert [row.worth for row in db.texts.kept()] == pytest.approx([expected] * 5)

    def test_excerpts_are_short(self, kept):
        db, _, canonical = kept
        self.add(db, canonical, 0.5)
        (one,) = db.texts.questions()
        assert active_learning.EXCERPT - 20 < len(one.excerpt) <= active_learning.EXCERPT
        assert one.excerpt.endswith(" …")  # after a whole word


# What the crawl makes of marks


def fit(unlabelled, yes, no):
    model = Relevance()
    others = [{f"word{n}": 1} for n in range(60)]
    model.fit([{"markov": 2, "chain": 1}, *yes], Background.from_documents([*others, *unlabelled]), no)
    return model


def show(runner, db, number, words, links=()):
    url = f"{TOP}{number}"
    db.urls.discover([NewUrl(url, "a.example", number)])
    shown = Page(url, "a.example", terms=dict.fromkeys(words.split(), 1))
    return runner.scores(shown, runner.relevance.of(shown), [Link(link) for link in links])


def mark(runner, number, *, is_relevant):
    runner.relevance.marks.give(number, f"{TOP}{number}", is_relevant=is_relevant)


class TestGuide:
    @pytest.fixture
    def crawled(self, tmp_path, monkeypatch):
        monkeypatch.setattr(visits, "EVERY", 30)
        db = SqliteCrawlDB(tmp_path)
        config = Config(topic=tmp_path, warmup_pages=4, strategy="hmm-dynamic")
        fits = []

        def fitted(unlabelled, yes, no):
            fits.append((len(unlabelled), len(yes), len(no)))
            return fit(unlabelled, yes, no)

        def begin():
            runner = StrategyRunner(config, db)
            runner.relevance.learn(fitted)
            return runner

        runner = begin()

        def crawl_on(runner, pages, begun=1):
            for number in range(begun, begun + pages):
                runner.learn_anew(number)
                show(
                    runner,
                    db,
                    number,
                    f"jazz swing word{number}" if number % 2 else f"markov word{number}",
                    [f"/{number}x"],
                )
                db.commit()

        yield db, runner, fits, begin, crawl_on
        db.close()

    def test_a_mark_is_learnt_from_with_the_next_page_and_at_every_stage(self, crawled):
        db, runner, fits, _, crawl_on = crawled  # noqa: RUF059
        crawl_on(runner, 6)
        before = runner.relevance.of_terms({"jazz": 1, "swing": 1})
        mark(runner, 1, is_relevant=True)
        mark(runner, 2, is_relevant=False)
        runner.learn_anew(7)
        assert fits[-1][1:] == (1, 1)
        assert runner.relevance.of_terms({"jazz": 1, "swing": 1}) > before + 0.1
        stages = len(fits)
        crawl_on(runner, 14, 7)
        assert len(fits) == stages + 1  # once at page 16, and never for the same marks
        assert fits[-1][1:] == (1, 1)

    def test_links_found_earlier_get_other_scores(self, crawled):
        db, runner, _, _, crawl_on = crawled  # noqa: RUF059
        crawl_on(runner, 8)
        for _ in range(3):
            runner.learn_anew(8)
        for number in (1, 3, 5):
            mark(runner, number, is_relevant=True)
        scores = {}
        for _ in range(4):
            scores |= runner.learn_anew(8)
        assert scores["/7x"] > scores["/8x"] / 2
        assert scores["/1x"] >= max(scores["/2x"], scores["/7x"])

    def test_the_last_word_counts(self, crawled):
        db, runner, fits, _, crawl_on = crawled
        crawl_on(runner, 6)
        for said in (True, False, True, False):
            mark(runner, 1, is_relevant=said)
        runner.learn_anew(7)
        assert fits[-1][1:] == (0, 1)
        assert runner.relevance.marks.relevance(f"{TOP}1") == 0.0
        assert [said.is_relevant for said in db.texts.marks()] == [False]

    def test_marks_that_were_not_learnt_from_are_when_the_crawl_goes_on(self, crawled):
        db, runner, fits, begin, crawl_on = crawled  # noqa: RUF059
        crawl_on(runner, 6)
        mark(runner, 1, is_relevant=True)
        again = begin()
        assert again.relevance.marks.are_new
        for _ in range(3):
            again.learn_anew(7)
        assert fits[-1][1:] == (1, 0)
        assert not begin().relevance.marks.are_new
        assert begin().relevance.of(Page(f"{TOP}1", "a.example", terms={"word1": 1})) == 1.0

    def test_a_mark_of_a_page_without_a_text_is_refused(self, crawled):
        db, runner, fits, _, crawl_on = crawled  # noqa: RUF059
        crawl_on(runner, 6)
        with pytest.raises(ValueError, match="no text of that page"):
            mark(runner, 99, is_relevant=True)
        assert not runner.relevance.marks.are_new

    def test_marks_beyond_their_number_are_refused(self, crawled, monkeypatch):
        db, runner, _, _, crawl_on = crawled
        monkeypatch.setattr("scrapy_replica.crawl.topic.marks.MOST", 2)
        crawl_on(runner, 6)
        mark(runner, 1, is_relevant=True)
        mark(runner, 2, is_relevant=True)
        with pytest.raises(ValueError, match="2 pages are marked"):
            mark(runner, 3, is_relevant=True)
        mark(runner, 2, is_relevant=False)
        assert [len(terms) for terms in Marks(db).terms()] == [1, 1]

    def test_marks_that_leave_no_example_change_nothing(self, crawled, monkeypatch, caplog):
        db, runner, fits, _, crawl_on = crawled  # noqa: RUF059
        crawl_on(runner, 6)
        before = runner.relevance.of_terms({"markov": 1})

        def refused(*_):
            raise ValueError("no example is left")

        runner.relevance.learn(refused)
        mark(runner, 1, is_relevant=False)
        crawl_on(runner, 4, 7)
        assert runner.relevance.of_terms({"markov": 1}) == before
        assert not runner.relevance.marks.are_new
        assert [record.levelname for record in caplog.records] == ["ERROR"]

    def test_after_a_checkpoint_the_state_is_that_of_a_crawl_that_was_stopped(self, crawled, monkeypatch):
        db, runner, _, begin, crawl_on = crawled
        monkeypatch.setattr("scrapy_replica.focus.relearning.MOST_PAGES", 4)
        crawl_on(runner, 90)
        assert db.visits.saved_until > 0
        mark(runner, 89, is_relevant=True)
        crawl_on(runner, 6, 91)
        links = [Link("/x", "markov"), Link("/y", "jazz swing")]
        page = Page(f"{TOP}200", "a.example", terms={"jazz": 1})
        again = begin()
        assert not again.relevance.marks.are_new
        expected = runner.scores(page, runner.relevance.of(page), links)[0]
        assert again.scores(page, again.relevance.of(page), links)[0] == pytest.approx(expected)


# A whole crawl


def web():
    """A listing whose pages are of two kinds, both half about what the examples are about."""
    found, urls = {}, {}
    for number in range(1, PAGES):
        kind = "markov" if number % 2 else "jazz"
        urls[number] = f"{TOP}{kind}/{number}"
    for number, url in urls.items():
        special = "hidden markov chain states " if number % 2 else "swing jazz trumpet blues "
        links = [urls[other] for other in ((2 * number) % PAGES, (2 * number + 1) % PAGES) if other]
        words = special * 12 + "music theory lecture notes " * 6
        title = f"{number} <b>\x1b[31m" + "x" * 10_000
        found[url] = page(links, seed=number, title=title).replace("<p>", f"<p>{words}{'y' * 300} ")
    found[TOP] = page([urls[1], urls[2], urls[3]], seed=0)
    return found


@pytest.fixture
def topic(tmp_path):
    path = tmp_path / "topic.jsonl"
    rows = [{"text": "music theory lecture notes " * 10 + text(("example", n))} for n in range(4)]
    rows += [{"text": text(("other", n)), "label": "unlabelled"} for n in range(120)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def settings(topic, job, **more):
    return {
        **REPLICA,
        "REPLICA_TOPIC": str(topic),
        "REPLICA_WARMUP_PAGES": 10,
        "REPLICA_PROBES": 0,
        "REPLICA_TRAPS": False,
        "CONCURRENT_REQUESTS": 1,
        "JOBDIR": str(job),
        **more,
    }


def mean_place(result, kind):
    return float(np.mean([place for place, url in enumerate(result.urls) if f"/{kind}/" in url]))


@pytest_asyncio.fixture
async def job(topic, tmp_path):
    begun = settings(topic, tmp_path / "job", CLOSESPIDER_PAGECOUNT=30)
    await crawl(TopicSpider, web(), begun, seeds=TOP)
    return tmp_path / "job"


def give(job, said):
    with ordering(str(job)) as give:
        for url, is_relevant in said.items():
            give(MARK, {"url": url, "is_relevant": is_relevant})


@pytest.mark.asyncio
class TestCrawl:
    async def test_marks_change_the_order_and_lose_nothing(self, topic, job, tmp_path):
        with reading(str(job)) as reader:
            asked = asked_about(reader, 10)
        assert len(asked) == 10
        orders = {}
        for name, kind in (("markov", "markov"), ("jazz", "jazz")):
            copy = tmp_path / name
            shutil.copytree(job, copy)
            give(copy, {one.url: f"/{kind}/" in one.url for one in asked})
            orders[name] = await crawl(TopicSpider, web(), settings(topic, copy), seeds=TOP)
            assert orders[name].unfinished == {}
            assert "replica/page/error" not in orders[name].stats
            with reading(str(copy)) as reader:
                assert all(order.is_done for order in reader.orders(20))
                views = {one.url: reader.url(one.url).page.relevance for one in asked}
            assert views == {one.url: float(f"/{kind}/" in one.url) for one in asked}
        assert sorted(orders["markov"].urls) == sorted(orders["jazz"].urls)
        assert mean_place(orders["markov"], "markov") < mean_place(orders["jazz"], "markov") - 5
        assert mean_place(orders["jazz"], "jazz") < mean_place(orders["markov"], "jazz") - 5

    async def test_a_running_crawl_takes_them_up(self, topic, tmp_path, monkeypatch):
        monkeypatch.setattr("scrapy_replica.components.extension.ORDERS_SECONDS", 0.001)
        job, asked = tmp_path / "job", []
        said = {f"{TOP}markov/1": True, "http://nowhere.example/": True, f"{TOP}jazz/2": False}

        async def told(request):
            asked.append(request.url)
            await asyncio.sleep(0.01)
            if len(asked) == 30:
                threading.Thread(target=give, args=(job, said)).start()
            return web()[request.url]

        result = await crawl(TopicSpider, told, settings(topic, job), seeds=TOP)
        assert result.unfinished == {}
        with reading(str(job)) as reader:
            orders = {order.what["url"]: order for order in reader.orders(10)}
            assert {mark.url: mark.is_relevant for mark in reader.texts.marks()} == {
                f"{TOP}markov/1": True,
                f"{TOP}jazz/2": False,
            }
            assert reader.meta(LEARNT) == b"2"
        assert orders["http://nowhere.example/"].answer == f"{NOT_DONE}no page of the crawl links there"
        assert orders[f"{TOP}markov/1"].is_done

    async def test_examples_given_by_url_are_fetched_once_and_learnt_with_marks(self, topic, tmp_path):
        example = "http://e.example/"
        pages = web() | {example: page(seed="example", title="example").replace("<p>", "<p>" + "music theory " * 30)}
        (tmp_path / "urls.txt").write_text(example)
        kept = settings(tmp_path / "urls.txt", tmp_path / "job", REPLICA_BACKGROUND=str(topic))
        first = await crawl(TopicSpider, pages, {**kept, "CLOSESPIDER_PAGECOUNT": 25}, seeds=TOP)
        assert first.urls.count(example) == 1
        give(tmp_path / "job", {f"{TOP}markov/1": True})
        second = await crawl(TopicSpider, pages, kept, seeds=TOP)
        assert example not in second.urls
        assert second.unfinished == {}
        with reading(str(tmp_path / "job")) as reader:
            model = relevance_model(reader)
            assert reader.meta(LEARNT) == b"1"
        assert model.relevance({"hidden": 3, "markov": 3, "chain": 3}) > model.relevance({"swing": 3, "jazz": 3})

    async def test_without_a_topic_the_answer_says_so(self, tmp_path):
        plain = {**REPLICA, "JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 5}
        await crawl(TopicSpider, web(), plain, seeds=TOP)
        give(tmp_path, {"http://a.example/markov/1": True})
        await crawl(TopicSpider, web(), plain, seeds=TOP)
        with reading(str(tmp_path)) as reader:
            (order,) = reader.orders(10)
        assert order.answer.startswith(f"{NOT_DONE}the crawl has no examples of a topic")


@pytest.mark.asyncio
class TestCommand:
    async def test_asks_and_gives_the_answers(self, job, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO("y\nwhat?\nN\nskip\nq\n"))
        code, out, _ = replica("judge", job)
        assert code == 0
        assert "4 of 10, score" in out
        assert "5 of 10" not in out
        assert "2 pages marked: the crawl learns from the answers when it goes on" in out
        assert "\x1b" not in out
        assert all(len(line) <= 80 for line in out.splitlines())
        with reading(str(job)) as reader:
            assert [order.what["is_relevant"] for order in reader.orders(10)] == [False, True]
            said = {order.what["url"] for order in reader.orders(10)}
            assert not said & {one.url for one in asked_about(reader, 100)}

    async def test_json_and_marks_by_url(self, job):
        code, out, _ = replica("judge", job, "--json", "--most", 4)
        pages = json.loads(out)["pages"]
        assert code == 0
        assert len(pages) == 4
        assert all(0 <= one["relevance"] <= 1 and one["excerpt"] for one in pages)
        yes, no = pages[0]["url"], pages[1]["url"]
        code, out, _ = replica("judge", job, "--yes", f"{yes}#part", "--no", no)
        assert (code, out) == (0, "2 pages marked: the crawl learns from the answers when it goes on\n")
        with reading(str(job)) as reader:
            assert {order.what["url"]: order.what["is_relevant"] for order in reader.orders(9)} == {
                yes: True,
                no: False,
            }
        code, out, _ = replica("explain", yes, "--job", job)
        assert "words for the topic: " in out

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--yes", "http://nowhere.example/"), "nothing is known of http://nowhere.example/"),
            (("--yes", "no url"), "nothing is known of no url"),
            (("--yes", TOP, "--no", TOP), "is given with --yes and with --no"),
            (("--most", "0"), "--most is 0"),
        ],
    )
    async def test_wrong_use(self, job, arguments, told):
        code, _, err = replica("judge", job, *arguments)
        assert code == 2
        assert told in err
        assert err.count("\n") == 1
        with reading(str(job)) as reader:
            assert reader.orders(9) == []

    async def test_a_crawl_without_a_topic(self, tmp_path):
        await crawl(TopicSpider, web(), {**REPLICA, "JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 3}, seeds=TOP)
        code, _, err = replica("judge", tmp_path)
        assert code == 2
        assert "that crawl has no topic to learn; begin one with --topic" in err

    async def test_no_job(self, tmp_path):
        code, _, err = replica("judge", tmp_path)
        assert code == 2
        assert err.count("\n") == 1
