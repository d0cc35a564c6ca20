"""What redirects teach: a tracker's URLs that lead to one place are one; a login teaches nothing; nothing is lost."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hostile.building import path, site
from hostile.scenario import KEY, Scenario, outcomes_of
from web import redirect

HOST, TRACKER, LOGIN = "site.example", "t.example", "login.example"
N = 60


async def crawled(pages, *modes, scheme="http", copies=()):
    scenario = Scenario(
        name="redirects", tried="", pages=lambda: pages, seeds=(f"{scheme}://{HOST}/",), copies=copies, modes=modes
    )
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


FORMER = [("http", HOST), ("https", f"www.{HOST}"), ("http", f"www.{HOST}"), ("http", "old.example")]
"""Scheme and name that the site had before it was https://site.example."""


@pytest.mark.parametrize(("scheme", "former"), FORMER)
@pytest.mark.asyncio
async def test_links_to_what_a_site_was_called_before_are_not_followed_one_by_one(scheme, former):
    """All of them were fetched: 150 of 314 requests, or 300 of 464, led on and brought nothing."""
    pages = site(HOST, N, more=lambda number: [f"{scheme}://{former}{path((number + step) % N)}" for step in (7, 19)])

    def answer(request):
        url = urlsplit(request.url)
        if url.scheme == "http":
            return redirect(f"https://{url.netloc}{url.path}", 301)
        if url.netloc != HOST:
            return redirect(f"https://{HOST}{url.path}", 301)
        return pages.get(f"http://{HOST}{url.path}")

    for outcome in await crawled(answer, "observe", "demote", "drop", scheme="https", copies=(former,)):
        assert not outcome.problems
        n_led = sum(visit.url.startswith(f"{scheme}://{former}/") for visit in outcome.ours.asked)
        assert n_led == N if outcome.mode == "observe" else n_led <= 0.7 * N


@pytest.mark.parametrize("kind", ["gone", "moved"])
@pytest.mark.asyncio
async def test_what_the_former_name_alone_has_is_found(kind):
    """Every tenth page from the middle on was left there, or moved, and the site has nothing in its place."""
    pages = site(HOST, 2 * N, more=lambda number: [f"http://old.example{path((number + 7) % (2 * N))}"])
    places = {path(number): number for number in range(2 * N)}

    def answer(request):
        url = urlsplit(request.url)
        place = url.path.removeprefix("/moved")
        is_left = places.get(place, 0) in range(N, 2 * N, 10)
        if url.netloc == "old.example" and not (is_left and kind == "gone"):
            return redirect(f"http://{HOST}{'/moved' if is_left else ''}{place}", 301)
        if url.netloc == HOST and is_left and place == url.path:
            return None
        return pages.get(f"http://{HOST}{place}")

    for outcome in await crawled(answer, "demote", "drop", copies=("old.example",)):
        assert len(outcome.wanted) >= 2 * N
        assert not outcome.problems
        assert len(outcome.ours.asked) < 0.8 * len(outcome.plain.asked)


@pytest.mark.asyncio
async def test_a_mirror_is_asked_for_few_of_the_pages_that_lead_on_where_it_has_nothing():
    """It was asked for 111 of these 120: 379 requests in place of 361."""
    mirror = "m.example"
    pages = site(HOST, 2 * N, more=lambda number: [f"/old/{number}", f"http://{mirror}{path(number // 9)}"])
    pages |= site(mirror, 2 * N, of=HOST)
    asked: set[str] = set()

    def answer(request):
        asked.add(request.url)
        before, _, number = request.url.rpartition("/old/")
        is_old = before == f"http://{HOST}"
        return redirect(path((7 * int(number) + 3) % (2 * N))) if is_old else pages.get(request.url)

    [outcome] = await crawled(answer, "demote", copies={HOST, mirror})
    assert not outcome.problems
    assert len(outcome.ours.asked) < 0.9 * len(outcome.plain.asked)
    assert 0 < sum(url.startswith(f"http://{mirror}/old/") for url in asked) < N / 2
