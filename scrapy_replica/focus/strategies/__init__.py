"""The visiting strategies, one module each, and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_replica.focus.strategies.best_first import BestFirst
from scrapy_replica.focus.strategies.best_first_anchors import BestFirstAnchors
from scrapy_replica.focus.strategies.breadth_first import BreadthFirst
from scrapy_replica.focus.strategies.context_graph import ContextGraphQueues
from scrapy_replica.focus.strategies.depth_first import DepthFirst
from scrapy_replica.focus.strategies.hmm import ALPHA, MAX_DISTANCE, HmmDynamic, HmmSecondOrder, HmmStatic
from scrapy_replica.focus.strategies.hmm_liu import HmmLiu
from scrapy_replica.focus.strategies.hot_queue import HotQueue, HotQueueRandom
from scrapy_replica.focus.strategies.in_link_count import InLinkCount
from scrapy_replica.focus.strategies.link_aware import LinkAware
from scrapy_replica.focus.strategies.pagerank import PageRank
from scrapy_replica.focus.strategies.q_learning import QLearning
from scrapy_replica.focus.strategies.random import Random
from scrapy_replica.focus.strategies.soft_focus import HardFocus, SoftFocus
from scrapy_replica.focus.strategies.tunnelling import Tunnelling

if TYPE_CHECKING:
    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.focus.strategy import Strategy

_PLAIN: tuple[type[Strategy], ...] = (
    BreadthFirst,
    DepthFirst,
    BestFirst,
    InLinkCount,
    PageRank,
    HotQueue,
    SoftFocus,
    HardFocus,
    ContextGraphQueues,
    Tunnelling,
    HmmLiu,
    HmmStatic,
    HmmDynamic,
    HmmSecondOrder,
)
_WITH_WORDS = (BestFirstAnchors, QLearning, LinkAware)
_BY_LOT = (Random, HotQueueRandom)

_ALL: tuple[type[Strategy], ...] = (*_PLAIN, *_WITH_WORDS, *_BY_LOT)
STRATEGIES: dict[str, type[Strategy]] = {strategy.name: strategy for strategy in _ALL}
"""``REPLICA_STRATEGY`` and ``--strategy`` -> class."""


class HmmOptions(NamedTuple):
    """What the user sets of the estimated distance."""

    alpha: float = ALPHA
    max_distance: int = MAX_DISTANCE
    is_tfidf: bool = True


DEFAULT = HmmOptions()


def make(name: str, seed: int = 0, link_words: LinkWords | None = None, hmm: HmmOptions = DEFAULT) -> Strategy:
    """Return a new strategy of that *name*.

    *seed* goes to those that draw lots, *link_words* to those that read the links' own words, *hmm* to those that
    estimate distances. Raises ValueError when there is no such strategy, or it reads words and none were given (there
    is no topic).
    """
    if name not in STRATEGIES:
        known = ", ".join(sorted(STRATEGIES))
        raise ValueError(f"REPLICA_STRATEGY: there is no strategy {name!r}; choose one of {known}")
    strategy = STRATEGIES[name]
    if issubclass(strategy, _BY_LOT):
        return strategy(seed)
    if issubclass(strategy, HmmStatic):
        return strategy(*hmm)
    if issubclass(strategy, _WITH_WORDS):
        if link_words is None:
            raise ValueError(f"REPLICA_STRATEGY: {name} needs a topic: give examples, or choose breadth-first")
        if issubclass(strategy, LinkAware):
            return strategy(link_words, hmm.max_distance, hmm.is_tfidf)
        return strategy(link_words)
    return strategy()
