"""Latent semantic indexing and K-means over pages: the observations of the model of Liu, Janssen & Milios (2004)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mmh3
import numpy as np

from scrapy_replica.numeric import FloatArray

HASHED_TERMS = 4096
DIMENSIONS = 50
CLUSTERS = 5
ROUNDS = 25


class Clusters:
    """Maps a page to one of K clusters: hashed TF-IDF -> LSI (truncated SVD) -> nearest K-means centre by cosine.

    *Readings.* A page is placed at Sigma_k U_k^T q as the source prints it (Orlandi 2007, p. 19), where others divide
    by Sigma. The distance of K-means, which it leaves open (p. 20), is the cosine. K-means starts from the page nearest
    to the mean and then takes the page farthest from all centres, in the source by lot: so the same pages give the same
    clusters.
    """

    def __init__(self, idf: FloatArray, basis: FloatArray, centres: FloatArray) -> None:
        self._idf, self._basis, self._centres = idf, basis, centres

    @classmethod
    def of(cls, pages: Sequence[Mapping[str, int]], clusters: int = CLUSTERS) -> Clusters:
        """Make the clusters of *pages*. Raises ``ValueError`` if there is none."""
        if not pages:
            raise ValueError("no page to cluster")
        counts = np.stack([hashed(terms) for terms in pages])
        idf = np.log((1.0 + len(pages)) / (1.0 + np.count_nonzero(counts, axis=0)))
        matrix = _unit(counts * idf)
        _, values, rows = np.linalg.svd(matrix, full_matrices=False)
        kept = values > 1e-9 * max(values.max(initial=0.0), 1e-12)
        basis = (values[:, None] * rows)[kept][:DIMENSIONS].T
        return cls(idf, basis, kmeans(_unit(matrix @ basis), clusters))

    def __call__(self, terms: Mapping[str, int]) -> int:
        place = _unit((hashed(terms) * self._idf)[None, :]) @ self._basis
        return int((_unit(place) @ self._centres.T).argmax())

    def state(self) -> dict[str, Any]:
        """Return what the constructor takes: it does not change."""
        return {"idf": self._idf, "basis": self._basis, "centres": self._centres}


def hashed(terms: Mapping[str, int]) -> FloatArray:
    """Return 1 + ln(count) of the terms, folded into ``HASHED_TERMS`` columns."""
    row = np.zeros(HASHED_TERMS)
    for term, count in terms.items():
        row[mmh3.hash(term.encode("utf-8", "surrogatepass"), signed=False) % HASHED_TERMS] += 1.0 + math.log(count)
    return row


def kmeans(points: FloatArray, clusters: int) -> FloatArray:
    """Return at most *clusters* unit centres of unit *points*, shape (k, dimensions)."""
    chosen = [int((points @ points.mean(axis=0)).argmax())]
    while len(chosen) < min(clusters, len(points)):
        chosen.append(int((points @ points[chosen].T).max(axis=1).argmin()))
    centres = points[chosen]
    for _ in range(ROUNDS):
        nearest = (points @ centres.T).argmax(axis=1)
        moved = np.stack(
            [points[nearest == k].mean(axis=0) if (nearest == k).any() else c for k, c in enumerate(centres)]
        )
        moved = _unit(moved)
        if np.allclose(moved, centres):
            break
        centres = moved
    return centres


def _unit(rows: FloatArray) -> FloatArray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float64)
