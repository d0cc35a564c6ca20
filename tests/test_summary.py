"""The first and the last line in the log of an ordinary spider; the figure is true of a web that is known."""

from __future__ import annotations

import logging

import pytest
from hostile.building import site
from web import REPLICA, crawl

from scrapy_replica import TopicSpider
from scrapy_replica.coverage import Summary
from scrapy_replica.decision import Mode
from scrapy_replica.words.phrases import summary

HOST = "site.example"
N = 60


@pytest.mark.asyncio
async def test_what_was_saved_is_told_at_the_end(caplog):
    caplog.set_level(logging.INFO, logger="scrapy_replica")
    result = await crawl(TopicSpider, site(HOST, N), REPLICA | {"LOG_LEVEL": "INFO"}, seeds=f"http://{HOST}/")
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("scrapy-replica:")]
    assert told == [
        "scrapy-replica: mode demote, order breadth-first, kept in memory: give a JOBDIR to go on later",
        f"scrapy-replica: at least 0 of {N} requests saved (0 %); 0 rules and 0 mirrors in force; 0 tests",
    ]
    assert result.stats["replica/saved"] == 0


def test_in_words():
    told = summary(Summary(Mode.DEMOTE, 336, 1_561, 4, 0, 52, 0))
    assert told == "at least 336 of 1,897 requests saved (18 %); 4 rules and 0 mirrors in force; 52 tests, none wrong"
    told = summary(Summary(Mode.OBSERVE, 0, 1_561, 4, 0, 52, 0))
    assert told == "1,561 URLs fetched; REPLICA_MODE is observe, so nothing is saved"
