"""Two pages that name one URL as theirs are one, where the pages of the host say the truth; nothing is lost."""

from __future__ import annotations

import re

import pytest
from everyday.building import article, page
from everyday.further import two_paths
from everyday.site import Place
from hostile.scenario import Scenario, outcomes_of

N = 30


async def crawled(answer, mode):
    pages = lambda: lambda request: answer(Place.of(request))  # noqa: E731
    scenario = Scenario(name="names", tried="", pages=pages, seeds=("https://two.example/",), modes=(mode,))
    return (await outcomes_of(scenario))[0]


@pytest.mark.asyncio
async def test_what_an_argument_leads_to_is_known_by_a_name_that_nobody_links_to():
    outcome = await crawled(two_paths(N), "demote")
    assert not outcome.problems
    assert len(outcome.plain.asked) - len(outcome.ours.asked) > N / 2


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["demote", "drop"])
async def test_pages_that_name_others_lose_nothing(mode):
    """From the tenth product on the one below its category is a bundle, and names the single one as its own."""
    honest = two_paths(N)

    def answer(place):
        if place.path.startswith("/c/") and "/p/" in place.path and place.number >= 10:
            head = f'<link rel="canonical" href="/p/{place.number}">'
            links = [(f"/p/{place.number}?from=bundle", "The single one")]
            return page(f"bundle {place.number}", "Bundle", article("bundle", place.number), links, head=head)
        return honest(place)

    outcome = await crawled(answer, mode)
    assert not outcome.problems


def threads(place):
    """A forum that calls a thread by a path here and by arguments there."""
    number = place.number if place.path.startswith("/thread") else int(place.args.get("tid", -1))
    if number < 0:
        links = [(f"/thread-{one}.html", f"thread {one}") for one in range(4 * N)]
        return page("front", "Forum", article("front"), links)
    links = [(f"/forum.php?tid={number}", "this thread"), (f"/forum.php?from=list&tid={number}", "first page")]
    return page(f"thread {number}", f"Thread {number}", article("thread", number), links)


@pytest.mark.asyncio
async def test_numbers_within_a_name_are_arguments_elsewhere():
    outcome = await crawled(threads, "demote")
    assert not outcome.problems
    assert len(outcome.plain.asked) > 11 * N
    assert len(outcome.ours.asked) < 8 * N


def variants(first_apart):
    """Things in variants, which are one page up to the thing *first_apart*; each of the later ones has its own."""

    def answer(place):
        numbers = re.findall(r"\d+", place.path)
        if not numbers:
            things = [(f"/{one}-thing", f"thing {one}") for one in range(4 * N)]
            return page("front", "Things", article("front"), things)
        one, told = int(numbers[0]), numbers[1:] if int(numbers[0]) >= first_apart else ()
        beside = (one + 1) % (4 * N)
        links = [(f"/{beside}-{beside * 3 + few}-thing", "another thing, in another colour") for few in range(2)]
        return page(f"thing {one}", f"Thing {one}", article("thing", one, *told), links)

    return answer


@pytest.mark.asyncio
@pytest.mark.parametrize(("first_apart", "most"), [(4 * N, 8 * N), (3.5 * N, 13 * N)])
async def test_a_number_within_a_name_may_mean_nothing(first_apart, most):
    outcome = await crawled(variants(first_apart), "demote")
    assert not outcome.problems
    assert len(outcome.plain.asked) > 12 * N
    assert len(outcome.ours.asked) < most
