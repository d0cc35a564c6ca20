"""The first and the last line in the log of an ordinary spider; the figure is true of a web that is known."""

from __future__ import annotations

import logging

import pytest
from hostile.building import site
from hostile.copies import GOOD
from hostile.traps import calendar, with_trap
from web import REPLICA, crawl

from scrapy_replica import TopicSpider

HOST = "site.example"
N = 60


@pytest.mark.asyncio
async def test_what_was_saved_is_told_at_the_end(caplog):
    caplog.set_level(logging.INFO, logger="scrapy_replica")
    result = await crawl(TopicSpider, site(HOST, N), REPLICA | {"LOG_LEVEL": "INFO"}, seeds=f"http://{HOST}/")
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("scrapy-replica:")]
    assert told == [
        "scrapy-replica: mode demote, order breadth-first, kept in memory: give a JOBDIR to go on later",
        f"scrapy-replica: at least 0 of {N} requests saved (0 %)",
    ]
    assert result.stats["replica/saved"] == 0


@pytest.mark.asyncio
@pytest.mark.parametrize(("mode", "stop_at"), [("demote", 0), ("drop", 30)])
async def test_a_crawl_that_is_over_fetches_nothing_when_it_is_run_again_and_says_so(mode, stop_at, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="scrapy_replica")
    web = with_trap(calendar, *(f"/part-0/page-{n}.html?sid={n}" for n in range(1, 9)), "/calendar/2029/1", n=N)

    def pages(request):
        return web(request.replace(url=request.url.partition("?")[0])) or (404, {}, "")

    kept = REPLICA | {"LOG_LEVEL": "INFO", "JOBDIR": str(tmp_path), "REPLICA_MODE": mode}
    if stop_at:
        await crawl(TopicSpider, pages, {**kept, "CLOSESPIDER_PAGECOUNT": stop_at}, seeds=f"http://{GOOD}/")
    first = await crawl(TopicSpider, pages, kept, seeds=f"http://{GOOD}/")
    assert first.stats["replica/saved"] > 0
    assert not any("nothing waits" in record.getMessage() for record in caplog.records)
    again = await crawl(TopicSpider, pages, kept, seeds=f"http://{GOOD}/")
    assert (again.urls, again.items) == ([], [])
    assert again.states == first.states
    assert caplog.records[-1].getMessage() == (
        f"scrapy-replica: nothing waits in {tmp_path}, all was fetched: another JOBDIR begins anew, and "
        "REPLICA_REVISIT asks again for what may have changed"
    )
