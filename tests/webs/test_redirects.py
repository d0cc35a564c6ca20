"""What redirects teach: a tracker's URLs that lead to one place are one; a login teaches nothing; nothing is lost."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hostile.building import path, site
from hostile.scenario import KEY, Scenario, outcomes_of
from web import redirect

HOST, TRACKER, LOGIN = "site.example", "t.example", "login.example"
N = 60


async def crawled(pages, *modes):
    scenario = Scenario(name="redirects", tried="", pages=lambda: pages, seeds=(f"http://{HOST}/",), modes=modes)
    return await outcomes_of(scenario)


@pytest.mark.asyncio
async def test_a_tracker_is_asked_once_for_each_place():
    def more(number):
        return [f"http://{TRACKER}/go?src=place-{step}&to={path((number + step) % (2 * N))}" for step in (1, 2, 3, 4)]

    pages = site(HOST, 2 * N, more=more)

    def answer(request):
        url = urlsplit(request.url)
        return (
            redirect(f"http://{HOST}{parse_qs(url.query)['to'][0]}")
            if url.netloc == TRACKER
            else pages.get(request.url)
        )

    for outcome in await crawled(answer, "demote", "drop"):
        assert not outcome.problems
        assert len(outcome.plain.asked) >= 10 * N
        assert len(outcome.ours.asked) < 0.94 * len(outcome.plain.asked)


@pytest.mark.asyncio
async def test_what_leads_many_to_a_login_teaches_nothing():
    """Every fourth page by number leads to one login on another host: numbers matter all the same."""

    def answer(request):
        url = urlsplit(request.url)
        if url.netloc == LOGIN:
            return "<title>Log in</title>"
        number = int(parse_qs(url.query).get("id", ["0"])[0])
        if number % 4 == 1:
            return redirect(f"http://{LOGIN}/")
        return 200, {KEY: str(number)}, pages[f"http://{HOST}{path(number)}"][2]

    pages = site(HOST, 8 * N, path=lambda number: f"/item?id={number}")
    pages = {f"http://{HOST}{path(number)}": page for number, page in enumerate(pages.values())}
    for outcome in await crawled(answer, "demote", "drop"):
        assert len(outcome.wanted) > N
        assert not outcome.problems
