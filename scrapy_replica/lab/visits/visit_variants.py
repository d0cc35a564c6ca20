"""Strategies with other options than their own, and with models that a visit before has learnt: the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.layer_model import LayerModel
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.state import pack, unpack
from scrapy_replica.focus.strategies.hmm import ALPHA, MAX_DISTANCE, HmmStatic
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.focus.top_terms import TopTerms
from scrapy_replica.lab.strategies import STRATEGIES, make
from scrapy_replica.numeric import FloatArray, IntArray

OMNISCIENT = "omniscient"
VALUES: Mapping[str, Callable[[str], Any]] = {
    "alpha": float,
    "distance": int,
    "weights": {"tf": False, "tfidf": True}.__getitem__,
}
"""What may be varied, and how a value is read."""


class HmmOptions(NamedTuple):
    """Options of the estimated distance."""

    alpha: float = ALPHA
    max_distance: int = MAX_DISTANCE
    is_tfidf: bool = True
    """Whether the terms of a page weigh TF-IDF, or TF."""


class EqualTerms(TopTerms):
    """Terms of which a rare one weighs no more than others."""

    def idf(self, terms: IntArray) -> FloatArray:
        return np.ones(terms.shape)


DEFAULT = HmmOptions()


@dataclass(frozen=True)
class Variant:
    """A strategy, the options of its estimated distance, and which of its models are frozen (Orlandi 2007, p. 72)."""

    strategy: str
    hmm: HmmOptions = DEFAULT
    told: str = ""
    """What sets it apart from the strategy with its own options."""
    frozen: str = ""
    """``""``, ``bayes``, or ``both``: taken from the same strategy's visit before, and never trained again."""

    @property
    def name(self) -> str:
        return " ".join(filter(None, [self.strategy, self.told, self.frozen and f"frozen {self.frozen}"]))

    @property
    def has_distance(self) -> bool:
        return issubclass(STRATEGIES.get(self.strategy, Strategy), HmmStatic)

    @property
    def online(self) -> Variant:
        """The variant whose visit the frozen models are taken from."""
        return replace(self, frozen="")


def varied(names: Iterable[str], changes: Sequence[Sequence[str]], is_frozen: bool) -> list[Variant]:
    """Return the rows of a table: *names*, those that estimate a distance once for each value of each change.

    A change is what of :data:`VALUES` is changed, and its values. With *is_frozen* each is followed by itself with
    frozen models. Raises ``ValueError`` naming ``--vary`` where a change is none.
    """
    rows: list[Variant] = []
    for name in names:
        plain = Variant(name)
        options = [_changed(plain, change[0], value) for change in changes for value in change[1:]]
        for row in options if plain.has_distance and options else [plain]:
            rows += [row, *(replace(row, frozen=f) for f in ("bayes", "both") if is_frozen and row.has_distance)]
    return rows


def _changed(variant: Variant, what: str, value: str) -> Variant:
    fields = {"alpha": "alpha", "distance": "max_distance", "weights": "is_tfidf"}
    try:
        options = DEFAULT._replace(**{fields[what]: VALUES[what](value)})
    except (KeyError, ValueError):
        raise ValueError(f"--vary {what} {value}: alpha 0..1, distance 1, 2, ..., or weights tf tfidf") from None
    if not 0.0 <= options.alpha <= 1.0 or options.max_distance < 1:
        raise ValueError(f"--vary {what} {value}: alpha lies within 0..1, a distance is at least 1")
    return replace(variant, hmm=options, told=f"{what} {value}")


def new(variant: Variant, seed: int, words: LinkWords, learnt: Path | None = None) -> Strategy:
    """Return a new strategy; *learnt*: where the models that a frozen one takes were kept by :func:`keep`."""
    strategy = make(variant.strategy, seed, words)
    if isinstance(strategy, HmmStatic):
        options = variant.hmm
        strategy = type(strategy)(options.alpha, options.max_distance)
        if not options.is_tfidf:
            strategy.context.terms = EqualTerms()
            strategy.context.model = LayerModel(options.max_distance, strategy.context.terms)
    if variant.frozen and isinstance(strategy, HmmStatic) and learnt:
        _freeze(strategy, unpack(learnt.read_bytes()), has_hmm=variant.frozen == "both")
    return strategy


def keep(strategy: Strategy, file: Path) -> None:
    """Write the models that *strategy* has learnt, if it is one that estimates distances."""
    if isinstance(strategy, HmmStatic):
        context = strategy.context
        parts = {"hmm": context.hmm.counts(), "model": context.model.state(), "terms": context.terms.state()}
        file.write_bytes(
            pack({f"{part}/{name}": value for part, values in parts.items() for name, value in values.items()})
        )


def _freeze(strategy: HmmStatic, learnt: Mapping[str, Any], has_hmm: bool) -> None:
    parts: dict[str, dict[str, Any]] = {"hmm": {}, "model": {}, "terms": {}}
    for path, value in learnt.items():
        part, name = path.split("/")
        parts[part][name] = value
    context = strategy.context
    context.terms.restore(parts["terms"])
    context.model.restore(parts["model"])
    context.learn_text = _learn_nothing  # type: ignore[assignment, method-assign]
    if has_hmm:
        context.hmm.begin_with(parts["hmm"])
        context.learn_states = _learn_nothing  # type: ignore[assignment, method-assign]


def _learn_nothing(pages: NDArray[Any], found: IntArray) -> None:
    """Leave a frozen model as it is."""
