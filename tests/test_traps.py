from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.records import Link, Novelty, Page
from scrapy_replica.urls.folding import Folding
from scrapy_replica.urls.mazes import Mazes
from scrapy_replica.urls.shapes import TrapKind, shape
from scrapy_replica.urls.traps import Finder, Traps


def fed(urls, is_news=False, finder=Finder.IDLE, **options):
    traps = Traps(**options)
    for url in urls:
        traps.observe(url, is_news, finder)
    return traps


def kind(traps, url):
    trap = traps.trap(url)
    return trap.kind if trap is not None else None


MONTHS = [f"http://h/events/{year}-{month:02}" for year in (2024, 2025) for month in range(1, 13)]


class TestShape:
    @pytest.mark.parametrize(
        ("url", "expected", "values"),
        [
            ("http://h/cal/2024/05/", TrapKind.CALENDAR, []),
            ("http://h/cal/2024/5/17", TrapKind.CALENDAR, []),
            ("http://h/cal/202405?view=list", TrapKind.CALENDAR, ["view=list"]),
            ("http://h/cal/17.05.2024", TrapKind.CALENDAR, []),
            ("http://h/cal/2024-W20", TrapKind.CALENDAR, []),
            ("http://h/cal/2024/may", TrapKind.CALENDAR, ["may"]),
            ("http://h/cal?year=2024&month=5&room=7", TrapKind.CALENDAR, ["room=7"]),
            ("http://h/cal?y=2024&m=5", TrapKind.CALENDAR, []),
            ("http://h/2024/05/12/what-came-of-it", TrapKind.CALENDAR, ["what-came-of-it"]),
            ("http://h/list?colour=red&size=s", TrapKind.FACETS, ["colour=red", "size=s"]),
            ("http://h/a/x/a/x", TrapKind.REPEATING_SEGMENTS, ["a", "x"]),
            ("http://h/page/7/7/7/", TrapKind.REPEATING_SEGMENTS, ["7", "page"]),
            ("http://h/" + "/".join("abcdefghijkl"), TrapKind.GROWING_PATH, []),
            ("http://h/wiki/a?rev=7", TrapKind.REVISIONS, ["rev="]),
            ("http://h/wiki/a?action=diff&version=2", TrapKind.REVISIONS, ["action=diff"]),
        ],
    )
    def test_what_a_machine_makes(self, url, expected, values):
        found = shape(url)
        assert (found.kind, sorted(found.values)) == (expected, values)

    @pytest.mark.parametrize(
        "url",
        [
            "http://h/wiki/Ada_Lovelace?section=7",
            "http://h/album/2024/may.html",
            "http://h/item/123456789",
            "http://2024-05.h/x",
            "http://h/list?m=5",
            *("", "h", "http://", "http://h?", "http://h/?&&=", "http://h/#/a/a/a"),
        ],
    )
    def test_what_has_none(self, url):
        assert shape(url) is None

    def test_one_calendar_is_one_place(self):
        assert len({shape(url).place for url in MONTHS}) == 1
        assert shape("http://h/rooms/7/2024-05").place != shape("http://h/rooms/8/2024-05").place

    @given(st.text("ab12/-.?&=", max_size=30))
    def test_any_url(self, rest):
        found = shape(f"http://h/{rest}")
        assert found is None or (found == shape(f"http://h/{rest}#top") and found.place)


class TestTraps:
    @pytest.mark.parametrize(
        ("urls", "expected"),
        [
            (MONTHS, TrapKind.CALENDAR),
            ([f"http://h/a/b{'/x' + '/yz'.join(map(str, range(n)))}" for n in range(14, 40)], TrapKind.GROWING_PATH),
            ([f"http://h/a/b{'/a/b' * n}" for n in range(2, 30)], TrapKind.REPEATING_SEGMENTS),
            ([f"http://h/shop?a={i % 3}&b={i % 5}&c={i % 7}" for i in range(20)], TrapKind.FACETS),
        ],
    )
    def test_no_news_and_the_shape_of_a_trap(self, urls, expected):
        assert kind(fed(urls), urls[-1]) is expected

    def test_what_is_new_in_the_url_is_fetched(self):
        traps = fed([*MONTHS, *(f"http://h/list?a={i % 3}&b={i % 5}" for i in range(30))])
        assert kind(traps, "http://h/events/2030-01") is TrapKind.CALENDAR
        assert kind(traps, "http://h/events/2030-01/the-feast") is None
        assert kind(traps, "http://h/list?a=2&b=2") is TrapKind.FACETS
        assert kind(traps, "http://h/list?a=2&b=7") is None

    def test_certain_after_twice_as_many_but_for_calendars_which_are_looked_into(self):
        assert fed(MONTHS[:9]).trap(MONTHS[0]) is None
        assert fed(MONTHS[:10]).trap(MONTHS[0]).is_certain
        lists = [f"http://h/list?a={i % 3}&b={i % 5}" for i in range(20)]
        assert not fed(lists[:15]).trap(lists[0]).is_certain
        assert fed(lists).trap(lists[0]).is_certain

    def test_old_versions_are_no_news_and_counted_by_host(self):
        pages = [f"http://h/wiki/{page}?{view}" for page in "abc" for view in ("rev=7", "action=diff&version=2")]
        traps = fed(pages, is_news=True, patience=12)
        assert traps.trap("http://h/wiki/d?do=revisions")[:2] == (TrapKind.REVISIONS, True)
        assert traps.trap("http://h/wiki/d") is None
        assert traps.trap("http://other/wiki/d?rev=3") is None
        assert traps.trap("http://h/wiki/d?version=latest") is None

    def test_editions_are_no_wiki(self):
        assert fed(f"http://h/law?version={number}" for number in range(60)).trap("http://h/law?version=7") is None

    @pytest.mark.parametrize(
        ("urls", "finder"),
        [
            (MONTHS, Finder.STRANGER),
            (MONTHS, Finder.PAGE),
            ([f"http://h/a/b{'/a/b' * n}" for n in range(2, 30)], Finder.PAGE),
            ([f"http://h/shop?a={i % 3}&b={i % 5}" for i in range(40)], Finder.STRANGER),
            ([f"http://h/wiki/a?{view}" for view in ("rev=7", "do=diff") * 20], Finder.STRANGER),
        ],
    )
    def test_what_strangers_and_news_lead_to_is_no_evidence(self, urls, finder):
        assert fed(urls).trap(urls[-1]) is not None
        assert fed(urls, finder=finder).trap(urls[-1]) is None

    def test_news_in_a_trap_opens_it(self):
        traps = fed(MONTHS[:12])
        assert not traps.observe(MONTHS[12], False, Finder.IDLE)
        assert traps.observe(MONTHS[13], True, Finder.IDLE)
        assert traps.trap(MONTHS[14]) is None
        assert not traps.observe(MONTHS[14], True, Finder.IDLE)

    @pytest.mark.parametrize("is_news", [True, None])
    def test_a_calendar_with_news_is_none(self, is_news):
        assert fed(MONTHS, is_news).trap(MONTHS[-1]) is None

    def test_news_ends_the_wait_and_makes_it_longer(self):
        traps = fed(MONTHS[:15], True)
        for url in MONTHS[:14]:
            traps.observe(url, False, Finder.IDLE)
        assert traps.trap(MONTHS[-1]) is None
        traps.observe(MONTHS[0], False, Finder.IDLE)
        assert traps.trap(MONTHS[-1]) is not None
        traps.observe(MONTHS[0], True, Finder.IDLE)
        assert traps.trap(MONTHS[-1]) is None

    def test_other_places_are_not_touched(self):
        traps = fed(MONTHS)
        assert traps.trap("http://h/news/2024-01") is None
        assert traps.trap("http://other/events/2024-01") is None

    def test_memory_is_bounded(self):
        assert len(fed((f"http://h/a{i}/2024-05" for i in range(500)), max_places=100)) == 100

    def test_patience_must_be_positive(self):
        with pytest.raises(ValueError, match="patience"):
            Traps(patience=0)


LONG = "we are sorry that there is nothing to be found here any more " * 3


def judged(traps, url, title="", text="", links=(), novelty=Novelty.NOVEL, is_news=True):
    page = Page(url, "h", title, text=text, words=len(text.split()), links=tuple(Link(link) for link in links))
    found = traps.is_news(page, novelty, is_news, 20)
    traps.observe(url, found, Finder.IDLE)
    return found


class TestNews:
    def test_an_empty_calendar_has_none_after_its_first_page(self):
        traps = Traps()
        said = [("May 2024", "No events\n29 30 1 2 3 4 5 6 7 8 9"), ("June 2024", "No events\n1 2 3 4 5 6 7 8 9")]
        found = [judged(traps, f"http://h/cal/2024/{n + 5}", *both, is_news=None) for n, both in enumerate(said)]
        assert found == [None, False]

    @pytest.mark.parametrize(
        ("text", "links", "expected"),
        [
            ("No events", ["http://h/event/1"], True),
            ("There will be a feast", [], True),
            ("Feast", [], None),
            ("No events\n17.5 degrees", [], None),
            ("No events", ["http://h/cal/2024/07", "http://h/cal/2025/06"], False),
        ],
    )
    def test_what_is_news_of_a_calendar(self, text, links, expected):
        traps = Traps()
        judged(traps, "http://h/cal/2024/05", "May", "No events", ["http://h/cal/2024/06"])
        assert judged(traps, "http://h/cal/2024/06", "June 2024", text, links) is expected

    def test_a_page_that_a_script_fills_tells_nothing(self):
        traps = Traps()
        found = [
            judged(traps, f"http://h/cal/2024/{n:02}", "", "Switch on scripts", is_news=False) for n in range(1, 9)
        ]
        assert found == [True] + [None] * 7

    def test_a_page_without_a_shape_is_what_it_was(self):
        assert [judged(Traps(), "http://h/x", text="a", is_news=news) for news in (True, False, None)] == [
            True,
            False,
            None,
        ]


NOWHERE = "http://h/x/1000"


def walked(mazes, n, text=LONG, found_on=lambda number: number - 1, links=lambda number: ()):
    """Show *n* pages, each found on the one before."""
    for number in range(n):
        said = text(number) if callable(text) else text
        page = Page(f"http://h/x/{number}", "h", "", text=said, links=tuple(map(Link, links(number))))
        mazes.observe(page, number, found_on(number), is_repeated=number > 0)
    return mazes


class TestMazes:
    def test_pages_with_one_text_that_feed_themselves(self):
        mazes = walked(Mazes(), 32)
        assert mazes.has(NOWHERE, 31)
        assert not walked(Mazes(), 31).has(NOWHERE, 30)

    def test_only_what_they_lead_to_is_in_it(self):
        mazes = walked(Mazes(), 100)
        assert not mazes.has(NOWHERE, None)
        assert not mazes.has(NOWHERE, 1000)
        assert not mazes.has("http://h/y/1", 99)

    @pytest.mark.parametrize("found_on", [None, 1000])
    def test_what_others_lead_to_is_none(self, found_on):
        assert not walked(Mazes(), 300, found_on=lambda number: found_on).has(NOWHERE, 299)

    @pytest.mark.parametrize(
        ("text", "is_maze"),
        [
            (lambda number: f"{LONG} page {number}", True),
            (lambda number: f"{LONG} {number * 7}", False),
        ],
    )
    def test_the_text_is_that_of_its_url(self, text, is_maze):
        assert walked(Mazes(), 100, text).has(NOWHERE, 99) is is_maze

    def test_lists_with_one_heading_are_none(self):
        goods = walked(Mazes(), 100, links=lambda number: [f"http://h/goods/{number}", "http://h/about"])
        assert not goods.has(NOWHERE, 99)
        assert walked(Mazes(), 100, links=lambda number: ["http://h/about/us"]).has(NOWHERE, 99)

    def test_news_ends_it(self):
        mazes = walked(Mazes(), 100)
        mazes.observe(Page("http://h/x/news", "h", "", text="something else"), 1000, 99, is_repeated=False)
        assert not mazes.has(NOWHERE, 99)

    def test_memory_is_bounded(self):
        mazes = Mazes(max_places=10)
        for number in range(5_000):
            mazes.observe(Page(f"http://h/x/{number}", "h", "", text=LONG), number, None, is_repeated=True)
        assert len(mazes) < 2_100
        for number in range(100):
            url = f"http://h/x?{'a' * number}=1"
            mazes.observe(Page(url, "h", "", text=LONG), number, None, is_repeated=True)
        assert len(mazes) <= 20


class TestFolding:
    @given(st.text(max_size=40), st.text(max_size=60), st.booleans())
    def test_any_page(self, path, text, is_date):
        folding = Folding(f"http://h/{path}", text, text, is_date=is_date)
        lines = list(folding.lines())
        assert lines == list(Folding(f"http://h/{path}", text, text, is_date=is_date).lines())
        assert len(lines) <= 2 * len(text) + 2

    def test_what_is_left(self):
        folding = Folding(
            "http://h/cal/2024/12",
            "December 2024",
            "1 2 3 4 5\n12:30 Feast for 80\n11.12.2024\nJanuary 2025",
            is_date=True,
        )
        assert list(folding.lines()) == [(("feast", "for"), ("80",))]

    def test_a_date_in_seconds(self):
        """As Moodle's calendar has it: 2024-12-01."""
        url, text = "http://h/calendar/view.php?view=day&time=1733011200", "1 December 2024\n30 guests"
        assert list(Folding(url, "", text, is_date=True).lines()) == [(("guests",), ("30",))]
        assert len(list(Folding(url.replace("=1733011200", "=1"), "", text, is_date=True).lines())) == 2


class TestListings:
    """Pages of little text in a place of arguments: lists where what they link to differs, shells where it does not."""

    @staticmethod
    def told(links_of):
        traps = Traps(5)
        for number in range(12):
            url = f"http://h/list?colour={number % 3}&order={number % 4}"
            page = Page(url, "h", text="List", words=1, links=tuple(Link(one) for one in links_of(number)))
            yield traps.is_news(page, Novelty.UNKNOWN, None, 20)

    def test_a_list_without_a_new_link_brings_nothing_new(self):
        told = [*self.told(lambda number: [f"http://h/item/{number % 3 + one}" for one in range(2)])]
        assert told[-3:] == [False] * 3

    def test_of_a_shell_nothing_is_told(self):
        told = [*self.told(lambda number: ["http://h/", "http://h/about"])]
        assert False not in told
