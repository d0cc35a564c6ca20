"""The judge of host pairs: evidence for, contradiction against, and the lazy classifier over both.

Copies agree in paths, texts and titles; translations and other versions agree in paths but contradict in language
or in the numbers of their titles. So the likeness of a pair is the mean of what speaks for it times what is left by
what speaks against it. The classifier, trained on labelled pairs and on the obvious pairs of a crawl, has a small say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scrapy_replica.lazy.em import Start, train
from scrapy_replica.lazy.intervals import Intervals
from scrapy_replica.lazy.lac import LAC, Cube
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.sites.features import Comparison, features_of

FOR = ("cknown", "sm10", "bj25", "bj50", "teq")
AGAINST = ("lsame", "tnum", "vmark", "hreflang")
RAW = (*FOR, *AGAINST)
"""Features asked of a pair."""
COLUMNS = ("paths", "simhash", "shingles", "titles", "consent")
"""What the classifier sees: all are shares, more is more alike."""
MIN_ALIGNED = 3
"""Comparable pages without which there is no verdict."""
_LAC_SHARE = 0.15  # it has learnt from 49 replicas only; up to .2 the AUC against near misses hardly moves
_OTHER_VERSION = 0.7
_TRANSLATION = 0.5
_CONSENT_PRIOR = 0.7
_MARGIN, _MARGIN_OF_FEW = 0.13, 0.6
_INTERVALS = 10
_OBVIOUS_OTHER = 0.17
"""Share of near texts up to which two hosts are obviously others."""
FORMAT = 1
SHIPPED = Path(__file__).with_name("judge.json")


def columns_of(raw: FloatArray) -> FloatArray:
    """Return what the classifier sees, shape (n, 5), from the raw features, shape (n, 9)."""
    paths, near, low, middle, titles, same_language, other_numbers, other_version, hreflang = raw.T
    consent = same_language * (1 - np.nan_to_num(other_numbers, nan=0.0))
    consent = (
        consent * np.where(other_version == 1.0, _OTHER_VERSION, 1.0) * np.where(hreflang == 1.0, _TRANSLATION, 1.0)
    )
    return np.column_stack([paths, near, (low + middle) / 2, titles, consent])


def likeness(columns: FloatArray) -> FloatArray:
    """Return the mean of paths, simhash, shingles and titles times consent, 0..1; unknown counts as 0."""
    known = np.nan_to_num(columns, nan=0.0)
    consent = np.where(np.isnan(columns[:, 4]), _CONSENT_PRIOR, columns[:, 4])
    return np.asarray(known[:, :4].mean(axis=1) * consent)


def _columns_of_one(raw: Sequence[float]) -> list[float]:
    """Return what :func:`columns_of` does for one pair, without NumPy's 2 us a step."""
    paths, near, low, middle, titles, consent, other_numbers, other_version, hreflang = raw
    if not math.isnan(other_numbers):
        consent *= 1 - other_numbers
    if other_version == 1.0:
        consent *= _OTHER_VERSION
    if hreflang == 1.0:
        consent *= _TRANSLATION
    return [paths, near, (low + middle) / 2, titles, consent]


@dataclass(frozen=True)
class Judge:
    """Scores pairs; immutable, retraining gives a new one.

    Attributes:
        intervals: Of the classifier's columns.
        pu: Classifier from obvious positives.
        nu: Classifier from obvious negatives.
        threshold: Score from which a pair is called a replica.
    """

    intervals: Intervals
    pu: LAC
    nu: LAC
    threshold: float

    def alpha(self, pair: Comparison) -> tuple[float, float]:
        """Return how positive the PU and the NU classifier find *pair*, 0..1 each."""
        return self._alpha(_columns_of_one(features_of(pair, RAW)))

    def score(self, pair: Comparison) -> float:
        """Return how sure the evidence is that *pair* is one site, 0..1; what :meth:`scores` says, for one pair."""
        columns = _columns_of_one(features_of(pair, RAW))
        known = [0.0 if math.isnan(value) else value for value in columns[:4]]
        consent = _CONSENT_PRIOR if math.isnan(columns[4]) else columns[4]
        return (1 - _LAC_SHARE) * sum(known) / 4 * consent + _LAC_SHARE * sum(self._alpha(columns)) / 2

    def _alpha(self, columns: Sequence[float]) -> tuple[float, float]:
        code = self.intervals.code(columns)
        pu = 1 - self.pu.alpha_one(code)
        return pu, pu if self.nu is self.pu else 1 - self.nu.alpha_one(code)

    def threshold_for(self, n_aligned: int, coverage: float) -> float:
        """Return the score a verdict takes in the middle of a crawl, before the hosts are known in full.

        On few pages other versions look like copies: over random subsets of n aligned pages near misses reached .75
        at n = 5, .69 at 8, .61 at 20 and .58 at 30, where .54 parted whole hosts; the first pages of a crawl, being
        neighbours, are worse than random ones.

        Args:
            n_aligned: Comparable pages.
            coverage: Share of the paths known on both hosts that were fetched on both, 0..1.
        """
        return self.threshold + _MARGIN * (1 - coverage**2) + _MARGIN_OF_FEW / max(n_aligned, 1)

    def alphas(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return alpha(x, +) by PU and by NU of raw feature rows, shape (n, 9) -> two of shape (n,)."""
        codes = self.intervals.codes(columns_of(raw))
        return 1 - self.pu.alpha(codes), 1 - self.nu.alpha(codes)

    def scores(self, raw: FloatArray) -> FloatArray:
        """Return the scores of raw feature rows, shape (n, 9) -> (n,)."""
        pu, nu = self.alphas(raw)
        return (1 - _LAC_SHARE) * likeness(columns_of(raw)) + _LAC_SHARE * (pu + nu) / 2

    def retrained(self, raw: FloatArray, obvious: IntArray) -> Judge:
        """Return the judge that has also learnt the pairs *raw* of a crawl from their *obvious* cases (1, -1, 0).

        The counts that EM ends with are added to those the judge has, so what it knew is not forgotten.
        """
        codes = self.intervals.codes(columns_of(raw))
        pu, nu = (train(self.intervals.sizes, codes, obvious, start).lac.cube for start in (Start.PU, Start.NU))
        return replace(self, pu=LAC(self.pu.cube.merged(pu)), nu=LAC(self.nu.cube.merged(nu)))

    def with_threshold_for(self, raw_negatives: FloatArray, max_fpr: float) -> Judge:
        """Return the judge whose threshold lets at most *max_fpr* of these obvious negatives of a crawl pass.

        The threshold is only ever raised: obvious negatives are easier than near misses.
        """
        if not len(raw_negatives):
            return self
        return replace(self, threshold=max(self.threshold, threshold_at(self.scores(raw_negatives), max_fpr)))

    def to_dict(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "columns": list(COLUMNS),
            "cuts": [list(cuts) for cuts in self.intervals.cuts],
            "threshold": self.threshold,
            "pu": self.pu.cube.to_dict(),
            "nu": None if self.nu is self.pu else self.nu.cube.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Judge:
        """Return the judge that :meth:`to_dict` wrote.

        Raises:
            ValueError: The model is of another format or of other columns; it has to be trained anew.
        """
        if data.get("format") != FORMAT or data.get("columns") != list(COLUMNS):
            raise ValueError(
                f"a judge model of format {data.get('format')!r} and columns {data.get('columns')!r}; "
                f"this version reads format {FORMAT} with {list(COLUMNS)}: train it again"
            )
        model = json.loads(json.dumps(dict(data)))
        intervals = Intervals(tuple(tuple(map(float, cuts)) for cuts in model["cuts"]))
        pu = LAC(Cube.from_dict(model["pu"]))
        nu = pu if model["nu"] is None else LAC(Cube.from_dict(model["nu"]))
        return cls(intervals, pu, nu, float(model["threshold"]))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_dict(), separators=(",", ":")) + "\n", encoding="ascii")

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Judge:
        """Return the judge stored at *path*, by default the one that ships for the cold start."""
        return cls.from_dict(json.loads(path.read_text(encoding="ascii")))


def trained_on(raw: FloatArray, is_replica: BoolArray) -> Judge:
    """Return a judge from labelled pairs: *raw* features, shape (n, 9), labels, shape (n,).

    The threshold is the one of best F1 on these pairs, half-way to the next lower score.
    """
    edges = tuple((np.arange(1, _INTERVALS) / _INTERVALS).tolist())
    intervals = Intervals((edges,) * len(COLUMNS))  # fixed edges: equal frequency fails on these skewed shares
    lac = LAC(Cube.from_examples(intervals.sizes, intervals.codes(columns_of(raw)), is_replica))
    judge = Judge(intervals, lac, lac, 1.0)
    return replace(judge, threshold=best_f1_threshold(judge.scores(raw), is_replica))


def obvious_labels(raw: FloatArray, n_aligned: IntArray, is_candidate: BoolArray) -> IntArray:
    """Return 1 for obvious replicas by content, -1 for obvious non-replicas, 0 for the rest, shape (n,)."""
    _, near, low, _, titles, same_language, other_numbers, _, _ = raw.T
    with np.errstate(invalid="ignore"):
        enough = n_aligned >= 5
        copies = enough & (near >= 0.8) & (low >= 0.7) & (titles >= 0.85) & (same_language >= 0.93)
        copies &= other_numbers <= 0.05
        is_other = near <= _OBVIOUS_OTHER
        # copies that share one suffix yet are no candidates: as negatives, two of them raised a threshold by .2
        others = ~is_candidate & (is_other | np.isnan(near))
        others |= (n_aligned >= MIN_ALIGNED) & (is_other & (low <= 0.4) | (same_language <= 0.5))
    return np.where(copies, 1, np.where(others, -1, 0))


def best_f1_threshold(scores: FloatArray, is_positive: BoolArray) -> float:
    """Return the threshold of best F1, half-way between the scores it parts."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    found = np.cumsum(is_positive[order])
    f1 = 2 * found / (np.arange(len(ranked)) + 1 + is_positive.sum())
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0  # equal scores fall on one side
    best = int(np.argmax(f1))
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return float((ranked[best] + below) / 2)


def threshold_at(negative_scores: FloatArray, max_fpr: float) -> float:
    """Return the least threshold that at most the share *max_fpr* of *negative_scores* reach."""
    ranked: Sequence[float] = np.sort(negative_scores)[::-1].tolist()
    allowed = int(max_fpr * len(ranked))
    return math.nextafter(ranked[allowed], math.inf) if allowed < len(ranked) else 0.0
