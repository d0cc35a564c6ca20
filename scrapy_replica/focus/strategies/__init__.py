"""The visiting strategies, one module each, and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_replica.focus.strategies.best_first import BestFirst
from scrapy_replica.focus.strategies.breadth_first import BreadthFirst
from scrapy_replica.focus.strategies.depth_first import DepthFirst
from scrapy_replica.focus.strategies.random import Random

if TYPE_CHECKING:
    from scrapy_replica.focus.strategy import Strategy

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (BreadthFirst, DepthFirst, Random, BestFirst)
}
"""``REPLICA_STRATEGY`` and ``--strategy`` -> class."""


def make(name: str, seed: int = 0) -> Strategy:
    """Return a new strategy of that *name*; *seed* goes to the one that draws lots.

    Raises ValueError when there is no such strategy.
    """
    if name not in STRATEGIES:
        known = ", ".join(sorted(STRATEGIES))
        raise ValueError(f"REPLICA_STRATEGY: there is no strategy {name!r}; choose one of {known}")
    strategy = STRATEGIES[name]
    return strategy(seed) if issubclass(strategy, Random) else strategy()
