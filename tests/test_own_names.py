"""Other URLs that pages name as theirs are not fetched, where samples show that they say the truth; nothing is lost."""

from __future__ import annotations

import pytest
from hostile.building import path, site
from hostile.scenario import Scenario, item, outcomes_of, reasons
from scrapy import Spider
from scrapy.linkextractors import LinkExtractor

HOST = "site.example"
N = 80


def alias(number: int) -> str:
    return f"/about-{number * 7919 % 10_000}"


def named(of_aliases: str | None = None, head=None) -> dict[str, object]:
    """A site each page of which leads to another URL of the next page; all pages name both their URLs.

    *of_aliases*: the other URLs have another work's pages.
    """

    def both(number: int) -> str:
        return f'<link rel="canonical" href="{path(number)}"><link rel="shortlink" href="{alias(number)}">'

    def more(number: int) -> list[str]:
        return [alias((number + 1) % N)]

    pages = site(HOST, N, more=more, head=head or both)
    others = site(HOST, N, more=more, head=head or both, of=of_aliases) if of_aliases else pages
    return pages | {f"http://{HOST}{alias(number)}": others[f"http://{HOST}{path(number)}"] for number in range(N)}


class TwoCallbacks(Spider):
    """Makes items of the other URLs alone, of the last half: what is tested first tells nothing of them."""

    name = "two callbacks"
    extractor = LinkExtractor()

    def parse(self, response):
        for link in self.extractor.extract_links(response):
            yield response.follow(link, self.parse_about if "/about-" in link.url else self.parse)

    def parse_about(self, response):
        if response.url.removeprefix(f"http://{HOST}") in map(alias, range(N // 2, N)):
            yield item(response)
        yield from self.parse(response)


async def crawled(pages, *modes, **more):
    scenario = Scenario(name="names", tried="", pages=lambda: pages, seeds=(f"http://{HOST}/",), modes=modes, **more)
    return await outcomes_of(scenario)


@pytest.mark.asyncio
async def test_a_page_is_fetched_by_one_of_its_names():
    for outcome in await crawled(named(), "demote", "drop"):
        assert not outcome.problems
        assert len(outcome.plain.asked) >= 2 * N
        # Some ten samples, and three at the end.
        assert len(outcome.ours.asked) < 1.4 * N
        assert reasons(outcome.ours)["other-name/drop"] > N / 2


@pytest.mark.asyncio
async def test_observing_saves_nothing():
    (outcome,) = await crawled(named(), "observe")
    assert len(outcome.ours.asked) == len(outcome.plain.asked)


@pytest.mark.asyncio
async def test_what_says_no_truth_loses_nothing():
    for outcome in await crawled(named("another work"), "demote", "drop"):
        assert len(outcome.wanted) == 2 * N
        assert not outcome.problems


@pytest.mark.asyncio
async def test_what_all_pages_name_is_none_of_them():
    """All pages call one page canonical, which is another."""
    pages = named("another work", head=lambda number: f'<link rel="canonical" href="{alias(5)}">')
    for outcome in await crawled(pages, "demote", "drop"):
        assert not outcome.problems
        assert reasons(outcome.ours)["other-name/drop"] == 0


@pytest.mark.asyncio
async def test_another_callback_gets_its_pages():
    for outcome in await crawled(named(), "demote", "drop", spider=TwoCallbacks):
        assert len(outcome.wanted) == N // 2
        assert not outcome.problems
        assert reasons(outcome.ours)["other-name/drop"] == 0
