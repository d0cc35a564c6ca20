"""What a store keeps of samples: what was to be dropped and is fetched all the same, and what that showed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from scrapy_replica.decision import Outcome, Reason


class Sample(NamedTuple):
    """A URL that was to be dropped and is fetched all the same, as a test of what decided so."""

    id: int
    cause: str
    """As in :class:`~scrapy_replica.crawldb.contract.Saved`."""
    reason: Reason | None
    """Set for one of the causes of a URL, by which samples are counted."""
    target: int | None
    """Key of the URL that it is held against; ``None``: against everything that was fetched."""
    corner: str
    """Part of the site that it lies in."""
    weight: float
    """URLs that it stands for."""
    outcome: Outcome | None = None


class SampleStore(Protocol):
    """Samples of what was to be dropped, and what they showed."""

    def enter(self, samples: Iterable[Sample]) -> None:
        """Write *samples* down; one that is known stays what it is."""

    def of_url(self, url_id: int) -> list[Sample]:
        """Return the samples that the URL of that id is, one for each cause."""

    def of_cause(self, cause: str) -> list[Sample]:
        """Return the samples that test *cause*."""

    def awaiting(self, target: int) -> list[int]:
        """Return the ids of the URLs that wait to be held against the one with key *target*."""

    def settle(self, url_id: int, outcome: Outcome, cause: str | None = None) -> list[Sample]:
        """Write what fetching a URL showed, of one *cause* or of all; return its samples that were not settled before,
        as they are now.
        """

    def reconsider(self, url_id: int) -> list[Sample]:
        """Make other pages of the samples of a URL that were the same; return them."""

    def retire(self, mark: str) -> None:
        """Put *mark* before the cause of what is settled of verdicts and rules: they are tested anew."""

    def settled(self) -> Iterator[tuple[Reason, Outcome, float, float, int]]:
        """Yield reason, outcome, sum of weights, sum of their squares and number of the settled samples."""
