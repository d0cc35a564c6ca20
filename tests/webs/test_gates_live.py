"""URLs that lead to one page, or show it, are asked for a few times; what is behind any of them is found."""

from __future__ import annotations

import pytest
from everyday.building import article, page
from everyday.site import Place
from hostile.scenario import Scenario, outcomes_of, reasons
from scrapy import Spider
from web import REPLICA, crawl, redirect

HOST = "http://site.example"
N = 40
PASSWORD = "<form method='post' action='/login'><input name='user'><input type='password' name='secret'></form>"


def web(opens, closed, n, name):
    """Pages with a link each to what answers *closed*, but for those numbers that it *opens* for."""

    def answer(request):
        place = Place.of(request)
        number, links = place.number, [(f"/page/{one}", f"page {one}") for one in range(0, n, 9)]
        if place.path.startswith("/login"):
            return page("login", "Sign in", article("login", words=40))
        if place.path.startswith("/members/") and not opens(number):
            return closed(place)
        if place.path == "/" or number < n:
            links += [(f"/page/{number + one}", f"page {number + one}") for one in (1, 2) if number + one < n]
            links += [(f"/members/{number}{name}", "For members")] if number >= 0 else []
            key = f"{place.path}"
            return page(key, key, article(key), links)
        return None

    return lambda: answer


def leads(place):
    return redirect(f"/login?next={place.path}")


def shows(place):
    return page("closed", "Sign in", article("closed", words=40) + PASSWORD)


def says_nothing(place):
    return page("none", "Comments", article("none", words=40))


async def crawled(opens, mode, closed=leads, n=N, name=""):
    scenario = Scenario(name="gates", tried="", pages=web(opens, closed, n, name), seeds=(f"{HOST}/",), modes=(mode,))
    return (await outcomes_of(scenario))[0]


@pytest.mark.asyncio
async def test_a_login_is_asked_for_a_few_times():
    outcome = await crawled(lambda number: False, "demote")
    assert not outcome.problems
    assert len(outcome.plain.asked) > 2.9 * N
    assert len(outcome.ours.asked) < 2.5 * N
    assert reasons(outcome.ours)["dust-rule/drop"] > N / 4


@pytest.mark.asyncio
async def test_one_that_is_shown_is_asked_for_a_few_times():
    outcome = await crawled(lambda number: False, "demote", shows, 3 * N)
    assert not outcome.problems
    assert len(outcome.plain.asked) > 1.9 * 3 * N
    assert len(outcome.ours.asked) < 1.6 * 3 * N
    assert reasons(outcome.ours)["dust-rule/drop"] > N


@pytest.mark.asyncio
async def test_pages_that_ask_for_no_password_stand_for_no_other():
    outcome = await crawled(lambda number: number in {17, 29}, "drop", says_nothing)
    assert not outcome.problems
    assert len(outcome.ours.asked) == len(outcome.plain.asked)


@pytest.mark.asyncio
async def test_what_most_have_not_stands_for_no_other():
    """Favourites, of which URLs say so, but four of 120 members have some."""
    outcome = await crawled(lambda number: number in {61, 79, 97, 109}, "drop", says_nothing, 3 * N, "/favorites")
    assert not outcome.problems
    assert len(outcome.ours.asked) == len(outcome.plain.asked)


@pytest.mark.asyncio
@pytest.mark.parametrize("closed", [leads, shows])
@pytest.mark.parametrize(
    ("opens", "mode"), [(lambda number: number >= N // 2, "demote"), (lambda number: number % 8 == 7, "drop")]
)
async def test_what_is_behind_some_is_found(opens, mode, closed):
    outcome = await crawled(opens, mode, closed)
    assert not outcome.problems


def directory(request):
    """Of 60 companies the first ten have no site of their own: their links lead to one page of the directory."""
    place = Place.of(request)
    if request.url.startswith("http://company"):
        return page("own", "Company", article(request.url))
    if place.path.startswith("/out/"):
        has_site = place.number >= 10
        return redirect(f"http://company{place.number}.example/" if has_site else "/no-website")
    if place.path == "/":
        return page("all", "Companies", article("all"), [(f"/c/{n}", f"company {n}") for n in range(60)])
    links = [(f"/out/{place.number}", "Website")] if place.path.startswith("/c/") else []
    return page(place.path, place.path, article(place.path), links)


class Websites(Spider):
    name = "websites"
    start_urls = (f"{HOST}/",)

    def parse(self, response):
        yield from response.follow_all(css="a[href^='/c/']", callback=self.company)

    def company(self, response):
        told = {"name": response.css("h1::text").get()}
        yield from response.follow_all(css="a[href^='/out/']", callback=self.site, cb_kwargs=told)

    def site(self, response, name):
        yield {"name": name, "site": response.url}


@pytest.mark.asyncio
async def test_what_leads_to_other_hosts_is_no_gate():
    """So did the links of all other companies, and 147 of 190 were lost: what led off the host counted for nothing."""
    plain = await crawl(Websites, directory)
    ours = await crawl(Websites, directory, REPLICA)
    assert len(plain.items) == 51  # Scrapy asks for the page without a site once
    assert [item for item in plain.items if item not in ours.items] == []
