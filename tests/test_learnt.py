"""What a crawl has learnt: told by explain and the statistics, saved, and given to another crawl."""

from __future__ import annotations

import json
import math
import os
import re

import numpy as np
import pytest
from scrapy.cmdline import execute
from web import REPLICA, crawl, page, text

from scrapy_replica import TopicSpider
from scrapy_replica.commands.explain import explain_score, explain_url
from scrapy_replica.commands.explain_text import in_words
from scrapy_replica.commands.job import reading
from scrapy_replica.config import ConfigError
from scrapy_replica.crawl.order.recipe import Recipe, made_again
from scrapy_replica.crawldb.contract import RELEVANCE
from scrapy_replica.focus import model_file
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.model_file import Learnt, dump, load
from scrapy_replica.focus.state import MOST, pack, unpack
from scrapy_replica.focus.strategies.link_aware import LinkAware
from scrapy_replica.pages.terms import terms as count_terms

PAGES = 70
STRATEGIES = ("best-first", "best-first-anchors", "hmm-static", "hmm-dynamic", "hmm-second-order", "link-aware")


def web(top="http://a.example/", seed=""):
    """Pages of ten kinds: hubs, the fourth kind, speak of wine and lead to the topic, the fifth and sixth, and these
    to each other and to hubs; the others lead anywhere."""
    urls = [top] + [f"{top}{n}" for n in range(1, PAGES)]
    found = {}
    for number, url in enumerate(urls):
        kind, ten = number % 10, number // 10
        links = [urls[(3 * number + step) % PAGES] for step in range(1, 6)]
        if kind in {4, 5, 6}:
            near = [(ten + step) % 7 * 10 for step in (0, 1, 3)]
            links = [urls[each + other] for each in near for other in ((5, 6) if kind == 4 else (4, 5))]
        words = "markov chain hidden model " * 15 if kind in {5, 6} else "grape wine cellar barrel " * 8 * (kind == 4)
        found[url] = page(links, seed=(seed, number)).replace("<p>", f"<p>{words}", 1)
    return found


def is_topical(url):
    return url.endswith(("5", "6"))


@pytest.fixture(scope="module")
def topic(tmp_path_factory):
    path = tmp_path_factory.mktemp("topic") / "topic.jsonl"
    rows = [{"text": "markov chain hidden model " * 10 + text(("example", n))} for n in range(8)]
    rows += [{"text": text(("other", n)), "label": "unlabelled"} for n in range(250)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def settings(strategy, topic, **more):
    topic = {"REPLICA_TOPIC": str(topic)} if topic else {}
    return {
        **REPLICA,
        "REPLICA_STRATEGY": strategy,
        "REPLICA_WARMUP_PAGES": 10,
        "REPLICA_TRAPS": False,
        "REPLICA_PROBES": 0,
        "CONCURRENT_REQUESTS": 1,
        **topic,
        **more,
    }


@pytest.fixture(scope="module")
def jobs(topic, tmp_path_factory):
    """Folder of a job that was stopped after some 40 pages, and its statistics, for each strategy."""
    found = {}

    async def made(strategy):
        if strategy not in found:
            job = tmp_path_factory.mktemp(strategy)
            stopped = {"JOBDIR": str(job), "CLOSESPIDER_PAGECOUNT": 40}
            result = await crawl(TopicSpider, web(), settings(strategy, topic, **stopped), seeds="http://a.example/")
            found[strategy] = job, result
        return found[strategy]

    return made


@pytest.mark.asyncio
class TestExplained:
    @pytest.mark.parametrize("strategy", STRATEGIES)
    async def test_the_parts_of_a_score_sum_to_it(self, strategy, jobs):
        job, result = await jobs(strategy)
        waiting = [url for url, states in result.states.items() if states == ["waiting"]]
        told = 0
        with reading(str(job)) as db:
            now = made_again(db)
            for url in waiting:
                known = explain_url(db, url)
                score = explain_score(db, known)
                asked = now.scores_now([url])
                expected = known["score"] if asked is None else asked[0]
                assert score["score now"] == pytest.approx(expected, abs=1e-4)
                assert known["state"] == "waiting"
                told += len(score["score parts"])
                lines = in_words(known | score).splitlines()
                assert max(map(len, lines)) <= 80
        assert told

    async def test_a_strategy_that_is_away_leaves_the_rest(self, jobs, monkeypatch, capsys):
        job, result = await jobs("best-first")
        waiting = next(url for url, states in result.states.items() if states == ["waiting"])
        monkeypatch.setattr(Recipe, "kept", lambda _: Recipe("away_now:Mine", 0, "en"))
        execute_replica("explain", waiting, "--job", job)
        out = capsys.readouterr().out
        assert "state: waiting" in out
        assert "score now: cannot be told: " in out
        assert "away_now" in out

    async def test_in_words(self, jobs, capsys):
        job, result = await jobs("hmm-dynamic")
        waiting = next(url for url, states in reversed(result.states.items()) if states == ["waiting"])
        execute_replica("explain", waiting, "--job", job)
        lines = capsys.readouterr().out.splitlines()
        assert "what the score is made of: value x weight" in lines
        assert any(line.startswith("  relevance of the page that links to it") for line in lines)
        assert any(
            line.startswith("distance of that page from the topic: ") and "as estimated" in line for line in lines
        )

    async def test_a_fetched_page_tells_its_distance(self, jobs):
        job, result = await jobs("link-aware")
        hub = next(url for url in reversed(result.urls) if url.endswith("4"))
        with reading(str(job)) as db:
            known = explain_url(db, hub)
            told = explain_score(db, known)
        assert known["state"] == "done"
        assert known["relevance"] < 0.5
        assert told["distance"]["known"] == 1
        assert 0 <= told["distance"]["estimated"] <= told["distance"]["far"] == 6

    async def test_without_topic_nothing_is_made_up(self, tmp_path):
        plain = {**REPLICA, "JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 20}
        result = await crawl(TopicSpider, web(), plain, seeds="http://a.example/")
        with reading(str(tmp_path)) as db:
            known = explain_url(db, result.urls[-1])
            assert explain_score(db, known) == {}


def execute_replica(*arguments):
    with pytest.raises(SystemExit) as left:
        execute(["scrapy", "replica", *map(str, arguments)])
    return left.value.code


@pytest.mark.asyncio
class TestStatistics:
    @pytest.mark.parametrize("strategy", ["hmm-dynamic", "link-aware"])
    async def test_say_how_often_the_distance_was_right(self, strategy, jobs):
        job, result = await jobs(strategy)
        known = right = near = 0
        with reading(str(job)) as db:
            now = made_again(db)
            for url in result.urls:
                told = now.distance(url)
                if told is not None and told.estimated is not None and 0 < told.known < told.far:
                    known += 1
                    right += told.estimated == told.known
                    near += abs(told.estimated - told.known) <= 1
        assert known > 10
        assert 0 < right < known
        counts = {name: result.stats[f"replica/distance/{name}"] for name in ("known", "right", "near")}
        assert counts == {"known": known, "right": right, "near": near}


def places(result):
    """Mean place of the pages on topic in the order of the crawl, 0..1."""
    return np.mean([place for place, url in enumerate(result.urls) if is_topical(url)]) / len(result.urls)


B = "http://b.example/"


def bayes_with(**parts):
    """A relevance model with some parts of its B-PrTFIDF replaced."""
    bayes = {"p": 0.5, "empty_words": 10.0, "weights": {"wine": 1.0}, **parts}
    return pack({"bayes": json.dumps(bayes).encode(), "regression": b""})


@pytest.mark.asyncio
class TestModel:
    @pytest.mark.parametrize("strategy", ["best-first", "hmm-dynamic", "link-aware", "auto"])
    async def test_another_crawl_begins_with_it(self, strategy, jobs, tmp_path, capsys):
        """On other pages of the kind, without examples, it finds the topic earlier than by discovery."""
        job, _ = await jobs("link-aware" if strategy == "auto" else strategy)
        file = tmp_path / "wine.npz"
        assert execute_replica("export", job, "model", "--out", file) == 0
        assert "what is relevant" in " ".join(capsys.readouterr().out.split())
        begun = settings(strategy, None, REPLICA_TOPIC_MODEL=str(file), JOBDIR=str(tmp_path / "job"))
        first = await crawl(TopicSpider, web(B, "b"), {**begun, "CLOSESPIDER_PAGECOUNT": 30}, seeds=B)
        file.unlink()
        second = await crawl(TopicSpider, web(B, "b"), begun, seeds=B)
        first.urls += second.urls
        assert sorted(first.urls) == sorted(web(B, "b"))
        assert {item["relevance"] > 0.5 for item in first.items if is_topical(item["url"])} == {True}
        plain = await crawl(TopicSpider, web(B, "b"), settings("breadth-first", None), seeds=B)
        assert places(first) < places(plain) - 0.1

    async def test_what_the_links_taught_is_there_from_the_first_page(self, jobs):
        job, _ = await jobs("link-aware")
        with reading(str(job)) as db:
            learnt = made_again(db)
        fresh = LinkAware(LinkWords(lambda _: 0.0, count_terms))
        fresh.begin_with(load(dump(Learnt(b"", learnt.learnt()))).strategy)
        context, before = fresh.hmm.context, learnt.hmm.context
        for new, old in zip(fresh.heads, learnt.heads, strict=True):
            assert new.model.weights.tolist() == old.model.weights.tolist()
            assert new.link_words.state()["weights"].tolist() == old.link_words.state()["weights"].tolist()
        grape, grapes = context.terms.ids["grape"], before.terms.ids["grape"]
        assert context.model.state()["weights"][grape].tolist() == before.model.state()["weights"][grapes].tolist()
        assert fresh.graph.urls.used == 1

    async def test_no_url_is_in_it(self, jobs, tmp_path):
        job, _ = await jobs("link-aware")
        file = tmp_path / "model.npz"
        execute_replica("export", job, "model", "--out", file)
        found = load(file.read_bytes())
        words = unpack(found.relevance)["bayes"]
        assert b"markov" in words
        assert b"example" not in words
        assert not [term for term in found.strategy["layers"]["terms"]["terms"] if "example" in term or "/" in term]

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "it is no model that 'scrapy replica export JOB model' wrote"),
            (b"{}", "it is no model"),
            (pack({"kind": "judge"}), "it is no model"),
            (dump(Learnt(b"", {}))[:-40], "it is no model"),
            (pack({"kind": model_file.KIND, "version": 1}), "it is a model of version 1, and this one reads 4"),
            (pack({"kind": model_file.KIND, "version": model_file.VERSION}), "it is damaged"),
            (
                pack({"kind": model_file.KIND, "version": model_file.VERSION, "relevance": b"", "pieces": -1}),
                "it is damaged",
            ),
            (dump(Learnt(b"nothing", {})), "its relevance model is damaged"),
            (dump(Learnt(bayes_with(p=1.0), {})), "its relevance model is damaged"),
            (dump(Learnt(bayes_with(weights={"wine": math.nan}), {})), "its relevance model is damaged"),
            (pack({"kind": model_file.KIND, "zeros": np.zeros(MOST // 8 + 1)}), "it is no model"),
            (None, "No such file"),
        ],
    )
    async def test_what_is_none_is_refused_in_one_line(self, content, says, tmp_path, caplog):
        file = tmp_path / "model.npz"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigError, match=r"REPLICA_TOPIC_MODEL: .*model\.npz: ") as refused:
            await crawl(TopicSpider, web(), settings("link-aware", None, REPLICA_TOPIC_MODEL=str(file)), seeds=B)
        assert says in str(refused.value)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize(
        ("head", "part", "spoil"),
        [
            ("chance", "weights", lambda weights: weights[:-1]),
            ("chance", "weights", lambda weights: np.full_like(weights, math.nan)),
            ("return", "page_words", lambda weights: np.full_like(weights, math.nan)),
            ("return", "link_words", lambda weights: np.full_like(weights, math.nan)),
            ("return", "link_words", lambda weights: weights.tolist() * 2),
        ],
    )
    async def test_a_strategy_that_cannot_judge_is_refused(self, head, part, spoil, jobs, tmp_path):
        job, _ = await jobs("link-aware")
        with reading(str(job)) as db:
            relevance, learnt = db.meta(RELEVANCE), made_again(db).learnt()
        learnt[head][part] = spoil(learnt[head][part])
        file = tmp_path / "model.npz"
        file.write_bytes(dump(Learnt(relevance, learnt)))
        begun = settings("link-aware", None, REPLICA_TOPIC_MODEL=str(file))
        with pytest.raises(ConfigError, match=r"REPLICA_TOPIC_MODEL.*: it is damaged$"):
            await crawl(TopicSpider, web(), begun, seeds=B)

    async def test_other_settings_and_a_topic_beside_it_are_refused(self, jobs, topic, tmp_path):
        job, _ = await jobs("hmm-dynamic")
        file = tmp_path / "model.npz"
        execute_replica("export", job, "model", "--out", file)
        for more, says in (
            ({"REPLICA_TOPIC": str(topic)}, r"REPLICA_TOPIC and REPLICA_TOPIC_MODEL \(--model\) are both set"),
            (
                {"REPLICA_BACKGROUND": str(topic)},
                r"REPLICA_BACKGROUND and REPLICA_TOPIC_MODEL \(--model\) are both set",
            ),
            ({"JOBDIR": str(job)}, "REPLICA_TOPIC_MODEL: the crawl began without a model"),
        ):
            begun = settings("hmm-dynamic", None, REPLICA_TOPIC_MODEL=str(file), **more)
            with pytest.raises(ConfigError, match=says):
                await crawl(TopicSpider, web(), begun, seeds=B)

    @pytest.mark.parametrize("name", ["", "missing/m.npz", "a.txt/m.npz", "job", "fifo"])
    async def test_what_cannot_be_written_is_one_line_and_leaves_nothing(self, name, jobs, tmp_path, capsys):
        job, _ = await jobs("best-first")
        (tmp_path / "job").mkdir()
        (tmp_path / "a.txt").touch()
        os.mkfifo(tmp_path / "fifo")
        before = sorted(tmp_path.rglob("*"))
        assert execute_replica("export", job, "model", "--out", tmp_path / name) == 2
        assert re.fullmatch(r"scrapy replica export: .*: .*\n", capsys.readouterr().err)
        assert sorted(tmp_path.rglob("*")) == before
        assert (tmp_path / "fifo").is_fifo()

    async def test_a_link_stays_a_link(self, jobs, tmp_path):
        job, _ = await jobs("best-first")
        (tmp_path / "link.npz").symlink_to(tmp_path / "m.npz")
        assert execute_replica("export", job, "model", "--out", tmp_path / "link.npz") == 0
        assert (tmp_path / "link.npz").is_symlink()
        assert load((tmp_path / "m.npz").read_bytes())

    async def test_a_crawl_without_topic_has_none(self, tmp_path, capsys):
        job = {**REPLICA, "JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_PAGECOUNT": 5}
        await crawl(TopicSpider, web(), job, seeds="http://a.example/")
        assert execute_replica("export", tmp_path / "job", "model", "--out", tmp_path / "x.npz") == 2
        assert "that crawl has learnt nothing, for it had no topic" in capsys.readouterr().err
        assert not (tmp_path / "x.npz").exists()
