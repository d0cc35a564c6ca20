"""What crosses the border of a crawl database: its records, and what holds of it however it is kept.

Whatever is above imports this module, or those of single subjects beside it, and opens no store. Batches go in one
call, because a network may lie between.

Invariants, which the tests hold against the store of one process and that of several:

* A URL is in one :class:`State`. That it was *seen* and that it *waits* are one record, so they change together.
* The order taken is: not demoted first, then the user's priority, then the strategy's score, then first found; among
  the hosts whose download slot is not held. A demoted URL waits also for slots that are held.
* Ids are given once and tell nothing else. What is asked for by id or key is that record or nothing.
* Everything inside a ``span`` happens or, when it raises, nothing of it. What was done before a ``commit`` survives the
  death of the process.
* What was leased and not finished waits again when the job is opened.
* A job is opened by one crawl of one spider at a time. What :mod:`~scrapy_replica.crawldb.reader` says may be used
  meanwhile. Where a store lets several processes share one crawl, each has what the others committed when ``listen``
  has told of it, and one of them leads: it alone decides what concerns them all.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB

CrawlDB: TypeAlias = "SqliteCrawlDB"
"""What one crawl knows. Where several processes share it a subclass keeps it in Redis."""

SPIDER, RELEVANCE, OUTSIDE = "spider", "relevance model", "outside"
"""Keys of the name of the spider, of the relevance model, without which there is no topic, and of the sums of links out
of scope."""

URGENT = float("inf")
"""Score of a URL that is asked for to decide something: before every score that a strategy gives, and never changed."""


class StoreError(ValueError):
    """The crawl database cannot be used, or not any more: one line that names it and says what to do."""


class State(Enum):
    """Where a URL is."""

    WAITING = "waiting"
    LEASED = "being fetched"
    DONE = "done"
    DROPPED = "dropped"


class Permission(IntEnum):
    """What a decision may do to a request."""

    MOVE = 0
    """Anything: a plain GET, which says nothing that another host must not hear."""
    STAY = 1
    """Not change its host: a GET with cookies or headers of its own."""
    AS_ASKED = 2
    """Nothing, unless a person ordered it: a POST, a request with a body, or one with ``dont_filter``."""
    EXEMPT = 3
    """Nothing at all: it belongs to a redirect, it came back, or the user said so."""


class Found(Enum):
    """What ``UrlTable.discover`` made of a URL."""

    NEW = "new"
    RAISED = "raised"
    """It waits, and was moved to a better place."""
    RESTORED = "restored"
    """It had been dropped, and waits again."""
    KNOWN = "known"
    """Nothing changed."""


class NewUrl(NamedTuple):
    """A URL to enter."""

    url: str
    host: str
    """Host name, with the port where it is not the scheme's own."""
    key: int | None
    """64 bits of the request fingerprint, signed; ``None`` enters it even if it is known (``dont_filter``)."""
    score: float = 0.0
    """The strategy's."""
    priority: int = 0
    """The user's."""
    is_demoted: bool = False
    depth: int = 0
    parent: int | None = None
    """Id of the page that it was found on."""
    payload: bytes | None = None
    """The request where it is more than a plain GET."""
    permission: Permission = Permission.MOVE
    slot: str | None = None
    """Download slot that the user chose; ``None`` for the one of the host name."""
    is_dropped: bool = False
    """Enter it as dropped; one that is known stays what it is."""


class UrlRow(NamedTuple):
    """A URL that waits or was taken."""

    id: int
    host: str
    slot: str
    url: str
    key: int | None
    score: float
    priority: int
    is_demoted: bool
    depth: int
    parent: int | None
    payload: bytes | None
    permission: Permission
    was_fetched: bool = True
    """It may have been fetched before; false where it certainly was not."""


class Known(NamedTuple):
    """What ``UrlTable.find`` tells of a URL."""

    id: int
    state: State
    parent: int | None
    """Id of the page that it was found on."""
