"""Collections of the garbage collector stay short, and still collect."""

from __future__ import annotations

import gc
import weakref
from typing import ClassVar

import pytest
from scrapy import Spider
from web import REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.components import garbage
from scrapy_replica.components.garbage import LongLived


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _nothing_is_spared():
    gc.unfreeze()


@pytest.fixture
def long_lived(monkeypatch):
    monkeypatch.setattr(LongLived, "is_first", False)
    spared = LongLived()
    spared.open()
    yield spared
    spared.close()
    assert gc.get_freeze_count() == 0


def test_what_is_garbage_is_collected(long_lived):
    cycle = weakref.ref(Cycle())
    gc.collect()
    assert cycle() is None


def test_what_survives_a_long_collection_is_spared(long_lived, monkeypatch):
    monkeypatch.setattr(garbage, "LONG", 0.0)
    kept = [Cycle() for _ in range(1000)]
    gc.collect()
    assert not any(found is kept[0] for found in gc.get_objects())


def test_collections_of_young_objects_spare_nothing(long_lived, monkeypatch):
    monkeypatch.setattr(garbage, "LONG", 0.0)
    kept = Cycle()
    gc.collect(1)
    assert any(found is kept for found in gc.get_objects())


def test_what_was_spared_and_became_garbage_goes_at_the_end(long_lived, monkeypatch):
    """Else a process that crawls again and again would keep what each crawl left."""
    monkeypatch.setattr(garbage, "LONG", 0.0)
    kept = Cycle()
    was_kept = weakref.ref(kept)
    gc.collect()
    del kept
    gc.collect()
    assert was_kept() is not None
    long_lived.close()
    assert was_kept() is None


def test_short_collections_spare_nothing(long_lived, monkeypatch):
    monkeypatch.setattr(garbage, "LONG", 60.0)
    gc.collect()
    assert gc.get_freeze_count() == 0


def test_what_was_there_before_the_first_crawl_is_spared(monkeypatch):
    monkeypatch.setattr(LongLived, "is_first", True)
    first = LongLived()
    assert gc.get_freeze_count() > 0
    first.open()
    first.close()
    second = LongLived()
    second.open()
    assert gc.get_freeze_count() == 0
    second.close()


def test_young_objects_are_looked_at_less_often_while_a_crawl_runs(long_lived):
    during = gc.get_threshold()
    long_lived.close()
    assert during > gc.get_threshold() == (700, 10, 10)


def test_what_takes_long_comes_sooner(long_lived, monkeypatch):
    young, *_ = gc.get_threshold()
    monkeypatch.setattr(garbage, "LONG", 60.0)
    gc.collect(0)
    assert gc.get_threshold() == (young, 10, 10)
    monkeypatch.setattr(garbage, "LONG", 0.0)
    gc.collect(2)
    assert gc.get_threshold() == (young, 10, 5), "full ones alone: of young objects there are not too many"
    gc.collect(0)
    assert gc.get_threshold() == (young // 2, 5, 2)
    for _ in range(10):
        gc.collect(0)
    assert gc.get_threshold() == garbage.LEAST
    long_lived.close()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_who_set_when_to_collect_keeps_it(generation, monkeypatch):
    monkeypatch.setattr(garbage, "LONG", 0.0)
    gc.set_threshold(800, 9, 8)
    spared = LongLived()
    try:
        spared.open()
        gc.collect(generation)
        assert gc.get_threshold() == (800, 9, 8)
        spared.close()
        assert gc.get_threshold() == (800, 9, 8)
    finally:
        gc.set_threshold(700, 10, 10)


@pytest.mark.asyncio
async def test_after_a_crawl_nothing_is_spared(monkeypatch):
    monkeypatch.setattr(garbage, "LONG", 0.0)
    spared = []

    class Looking(TopicSpider):
        def item(self, response):
            gc.collect()
            spared.append(gc.get_freeze_count())
            return super().item(response)

    await crawl(Looking, {"http://a.example/": page()}, REPLICA, seeds="http://a.example/")
    assert spared[0] > 0
    assert gc.get_freeze_count() == 0


@pytest.mark.asyncio
async def test_a_page_goes_when_its_callback_is_through():
    """Scrapy's response and its selector hold each other, so that pages wait for a collection, which come seldom."""
    seen: list[weakref.ref] = []
    alive: list[int] = []

    class Following(Spider):
        name = "following"
        start_urls: ClassVar = ["http://a.example/0"]

        def parse(self, response):
            gc.disable()
            alive.append(sum(one() is not None for one in seen))
            seen.append(weakref.ref(response))
            yield from response.follow_all(css="a")

    try:
        await crawl(Following, {f"http://a.example/{n}": page([f"/{n + 1}"]) for n in range(10)}, REPLICA)
    finally:
        gc.enable()
    assert len(alive) == 10
    assert max(alive) <= 2
