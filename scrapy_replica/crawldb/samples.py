"""What a store keeps of samples: fetches of what claims would suppress, and what they showed."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_replica.claim import Claim
from scrapy_replica.decision import Outcome, Reason


class Sample(NamedTuple):
    """A URL that a claim would suppress and that is fetched all the same, as a test of the claim."""

    id: int
    claim: Claim
    reason: Reason | None
    """Set for one of the claims of a URL, by which samples are counted."""
    representative: int | None
    """Key of the URL that it is held against; ``None``: against everything that was fetched."""
    stratum: str
    """Part of the site that it lies in."""
    weight: float
    """URLs that it stands for."""
    outcome: Outcome | None = None
