"""Links that spell URLs in another way than lists do: what was fetched stands for what is shorter, too."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hostile.building import page, site
from hostile.scenario import Scenario, outcomes_of
from web import redirect, text

HOST, N = "site.example", 150


def name(number):
    return f"{text(('name', number), 2).replace(' ', '-')}-of-it"


SPELLINGS = {
    "slash": ("/item/{name}/", "/item/{name}"),
    "language": ("/en/item/{name}", "/item/{name}"),
    "title": ("/item/{number}/{name}", "/item/{number}"),
    "ending": ("/item/{name}", "/item/{name}.html"),
    "another title": ("/item/{number}/{name}", "/item/{number}/old-{name}"),
    "where the link stood": ("/{name}/item/{number}", "/{name}/item/{number}/ref=list_{number}"),
    "date": ("/blog/{name}", "/2020/{month}/{name}"),
}
"""What is spelt -> the URL of a page, and another one that links within pages have."""


@pytest.mark.parametrize("leads_on", [False, True])
@pytest.mark.parametrize(("mine", "other"), SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.asyncio
async def test_pages_are_fetched_once(mine, other, leads_on):
    """All of them were fetched by both, whether the other one shows the page or *leads on* to it."""

    def spelt(form):
        return lambda number: (
            form.format(number=number, month=number % 12 + 1, name=f"{name(number)}{number}") if number else "/"
        )

    places = {spelt(other)(number): spelt(mine)(number) for number in range(1, N)}
    pages = site(
        HOST, N, path=spelt(mine), more=lambda number: [spelt(other)(max(1, number - step)) for step in (7, 19)]
    )

    def answer(request):
        place = places.get(urlsplit(request.url).path)
        if place is None:
            return pages.get(request.url)
        return redirect(f"http://{HOST}{place}", 301) if leads_on else pages[f"http://{HOST}{place}"]

    scenario = Scenario(
        name="spellings", tried="", pages=lambda: answer, seeds=(f"http://{HOST}/",), modes=("demote", "drop")
    )
    for outcome in await outcomes_of(scenario):
        assert not outcome.problems
        assert len(outcome.plain.asked) >= 1.9 * N
        assert len(outcome.ours.asked) < 0.8 * len(outcome.plain.asked)


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("n_more", [8, 15])
@pytest.mark.asyncio
async def test_what_pages_have_in_the_place_of_another_title_is_fetched(n_more, seed):
    """Where a rule leaves out a part of the path, whatever that is, what comes again is the name of something else."""

    def item(number, title):
        return f"/item/{number}/{name(title)}-{title}"

    def answer(request):
        folder, _, rest = urlsplit(request.url).path.strip("/").partition("/")
        if folder == "":
            return page("home", [f"/list/{number}" for number in range(0, N, 12)])
        number = int(rest.partition("/")[0])
        if folder == "list":
            return page(f"list {number}", [item(one, one) for one in range(number, min(number + 12, N))])
        if rest.endswith("reviews"):
            return page(f"reviews {number}")
        links = [item((7 * number + step) % N, number) for step in (1, 4, 7)]
        return page(f"item {number}", [*links, *([f"/item/{number}/reviews"] if number >= N - n_more else [])])

    scenario = Scenario(
        name="names",
        tried="",
        pages=lambda: answer,
        seeds=(f"http://{HOST}/",),
        settings={"REPLICA_SEED": seed},
    )
    for outcome in await outcomes_of(scenario):
        assert not outcome.problems
