"""Every strategy against the inputs that a crawl really meets."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus import context, known_graph, link_table, top_terms, window
from scrapy_replica.focus.links import LinkWords, directories, url_words
from scrapy_replica.focus.strategies import layered, link_aware
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.focus.term_regression import TermRegression
from scrapy_replica.lab.archives.collection import Collection, build
from scrapy_replica.lab.strategies import STRATEGIES, hot_queue, make, pagerank, soft_focus
from scrapy_replica.lab.visits.figures import figures
from scrapy_replica.lab.visits.visit import Limits, visit
from scrapy_replica.records import Link, Page

ON_TOPIC = {"markov": 3, "chain": 1}


def relevance_of(terms: Mapping[str, int]) -> float:
    return 0.9 if "markov" in terms else 0.05


def words() -> LinkWords:
    return LinkWords(relevance_of, lambda text: dict.fromkeys(text.lower().split(), 1))


@pytest.fixture(params=sorted(STRATEGIES))
def strategy(request: pytest.FixtureRequest) -> Strategy:
    return make(request.param, 0, words())


def web(pages: int = 900, relevant: str = "/topic/") -> tuple[Collection, np.ndarray]:
    """A site of three directories; the hub of each links to its pages, one of them is on topic."""
    chance = np.random.default_rng(4)
    names = ("topic", "photo", "misc")
    urls = ["http://a.org/", *(f"http://a.org/{names[i % 3]}/{i}" for i in range(1, pages))]
    graph: list[list[tuple[int, str]]] = [[(i, "next") for i in range(1, 31)]]
    for page in range(1, pages):
        own = [31 + (page * 7 + step * 3 - 31 + page % 3) % (pages - 31) for step in range(10)]
        near = [t if t % 3 == page % 3 else max(1, t - (t - page) % 3) for t in own]
        graph.append([(t, "page") for t in near if t < pages] + [(int(chance.integers(1, pages)), "see also")])
    terms = [ON_TOPIC if relevant in url else {"picture": 2, f"w{i % 9}": 1} for i, url in enumerate(urls)]
    mask = np.array([relevant in url for url in urls])
    return build([(u, "", t) for u, t in zip(urls, terms, strict=True)], graph, [0], {"topic": []}), mask


class TestEveryStrategy:
    def test_hears_of_urls_that_brought_nothing(self, strategy: Strategy) -> None:
        page = Page("http://a.org/", "a.org", terms=ON_TOPIC)
        strategy.visited(page, 0.9)
        strategy.scores(page, [Link("http://a.org/x/1"), Link("http://a.org/x/2")])
        for url in ("http://a.org/x/1", "http://a.org/x/1", "http://never.example/", page.url):
            strategy.unproductive(url)
        assert np.isfinite(strategy.scores(page, [Link("http://a.org/x/2")])).all()

    def test_visits_all_that_is_reachable_and_twice_alike(self, strategy: Strategy) -> None:
        found, mask = web(300)
        relevance = np.where(mask, 0.9, 0.05)
        order = visit(found, strategy, relevance)
        assert sorted(order.tolist()) == np.flatnonzero(found.reachable()).tolist()
        again = visit(found, make(type(strategy).name, 0, words()), relevance)
        assert order.tolist() == again.tolist()

    @pytest.mark.parametrize("value", [0.0, 1.0, float("nan")])
    def test_none_relevant_all_relevant_and_no_answer(self, strategy: Strategy, value: float) -> None:
        found, _ = web(120)
        order = visit(found, strategy, np.full(120, value))
        assert len(order) == found.reachable().sum()

    def test_page_without_links_terms_or_with_a_self_link(self, strategy: Strategy) -> None:
        empty = Page("http://a.org/empty", "a.org")
        strategy.visited(empty, float("nan"))
        assert strategy.scores(empty, ()).shape == (0,)
        itself = Page("http://a.org/self", "a.org", links=(Link("http://a.org/self"),))
        strategy.visited(itself, 0.7)
        assert np.isfinite(strategy.scores(itself, itself.links)).all()
        assert all(np.isfinite(score) for score in strategy.rescored().values())

    def test_one_giant_host_leaves_room_for_the_others_under_a_cap(self, strategy: Strategy) -> None:
        urls = [f"http://{f'h{i % 4}' if i % 10 == 9 else 'giant'}.org/{i}" for i in range(300)]
        graph = [[(3 * i + k, "page") for k in (1, 2, 3) if 3 * i + k < 300] for i in range(300)]
        mask = np.array([i % 2 == 0 for i in range(300)])
        pages = [(url, "", ON_TOPIC if on else {"picture": 2}) for url, on in zip(urls, mask, strict=True)]
        found = build(pages, graph, [0], {"topic": []})
        order = visit(found, strategy, np.where(mask, 0.9, 0.05), Limits(per_host=120))
        hosts = [urls[number].split("/")[2] for number in order]
        assert hosts.count("giant.org") == 120
        assert len(hosts) > 120 + 5
        assert len(set(order.tolist())) == len(order)

    def test_duplicate_links_and_copies_of_pages_are_visited_once(self, strategy: Strategy) -> None:
        urls = [f"http://a.org/{'topic' if i % 3 == 0 else 'misc'}/{i}" for i in range(60)]
        graph = [[(2 * i + 1 + k % 2, "copy") for k in range(6) if 2 * i + 2 < 60] + [(i, "self")] for i in range(60)]
        terms = [ON_TOPIC if i % 3 == 0 else {"picture": 2} for i in range(60)]
        found = build([(u, "", t) for u, t in zip(urls, terms, strict=True)], graph, [0], {"topic": []})
        order = visit(found, strategy, np.where(np.arange(60) % 3 == 0, 0.9, 0.05))
        assert sorted(order.tolist()) == np.flatnonzero(found.reachable()).tolist()


class TestFocused:
    """On a site whose topic lies in one directory a focused order must beat the order of discovery."""

    @pytest.mark.parametrize(
        "name",
        ["best-first", "best-first-anchors", "hmm-static", "hmm-dynamic", "link-aware", "hot-queue", "tunnelling"],
    )
    def test_beats_breadth_first(self, name: str) -> None:
        found, mask = web()
        relevance = np.where(mask, 0.9, 0.05)
        focused = figures(visit(found, make(name, 0, words()), relevance), mask).pref
        plain = figures(visit(found, make("breadth-first"), relevance), mask).pref
        assert focused > plain + 0.1

    def test_nothing_relevant_is_breadth_first_under_the_hmm(self) -> None:
        found, _ = web(300)
        order = visit(found, make("hmm-dynamic"), np.zeros(300))
        assert order.tolist() == visit(found, make("breadth-first"), np.zeros(300)).tolist()


class TestMake:
    def test_a_strategy_that_reads_words_needs_a_topic(self) -> None:
        with pytest.raises(ValueError, match="needs a topic"):
            make("link-aware")


class TestLinkWords:
    def test_anchor_and_url_count(self) -> None:
        found = words()(
            [Link("http://a.org/x", "Markov models"), Link("http://a.org/markov/3"), Link("http://a.org/y")]
        )
        assert found.tolist() == [0.9, 0.9, 0.05]

    def test_a_model_without_an_answer_gives_0(self) -> None:
        assert LinkWords(lambda _: float("nan"), lambda _: {})([Link("http://a.org/")]).tolist() == [0.0]

    def test_buckets_are_those_of_words_and_place(self):
        known = words()
        link = Link("http://a.org/x/y", "markov models")
        assert known.buckets(link, 3).tolist() == known.buckets(link, 4).tolist()
        assert known.buckets(link, 3).tolist() != known.buckets(link, 5).tolist()
        other = set(known.buckets(Link("http://b.org/x/y", "models markov"), 3)) - {0}
        assert other == set(known.buckets(link, 3)) - {0}
        assert set(known.buckets(Link("http://a.org/markov/models", "x y"), 3)) & other < other
        assert np.count_nonzero(known.buckets(Link("http://a.org/", " ".join(map(str, range(40)))), 0)) == 16

    def test_words_and_directories_of_a_url(self) -> None:
        assert url_words("http://a.org/ml/Bayes_net-2.html?q=deep%20net") == "ml Bayes net html q deep net"
        assert directories("http://a.org/x/y/z.html") == ["a.org", "a.org/x", "a.org/x/y"]


class TestTermRegression:
    @settings(max_examples=20)
    @given(sets=st.lists(st.sets(st.integers(1, 30), max_size=5), min_size=2, max_size=8), begun=st.booleans())
    def test_is_the_minimum_of_its_losses(self, sets: list[set[int]], begun: bool) -> None:
        """Held against plain gradient descent on dense rows; what was learnt elsewhere is where it is drawn to."""
        model, start = TermRegression(30, 0.5), np.zeros(30)
        if begun:
            start[:] = np.linspace(-1, 1, 30)
            model.begin_with(start)
        rows = np.zeros((len(sets), 5), dtype=np.int64)
        dense = np.zeros((len(sets), 30))
        for place, terms in enumerate(sets):
            rows[place, : len(terms)] = sorted(terms)
            dense[place, [term - 1 for term in terms]] = 1 / np.sqrt(max(1, len(terms)))
        counts, shares = 1.0 + np.arange(len(sets)), np.linspace(0.1, 0.9, len(sets))
        weights, intercept = start.copy(), 0.0
        for _ in range(5_000):
            residuals = counts * (1 / (1 + np.exp(-dense @ weights - intercept)) - shares)
            weights -= 0.05 * (dense.T @ residuals + 0.5 * (weights - start))
            intercept -= 0.05 * residuals.sum()
        model.fit(rows, counts, counts * shares)
        assert model.log_odds(rows) == pytest.approx(dense @ weights, abs=0.03)


class TestFunctionOfThePagesShown:
    def test_the_same_pages_give_the_same_scores(self, strategy: Strategy) -> None:
        found, mask = web(300)
        again = make(type(strategy).name, 0, words())
        relevance = np.where(mask, 0.9, 0.05)
        order = visit(found, strategy, relevance, Limits(pages=150))
        for number in order.tolist():
            page = found.page(number)
            again.visited(page, float(relevance[number]))
            again.scores(page, page.links)
            again.rescored()
        new = Page(
            "http://a.org/new", "a.org", terms=ON_TOPIC, links=tuple(Link(f"http://a.org/n/{i}") for i in range(4))
        )
        for each in (strategy, again):
            each.visited(new, 0.8)
        assert again.scores(new, new.links).tolist() == strategy.scores(new, new.links).tolist()


def show(strategy: Strategy, page: Page, relevance: float) -> tuple[list[float], dict[str, float]]:
    strategy.visited(page, relevance)
    return strategy.scores(page, page.links).tolist(), strategy.rescored()


def drawn(number: int) -> tuple[Page, float]:
    """A page of a web of 60 that changes while it is visited, and its relevance."""
    lots = random.Random(number)
    links = tuple(
        Link(f"http://h{target % 3}.org/{target % 5}/{target}", f"to {target % 7}")
        for target in (lots.randrange(60) for _ in range(lots.randrange(8)))
    )
    here = lots.randrange(60)
    terms = ON_TOPIC if here % 4 == 0 else {f"w{lots.randrange(9)}": 1, "odd \udc80": 2}
    return Page(f"http://h{here % 3}.org/{here % 5}/{here}", "h.org", terms=terms, links=links), lots.random()


class TestSaved:
    @settings(max_examples=12)
    @given(before=st.integers(0, 400), after=st.integers(1, 40), seed=st.integers(0, 1000))
    @pytest.mark.parametrize("name", sorted(STRATEGIES))
    def test_one_that_loaded_goes_on_as_the_one_that_saved(self, name: str, before: int, after: int, seed: int) -> None:
        """Also where the windows are full, and whatever the first is shown while its pieces are taken."""
        with small_windows():
            strategy, again = make(name, 0, words()), make(name, 0, words())
            for number in range(before):
                show(strategy, *drawn(seed + number))
            pieces = strategy.save()
            shown = [drawn(seed + before + number) for number in range(after)]
            expected = [show(strategy, *each) for each in shown]
            again.load(pieces)
            assert [show(again, *each) for each in shown] == expected
            urls = [link.url for page, _ in shown for link in page.links]
            now, then = again.scores_now(urls), strategy.scores_now(urls)
            assert (now is None) == (then is None)
            assert now is None or then is None or now.tolist() == then.tolist()

    def test_no_piece_is_large(self) -> None:
        strategy = make("link-aware", 0, words())
        for number in range(100):
            links = tuple(Link(f"http://a.org/{number}/{place}", f"{place}") for place in range(300))
            show(strategy, Page(f"http://a.org/{number}", "a.org", terms={f"w{number}": 1}, links=links), 0.5)
        assert max(map(len, strategy.save())) < 600_000


@contextlib.contextmanager
def small_windows() -> Iterator[None]:
    """Room for 40 URLs, 30 pages, 90 links, 8 directories and 5 anchors."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, most in (
            (window, "MOST_URLS", 40),
            (known_graph, "MOST_PAGES", 30),
            (known_graph, "MOST_LINKS", 90),
            (pagerank, "MOST_LINKS", 90),
            (soft_focus, "MOST_LINKS", 90),
            (hot_queue, "MOST_LINKS", 90),
            (link_table, "MOST_DIRECTORIES", 8),
            (link_table, "MOST_ANCHORS", 5),
            (link_aware, "SWEPT", 16),
            (link_aware, "REFRESHED", 8),
            (context, "MOST_BETWEEN", 10),
            (layered, "MOST_MOVED", 7),
            (top_terms, "MOST_TERMS", 8),
        ):
            patch.setattr(module, name, most)
        yield


class TestBounds:
    @pytest.mark.parametrize("name", sorted(STRATEGIES))
    def test_nothing_grows_once_the_windows_are_full(self, name: str) -> None:
        with small_windows():
            strategy = make(name, 0, LinkWords(relevance_of, lambda text: {text: 1}))
            sizes = []
            for number in range(1200):
                links = tuple(
                    Link(f"http://h{number * 5 + place}.org/{place}/x", f"to {number} {place}") for place in range(6)
                )
                here = Page(f"http://h{number * 2}.org/{number % 5}/x", "h.org", terms={f"w{number}": 1}, links=links)
                scores, _ = show(strategy, here, (number % 7) / 6)
                assert np.isfinite(scores).all()
                if number in {699, 1199}:
                    sizes.append(sum(map(len, strategy.save())))
            assert sizes[1] <= sizes[0] * 1.1
