"""Whatever people write, the add-on gives the items, and asks for the pages, that Scrapy alone does."""

from __future__ import annotations

import logging
from collections import Counter

import pytest
from web import REPLICA, crawl

from idioms.catalogue import IDIOMS, Server

pytestmark = pytest.mark.asyncio

MODES = ("observe", "demote", "drop")


@pytest.fixture(autouse=True)
def _quiet():
    """Spiders that raise are among them."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


async def outcome(idiom, settings, job):
    """Items, requests, how each run ended, and errors of callbacks."""
    server, spidercls = Server(), idiom.make()
    settings = {**idiom.settings, **settings, **({"JOBDIR": str(job)} if idiom.has_job else {})}
    results = [await crawl(spidercls, server, settings) for _ in range(1 + idiom.has_job)]
    items = Counter(repr(item) for result in results for item in result.items)
    ends = [result.stats["finish_reason"] for result in results]
    errors = [result.stats.get("spider_exceptions/count", 0) for result in results]
    return items, server.requests if idiom.is_ordered else Counter(server.requests), ends, errors


async def test_there_are_forty():
    assert len({idiom.name for idiom in IDIOMS}) >= 40


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)
async def test_is_as_without(idiom, tmp_path):
    plain = await outcome(idiom, {}, tmp_path / "plain")
    assert plain[0], "it gives no item, and would show nothing"
    for mode in MODES:
        ours = await outcome(idiom, {**REPLICA, "REPLICA_MODE": mode}, tmp_path / mode)
        assert (mode, *ours) == (mode, *plain)
