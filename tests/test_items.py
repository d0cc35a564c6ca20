"""Items as evidence: what of an item counts, and which items a crawl has seen."""

from __future__ import annotations

import dataclasses
import time
import uuid
from datetime import datetime, timedelta, timezone

import attrs
import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse, TextResponse

from scrapy_replica.components.items import PageItem, item_hashes
from scrapy_replica.crawldb import items as tables
from scrapy_replica.crawldb.items import SKETCH, goes_beyond
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.records import Novelty

URL = "https://shop.example/p/17?sid=3"
BODY = b"<html><body><p>Lamp 1.299,00 EUR, token 0f3a9b7c5d1e2f4a6b8c</p></body></html>"


def hashes(*items, url=URL):
    return item_hashes(list(items), HtmlResponse(url, body=BODY))


class TestWhatCounts:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"name": "Lamp", "url": URL}, {"name": "Lamp", "url": "https://www.shop.example/p/17?sid=4"}),
            ({"name": "Lamp", "at": datetime.now()}, {"name": "Lamp"}),
            ({"name": "Lamp", "at": datetime.now(timezone.utc).isoformat()}, {"name": "Lamp"}),
            ({"name": "Lamp", "at": time.time()}, {"name": "Lamp"}),
            ({"name": "Lamp", "id": str(uuid.uuid4())}, {"name": "Lamp"}),
            ({"name": "Lamp", "id": uuid.uuid4()}, {"name": "Lamp"}),
            ({"name": "Lamp", "html": "<!DOCTYPE html><html><p>one"}, {"name": "Lamp", "html": "<html><p>two"}),
            ({"name": "Lamp", "image": "https://a.example/i/17.jpg"}, {"name": "Lamp", "image": "/i/17.jpg?w=1&_=3"}),
            ({"image": "https://a.example/media/73/main.jpg?sid=1"}, {"image": "/media/73/main.jpg?sid=2"}),
            ({"image": "/i/17.jpg?_t=17&v=3"}, {"image": "/i/17.jpg?_t=18&v=4&cachebust=0.3"}),
            ({"related": "/p/18?lst=3&pos=4"}, {"related": "/p/18?origin=3"}),
            (
                {"share": f"https://social.example/?u={URL}"},
                {"share": f"https://social.example/?u={URL}&x=shop.example"},
            ),
            ({"name": "Lamp", "site": "https://shop.example/"}, {"name": "Lamp"}),
            ({"list": "https://shop.example/c/5"}, {"list": "https://copy.example/c/5"}),
            (
                {"html": '<html><i data-x=\'{"ray":"8f3a9b7c5d1e2f4a"}\'>', "n": 1},
                {"html": '<html><i data-x=\'{"ray":"1b3a9b7c5d1e2f4c"}\'>', "n": 1},
            ),
            ({"image": "/i/17.jpg?X-Amz-Signature=1&Expires=2"}, {"image": "/i/17.jpg?X-Amz-Signature=3&Expires=4"}),
            ({"name": "Lamp", "price": 0.1 + 0.2}, {"name": "Lamp", "price": 0.3}),
            ({"name": " Lamp\n", "tags": {"a", "b"}}, {"tags": {"b", "a"}, "name": "Lamp"}),
            ({"name": "Lamp", "price": None, "body": BODY}, {"name": "Lamp", "body": b"<html>2"}),
        ],
    )
    def test_one_item(self, one, other):
        assert hashes(one) == hashes(other) != set()

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"name": "Lamp", "price": 1}, {"name": "Lamp", "price": 2}),
            ({"name": "Lamp", "in_stock": True}, {"name": "Lamp", "in_stock": False}),
            ({"id": 17}, {"id": 18}),
            ({"name": "Lamp", "at": datetime(2020, 5, 1)}, {"name": "Lamp", "at": datetime(2020, 6, 1)}),
            # A machine made it, and the page shows it.
            ({"name": "Lamp", "sku": "0f3a9b7c5d1e2f4a6b8c"}, {"name": "Lamp"}),
            ({"name": "Lamp", "image": "/i/17.jpg"}, {"name": "Lamp", "image": "/i/18.jpg"}),
            ({"image": "/media/73/main.jpg"}, {"image": "/media/74/main.jpg"}),
            ({"image": "/i/show?w=100&id=73"}, {"image": "/i/show?w=100&id=74"}),
            ({"image": "/media/0f3a9b7c5d1e2f4a/main.jpg"}, {"image": "/media/1f3a9b7c5d1e2f4a/main.jpg"}),
            ({"video": "https://video.example/watch?v=a1"}, {"video": "https://video.example/watch?v=a2"}),
            ({"file": "/download.php?doc=green"}, {"file": "/download.php?doc=red"}),
            ({"shop": "https://green.example/"}, {"shop": "https://red.example/"}),
            ({"picture": "/p/17?media=1"}, {"picture": "/p/17?media=2"}),
            ({"modulus": 2**2048 + 1}, {"modulus": 2**2048 + 3}),
            # However they are written they stand on the page.
            ({"sku": "0F3A9B7C5D1E2F4A6B8C"}, {"name": "Lamp"}),
            ({"sku": "lamp-0f3a9b7c5d1e2f4a6b8c-0017"}, {"sku": "0f3a9b7c5d1e2f4a6b8c-p-000017"}),
            ({"name": "Flat", "price": 12345.67}, {"name": "Flat", "price": 12345.68}),
            ({"sizes": [1, 2]}, {"sizes": [2, 1]}),
            ({"raw": b"1"}, {"raw": b"2"}),
            ({"offer": {"price": 1}}, {"offer": {"price": 2}}),
        ],
    )
    def test_two_items(self, one, other):
        assert hashes(one).isdisjoint(hashes(other))

    @pytest.mark.parametrize("shown", ["<p data-color='{}'>", "<option>{}</option>", '<img alt="" src="/i/{}/1.jpg">'])
    def test_a_document_is_another_one_by_what_it_shows_beside_its_text(self, shown):
        one, other = (f"<html><body><p>Lamp {n}</p>{shown.format(shade)}" for n, shade in ((1, "red"), (2, "green")))
        for made in str, str.encode:
            assert hashes({"html": made(one)}) != hashes({"html": made(other)})
            assert hashes({"html": made(one)}) == hashes({"html": made(one.replace("Lamp", "A lamp"))}) != set()

    @pytest.mark.parametrize("part", ["<img ", "<img src= ", " data-a='x", "<option ", "%41%"])
    def test_a_document_is_read_to_a_bound(self, part):
        found = []
        for n in (200_000, 300_000):  # takes minutes where each tag is read to the end of the page
            page = HtmlResponse(URL, body=f"<html>{part * n}".encode())
            found.append(item_hashes([{"html": page.text, "id": str(uuid.uuid4())}] * 3, page))
        assert found[0] == found[1]

    def test_the_pictures_of_a_copy_lie_below_its_own_folder(self):
        copy = "https://copy.example/shop/p/17"
        assert hashes({"image": "/media/73/a.jpg"}) == hashes({"image": "/shop/media/73/a.jpg"}, url=copy)
        assert hashes({"image": "/media/17/a.jpg"}) != hashes({"image": "/shop/media/18/a.jpg"}, url=copy)

    def test_what_is_now_counts_where_the_page_states_it(self):
        now = datetime.now(timezone.utc).replace(second=0, microsecond=0)
        for at in (now, now.isoformat(), int(now.timestamp()), f"{now:%d %B %Y, %H:%M}"):
            item, stated = {"name": "Film", "at": at}, at.isoformat() if at is now else str(at)
            page = HtmlResponse(URL, body=f"<html><p data-at='{stated}'>Film".encode())
            assert item_hashes([item], page) != item_hashes([{"name": "Film"}], page) == hashes(item)

    def test_the_present_time_is_not_put_together_of_numbers_of_the_page(self):
        now = datetime.now()
        numbers = " ".join(map(str, range(100)))
        page = HtmlResponse(URL, body=f"<html><p>{numbers} (c) {now.year}".encode())
        for written in "%Y-%m-%d %H:%M:%S", "%d/%m/%Y %H:%M:%S":
            item = {"name": "Lamp", "at": f"{now:{written}}"}
            assert item_hashes([item], page) == hashes({"name": "Lamp"})

    def test_data_of_scripts_lie_deep(self):
        def nested(price):
            for name in "price", "node", "edges", "products", "catalog", "data", "state", "props", "page", "app":
                price = {name: [price]}
            return price

        assert hashes(nested(1)) != hashes(nested(2))

    def test_all_kinds_of_items_are_read(self):
        @dataclasses.dataclass
        class Data:
            name: str

        @attrs.define
        class Attrs:
            name: str

        class Item(scrapy.Item):
            name = scrapy.Field()

        kinds = [{"name": "Lamp"}, Data("Lamp"), Attrs("Lamp"), Item(name="Lamp")]
        assert len(set().union(*map(hashes, kinds))) == 1

    def test_how_a_page_was_come_by_does_not_count(self):
        """A spider may tell depth, referrer and what the add-on thinks: one page has others each time."""
        found = set()
        for depth, referrer, novelty in (
            (1, "https://shop.example/a", "novel"),
            (3, "https://shop.example/b", Novelty.NEAR_DUPLICATE),
        ):
            of_request = {"depth": depth, "download_latency": depth / 7}
            request = scrapy.Request(URL, headers={"Referer": referrer}, meta=of_request)
            item = {"name": "Lamp", "referer": referrer, "novelty": novelty, "relevance": depth / 10, **of_request}
            found.add(frozenset(item_hashes([item], HtmlResponse(URL, body=BODY, request=request))))
        assert len(found) == 1
        assert found != {frozenset(hashes({"name": "Lamp 2"}))}
        # A field of that name that says something else counts: how deep the lamp is.
        assert len({frozenset(hashes({"name": "Lamp", "depth": depth})) for depth in (30, 40)}) == 2

    @pytest.mark.parametrize(
        ("field", "one", "other"),
        [
            ("novelty", "First print of 1910", "Second print"),
            ("relevance", 3, 4),
            ("relevance", "for all", "for few"),
            ("product", "https://shop.example/a", "https://shop.example/b"),
            ("water_depth", 1, 3),
        ],
    )
    def test_what_is_only_called_alike_counts(self, field, one, other):
        """A field may say something else under that name, or say the referrer because the page is about it."""
        found = set()
        for depth, referrer, value in ((1, "https://shop.example/a", one), (3, "https://shop.example/b", other)):
            request = scrapy.Request(URL, headers={"Referer": referrer}, meta={"depth": depth})
            response = HtmlResponse(URL, body=BODY, request=request)
            found.add(frozenset(item_hashes([{"name": "Good", field: value}], response)))
        assert len(found) == 2

    def test_what_the_add_on_says_does_not_count_whatever_it_is_called(self):
        found = set()
        for novelty, score in (("novel", 0.31), (Novelty.EXACT_DUPLICATE, 0.42)):
            item = {"name": "Lamp", "new": novelty, "score": score}
            found.add(frozenset(item_hashes([item], HtmlResponse(URL, body=BODY), (novelty, score))))
        assert found == {frozenset(hashes({"name": "Lamp"}))}
        assert hashes({"name": "Lamp", "genre": "novel"}) != hashes({"name": "Lamp"})

    @pytest.mark.parametrize(
        "written",
        [
            "%d.%m.%Y %H:%M:%S",
            "%a %b %d %H:%M:%S %Y",
            "%m/%d/%Y, %I:%M %p",
            "%a, %d %b %Y %H:%M:%S GMT",
            "%Y%m%d%H%M%S",
        ],
    )
    def test_the_present_time_does_not_count_however_it_is_written(self, written):
        now = datetime.now()
        assert hashes({"name": "Lamp", "at": f"{now:{written}}"}) == hashes({"name": "Lamp"})
        assert hashes({"name": "Lamp", "at": f"{now - timedelta(days=400):{written}}"}) != hashes({"name": "Lamp"})
        page = HtmlResponse(URL, body=f"<p>{now:{written}}".encode())
        assert item_hashes([{"name": "Lamp", "at": f"{now:{written}}"}], page) != hashes({"name": "Lamp"})

    def test_a_time_as_text_in_seconds_does_not_count(self):
        assert hashes({"name": "Lamp", "at": str(time.time())}) == hashes({"name": "Lamp"})
        assert hashes({"name": "Lamp", "number": "1234567890"}) != hashes({"name": "Lamp"})

    def test_what_is_url_and_time_alone_says_nothing(self):
        assert hashes({"url": URL, "at": time.time()}) == set()
        assert hashes(PageItem(url=URL, title="Lamp")) == set()

    def test_nothing_that_an_item_holds_makes_it_fail(self):
        class Hostile:
            def __str__(self):
                raise RuntimeError("no")

        circle = {"name": "Lamp"}
        circle["self"] = circle
        wide = {"values": list(range(100_000)), "text": "x" * 5_000_000, "half": "\ud800"}
        assert len(hashes(circle, wide, {"what": Hostile()}, {"what": object()}, {1: {(2, 3): [float("nan")]}})) == 5
        assert hashes({"what": object()}) == hashes({"what": object()})

    def test_a_body_that_is_no_page_counts_as_it_is(self):
        """A city each, by an interface: 105 of 159 were lost where the body counted as a document."""
        found = [TextResponse(URL, body=body) for body in (b'{"city": "Rome"}', b'{"city": "Paris"}')]
        one, other = (item_hashes([{"body": response.body}], response) for response in found)
        assert one != other

    def test_a_link_home_of_a_copy_leads_to_a_host_that_was_crawled(self):
        response, item = HtmlResponse(URL, body=BODY), {"name": "Lamp", "home": "https://first.example/"}
        assert item_hashes([item], response, (), lambda host: host == "first.example") == hashes({"name": "Lamp"})
        assert hashes(item) != hashes({"name": "Lamp"})


class TestTables:
    @pytest.fixture
    def items(self):
        database = SqliteCrawlDB(None)
        yield database.items
        database.close()

    def test_an_item_is_new_once(self, items):
        assert items.enter({1, 2})
        assert not items.enter({1, 2})
        assert items.enter({2, 3})

    def test_what_comes_after_those_known_exactly_is_known_to_a_filter(self, items, monkeypatch):
        monkeypatch.setattr(tables, "EXACT", 100)
        some = [hash((n, "item")) for n in range(5_000)]
        new = sum(items.enter({item}) for item in some)
        assert new >= 4_990  # one in some thousand new ones may be taken for known
        assert items.know(some[:100])
        assert not any(items.know({item}) for item in some[100:])
        assert not any(items.enter({item}) for item in some)

    def test_items_of_a_page(self, items):
        assert items.of_page(7) is None
        items.keep(7, {-5, 3})
        assert items.of_page(7) == {-5, 3}


@given(
    st.sets(st.integers(-(1 << 63), (1 << 63) - 1), max_size=3 * SKETCH),
    st.sets(st.integers(-(1 << 63), (1 << 63) - 1), max_size=3 * SKETCH),
)
def test_sketches_tell_what_one_page_gives_beyond_another(mine, theirs):
    def sketch(items):
        return frozenset(sorted(items)[:SKETCH])

    told = goes_beyond(sketch(mine), sketch(theirs))
    assert not (told and mine <= theirs)
    if len(mine) <= SKETCH and len(theirs) < SKETCH:
        assert told == (not mine <= theirs)
    assert not goes_beyond(sketch(mine), sketch(mine | theirs)) or not mine <= theirs | mine
