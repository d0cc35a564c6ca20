"""What the judge is held against: NormPaths, a biased SVM, and the classifier trained on true labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray


def normpaths(pages: Mapping[str, Iterable[tuple[str, object]]]) -> dict[tuple[str, str], float]:
    """Return the NormPaths similarity of every pair that has any (Carvalho et al. 2007; 2017, equation 8).

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
    """Linear soft-margin SVM with separate costs for P and U, retrained in rounds (Liu et al. 2003).

    The cost of P is the one of *costs* with the highest r^2 / Pr[f(x) = 1], r being the recall on a fifth of P that is
    held out. Each round moves the unlabelled examples at least *threshold* margins beyond the boundary to the
    positive side, one threshold for all, and trains anew. Needs scikit-learn (``pip install 'scrapy-replica[lab]'``).
    """

    def __init__(self, *, costs: Sequence[float] = (1.0, 10.0, 100.0), threshold: float = 2.0) -> None:
        self._costs = costs
        self._threshold = threshold
        self._model: Any = None

    def fit(self, values: FloatArray, obvious: IntArray, max_rounds: int = 10) -> BiasedSVM:
        """Train on *values*, shape (n, features), NaN allowed; *obvious* is 1 positive, -1 negative, 0 unlabelled.

        Without a positive nothing is learnt, and all scores are 0.
        """
        labels = (obvious == 1).astype(np.int64)
        if not labels.any():
            return self
        cost = self._best_cost(values, labels)
        for _ in range(max_rounds):
            self._model = self._trained(values, labels, cost)
            moved = (obvious == 0) & (labels == 0) & (self.scores(values) >= self._threshold)
            if not moved.any():
                break
            labels[moved] = 1
        return self

    def _best_cost(self, values: FloatArray, labels: IntArray) -> float:
        held_out = np.flatnonzero(labels)[::5]
        kept = np.ones(len(labels), dtype=bool)
        kept[held_out] = False
        if labels[kept].sum() == 0:
            return self._costs[0]

        def merit(cost: float) -> float:
            self._model = self._trained(values[kept], labels[kept], cost)
            recall = float((self.scores(values[held_out]) > 0).mean())
            return recall**2 / max(float((self.scores(values) > 0).mean()), 1 / len(values))

        return max(self._costs, key=merit)

    def _trained(self, values: FloatArray, labels: IntArray, cost: float) -> Any:
        try:
            from sklearn.impute import SimpleImputer  # noqa: PLC0415
            from sklearn.pipeline import make_pipeline  # noqa: PLC0415
            from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
            from sklearn.svm import SVC  # noqa: PLC0415
        except ImportError as error:
            raise ImportError("the biased SVM needs scikit-learn: pip install 'scrapy-replica[lab]'") from error
        imputer = SimpleImputer(strategy="constant", fill_value=0.0)
        machine = SVC(kernel="linear", class_weight={1: cost, 0: 1.0})
        return make_pipeline(imputer, StandardScaler(), machine).fit(values, labels)

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the signed distance to the boundary of each row, in margins; more is more alike."""
        if self._model is None:
            return np.zeros(len(values))
        return np.asarray(self._model.decision_function(values), dtype=np.float64)
