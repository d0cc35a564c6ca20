"""What the judge is held against: NormPaths, a biased SVM, and the classifier trained on true labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def normpaths(pages: Mapping[str, Iterable[tuple[str, object]]]) -> dict[tuple[str, str], float]:
    """Return the NormPaths similarity of every pair that has any (Carvalho et al. 2007).

    Each tuple <path, signature> makes a list L of the hosts that hold it; sim(A, B) is the sum of 1 / |L| over the
    lists with both. Lists of more than 100 hosts are left out, as for all path evidence.

    Args:
        pages: Host -> (path, signature) of its pages.
    """
    lists: dict[tuple[str, object], set[str]] = defaultdict(set)
    for host, tuples in pages.items():
        for each in tuples:
            lists[each].add(host)
    similarity: dict[tuple[str, str], float] = defaultdict(float)
    for hosts in lists.values():
        if 2 <= len(hosts) <= 100:
            for pair in combinations(sorted(hosts), 2):
                similarity[pair] += 1 / len(hosts)
    return dict(similarity)


class BiasedSVM:
    """Soft-margin SVM with separate costs for P and U, retrained in rounds (Liu et al. 2003).

    Each round moves the unlabelled examples of at least *threshold* probability to the positive side, one threshold
    for all, and trains anew. Needs scikit-learn (``pip install scrapy-replica[learn]``).
    """

    def __init__(self, *, cost_positive: float = 10.0, cost_unlabelled: float = 1.0, threshold: float = 0.6) -> None:
        self._weights = {1: cost_positive, 0: cost_unlabelled}
        self._threshold = threshold
        self._model: Any = None

    def fit(self, values: FloatArray, obvious: IntArray, max_rounds: int = 10) -> BiasedSVM:
        """Train on *values*, shape (n, features), NaN allowed; *obvious* is 1 positive, -1 negative, 0 unlabelled."""
        labels = (obvious == 1).astype(np.int64)
        for _ in range(max_rounds):
            self._model = self._trained(values, labels)
            moved = (obvious == 0) & (labels == 0) & (self._distance(values) >= self._threshold)
            if not moved.any():
                break
            labels[moved] = 1
        return self

    def _trained(self, values: FloatArray, labels: IntArray) -> Any:
        try:
            from sklearn.impute import SimpleImputer  # noqa: PLC0415
            from sklearn.pipeline import make_pipeline  # noqa: PLC0415
            from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
            from sklearn.svm import SVC  # noqa: PLC0415
        except ImportError as error:
            raise ImportError("the biased SVM needs scikit-learn: pip install scrapy-replica[learn]") from error
        imputer = SimpleImputer(strategy="constant", fill_value=0.0)
        return make_pipeline(imputer, StandardScaler(), SVC(class_weight=self._weights)).fit(values, labels)

    def _distance(self, values: FloatArray) -> FloatArray:
        return np.asarray(self._model.decision_function(values), dtype=np.float64)

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the signed distance to the margin of each row, more is more alike."""
        return self._distance(values)
