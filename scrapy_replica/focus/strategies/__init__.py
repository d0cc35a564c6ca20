"""The visiting strategies of crawls, one module each, and their names.

Those to compare with, published ones and baselines, are in ``lab/strategies``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_replica.focus.strategies.hmm import HmmDynamic, HmmSecondOrder, HmmStatic
from scrapy_replica.focus.strategies.link_aware import LinkAware
from scrapy_replica.focus.strategies.simple import BestFirst, BestFirstAnchors, BreadthFirst, DepthFirst
from scrapy_replica.focus.strategy import Needs, Strategy

if TYPE_CHECKING:
    from scrapy_replica.focus.links import LinkWords

_ALL: tuple[type[Strategy], ...] = (
    BreadthFirst,
    DepthFirst,
    BestFirst,
    BestFirstAnchors,
    HmmStatic,
    HmmDynamic,
    HmmSecondOrder,
    LinkAware,
)
STRATEGIES: dict[str, type[Strategy]] = {strategy.name: strategy for strategy in _ALL}
"""``REPLICA_STRATEGY`` and ``--strategy`` -> class."""


def named(name: str) -> type[Strategy]:
    """Return the strategy of that *name*: one of :data:`STRATEGIES`, or ``module:Class``.

    :raises ValueError: there is none.
    """
    if ":" not in name:
        if name not in STRATEGIES:
            known = ", ".join(sorted(STRATEGIES))
            raise ValueError(f"REPLICA_STRATEGY: there is no strategy {name!r}; choose one of {known}, or module:Class")
        return STRATEGIES[name]
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # noqa: BLE001 - it is code of the user's
        raise ValueError(f"REPLICA_STRATEGY: {name!r} cannot be imported: {_told(error)}") from None
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise ValueError(f"REPLICA_STRATEGY: {name!r} is no subclass of scrapy_replica.focus.strategy.Strategy")
    return found


def make(name: str, seed: int = 0, link_words: LinkWords | None = None) -> Strategy:
    """Return a new strategy of that *name*.

    *seed* goes to those that draw lots, *link_words* to those that read the links' own words. Raises ValueError when
    there is no such strategy, it cannot be made, or it reads words and none were given (there is no topic).
    """
    kind = named(name)
    try:
        return kind.made(Needs(seed, link_words))
    except Exception as error:
        if ":" not in name or isinstance(error, ValueError):
            raise
        raise ValueError(f"REPLICA_STRATEGY: {name!r} cannot be made: {_told(error)}") from error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
