from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.lab.strategies import STRATEGIES, make
from scrapy_replica.records import Link, Page

if TYPE_CHECKING:
    from scrapy_replica.focus.strategy import Strategy

GRAPH = {"a": "bcd", "b": "ef", "c": "gb", "d": "e", "e": "", "f": "", "g": "h", "h": ""}


def page(name: str) -> Page:
    links = tuple(Link(f"http://x.org/{child}", position=i) for i, child in enumerate(GRAPH[name]))
    return Page(url=f"http://x.org/{name}", host="x.org", links=links)


def visit(strategy: Strategy, relevance: dict[str, float] | None = None) -> str:
    """Return the order in which a crawl from ``a`` fetches the graph; waiting URLs are raised, never lowered."""
    best, found, fetched = {"a": 0.0}, {"a": 0}, ""
    while waiting := [name for name in found if name not in fetched]:
        name = min(waiting, key=lambda name: (-best[name], found[name]))
        fetched += name
        here = page(name)
        strategy.visited(here, (relevance or {}).get(name, 0.0))
        for link, score in zip(here.links, strategy.scores(here, here.links), strict=True):
            child = link.url[-1]
            found.setdefault(child, len(found))
            best[child] = max(best.get(child, -np.inf), float(score))
    return fetched


@pytest.fixture(params=sorted(STRATEGIES))
def strategy(request: pytest.FixtureRequest) -> Strategy:
    words = LinkWords(lambda _: 0.0, lambda _: {})
    return make(request.param, 0, words)


class TestEveryStrategy:
    def test_one_finite_score_per_link(self, strategy: Strategy) -> None:
        for relevance in (0.3, float("nan"), float("inf"), -float("inf")):
            strategy.visited(page("a"), relevance)
            scores = strategy.scores(page("a"), page("a").links)
            assert scores.dtype == np.float64
            assert scores.shape == (3,)
            assert np.isfinite(scores).all()

    def test_page_without_links(self, strategy: Strategy) -> None:
        strategy.visited(page("h"), 1.0)
        assert strategy.scores(page("h"), ()).shape == (0,)

    def test_visits_every_page_once(self, strategy: Strategy) -> None:
        assert sorted(visit(strategy)) == sorted(GRAPH)


class TestOrder:
    def test_breadth_first(self) -> None:
        assert visit(make("breadth-first")) == "abcdefgh"

    def test_depth_first(self) -> None:
        assert visit(make("depth-first")) == "abefcghd"

    def test_best_first_follows_the_relevant_parent(self) -> None:
        assert visit(make("best-first"), {"d": 0.9, "c": 0.5, "a": 0.2}) == "abcgdefh"

    def test_best_first_takes_unknown_relevance_for_none(self) -> None:
        assert visit(make("best-first"), {"b": float("nan"), "c": 0.1}) == "abcgdefh"

    def test_random_is_the_same_for_the_same_seed_only(self) -> None:
        orders = [visit(make("random", seed)) for seed in range(20)]
        assert orders == [visit(make("random", seed)) for seed in range(20)]
        assert len(set(orders)) > 5

    def test_random_keeps_the_score_of_a_url(self) -> None:
        random = make("random", 3)
        link = Link("http://x.org/e")
        assert random.scores(page("b"), [link]) == random.scores(page("d"), [link])

    def test_random_scores_are_uniform(self) -> None:
        links = [Link(f"http://x.org/{i}") for i in range(4000)]
        scores = make("random", 7).scores(page("a"), links)
        assert 0 <= scores.min() < scores.max() < 1
        assert np.histogram(scores, 8, (0, 1))[0].min() > 400


class TestMake:
    def test_unknown_name_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(ValueError, match=r"REPLICA_STRATEGY.*'best'.*best-first, .*breadth-first"):
            make("best")

    def test_spelling(self) -> None:
        assert {"breadth-first", "depth-first", "random", "best-first", "hmm-dynamic", "link-aware"} <= set(STRATEGIES)
