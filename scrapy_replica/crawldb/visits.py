"""What a store keeps for strategies that remember pages: a checkpoint, and the pages shown since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from scrapy_replica.records import Link


class Visit(NamedTuple):
    """A page as a strategy sees it."""

    url: str
    relevance: float | None
    """0..1; ``None`` where more links of the page before this row were scored, and where there is no page."""
    terms: Mapping[str, int]
    links: Sequence[Link]
    """URL and anchor text of those that may be followed; their other fields are not kept."""
    is_wasted: bool = False
    """The fetch brought nothing new."""


class Visits(Protocol):
    """Visits in the order in which the strategy was shown them, those before its checkpoint left out."""

    @property
    def lasts(self) -> bool:
        """The store outlives its process: its crawl may be resumed."""

    @property
    def is_due(self) -> bool:
        """A checkpoint is worth its price by now."""

    @property
    def is_saving(self) -> bool:
        """A checkpoint was begun and is not written yet."""

    @property
    def saved_until(self) -> int:
        """Number of the last visit that the checkpoint has in it, 0 if there is none."""

    def add(self, visit: Visit) -> int:
        """Append a visit, in the transaction of the page; return its number."""

    def begin(self, strategy: str, pieces: Iterator[bytes]) -> None:
        """Make a checkpoint of all visits so far: the state of the *strategy* of that name, as it is now.

        *pieces* are taken one by one by :meth:`work`; until the last is written the checkpoint before it holds.
        """

    def work(self) -> None:
        """Write a piece of a checkpoint, or delete some of what it made needless; called once a page."""

    def checkpoint(self, strategy: str) -> Iterable[bytes] | None:
        """Return the pieces of the last checkpoint, ``None`` if there is none of the *strategy* of that name."""

    def tail(self) -> Iterator[Visit]:
        """Yield the visits since the last checkpoint."""

    @property
    def newest(self) -> int:
        """Number of the last visit, 0 if there is none; not every number is one of a visit."""

    def count_after(self, number: int) -> int:
        """Return how many visits there are after that *number*."""

    def after(self, number: int, most: int) -> list[tuple[int, Visit]]:
        """Return at most so many visits after that *number*, and their numbers.

        Those up to :attr:`saved_until` may be gone.
        """

    def of(self, numbers: Sequence[int]) -> list[tuple[int, Visit]]:
        """Return the visits of those *numbers* that are kept, in that order, and their numbers."""

    def heard(self, n: int) -> None:
        """Take note that other processes added *n* visits."""

    def pages(self) -> list[tuple[int, str]]:
        """Return number and URL of the visits that are pages; called before there is a checkpoint."""

    def terms(self, numbers: Sequence[int]) -> list[Mapping[str, int]]:
        """Return the terms of the pages of these *numbers*."""

    def judge(self, relevances: Sequence[tuple[int, float]]) -> None:
        """Give pages their new relevance: pairs of number and relevance."""

    def terms_of(self, url: str) -> Mapping[str, int] | None:
        """Return the terms of the page at *url*, if a visit of it is kept. It may read all of them."""

    def clear(self) -> None:
        """Delete all visits; called before there is a checkpoint."""
