"""Visiting strategies to compare with: published ones and baselines, one module each.

A crawl takes one by its place: ``REPLICA_STRATEGY = "scrapy_replica.lab.strategies.pagerank:PageRank"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_replica.focus import strategies as product
from scrapy_replica.lab.strategies.context_graph import ContextGraphQueues
from scrapy_replica.lab.strategies.hmm_liu import HmmLiu
from scrapy_replica.lab.strategies.hot_queue import HotQueue, HotQueueRandom
from scrapy_replica.lab.strategies.in_link_count import InLinkCount
from scrapy_replica.lab.strategies.pagerank import PageRank
from scrapy_replica.lab.strategies.q_learning import QLearning
from scrapy_replica.lab.strategies.random import Random
from scrapy_replica.lab.strategies.soft_focus import HardFocus, SoftFocus
from scrapy_replica.lab.strategies.tunnelling import Tunnelling

if TYPE_CHECKING:
    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.focus.strategy import Strategy

_TO_COMPARE: tuple[type[Strategy], ...] = (
    InLinkCount,
    PageRank,
    HotQueue,
    HotQueueRandom,
    SoftFocus,
    HardFocus,
    ContextGraphQueues,
    Tunnelling,
    HmmLiu,
    QLearning,
    Random,
)
STRATEGIES: dict[str, type[Strategy]] = {**product.STRATEGIES, **{each.name: each for each in _TO_COMPARE}}
"""Name -> class, of those of crawls as well."""


def place_of(name: str) -> str:
    """Return what ``REPLICA_STRATEGY`` takes for the strategy of that *name*."""
    strategy = STRATEGIES.get(name)
    return f"{strategy.__module__}:{strategy.__name__}" if strategy in _TO_COMPARE else name


def make(name: str, seed: int = 0, link_words: LinkWords | None = None) -> Strategy:
    """Return a new strategy of that *name*, as :func:`scrapy_replica.focus.strategies.make` does."""
    return product.make(place_of(name), seed, link_words)
