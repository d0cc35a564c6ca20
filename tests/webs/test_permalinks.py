"""Links that lead back to the page that they stand on are not fetched, and nothing is lost where some do not."""

from __future__ import annotations

from typing import cast

import pytest
from hostile.building import page
from hostile.scenario import Scenario, outcomes_of, reasons
from scrapy import Spider
from scrapy.linkextractors import LinkExtractor
from web import redirect

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.urls.permalinks import PROVED, Permalinks
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import CrawlDB, NewUrl, Permission, UrlRow
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB

HOST = "forum.example"
SITE = f"http://{HOST}"
THREADS, POSTS, PER_LIST = 40, 4, 10


def forum(own=lambda number: False, further=lambda number: False, leads=None):
    """A forum each thread of which links to its posts, which show the thread.

    :param own: number of the post -> whether its URL is a page of its own.
    :param further: number of the post -> whether its page leads to one that nothing else leads to.
    :param leads: number of the post -> what its URL answers instead.
    """
    lists = range(0, THREADS, PER_LIST)
    pages = {f"{SITE}/": page("front", [f"/list/{one}" for one in lists])}
    for one in lists:
        pages[f"{SITE}/list/{one}"] = page(f"list {one}", [f"/thread?t={one + n}" for n in range(PER_LIST)])
    for number in range(THREADS):
        posts = [1000 + 10 * number + post for post in range(POSTS)]
        links = ["/", *(f"/show?post={post}" for post in posts)]
        thread = pages[f"{SITE}/thread?t={number}"] = page(f"thread {number}", links)
        for post in posts:
            answer = leads(number) if leads else thread
            if own(post):
                answer = page(f"post {post}", links)
            elif further(post):
                answer = page(f"thread {number}", [*links, f"/more/{post}"])
                pages[f"{SITE}/more/{post}"] = page(f"more of {post}", ["/"])
            pages[f"{SITE}/show?post={post}"] = answer
    return pages


async def crawled(pages, *modes, **more):
    scenario = Scenario(name="permalinks", tried="", pages=lambda: pages, seeds=(f"{SITE}/",), modes=modes, **more)
    return await outcomes_of(scenario)


def posts_asked(outcome):
    return sum("/show?" in one.url for one in outcome.ours.asked)


@pytest.mark.asyncio
async def test_few_are_fetched():
    *acting, observing = await crawled(forum(), "demote", "drop", "observe")
    for outcome in acting:
        assert not outcome.problems
        assert posts_asked(outcome) < 0.45 * THREADS * POSTS
        assert reasons(outcome.ours)["permalink/drop"] > 0.4 * THREADS * POSTS
    assert len(observing.ours.asked) == len(observing.plain.asked)


@pytest.mark.asyncio
async def test_those_that_redirect_to_their_page():
    (outcome,) = await crawled(forum(leads=lambda number: redirect(f"/thread?t={number}")), "demote")
    assert not outcome.problems
    assert posts_asked(outcome) < 0.6 * THREADS * POSTS


OWN = {
    "here and there": lambda post: not post % 7,
    "of the last threads": lambda post: post >= 1270,
    "the last one of each thread": lambda post: post % 10 == POSTS - 1,
    "one of each of the last threads": lambda post: post >= 1200 and post % 10 == 1,
}
"""Posts whose URLs are pages of their own."""


@pytest.mark.parametrize(("own", "mode"), [*zip(OWN, ["demote", "drop"] * 2, strict=True)])
@pytest.mark.asyncio
async def test_pages_of_their_own_are_found(own, mode):
    (outcome,) = await crawled(forum(OWN[own]), mode)
    assert not outcome.problems


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"Content-Type": "application/pdf"}, "%PDF"),
        (200, {"Content-Type": "application/json"}, '{"a": 1}'),
        page("", says="little"),
    ],
    ids=["file", "data", "little text"],
)
@pytest.mark.asyncio
async def test_what_is_no_page_to_be_told_is_none_that_leads_back(answer):
    """Attachments of the last threads: 41 of 52 were not asked for."""
    pages = forum()
    files = {f"{SITE}/show?post={post}" for post in range(1270, 1400) if f"{SITE}/show?post={post}" in pages}
    (outcome,) = await crawled({**pages, **dict.fromkeys(files, answer)}, "demote")
    assert files <= {one.url for one in outcome.ours.asked}


def by_reply(own=lambda post: False, name="reply"):
    """The forum with posts that redirect to a URL of the reply each, which shows the thread.

    :param own: number of the post -> whether it redirects to a page of its own, which has that *name*.
    """
    pages = forum()
    for number in range(THREADS):
        for post in range(1000 + 10 * number, 1000 + 10 * number + POSTS):
            there = f"{SITE}/{name if own(post) else 'reply'}/{post}"
            pages[there] = page(f"post {post}", ["/"]) if own(post) else pages[f"{SITE}/thread?t={number}"]
            pages[f"{SITE}/show?post={post}"] = redirect(there)
    return pages


@pytest.mark.asyncio
async def test_those_that_redirect_to_another_name_of_their_page():
    for outcome in await crawled(by_reply(), "demote", "drop"):
        assert not outcome.problems
        assert posts_asked(outcome) < 0.45 * THREADS * POSTS


@pytest.mark.parametrize(("own", "name"), [*zip(OWN, ["reply", "file"] * 2, strict=True)])
@pytest.mark.asyncio
async def test_pages_of_their_own_behind_a_redirect_are_found(own, name):
    """A rule leads from posts to replies: those that are none were left out in favour of replies that were, too."""
    (outcome,) = await crawled(by_reply(OWN[own], name), "demote")
    assert not outcome.problems


@pytest.mark.parametrize("first", [0, 28])
@pytest.mark.asyncio
async def test_what_they_alone_lead_to_is_found(first):
    (outcome,) = await crawled(forum(further=lambda post: post >= 1000 + 10 * first), "demote")
    assert len(outcome.wanted) > THREADS
    assert not outcome.problems


class LateCallback(Spider):
    """Lets another callback get the posts of the last threads, which alone makes items of them."""

    name = "late callback"
    extractor = LinkExtractor()

    def parse(self, response):
        for link in self.extractor.extract_links(response):
            is_late = "/show?" in link.url and int(link.url.partition("=")[2]) >= 1300
            yield response.follow(link, self.parse_post if is_late else self.parse)

    def parse_post(self, response):
        yield {"post": response.url}
        yield from self.parse(response)


@pytest.mark.asyncio
async def test_what_another_callback_is_to_get_is_fetched():
    (outcome,) = await crawled(forum(), "demote", spider=LateCallback)
    posts = {one["post"] for one in outcome.ours.items}
    assert len(posts) == POSTS * (THREADS - 30)
    assert posts_asked(outcome) < POSTS * THREADS


def test_shapes_without_end_are_not_remembered():
    """As a site makes them up that wants the memory of whoever crawls it: nothing of them is looked up."""
    permalinks, name = Permalinks(cast(CrawlDB, None)), "x" * 400
    for parent in range(PROVED):
        link = UrlRow(1, HOST, HOST, f"{SITE}/{name}?post=1", 1, 0.0, 0, False, 1, parent, None, Permission.MOVE)
        assert permalinks.add(link, f"{SITE}/thread?t={parent}", is_back=True) == []
    assert permalinks.same_of(f"{SITE}/{name}?post=2", HOST, 1) is None


def test_one_that_leads_elsewhere_ends_what_an_earlier_run_suppressed():
    db = SqliteCrawlDB(None, "x")
    [(suppressed, _)] = db.urls.discover([NewUrl(f"{SITE}/show?post=1", HOST, 1, is_dropped=True)])
    claim = Claim(Kind.PERMALINK, HOST, "/show?post on /thread?t")
    db.suppressed.enter([Suppressed(suppressed, claim, 2)])
    link = UrlRow(9, HOST, HOST, f"{SITE}/show?post=3", 1, 0.0, 0, False, 1, 7, None, Permission.MOVE)
    permalinks = Permalinks(db)
    assert permalinks.add(link, f"{SITE}/thread?t=1", is_back=False) == [claim]
    assert permalinks.add(link, f"{SITE}/thread?t=1", is_back=False) == []
    db.close()


@pytest.mark.asyncio
async def test_links_to_other_pages_are_fetched():
    """As those to related things: the first ones of each page were known."""
    pages = {f"{SITE}/": page("front", [f"/thing?id={n}" for n in range(THREADS)])}
    for n in range(THREADS):
        links = [f"/thing?id={n}", f"/look?at={1000 - n}", f"/look?at={2000 - n}"]
        pages[f"{SITE}/thing?id={n}"] = pages[f"{SITE}/look?at={1000 - n}"] = page(f"thing {n}", links)
        pages[f"{SITE}/look?at={2000 - n}"] = page(f"other thing {n}", ["/"])
    for outcome in await crawled(pages, "demote", "drop"):
        assert not outcome.problems
        assert len(outcome.wanted) > 2 * THREADS


def test_names_of_claims_are_read_again():
    claim = Claim(Kind.PERMALINK, "forum.example", "/show?post on /thread?t")
    assert Claim.read(str(claim)) == claim
