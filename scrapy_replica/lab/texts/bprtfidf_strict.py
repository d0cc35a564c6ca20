"""B-PrTFIDF as it was published, nothing added (Zhang & Lee 2005; Orlandi 2007, pp. 51-53)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_replica.focus.background import Background, examples_and_others
from scrapy_replica.numeric import FloatArray

Terms = Mapping[str, int]

HELD_OUT = 5
"""One of so many examples and documents is held out to choose p."""
SEARCHED = np.arange(0.0, 1.0, 0.001)
"""Values of p that are tried."""


class StrictBPrTFIDF:
    """Pr[w in x] = x_w / sum x, Pr[x in S] = sum over w of Pr[x in S | w] Pr[w in x], for S = P and S = U.

    Pr[x in P | w] = S_P(w) / (S_P(w) + S_U(w)), S_D(w) the sum of Pr[w in y] over the documents y of D, and
    Pr[x in U | w] the rest; relevance = (1 + b Pr[x in P] - Pr[x in U]) / 2 clipped to 0..1, b = (1 + p) / (1 - p).
    p is searched in steps of .001 for the largest r^2 / Pr[f(x) = 1] on a validation pair, the lowest among equals.

    *Readings.* A word of neither P nor U is 0 / 0 in the source: here it speaks for neither. The validation pair is a
    fifth of P and of U, so that its ratio and its p are theirs, as the source asks; for the model that is kept the sums
    are made of all documents. Pr[f(x) = 1] is the share among all documents of the pair.

    A model that was not fitted finds nothing relevant, and a page without terms gets 0.
    """

    def __init__(self) -> None:
        self._weights: dict[str, float] = {}
        self.p = 0.0

    def fit(self, positives: Sequence[Terms], background: Background) -> None:
        """Learn a topic. Raises ``ValueError`` when no example has a term, or the background has no other document."""
        examples, others = examples_and_others(positives, background)
        if not others:
            raise ValueError("the background is empty: give unlabelled pages")
        self._weights = _weights(_kept(examples), _kept(others))
        pair = examples[::HELD_OUT], others[::HELD_OUT]
        self.p = best_p(*(np.array([self._memberships(terms) for terms in documents]) for documents in pair))
        self._weights = _weights(examples, others)

    def relevance(self, terms: Terms) -> float:
        """Return Pr[x in C+] of a page, 0..1; more than .5 is relevant."""
        if not terms or not self._weights:
            return 0.0
        in_p, in_u = self._memberships(terms)
        return min(1.0, max(0.0, (1.0 + (1.0 + self.p) / (1.0 - self.p) * in_p - in_u) / 2.0))

    def _memberships(self, terms: Terms) -> tuple[float, float]:
        """Return Pr[x in P] and Pr[x in U]."""
        known = {word: count for word, count in terms.items() if word in self._weights}
        total, in_p = sum(terms.values()), sum(self._weights[word] * count for word, count in known.items())
        return in_p / total, (sum(known.values()) - in_p) / total

    def save(self) -> bytes:
        """Return the fitted model as JSON."""
        return json.dumps({"p": self.p, "weights": self._weights}, ensure_ascii=False).encode()

    def load(self, state: bytes) -> None:
        """Take the model that :meth:`save` returned."""
        model = json.loads(state)
        self.p, self._weights = model["p"], model["weights"]


def best_p(positive: FloatArray, unlabelled: FloatArray) -> float:
    """Return the p that is best on a validation pair, given as rows of Pr[x in P] and Pr[x in U]."""
    b = ((1.0 + SEARCHED) / (1.0 - SEARCHED))[:, None]
    recall, others = ((b * each[:, 0] > each[:, 1]).mean(axis=1) for each in (positive, unlabelled))
    said = (recall * len(positive) + others * len(unlabelled)) / (len(positive) + len(unlabelled))
    return float(SEARCHED[(recall**2 / np.maximum(said, 1e-12)).argmax()])


def _kept(documents: Sequence[Terms]) -> list[Terms]:
    """Return what is not held out: all but every fifth; all where there are fewer than five."""
    return [x for i, x in enumerate(documents) if i % HELD_OUT or len(documents) < HELD_OUT]


def _weights(positive: Sequence[Terms], unlabelled: Sequence[Terms]) -> dict[str, float]:
    """Return Pr[x in P | w] of every word of P and U."""
    in_p, in_u = _sums(positive), _sums(unlabelled)
    return {word: in_p[word] / (in_p[word] + in_u[word]) for word in {**in_p, **in_u}}


def _sums(documents: Sequence[Terms]) -> defaultdict[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    for terms in documents:
        total = sum(terms.values())
        for word, count in terms.items():
            sums[word] += count / total
    return sums
