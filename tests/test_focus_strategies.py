"""Every strategy against the inputs that a crawl really meets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from scrapy_replica.focus.links import LinkWords, directories, url_words
from scrapy_replica.focus.strategies import STRATEGIES, make
from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.records import Link, Page
from scrapy_replica.rehearsal.collection import Collection, build
from scrapy_replica.rehearsal.visit import Limits, figures, visit

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

    def test_words_and_directories_of_a_url(self) -> None:
        assert url_words("http://a.org/ml/Bayes_net-2.html?q=deep%20net") == "ml Bayes net html q deep net"
        assert directories("http://a.org/x/y/z.html") == ["a.org", "a.org/x", "a.org/x/y"]


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


class TestModels:
    def test_another_crawl_begins_with_them(self) -> None:
        found, mask = web(300)
        first, again = HmmDynamic(), HmmDynamic()
        visit(found, first, np.where(mask, 0.9, 0.05))
        again.load_models(first.save_models())
        assert again.graph.is_trained
        assert (again.graph.hmm.transitions == first.graph.hmm.transitions).all()
        with pytest.raises(ValueError, match="states"):
            HmmDynamic(max_distance=3).load_models(first.save_models())
