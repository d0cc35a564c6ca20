"""The judge of host pairs: a lazy associative classifier over what speaks for a pair and what against it.

Copies agree in paths, texts and titles; translations and other versions agree in paths but contradict in language
or in the numbers of their titles. So the likeness of a pair is the mean of what speaks for it times what is left by
what speaks against it, and its weakest part tells hosts that share all but texts, or all but titles. The classifier
sees both and the parts. It has learnt from labelled pairs, both of whole hosts and of hosts of which a crawl knew the
first pages only. The votes of its rules decide whether a pair may be one site, the likeness tells how sure that is:
votes have few values, and on hosts of other sources near misses get the highest one, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_replica.lazy.intervals import Intervals
from scrapy_replica.lazy.lac import LAC, Cube
from scrapy_replica.numeric import FloatArray
from scrapy_replica.records import Verdict
from scrapy_replica.sites.evidence import HostEvidence
from scrapy_replica.sites.features import FEATURES, Comparison, features_of

RAW = tuple(FEATURES)
"""Names of the features of a pair: five that speak for it, and four that speak against it."""
COLUMNS = ("paths", "simhash", "shingles", "titles", "consent", "likeness", "weakest")
"""What the classifier sees: all are shares, more is more alike."""
_LIKENESS = COLUMNS.index("likeness")
MIN_ALIGNED = 3
"""Comparable pages without which there is no verdict."""
MAJORITY = 0.5
"""Vote above which more of the rules say replica than not."""
THRESHOLD = 0.6
"""Likeness of a replica. Near misses of sources left out whole reach .91, replicas begin at .55."""
_OTHER_VERSION = 0.7
_TRANSLATION = 0.5
_CONSENT_PRIOR = 0.9
"""Where no page tells its language: with .7 no likeness of such hosts was enough before all of both was fetched."""
_MARGIN = 0.18
FORMAT = 3
SHIPPED = Path(__file__).with_name("judge.json")


def columns_of(raw: FloatArray) -> FloatArray:
    """Return what the classifier sees, shape (n, 7), from the raw features, shape (n, 9)."""
    return np.array([columns_of_one(row) for row in raw.tolist()]).reshape(-1, len(COLUMNS))


def columns_of_one(raw: Sequence[float]) -> list[float]:
    """Return what the classifier sees of one pair."""
    paths, near, low, middle, titles, consent, other_numbers, other_version, hreflang = raw
    if not math.isnan(other_numbers):
        consent *= 1 - other_numbers
    if other_version == 1.0:
        consent *= _OTHER_VERSION
    if hreflang == 1.0:
        consent *= _TRANSLATION
    parts = [paths, near, (low + middle) / 2, titles]
    # What is unknown does not speak for a pair.
    known = [0.0 if math.isnan(value) else value for value in parts]
    left = _CONSENT_PRIOR if math.isnan(consent) else consent
    weakest = min(known[0], max(known[1:3]), known[3], left)
    return [*parts, consent, sum(known) / 4 * left, weakest]


@dataclass(frozen=True)
class Judge:
    """Scores pairs; immutable.

    Attributes:
        intervals: Of the classifier's columns.
        lac: The classifier.
        threshold: Score from which a pair is called a replica.
    """

    intervals: Intervals
    lac: LAC
    threshold: float = THRESHOLD

    def score(self, pair: Comparison) -> float:
        """Return how sure the judge is that *pair* is one site, 0..1; what :meth:`scores` says, for one pair."""
        columns = columns_of_one(features_of(pair))
        vote = 1 - self.lac.alpha_one(self.intervals.code(columns))
        return vote if vote <= MAJORITY else max(columns[_LIKENESS], MAJORITY)

    def scores(self, raw: FloatArray) -> FloatArray:
        """Return the scores of raw feature rows, shape (n, 9) -> (n,).

        Where the rules say no the score is their vote alpha(x, +), at most a half; where they say yes it is the
        likeness, at least a half.
        """
        columns = columns_of(raw)
        votes = self.votes(columns)
        return np.where(votes <= MAJORITY, votes, np.maximum(columns[:, _LIKENESS], MAJORITY))

    def votes(self, columns: FloatArray) -> FloatArray:
        """Return alpha(x, +) of rows of what the classifier sees, shape (n, 7) -> (n,)."""
        return 1 - self.lac.alpha(self.intervals.codes(columns))

    def threshold_for(self, coverage: float) -> float:
        """Return the score a verdict takes in the middle of a crawl, before the hosts are known in full.

        On the first pages of a crawl other versions look like copies, on three as on thirty. Shares of few pages are
        shrunk, so that three equal pages of a copy make a likeness of .80 at most. Where hardly anything is covered it
        takes .78: on sources left out whole no more hosts were blocked wrongly in offline crawls than by votes alone.

        Args:
            coverage: Share of the paths known on both hosts that were fetched on both, 0..1.
        """
        return self.threshold + _MARGIN * (1 - coverage**2)

    def to_dict(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "columns": list(COLUMNS),
            "cuts": [list(cuts) for cuts in self.intervals.cuts],
            "threshold": self.threshold,
            "examples": self.lac.cube.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Judge:
        """Return the judge that :meth:`to_dict` wrote.

        Raises:
            ValueError: The model is of another format or of other columns; it has to be trained anew.
        """
        if data.get("format") != FORMAT or data.get("columns") != list(COLUMNS):
            raise ValueError(
                f"a judge model of format {data.get('format')!r} and columns {data.get('columns')!r}; "
                f"this version reads format {FORMAT} with {list(COLUMNS)}: train it again"
            )
        intervals = Intervals(tuple(tuple(map(float, cuts)) for cuts in data["cuts"]))
        return cls(intervals, LAC(Cube.from_dict(data["examples"])), float(data["threshold"]))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_dict(), separators=(",", ":")) + "\n", encoding="ascii")

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Judge:
        """Return the judge stored at *path*, by default the one that ships for the cold start."""
        return cls.from_dict(json.loads(path.read_text(encoding="ascii")))


@lru_cache(1)
def _shipped() -> Judge:
    return Judge.load()


def judge_at(path: Path | None) -> Judge:
    """Return the judge that a file holds, as mining writes it; the shipped one without a file.

    :raises ValueError: it cannot be read, or is of another version: one line for whoever set ``REPLICA_JUDGE``.
    """
    if path is None:
        return _shipped()
    try:
        return Judge.load(path)
    except OSError as error:
        raise ValueError(f"REPLICA_JUDGE: cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        told = str(error) if "train it again" in str(error) else "it is no judge that scrapy replica mine wrote"
        raise ValueError(f"REPLICA_JUDGE: {path}: {told}") from None


def likeness_of(pair: Comparison) -> float:
    """Return the mean of paths, simhash, shingles and titles times consent, 0..1; unknown counts as 0."""
    return columns_of_one(features_of(pair))[_LIKENESS]


def verdict_of(comparison: Comparison, kept: HostEvidence, score: float) -> Verdict:
    """Return that the host of *comparison* that is not *kept* is its copy."""
    first, second = comparison.first, comparison.second
    copy, prefixes = (second, comparison.prefixes) if kept is first else (first, comparison.prefixes[::-1])
    values = dict(zip(RAW, features_of(comparison), strict=True)) | {"likeness": likeness_of(comparison)}
    return Verdict(
        copy.name,
        kept.name,
        copy_prefix=prefixes[1],
        canonical_prefix=prefixes[0],
        score=score,
        n_aligned=len(comparison.aligned),
        evidence={name: round(value, 4) for name, value in values.items() if not math.isnan(value)},
    )
