"""Text that a machine made up, and all that only looks like it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations, islice
from random import Random

import pytest
from babble import babble, paragraphs, real_pages, written
from hostile.traps import translated, verses
from lxml.html import document_fromstring
from pyarrow import parquet as pq

from scrapy_replica.crawl.urls.chains import LINE, odds_ratio
from scrapy_replica.crawl.urls.made_up import CHAIN, LONG, MAX_WAYS, WINDOW, MadeUp, adaptation, packed_stems
from scrapy_replica.pages.links import Base, page_links
from scrapy_replica.pages.terms import terms
from scrapy_replica.records import Link, Page
from scrapy_replica.urls.shapes import TrapKind

WORDS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "iris", "juniper", "kapok", "larch")


def page(number, text, language="en", directory="maze"):
    url = f"http://a.example/{directory}/{number}"
    return Page(url=url, host="a.example", text=text, language=language, terms=terms(text, language))


def sentences():
    """Return sentences of the documentation, 8 to 50 words each."""
    said = (one for parts in paragraphs().values() for part in parts for one in part.split(". "))
    return sorted({one for one in said if 8 <= len(one.split()) < 50})


def is_called(texts, language="en"):
    """Tell whether the place of pages with these *texts* is called made up."""
    made_up = MadeUp()
    for number, text in enumerate(texts):
        made_up.observe(page(number, text, language), number, "en")
    return made_up.maze_of("http://a.example/maze/x", len(texts) - 1) is not None


def names(random):
    return " ".join(f"{random.choice(WORDS)}{random.randrange(900)} {random.randrange(9999)}" for _ in range(150))


def code(random):
    lines = (f"def {random.choice(WORDS)}_{random.randrange(999)}(self, {random.choice(WORDS)}):" for _ in range(60))
    return "\n".join(lines)


def listing(random):
    """Whole sentences, each of another thing: what lists of names are in prose."""
    return "\n".join(f"The {word} of {random.randrange(999)} is in the {word} house, where it was." for word in WORDS)


class TestCalled:
    @pytest.mark.parametrize(("words", "known"), [(150, 10), (300, 12), (600, 12)])
    def test_babble(self, words, known):
        """Of twelve mazes of short pages two are missed."""
        assert sum(is_called([babble((maze, n), words) for n in range(WINDOW)]) for maze in range(12)) >= known

    def test_whole_phrases_are_known_from_twice_as_many_pages(self):
        """A chain of order 3 was never known: it repeats the words of a phrase, but none a hundred words on."""
        called = [is_called([babble((maze, n), order=3) for n in range(2 * WINDOW)]) for maze in range(4)]
        assert sum(called) >= 2

    @pytest.mark.parametrize("order", [1, 2])
    def test_lines_are_known_from_two_windows(self, order):
        """Mazes of short paragraphs were never known: their words come back as little as those of quotations do."""
        pages = ["\n".join(babble((n, line), 15 + line, order) for line in range(14)) for n in range(2 * WINDOW)]
        assert is_called(pages)
        assert not is_called(pages[:-1])

    def test_lines_of_whole_phrases_are_known_from_four_windows_and_stay_known(self):
        """Sixty pages of a chain of order 3 repeat too few runs of three words."""
        lengths = range(10, 24)
        pages = ["\n".join(babble((n, k), k, order=3) for k in lengths) for n in range(LONG + WINDOW)]
        assert not is_called(pages[: LONG - 1])
        assert is_called(pages[:LONG])
        assert is_called(pages)

    def test_what_is_known_from_two_windows_stays_known(self, monkeypatch):
        monkeypatch.setattr("scrapy_replica.crawl.urls.made_up.LEAST", 0)
        monkeypatch.setattr("scrapy_replica.crawl.urls.made_up.LEAST_APART", 0.05)
        made_up = MadeUp()
        opened = [made_up.observe(page(n, babble(n)), n, "en") for n in range(3 * WINDOW)]
        assert not any(opened)
        assert all(made_up.maze_of("http://a.example/maze/x", n) for n in (WINDOW, 3 * WINDOW - 1))

    def test_not_before_there_are_enough_pages(self):
        assert not is_called([babble(n) for n in range(WINDOW - 1)])

    def test_only_what_its_own_pages_lead_to(self):
        made_up = MadeUp()
        for number in range(WINDOW):
            made_up.observe(page(number, babble(number)), number, "en")
        assert made_up.maze_of("http://a.example/maze/new", 3) == (TrapKind.MADE_UP, "a.example/maze")
        assert made_up.maze_of("http://a.example/maze/new", 99) is None
        assert made_up.maze_of("http://a.example/maze/new", None) is None
        assert made_up.maze_of("http://a.example/real/new", 3) is None

    def test_what_the_first_pages_of_a_maze_that_is_known_late_lead_to(self):
        """Of 120 words a line, as the last three have it: known from ninety pages, whose first ones led to 300 URLs."""
        made_up = MadeUp()
        for n in range(3 * WINDOW):
            assert made_up.maze_of("http://a.example/maze/x", 0) is None
            made_up.observe(page(n, "\n".join(babble((11, n, part), 120, order=3) for part in range(3))), n, "en")
        assert made_up.maze_of("http://a.example/maze/x", 0) is not None

    def test_what_real_pages_lead_to_before_a_maze_begins_beside_them(self):
        made_up = MadeUp()
        for n, text in enumerate([*real_pages()[: 2 * WINDOW], *map(babble, range(2 * WINDOW))]):
            made_up.observe(page(n, text), n, "en")
        assert made_up.maze_of("http://a.example/maze/x", 4 * WINDOW - 1) is not None
        assert made_up.maze_of("http://a.example/maze/x", 0) is None

    def test_real_pages_open_the_place_again(self):
        made_up, texts = MadeUp(), real_pages()[:WINDOW]
        for number in range(WINDOW):
            made_up.observe(page(number, babble(number)), number, "en")
        reopened = [made_up.observe(page(n, text), n, "en") for n, text in enumerate(texts)]
        assert reopened == [False] * (WINDOW - 1) + [True]
        assert made_up.maze_of("http://a.example/maze/new", 3) is None


class TestNotCalled:
    def test_prose(self):
        texts = real_pages()
        assert len(texts) >= 2 * WINDOW
        for seed in range(5):
            assert not is_called(Random(seed).sample(texts, WINDOW))

    @pytest.mark.parametrize("make", [names, code, listing])
    def test_what_is_no_prose(self, make):
        assert not is_called([make(Random(n)) for n in range(WINDOW)])

    @pytest.mark.parametrize("language", ["ja", "pl"])
    def test_a_language_whose_prose_cannot_be_told(self, language):
        assert not is_called([babble(n) for n in range(WINDOW)], language)

    @pytest.mark.shared
    def test_no_real_directory(self, shared):
        """The lowest is one whose pages list teasers of many articles."""
        columns = pq.read_table(shared / "focus" / "uci.parquet", columns=["url", "text"]).to_pydict()
        texts = defaultdict(list)
        for url, text in zip(columns["url"], columns["text"], strict=True):
            if text and len(text) > 500:
                texts["/".join(url.split("/")[:4])].append(text[:20_000])
        measured = []
        for of_place in texts.values():
            stems = (packed_stems(page(0, text), "en") for text in of_place if len(of_place) > 2 * WINDOW)
            window = [*islice(filter(None, stems), WINDOW)]
            measured += [adaptation(window)] if len(window) == WINDOW else []
        measured = [one for one in measured if one is not None]
        assert len(measured) >= 15
        assert min(measured) > 0.09

    @pytest.mark.parametrize("make", [verses, translated])
    def test_verses_and_what_was_translated_word_by_word(self, make):
        pages = [make(n).replace("<br>", "\n") for n in range(LONG)]
        assert not is_called(pages, "de" if make is translated else "en")

    @pytest.mark.parametrize("seed", range(3))
    def test_sayings_about_nothing_in_common(self, seed):
        """Lines of a page are each about something else, as quotations, headlines and publications are."""
        lines = Random(seed).sample(sentences(), 20 * WINDOW)
        assert not is_called(["\n".join(lines[first : first + 10]) for first in range(0, len(lines), 10)])

    def test_pages_of_a_form(self):
        """One text with a few words of each page's own."""
        form = real_pages()[0]
        assert not is_called([f"{form} {WORDS[n % 12]} {n}" for n in range(WINDOW)])

    def test_broken_text(self):
        assert not is_called(["\ud800 the \ud801 of", "", "\0"] * WINDOW)


def slow_odds(pages, order):
    """Pair by pair: places on different pages with the same run of words before what follows."""
    places = defaultdict(set)
    for number, page in enumerate(pages):
        for n in range(len(page) - order - 1):
            before, *run, after = here = page[n : n + order + 2]
            if LINE not in here:
                places[tuple(run)].add((before, after, number))
    together = apart = 0.0
    for of_run in places.values():
        pairs = [(a, b) for a, b in combinations(sorted(of_run), 2) if a[2] != b[2]]
        agreed = [(a[0] == b[0], a[1] == b[1]) for a, b in pairs]
        weight = max(1, len(pairs)) ** -1.5
        together += weight * agreed.count((True, True)) * agreed.count((False, False))
        apart += weight * agreed.count((True, False)) * agreed.count((False, True))
    return together / apart


class TestChains:
    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_as_counted_pair_by_pair(self, order):
        random = Random(order)
        pages = [[random.choice((1, 1, 2, 3, LINE)) for _ in range(40)] for _ in range(6)]
        assert odds_ratio(pages, order)[0] == pytest.approx(slow_odds(pages, order))

    def test_of_a_chain_it_is_one_and_of_language_more(self):
        words = defaultdict(lambda: len(words) + 1)
        chain = [[words[word] for word in babble(n, 300).split()] for n in range(60)]
        said = [[words[word] for word in text.split()] for text in real_pages()[:60]]
        assert 0.7 < odds_ratio(chain, 1)[0] < CHAIN
        assert odds_ratio(said, 1)[0] > 2

    @pytest.mark.parametrize("pages", [[[]], [[1]], [[1, 2, 3, LINE], []], [[LINE] * 9]])
    def test_nothing_tells(self, pages):
        assert odds_ratio(pages, 1)[1] == 0.0


HOME = "http://a.example/"
SHY = Link(f"{HOME}maze/in", is_shy=True)


def labyrinth(entrances, inward=10, outward=0, says=written):
    """Return what is known after a home page with *entrances*, and a window of pages with so many links to a place."""
    made_up = MadeUp()
    made_up.meet(Page(url=HOME, host="a.example", links=tuple(entrances)))
    for number in range(WINDOW):
        links = [Link(f"{HOME}maze/{number * 10 + k}") for k in range(inward)]
        links += [Link(f"{HOME}part-{k}/") for k in range(outward)]
        said = replace(page(number, says(number)), links=tuple(links))
        made_up.observe(said, number, "en")
    return made_up


def is_waiting(made_up, url=f"{HOME}maze/new"):
    return made_up.maze_of(url, 3) == (TrapKind.LABYRINTH, "a.example/maze")


class TestLabyrinths:
    def test_written_text_behind_hidden_links(self):
        made_up = labyrinth([SHY])
        assert is_waiting(made_up)
        assert not is_waiting(made_up, f"{HOME}real/new")

    def test_made_up_text_behind_them_is_no_less_one(self):
        """What hidden links lead to waits, too, and not only what its own pages lead to."""
        found = labyrinth([SHY], says=babble).maze_of(f"{HOME}maze/new", None)
        assert found == (TrapKind.LABYRINTH, "a.example/maze")

    def test_not_where_a_reader_is_led_or_a_person_is(self):
        assert not is_waiting(labyrinth([SHY, Link(f"{HOME}maze/other")]))
        assert not is_waiting(labyrinth([]))
        made_up = labyrinth([SHY])
        made_up.show(f"{HOME}maze/5")
        assert not is_waiting(made_up)

    def test_not_where_pages_have_a_menu(self):
        assert not is_waiting(labyrinth([SHY], outward=5))

    def test_a_link_that_is_shown_later_opens_it(self):
        made_up = labyrinth([SHY])
        made_up.meet(Page(url=f"{HOME}news", host="a.example", links=(Link(f"{HOME}maze/7"),)))
        assert not is_waiting(made_up)

    def test_links_of_other_hosts_tell_nothing(self):
        assert not is_waiting(labyrinth([Link("http://b.example/maze/in", is_shy=True)]))

    def test_a_host_of_a_thousand_places_has_none(self):
        assert not is_waiting(labyrinth([SHY, *(Link(f"{HOME}{k}/") for k in range(MAX_WAYS))]))


@pytest.mark.parametrize(
    ("html", "is_shy"),
    [
        ('<a href="/x">x</a>', False),
        ('<a href="/x" rel="noopener NoFollow">x</a>', True),
        ('<div style="color: red; Display : none"><p><a href="/x">x</a></div>', True),
        ('<div style="display: none"><p><a href="/x">x</a></div>', True),
        ('<a href="/x" style="visibility:hidden">x</a>', True),
        ('<ul hidden><li><a href="/x">x</a></ul>', True),
        ('<a href="/x" rel="nofollow">x</a><a href="/x">seen as well</a>', False),
        ('<a href="/x">seen</a><a href="/x" hidden>x</a>', False),
        ('<div style="display:none"></div><a href="/x" rel="me">x</a>', False),
    ],
)
def test_links_that_no_reader_is_to_follow(html, is_shy):
    root = document_fromstring(f"<body>{html}</body>")
    assert [link.is_shy for link in page_links(root, Base(HOME))[0]] == [is_shy]
