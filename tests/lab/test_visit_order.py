"""The visit in arrays beside the obvious one, for every strategy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_visit import slow_visit

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.archives.collection import Collection, build
from scrapy_replica.lab.strategies import STRATEGIES, make
from scrapy_replica.lab.visits.visit import Limits, visit

PAGES = 40
graphs = st.lists(st.lists(st.integers(0, PAGES - 1), max_size=6), min_size=PAGES, max_size=PAGES)
relevances = st.lists(st.sampled_from([0.0, 0.1, 0.6, 0.9]), min_size=PAGES, max_size=PAGES)


def web(graph: list[list[int]], relevance: list[float]) -> Collection:
    pages = [
        (f"http://a{i % 3}.org/d{i % 5}/{i}", "", {"topic": 2, f"w{i % 4}": 1} if relevance[i] > 0.5 else {f"w{i}": 1})
        for i in range(len(graph))
    ]
    links = [[(target, f"to {'topic' if relevance[target] else 'more'}") for target in row] for row in graph]
    return build(pages, links, [0, 7, 0], {})


def new(name: str) -> Strategy:
    words = LinkWords(lambda terms: 0.8 if "topic" in terms else 0.1, lambda text: dict.fromkeys(text.split(), 1))
    return make(name, 3, words)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@settings(max_examples=9)
@given(graph=graphs, relevance=relevances, per_host=st.sampled_from([1, 3, PAGES]))
def test_every_strategy_takes_the_pages_in_the_order_of_the_obvious_visit(
    name: str, graph: list[list[int]], relevance: list[float], per_host: int
) -> None:
    found, values = web(graph, relevance), np.array(relevance)
    wanted = slow_visit(found, new(name), values, 4, per_host)
    assert visit(found, new(name), values, Limits(per_host=per_host), warm_up=4).tolist() == wanted


@pytest.mark.parametrize("name", sorted(name for name, strategy in STRATEGIES.items() if not strategy.reads_links))
def test_one_that_reads_no_url_takes_the_pages_in_the_same_order_with_urls(name: str) -> None:
    """In 400 pages of three hosts, by when what is done now and then was done: distilling, ranking, training."""
    chance = np.random.default_rng(1)
    graph = chance.integers(0, 400, (400, 6)).tolist()
    values = chance.choice([0.1, 0.6, 0.9], 400)
    found, with_urls = web(graph, values.tolist()), new(name)
    with_urls.reads_links = True  # type: ignore[misc]
    assert visit(found, new(name), values).tolist() == visit(found, with_urls, values).tolist()
