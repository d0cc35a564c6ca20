"""What a request brings that a callback made up counts for the page that it was made of."""

from __future__ import annotations

import pytest
from crawldb_contract import enter, key_of

from scrapy_replica.crawl.claims.made_requests import STEPS, MadeRequests
from scrapy_replica.crawldb.contract import NewUrl, Permission
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB


@pytest.fixture
def db():
    db = SqliteCrawlDB(None)
    with db.span():
        yield db
    db.close()


def test_it_counts_for_all_pages_that_asked_for_it_before_and_after(db):
    page, other, late, api = enter(db, "a/1", "b/1", "c/1", "api/1")
    made = MadeRequests(db)
    assert made.add(page, [key_of("api/2")])
    assert not made.add(page, [key_of("api/1")])
    assert not made.add(other, [key_of("api/1")])
    db.items.keep(api, {7})
    made.brought(api, {7})
    assert not made.add(late, [key_of("api/1")])
    assert [db.items.brought(one) for one in (page, other, late)] == [{7}, {7}, {7}]
    assert db.items.of_page(page) is None


def test_it_counts_for_what_it_was_asked_for_in_some_steps(db):
    chain = enter(db, *(f"a/{number}" for number in range(STEPS + 2)))
    made = MadeRequests(db)
    for number, url_id in enumerate(chain[:-1], 1):
        made.add(url_id, [key_of(f"a/{number}")])
    made.brought(chain[-1], {7})
    assert [db.items.brought(one) for one in chain] == [set(), *[{7}] * STEPS, set()]


def test_a_post_counts_for_its_page_after_a_stop(db):
    (page,) = enter(db, "a/1")
    post = NewUrl("http://api/1", "api", 99, parent=page, permission=Permission.AS_ASKED)
    link = NewUrl("http://api/2", "api", 98, parent=page)
    (posted, _), (linked, _) = db.urls.discover([post, link])
    made = MadeRequests(db)
    made.brought(posted, {7})
    made.brought(linked, {8})
    assert db.items.brought(page) == {7}


def test_what_a_page_gives_again_leaves_what_was_brought(db):
    (page,) = enter(db, "a/1")
    db.items.add_brought(page, {7})
    db.items.keep(page, {1})
    db.items.add_brought(page, {8})
    assert (db.items.of_page(page), db.items.brought(page)) == ({1}, {7, 8})
