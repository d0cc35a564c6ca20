"""URLs that lead to one page whatever they ask for are asked for a few times; what is behind any of them is found."""

from __future__ import annotations

import pytest
from everyday.building import article, page
from everyday.site import Place
from hostile.scenario import Scenario, outcomes_of, reasons
from web import redirect

HOST = "http://site.example"
N = 40


def web(opens):
    """Pages with a link each to what asks for a login, but for those numbers that it *opens* for."""

    def answer(request):
        place = Place.of(request)
        number, links = place.number, [(f"/page/{one}", f"page {one}") for one in range(0, N, 9)]
        if place.path.startswith("/login"):
            return page("login", "Sign in", article("login", words=40))
        if place.path.startswith("/members/") and not opens(number):
            return redirect(f"/login?next={place.path}")
        if place.path == "/" or number < N:
            links += [(f"/page/{number + one}", f"page {number + one}") for one in (1, 2) if number + one < N]
            links += [(f"/members/{number}", "For members")] if number >= 0 else []
            key = f"{place.path}"
            return page(key, key, article(key), links)
        return None

    return lambda: answer


async def crawled(opens, mode):
    scenario = Scenario(name="gates", tried="", pages=web(opens), seeds=(f"{HOST}/",), modes=(mode,))
    return (await outcomes_of(scenario))[0]


@pytest.mark.asyncio
async def test_a_login_is_asked_for_a_few_times():
    outcome = await crawled(lambda number: False, "demote")
    assert not outcome.problems
    assert len(outcome.plain.asked) > 2.9 * N
    assert len(outcome.ours.asked) < 2.5 * N
    assert reasons(outcome.ours)["dust-rule/drop"] > N / 4


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("opens", "mode"), [(lambda number: number >= N // 2, "demote"), (lambda number: number % 8 == 7, "drop")]
)
async def test_what_is_behind_some_is_found(opens, mode):
    outcome = await crawled(opens, mode)
    assert not outcome.problems
