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


@pytest.mark.parametrize("n_more", [8, 15])
@pytest.mark.parametrize(
    ("mine", "other", "below"),
    [
        ("/item/{number}/{name}", "/item/{number}/old-{name}", "/item/{number}/reviews"),
        ("/shop/{name}", "/shop/sale{number}/{name}", "/shop/reviews/{name}"),
    ],
)
@pytest.mark.asyncio
async def test_what_pages_have_in_the_place_of_another_title_is_fetched(mine, other, below, n_more):
    """Where a rule leaves out a part of the path, whatever that is, what comes again is the name of something else."""

    def spelt(form, number):
        return form.format(number=number, name=f"{name(number)}{number}") if number else "/"

    def more(number):
        links = [spelt(other, max(1, number - step)) for step in (7, 19)]
        return [*links, spelt(below, number)] if number >= N - n_more else links

    pages = site(HOST, N, path=lambda number: spelt(mine, number), more=more)
    by_others = {spelt(other, number): spelt(mine, number) for number in range(1, N)}
    reviews = {spelt(below, number): page(f"reviews {number}", [], words=80) for number in range(N - n_more, N)}

    def answer(request):
        path = urlsplit(request.url).path
        if path in reviews:
            return reviews[path]
        return pages.get(f"http://{HOST}{by_others.get(path, path)}")

    scenario = Scenario(name="names", tried="", pages=lambda: answer, seeds=(f"http://{HOST}/",))
    for outcome in await outcomes_of(scenario):
        assert not outcome.problems
