"""The add-on against plain Scrapy on random small webs: the same when it observes, nothing lost when it acts."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from small_webs import Crawled, Server, SmallWeb, crawl, differences, lost, small_webs
from web import REPLICA

SCRAPYS = {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}
FRONTIER = {"REPLICA_STRATEGY": "breadth-first"}
SCHEDULERS = pytest.mark.parametrize("scheduler", [FRONTIER, SCRAPYS], ids=["frontier", "scrapys"])
ACTING = st.sampled_from(["demote", "drop"])

pytestmark = pytest.mark.asyncio


def examples(n: int):
    """*n* webs, the same in every run."""
    return settings(
        max_examples=n,
        derandomize=True,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(autouse=True)
def _quiet():
    """Callbacks that raise are part of the webs: their tracebacks would hide what was lost."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def assert_none(problems: list[str]) -> None:
    if problems:
        raise AssertionError("\n".join(["", *problems]))


async def observed(web: SmallWeb, **more) -> Crawled:
    return await crawl(Server(web), {**REPLICA, "REPLICA_MODE": "observe", **more})


async def acted(web: SmallWeb, mode: str, folder: Path, **more) -> Crawled:
    return await crawl(Server(web), {**REPLICA, "REPLICA_MODE": mode, "REPLICA_LEDGER": f"{folder}/ledger", **more})


def assert_nothing_is_lost(web: SmallWeb, plain: Crawled, ours: Crawled, *, is_counted: bool = True) -> None:
    assert_none(lost(web, ours))
    assert_none([f"{key}: fetched though plain Scrapy does not" for key in ours.fetched - plain.fetched])
    if not ours.has_saved:
        assert_none(differences(plain, ours, is_counted=is_counted))


@given(small_webs())
@examples(20)
async def test_plain_scrapy_loses_nothing(web):
    """So that what is asked of the add-on can be had."""
    plain = await crawl(Server(web), {})
    assert_none(lost(web, plain))


@SCHEDULERS
class TestObserve:
    @given(small_webs())
    @examples(25)
    async def test_fetches_and_yields_what_plain_scrapy_does(self, scheduler, web):
        plain, ours = await crawl(Server(web), {}), await observed(web, **scheduler)
        assert_none(differences(plain, ours))


@given(small_webs(is_slow=False), st.sampled_from([{}, SCRAPYS, {"DEPTH_PRIORITY": 1}]))
@examples(20)
async def test_observing_keeps_scrapys_order(web, scheduler):
    # The next request is taken when all that the last response led to is entered: otherwise the order is chance.
    one = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, **scheduler}
    plain, ours = await crawl(Server(web), one), await observed(web, **one)
    assert [key for key, _ in ours.answers] == [key for key, _ in plain.answers]


@SCHEDULERS
class TestActing:
    @given(small_webs(), ACTING)
    @examples(30)
    async def test_every_content_is_fetched_or_saved_for_a_page_that_was(self, scheduler, web, mode):
        with tempfile.TemporaryDirectory() as folder:
            plain, ours = await crawl(Server(web), {}), await acted(web, mode, Path(folder), **scheduler)
        assert_nothing_is_lost(web, plain, ours)


class TestStopAndResume:
    """Closed after some pages and started again on the same job.

    ``Spider.start()`` runs again then, and what it asks for is known: how often a start is fetched is not compared.
    """

    @given(small_webs(is_storable=True), st.integers(1, 8))
    @examples(20)
    async def test_observe(self, web, stop_after):
        with tempfile.TemporaryDirectory() as folder:
            plain = await crawl(Server(web), {})
            ours = await in_two_runs(web, stop_after, folder, REPLICA_MODE="observe", **FRONTIER)
        assert_none(lost(web, ours))
        assert_none(differences(plain, ours, is_counted=False))
        assert_none([f"{key}: fetched more often than by plain Scrapy" for key in ours.fetched - plain.fetched])

    @given(small_webs(is_storable=True), st.integers(1, 8), ACTING)
    @examples(20)
    async def test_acting(self, web, stop_after, mode):
        with tempfile.TemporaryDirectory() as folder:
            plain = await crawl(Server(web), {})
            ours = await in_two_runs(web, stop_after, folder, REPLICA_MODE=mode, **FRONTIER)
        assert_nothing_is_lost(web, plain, ours, is_counted=False)

    @given(small_webs(is_storable=True), st.integers(1, 8), st.sampled_from(["observe", "demote", "drop"]))
    @examples(15)
    async def test_with_scrapys_scheduler(self, web, stop_after, mode):
        with tempfile.TemporaryDirectory() as folder:
            ours = await in_two_runs(web, stop_after, folder, REPLICA_MODE=mode, **SCRAPYS)
        assert_none(lost(web, ours))


async def in_two_runs(web: SmallWeb, stop_after: int, folder: str, **more) -> Crawled:
    server = Server(web)
    job = {**REPLICA, "JOBDIR": f"{folder}/job", "REPLICA_LEDGER": f"{folder}/ledger", **more}
    ours = await crawl(server, {**job, "CLOSESPIDER_PAGECOUNT": stop_after})
    return await crawl(server, job, ours) if ours.reason != "finished" else ours
