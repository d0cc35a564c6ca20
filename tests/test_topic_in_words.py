"""A topic that is given in words: the order of the crawl, and the pages that it takes for examples."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_strategy_runner import TOP, settings, web
from web import crawl

from scrapy_replica import TopicSpider
from scrapy_replica.components.topic import CHOSEN
from scrapy_replica.config import ConfigError
from scrapy_replica.crawl.order import strategy_runner
from scrapy_replica.crawldb.sqlite.reader import open_reader
from scrapy_replica.focus.background import Background
from scrapy_replica.focus.description import Description
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.topic import load_topic
from scrapy_replica.pages.terms import terms

WORDS = "hidden markov models"
STEMS = st.dictionaries(st.sampled_from(["hidden", "markov", "model", "the", "wine", "chain"]), st.integers(1, 50))


def described(words=WORDS, background=None):
    model = Description()
    model.fit(terms(words, "en"), background or Background.shipped("en"))
    return model


class TestDescription:
    def test_more_of_the_words_and_rarer_ones_count_for_more(self):
        model = described()
        shown = [["model"], ["model", "hidden"], ["model", "hidden", "markov"]]
        one, two, three = (model.relevance({"wine": 100, **dict.fromkeys(words, 5)}) for words in shown)
        assert 0 < one < two < three < 1
        assert one < 0.5 < three
        assert model.relevance({"markov": 5}) > model.relevance({"model": 5})
        assert model.relevance({"wine": 5}) == 0

    def test_the_pages_of_the_crawl_tell_which_words_are_common_there(self):
        pages = [{"markov": 3, f"other{n}": 2} for n in range(200)]
        of_crawl = described(background=Background.shipped("en").with_documents(pages))
        assert of_crawl.relevance({"markov": 5}) < of_crawl.relevance({"hidden": 5})
        assert described().relevance({"markov": 5}) > described().relevance({"hidden": 5})

    @given(STEMS)
    def test_of_any_page_it_is_a_share(self, page):
        assert 0 <= described().relevance(page) < 1

    @pytest.mark.parametrize("has_examples", [False, True])
    def test_a_model_is_kept_and_read(self, has_examples):
        model, again = Relevance(), Relevance()
        model.describe(terms(WORDS, "en"), Background.shipped("en"))
        if has_examples:
            model.fit([{"markov": 3, "chain": 2}], Background.shipped("en"))
        again.load(model.save())
        for page in ({"markov": 2}, {"hidden": 1, "wine": 30}, {"chain": 9}):
            assert again.relevance(page) == pytest.approx(model.relevance(page))
        assert (model.relevance({"chain": 9}) > 0) == has_examples


class TestGiven:
    def test_words_are_a_topic_and_a_file_that_is_there_is_a_file(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert load_topic(WORDS).words == WORDS
        (tmp_path / WORDS).mkdir()
        (tmp_path / WORDS / "a.txt").write_text("markov")
        assert load_topic(WORDS).words == ""

    @pytest.mark.parametrize("given", ["neural nets, e.g. transformers", "wine and cheese. " * 400, "of TCP/IP " * 40])
    def test_sentences_and_whole_pages_are_words(self, given):
        assert load_topic(given).words == given

    @pytest.mark.parametrize("given", ["wine", "some urls.txt", "some pages.jsonl.gz", "../no where"])
    def test_what_may_be_a_file_that_is_missing_is_refused(self, given):
        with pytest.raises(ValueError, match="no such file or folder"):
            load_topic(given)

    @pytest.mark.asyncio
    async def test_a_description_may_be_as_long_as_a_page(self):
        found = await crawl(TopicSpider, web(), settings("auto", f"{WORDS}. " * 300), seeds=TOP)
        assert found.stats["finish_reason"] == "finished"

    @pytest.mark.asyncio
    async def test_words_that_say_nothing_are_refused(self):
        with pytest.raises(ConfigError, match="no word of 'the and of' counts"):
            await crawl(TopicSpider, web(), settings("auto", "the and of"), seeds=TOP)


@pytest.mark.asyncio
class TestCrawl:
    async def test_pages_with_the_words_come_first(self):
        pages = web(200)
        on_topic = {url for url in pages if "/markov/" in url}
        found = {}
        for strategy, topic in (("auto", WORDS), ("breadth-first", WORDS)):
            result = await crawl(TopicSpider, pages, settings(strategy, topic), seeds=TOP)
            assert set(result.urls) == set(pages)
            found[strategy] = len(on_topic & set(result.urls[:60])) / len(on_topic)
        assert found["breadth-first"] < 0.5
        assert found["auto"] > 0.8

    async def test_pages_of_the_crawl_become_examples_and_stay_so(self, tmp_path, monkeypatch, caplog):
        monkeypatch.setattr(strategy_runner, "CHOOSES_AT", 40)
        caplog.set_level(logging.INFO)
        kept = settings("auto", WORDS, JOBDIR=str(tmp_path))
        result = await crawl(TopicSpider, web(), {**kept, "CLOSESPIDER_PAGECOUNT": 50}, seeds=TOP)
        (told,) = (line for line in caplog.messages if line.startswith(f"Taken for examples of the topic {WORDS!r}: "))
        chosen = told.partition(": ")[2].split(", ")
        assert 0 < len(chosen) <= 15
        assert all("/markov/" in url for url in chosen)
        with open_reader(tmp_path / "replica.sqlite") as job:
            assert all(url in job.meta(CHOSEN).decode() for url in chosen)
        rest = await crawl(TopicSpider, web(), kept, seeds=TOP)
        assert {*result.urls, *rest.urls} == set(web())
        assert len([line for line in caplog.messages if line.startswith("Taken for examples")]) == 1

    async def test_a_job_keeps_the_words_that_it_began_with(self, tmp_path):
        kept = settings("auto", WORDS, JOBDIR=str(tmp_path / "job"), CLOSESPIDER_PAGECOUNT=5)
        await crawl(TopicSpider, web(), kept, seeds=TOP)
        for other in ("red wine", str(tmp_path)):
            (tmp_path / "a.txt").write_text("wine")
            with pytest.raises(ConfigError, match=f"the crawl began with the words '{WORDS}'; give these, or another"):
                await crawl(TopicSpider, web(), {**kept, "REPLICA_TOPIC": other}, seeds=TOP)
        await crawl(TopicSpider, web(), kept, seeds=TOP)

    async def test_a_job_that_began_with_examples_takes_no_words(self, tmp_path):
        (tmp_path / "topic").mkdir()
        (tmp_path / "topic" / "a.txt").write_text("markov chain hidden model " * 9)
        kept = settings("auto", tmp_path / "topic", JOBDIR=str(tmp_path / "job"), CLOSESPIDER_PAGECOUNT=5)
        await crawl(TopicSpider, web(), kept, seeds=TOP)
        with pytest.raises(ConfigError, match="the crawl began with examples; give these, or another"):
            await crawl(TopicSpider, web(), {**kept, "REPLICA_TOPIC": WORDS}, seeds=TOP)
