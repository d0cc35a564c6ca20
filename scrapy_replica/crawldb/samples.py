"""What a store keeps of samples: fetches of what claims would suppress, and what they showed."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_replica.claim import Claim
from scrapy_replica.decision import Outcome, Reason


class Stratum(NamedTuple):
    """A part of a site, which is sampled by itself."""

    place: str = ""
    """The directory of its URLs, and the names of their arguments."""
    lacks: tuple[str, ...] = ()
    """Names of the arguments that their representatives lack."""

    @classmethod
    def of(cls, url: str, representative: str | None = None) -> Stratum:
        """Return the stratum of *url*, in whose place *representative* is fetched."""
        base, names = url.partition("?")[0], _names(url)
        lacks = names - _names(representative) if representative is not None else ()
        directory = "/".join(base.removesuffix("/").split("/")[3:-1])
        return cls(f"{directory}?{'&'.join(sorted(names))}", tuple(sorted(lacks)))

    @classmethod
    def read(cls, name: str) -> Stratum:
        """Return the stratum that the crawl database has under *name*."""
        place, _, lacks = name.partition("#")
        return cls(place, tuple(lacks.split("&")) if lacks else ())

    def __str__(self) -> str:
        """Return the name under which the crawl database has it."""
        return f"{self.place}#{'&'.join(self.lacks)}" if self.lacks else self.place


def _names(url: str) -> set[str]:
    query = url.partition("#")[0].partition("?")[2]
    return {argument.partition("=")[0] for argument in query.split("&")}


class Sample(NamedTuple):
    """A URL that a claim would suppress and that is fetched all the same, as a test of the claim."""

    id: int
    claim: Claim
    reason: Reason | None
    """Set for one of the claims of a URL, by which samples are counted."""
    representative: int | None
    """Key of the URL that it is held against; ``None``: against everything that was fetched."""
    stratum: Stratum
    weight: float
    """URLs that it stands for."""
    outcome: Outcome | None = None
