"""A score of the user's own: it orders the crawl, and what is wrong with it stops nothing."""

from __future__ import annotations

import json
import time

import pytest
from test_strategy_runner import TOP, settings, web
from web import REPLICA, crawl

from scrapy_replica import TopicSpider
from scrapy_replica.config import ConfigError

CALLS: list[tuple[str, float]] = []


def by_directory(page, relevance):
    CALLS.append((page.url, relevance))
    return 0.9 if "/markov/" in page.url else 0.1


def raises(page, relevance):
    raise RuntimeError("no model")


def no_number(page, relevance):
    return float("nan")


def far_out(page, relevance):
    return 7


def no_opinion(page, relevance):
    return None


def slow(page, relevance):
    time.sleep(0.006)
    return 0.5


NOT_CALLABLE = 3


def scored(name, topic=None, **more):
    chosen = {**settings("auto", topic), "REPLICA_SCORER": f"{__name__}:{name}", **more}
    return {key: value for key, value in chosen.items() if key != "REPLICA_TOPIC" or topic is not None}


@pytest.mark.asyncio
class TestScorer:
    async def test_orders_a_crawl_without_a_topic_and_goes_on_after_a_stop(self, tmp_path):
        pages = web(200)
        on_topic = {url for url in pages if "/markov/" in url}
        CALLS.clear()
        kept = scored("by_directory", JOBDIR=str(tmp_path))
        first = await crawl(TopicSpider, pages, {**kept, "CLOSESPIDER_PAGECOUNT": 60}, seeds=TOP)
        assert len(on_topic & set(first.urls)) > 0.8 * len(on_topic)
        assert {item["relevance"] for item in first.items} == {0.9, 0.1}
        assert {relevance for _, relevance in CALLS} == {0.0}
        rest = await crawl(TopicSpider, pages, kept, seeds=TOP)
        assert {*first.urls, *rest.urls} == set(pages)
        assert [url for url, _ in CALLS] == [*first.urls, *rest.urls]  # each page once, also of what is shown again

    async def test_is_given_the_relevance_of_a_topic(self, tmp_path):
        topic = tmp_path / "topic.jsonl"
        topic.write_text(json.dumps({"text": "markov chain hidden model " * 10}))
        CALLS.clear()
        result = await crawl(TopicSpider, web(), scored("by_directory", topic), seeds=TOP)
        told = dict(CALLS)
        assert min(told[url] for url in told if "/markov/" in url) > max(told[url] for url in told if "/misc/" in url)
        assert result.stats["replica/scorer/called"] == len(web())

    @pytest.mark.parametrize("name", ["raises", "no_number"])
    async def test_one_that_fails_leaves_the_topic_s_relevance(self, name, caplog):
        result = await crawl(TopicSpider, web(), scored(name, "hidden markov models"), seeds=TOP)
        assert set(result.urls) == set(web())
        assert result.stats["replica/scorer/failed"] == len(web())
        assert len([line for line in caplog.messages if "its relevance by the topic counts" in line]) == 3
        assert max(item["relevance"] for item in result.items) > 0.5

    async def test_none_is_no_opinion_and_numbers_are_cut_off(self):
        result = await crawl(TopicSpider, web(), scored("no_opinion", "hidden markov models"), seeds=TOP)
        assert "replica/scorer/failed" not in result.stats
        assert max(item["relevance"] for item in result.items) > 0.5
        result = await crawl(TopicSpider, web(), scored("far_out"), seeds=TOP)
        assert {item["relevance"] for item in result.items} == {1.0}

    async def test_a_slow_one_is_told_once(self, caplog, monkeypatch):
        monkeypatch.setattr("scrapy_replica.focus.scorer.SLOW_S", 0.005)
        await crawl(TopicSpider, web(30), scored("slow"), seeds=TOP)
        assert len([line for line in caplog.messages if "s a page, in which nothing is fetched" in line]) == 1

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("nowhere:x", "'nowhere:x' cannot be imported as module:callable"),
            (f"{__name__}:missing", "cannot be imported as module:callable"),
            ("no_colon", "names no function: write module:function"),
            (f"{__name__}:NOT_CALLABLE", "cannot be called"),
        ],
    )
    async def test_one_that_is_none_is_refused(self, name, says):
        with pytest.raises(ConfigError, match=says):
            await crawl(TopicSpider, web(), {**REPLICA, "REPLICA_SCORER": name}, seeds=TOP)

    async def test_one_whose_model_is_missing_is_refused(self, tmp_path, monkeypatch):
        (tmp_path / "embedder.py").write_text("model = open('/models/none/config.json')\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(
            ConfigError, match=r"'embedder:score' cannot be imported .* FileNotFoundError: .*/models/none"
        ):
            await crawl(TopicSpider, web(), {**REPLICA, "REPLICA_SCORER": "embedder:score"}, seeds=TOP)
