"""The relevance model of a topic: B-PrTFIDF and logistic regression, averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_replica.focus.background import Background, examples_and_others
from scrapy_replica.focus.bprtfidf import BPrTFIDF
from scrapy_replica.focus.description import Description
from scrapy_replica.focus.elkan_noto import ElkanNoto
from scrapy_replica.focus.state import pack, unpack
from scrapy_replica.records import Terms

if TYPE_CHECKING:
    from typing_extensions import Self

FEWEST_DOCUMENTS = 50
"""Unlabelled pages below which the logistic regression has nothing to tell the examples from."""


class Relevance:
    """Mean of B-PrTFIDF and of TF-IDF + logistic regression; steadier over topics and draws than either.

    Average precision on five topics of three labelled crawls, 50 examples, 3,000 unlabelled pages: .59 the mean, .54
    B-PrTFIDF, .63 the regression, which needs the pages: with fewer than ``FEWEST_DOCUMENTS`` B-PrTFIDF stands alone.
    Where its line tells nothing apart (``is_blind``) the regression does: on students of WebKB, three draws of five,
    the mean had called 82 to 97 % of the pages relevant, and alone it has F1 of .49 to .54 instead of .24 to .27.
    """

    def __init__(self) -> None:
        self._bayes: BPrTFIDF | None = BPrTFIDF()
        self._regression: ElkanNoto | None = None
        self._description: Description | None = None

    @classmethod
    def of_nothing(cls) -> Self:
        """Return a model that finds no page relevant."""
        model = cls()
        model._description, model._bayes = Description(), None
        return model

    def describe(self, words: Terms, background: Background) -> None:
        """Take a topic that is described in *words*; with examples as well (:meth:`fit`) both count alike."""
        self._description = Description()
        self._description.fit(words, background)
        self._bayes = self._regression = None

    def fit(self, positives: Sequence[Terms], background: Background, negatives: Sequence[Terms] = ()) -> None:
        """Learn a topic, from pages that are known not to be on it as well (*negatives*), where there are any.

        Raises ``ValueError`` when no example has a term, or the background is empty.
        """
        bayes = BPrTFIDF()
        bayes.fit(positives, background, negatives)
        _, others = examples_and_others(positives, background)
        self._regression = ElkanNoto() if len(others) >= FEWEST_DOCUMENTS else None
        if self._regression:
            self._regression.fit(positives, background, negatives)
        self._bayes = None if self._regression and bayes.is_blind else bayes

    @property
    def _learnt(self) -> list[BPrTFIDF | ElkanNoto]:
        return [model for model in (self._bayes, self._regression) if model]

    def relevance(self, terms: Terms) -> float:
        """Return how sure the models are that a page is on topic, 0..1; more than .5 is relevant."""
        described = self._description.relevance(terms) if self._description is not None else None
        models = self._learnt
        if described is not None and not models:
            return described
        learnt = sum(model.relevance(terms) for model in models) / len(models)
        return learnt if described is None else (learnt + described) / 2.0

    def save(self) -> bytes:
        """Return the models as NPZ."""
        models = {"bayes": self._bayes, "regression": self._regression, "description": self._description}
        return pack({name: model.save() if model else b"" for name, model in models.items()})

    def load(self, state: bytes) -> None:
        """Take the models that :meth:`save` returned."""
        parts = unpack(state)
        self._bayes = BPrTFIDF() if parts["bayes"] else None
        if self._bayes:
            self._bayes.load(parts["bayes"])
        self._description = Description() if parts["description"] else None
        if self._description:
            self._description.load(parts["description"])
        self._regression = ElkanNoto() if parts["regression"] else None
        if self._regression:
            self._regression.load(parts["regression"])
