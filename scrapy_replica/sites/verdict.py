"""A verdict, with what it rests on."""

from __future__ import annotations

import math

from scrapy_replica.records import Verdict
from scrapy_replica.sites.evidence import HostEvidence
from scrapy_replica.sites.features import Comparison, features_of
from scrapy_replica.sites.judge import RAW, likeness_of


def verdict_of(comparison: Comparison, kept: HostEvidence, score: float) -> Verdict:
    """Return that the host of *comparison* that is not *kept* is its copy."""
    first, second = comparison.first, comparison.second
    copy, prefixes = (second, comparison.prefixes) if kept is first else (first, comparison.prefixes[::-1])
    values = dict(zip(RAW, features_of(comparison, RAW), strict=True)) | {"likeness": likeness_of(comparison)}
    return Verdict(
        copy.name,
        kept.name,
        copy_prefix=prefixes[1],
        canonical_prefix=prefixes[0],
        score=score,
        n_aligned=len(comparison.aligned),
        evidence={name: round(value, 4) for name, value in values.items() if not math.isnan(value)},
    )
