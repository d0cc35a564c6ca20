"""The contract of a crawl database: the records that cross it, and what every implementation does.

Whatever is above imports this module, or those of single subjects beside it, and no implementation. Batches go in one
call, because a network may lie between.

Invariants, which the tests hold against every implementation:

* A URL is in one :class:`State`. That it was *seen* and that it *waits* are one record, so they change together.
* The order taken is: not demoted first, then the user's priority, then the strategy's score, then first found; among
  the hosts whose download slot is not held. A demoted URL waits also for slots that are held.
* Ids are given once and tell nothing else. What is asked for by id or key is that record or nothing.
* Everything inside :meth:`CrawlDB.page` happens or, when it raises, nothing of it. What was done before
  :meth:`CrawlDB.commit` survives the death of the process.
* What was leased and not finished waits again when the job is opened.
* A job is opened by one crawl of one spider at a time. What :mod:`~scrapy_replica.crawldb.reader` says may be used
  meanwhile. Where a store lets several processes share one crawl, each has what the others committed when
  :meth:`CrawlDB.listen` has told of it, and one of them leads: it alone decides what concerns them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum, IntEnum
from random import Random
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from scrapy_replica.crawldb.remote import FoundUrl, RemoteUpdate
    from scrapy_replica.crawldb.sqlite.blocks import BlockTable
    from scrapy_replica.crawldb.sqlite.captures import CaptureTable
    from scrapy_replica.crawldb.sqlite.checks import CheckTable
    from scrapy_replica.crawldb.sqlite.form_table import FormTable
    from scrapy_replica.crawldb.sqlite.items import ItemTable
    from scrapy_replica.crawldb.sqlite.ledger import LedgerTable
    from scrapy_replica.crawldb.sqlite.names import NameTable
    from scrapy_replica.crawldb.sqlite.orders import OrderTable
    from scrapy_replica.crawldb.sqlite.pages import PageTable
    from scrapy_replica.crawldb.sqlite.revisits import RevisitTable
    from scrapy_replica.crawldb.sqlite.rules import RuleTable
    from scrapy_replica.crawldb.sqlite.samples import SampleTable
    from scrapy_replica.crawldb.sqlite.seeds import SeedTable
    from scrapy_replica.crawldb.sqlite.suppressed import AddedTable, ClaimTable, SuppressedTable
    from scrapy_replica.crawldb.sqlite.texts import TextTable
    from scrapy_replica.crawldb.sqlite.uncertain_pairs import UncertainPairTable
    from scrapy_replica.crawldb.sqlite.verdicts import VerdictTable
    from scrapy_replica.crawldb.sqlite.visits import VisitTable
    from scrapy_replica.crawldb.status import Status

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
    """What :meth:`UrlStore.discover` made of a URL."""

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
    """What :meth:`UrlStore.find` tells of a URL."""

    id: int
    state: State
    parent: int | None
    """Id of the page that it was found on."""


class UrlStore(Protocol):
    """URLs, each in one state, and the order in which those that wait are taken."""

    @property
    def waiting(self) -> int:
        """Number of URLs that wait."""

    @property
    def last_id(self) -> int:
        """The greatest id of a URL so far."""

    def discover(self, urls: Sequence[NewUrl]) -> list[tuple[int, Found]]:
        """Enter *urls*; one that waits in a worse place is moved, one that was dropped comes back.

        One that waits and is entered exempt is exempt from then on.

        :return: for each its id and what became of it.
        """

    def find(self, keys: Collection[int]) -> dict[int, Known]:
        """Return what is known of the URLs of those *keys*; unknown ones are left out."""

    def url_of(self, url_id: int) -> str:
        """Return the URL of that id."""

    def row(self, url_id: int) -> UrlRow:
        """Return the URL of that id as it was entered; its payload is kept until it is done."""

    def found(self, url_ids: Sequence[int]) -> list[FoundUrl]:
        """Return how the URLs of those ids were found, but for what is dropped."""

    def is_first(self, url_id: int) -> bool:
        """Tell whether the URL of that id, which was taken, is certainly fetched for the first time."""

    def key_of(self, url_id: int) -> int | None:
        """Return the key of the URL of that id."""

    def waiting_urls(self, host: str, most: int) -> list[str]:
        """Return the best waiting URLs of *host*, at most *most*."""

    def leased_urls(self, host: str) -> list[str]:
        """Return the URLs of *host* that are being fetched."""

    def set_host_ip(self, host: str, ip: str) -> None:
        """Keep the address that answered for *host*."""

    def take(self) -> UrlRow | None:
        """Lease the best waiting URL of the slots that are not held."""

    def claimed(self) -> Sequence[str]:
        """Return the names of the hosts that were given to this process since the last call, which others had before.

        What is held of them is read anew. Empty where one process has the whole crawl.
        """

    def first_id(self) -> int | None:
        """Return the id of the URL that :meth:`take` would give, where that is known without a look."""

    def heads(self, most: int) -> list[UrlRow]:
        """Return the best waiting URLs of the host whose URL :meth:`take` would give, best first.

        Where each look costs time, those of the hosts that come next follow, so many of each.
        """

    def hold(self, slot: str) -> None:
        """Give out nothing of that download slot until it is released."""

    def release(self, slot: str) -> None:
        """Let the slot take part again."""

    def pause(self, host: str) -> int | None:
        """Give out nothing of *host* until it is resumed; return how many of its URLs wait, ``None`` if it is unknown.

        Only this run knows of it.
        """

    def resume(self, host: str) -> bool:
        """Let a *host* that pauses take part again; ``False`` if it does not pause."""

    def rescore(self, scores: Mapping[int, float]) -> int:
        """Give the waiting URLs of *scores* (key -> score) other scores, higher or lower; return how many wait.

        A URL that is :data:`URGENT` stays so.
        """

    def set_scores(self, scores: Sequence[tuple[UrlRow, float]]) -> None:
        """Give URLs that :meth:`heads` returned, and that still wait, other scores, as :meth:`rescore` does."""

    def draw(self, random: Random) -> int | None:
        """Let a *random* waiting URL be :data:`URGENT`, not demoted; return its id, ``None`` where no other waits."""

    def renew(self, urls: Iterable[tuple[int, float, bytes | None]]) -> int:
        """Let URLs that are done wait again, triples of id, score and payload; return how many were done."""

    def retry(self, url_id: int, priority: int, payload: bytes | None) -> None:
        """Let a URL that was taken wait again, with another priority and payload."""

    def finish(self, url_ids: Collection[int]) -> None:
        """Acknowledge leases: these URLs are done; one that waits again goes on waiting."""

    def demote(self, url_id: int) -> None:
        """Let a URL that was taken wait again, behind everything that is not demoted."""

    def drop(self, url_id: int) -> None:
        """Drop a URL that waits or was taken."""

    def forget(self, url_id: int) -> None:
        """Delete a URL that waits; a link may find it anew."""

    def forget_waiting(self, prefix: bytes) -> list[tuple[str, int | None]]:
        """Delete the waiting URLs whose payload begins with *prefix*; a link may find them anew.

        Return them and the ids of the URLs that they were found on.
        """


class CrawlDB(Protocol):
    """What one crawl knows."""

    is_shared: bool
    """Whether several processes may have the crawl."""
    is_leader: bool
    """Whether this process decides what concerns all that share the crawl; true where it is the only one."""
    n_rollbacks: int
    """Number of the spans that were taken back: what is held in memory of their rows is read anew."""

    def listen(self) -> RemoteUpdate | None:
        """Take over what other processes committed since the last call, and return what is new; never within a span.

        ``None`` where one process has the whole crawl.
        """

    def catch_up(self) -> None:
        """Commit, and take over what other processes committed so far; never within a span.

        :meth:`listen` tells of it.
        """

    @property
    def urls(self) -> UrlStore: ...

    suppressed: SuppressedTable
    claims: ClaimTable
    pages: PageTable
    revisits: RevisitTable
    visits: VisitTable
    ledger: LedgerTable
    items: ItemTable
    samples: SampleTable
    added: AddedTable
    checks: CheckTable
    names: NameTable
    verdicts: VerdictTable
    uncertain_pairs: UncertainPairTable
    orders: OrderTable
    rules: RuleTable
    forms: FormTable
    blocks: BlockTable
    seeds: SeedTable
    captures: CaptureTable
    texts: TextTable

    def span(self) -> AbstractContextManager[None]:
        """Open a span whose changes are all taken back if it raises."""

    def commit(self) -> None:
        """Make everything so far survive the death of the process."""

    def close(self) -> None:
        """Commit, and let the job go."""

    def abandon(self) -> None:
        """Let the job go as it was at the last commit."""

    def meta(self, key: str) -> bytes | None:
        """Return what :meth:`set_meta` stored under *key*."""

    def set_meta(self, key: str, value: bytes) -> None:
        """Store *value*, the state of some part of the crawl."""

    def first_meta(self, key: str, value: bytes) -> bytes:
        """Store *value* if nothing is stored under *key*; return what stands there, for all that share the crawl."""

    def status(self) -> Status:
        """Return the figures of the job so far, in all its runs; it reads for half a second for a million URLs."""

    def add_sums(self, key: str, sums: Mapping[str, int]) -> None:
        """Add to the *sums* under *key*, to which each process adds its own; the reader's ``sums`` returns them."""
