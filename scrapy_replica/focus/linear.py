"""Linear models over TF-IDF rows of unit length: terms weigh (1 + ln count) * idf."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_replica.focus.state import pack, unpack
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Terms

MAX_DOCUMENT_SHARE = 0.5
"""Terms in more documents than this are left out. The 12 % of the source cost F1 .72 instead of .81 on WebKB."""
MIN_DOCUMENTS = 2


@dataclass(frozen=True)
class Matrix:
    """Sparse rows of unit length: value ``values[k]`` at (``rows[k]``, ``columns[k]``); shape (n, m)."""

    rows: IntArray
    columns: IntArray
    values: FloatArray
    shape: tuple[int, int]

    def take(self, chosen: IntArray) -> Matrix:
        """Return the *chosen* rows in that order."""
        place = np.full(self.shape[0], -1)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.rows] >= 0
        shape = (len(chosen), self.shape[1])
        return Matrix(place[self.rows[kept]], self.columns[kept], self.values[kept], shape)

    def times(self, weights: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.rows, self.values * weights[self.columns], self.shape[0]), dtype=np.float64)

    def transposed_times(self, residuals: FloatArray) -> FloatArray:
        return np.asarray(
            np.bincount(self.columns, self.values * residuals[self.rows], self.shape[1]), dtype=np.float64
        )


class LinearModel:
    """``intercept`` + w . row of a page, w over the terms of ``idf``; one without terms knows no page."""

    def __init__(
        self, idf: Mapping[str, float] | None = None, weights: Sequence[float] = (), intercept: float = -math.inf
    ) -> None:
        self._idf = dict(idf or {})
        self._weights = dict(zip(self._idf, weights, strict=True))
        self.intercept = intercept

    def margin(self, terms: Terms) -> float:
        """Return the value of a page; minus infinity where it has no known term: nothing speaks for it."""
        total, norm, get = 0.0, 0.0, self._idf.get
        for term, count in terms.items():
            value = get(term)
            if value is not None:
                if count > 1:
                    value *= 1.0 + math.log(count)
                total += value * self._weights[term]
                norm += value * value
        return self.intercept + total / math.sqrt(norm) if norm else -math.inf

    def save(self) -> bytes:
        """Return the model as NPZ without pickled objects."""
        idf, weights = np.array(list(self._idf.values())), np.array(list(self._weights.values()))
        return pack({"terms": list(self._idf), "idf": idf, "weights": weights, "intercept": self.intercept})

    @classmethod
    def load(cls, state: bytes) -> LinearModel:
        """Return the model that :meth:`save` wrote."""
        parts = unpack(state)
        idf, weights = (np.asarray(parts[name], dtype=np.float64) for name in ("idf", "weights"))
        intercept = float(parts["intercept"])
        if weights.shape != idf.shape or not np.isfinite([*idf, *weights, intercept]).all():
            raise ValueError("a linear model with numbers out of their range")
        return cls(dict(zip(parts["terms"], idf.tolist(), strict=True)), weights.tolist(), intercept)


def term_idf(documents: Sequence[Terms]) -> dict[str, float]:
    """Return the terms of 2 documents to half of all, with ln((1 + n) / (1 + documents that have it)) + 1."""
    frequency = Counter(term for document in documents for term in document)
    most = max(MAX_DOCUMENT_SHARE * len(documents), MIN_DOCUMENTS)
    kept = {term: n for term, n in frequency.items() if MIN_DOCUMENTS <= n <= most}
    return {term: math.log((1 + len(documents)) / (1 + n)) + 1.0 for term, n in kept.items()}


def term_matrix(documents: Sequence[Terms], idf: Mapping[str, float]) -> Matrix:
    """Return one row a document, columns in the order of *idf*."""
    columns = {term: column for column, term in enumerate(idf)}
    rows: list[int] = []
    cols: list[int] = []
    values: list[float] = []
    for row, document in enumerate(documents):
        known = [(columns[t], (1.0 + math.log(n)) * idf[t]) for t, n in document.items() if t in columns]
        norm = math.sqrt(sum(value * value for _, value in known)) or 1.0
        rows.extend([row] * len(known))
        cols.extend(column for column, _ in known)
        values.extend(value / norm for _, value in known)
    shape = (len(documents), len(columns))
    return Matrix(np.array(rows, dtype=np.int64), np.array(cols, dtype=np.int64), np.array(values), shape)
