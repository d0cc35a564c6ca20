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

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from scrapy_replica.crawldb.items import ItemStore
    from scrapy_replica.crawldb.orders import OrderStore
    from scrapy_replica.crawldb.pages import Pages
    from scrapy_replica.crawldb.revisits import Revisits
    from scrapy_replica.crawldb.rules import RuleStore
    from scrapy_replica.crawldb.samples import SampleStore
    from scrapy_replica.crawldb.texts import Texts
    from scrapy_replica.crawldb.visits import Visits
    from scrapy_replica.decision import Decision, Reason
    from scrapy_replica.records import Capture, Form, UncertainPair, Verdict

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


class Leeway(IntEnum):
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
    leeway: Leeway = Leeway.MOVE
    slot: str | None = None
    """Download slot that the user chose; ``None`` for the one of the host name."""
    is_dropped: bool = False
    """Enter it as dropped; one that is known stays what it is."""


class Waiting(NamedTuple):
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
    leeway: Leeway


class Known(NamedTuple):
    """What :meth:`UrlStore.find` tells of a URL."""

    id: int
    state: State
    parent: int | None
    """Id of the page that it was found on."""


class FoundUrl(NamedTuple):
    """A URL as another process found it."""

    url: str
    host: str
    payload: bytes | None
    parent: int | None
    """Id of the page that it was found on."""
    found_on: str | None
    """Host of that page."""


class Saved(NamedTuple):
    """A URL that a decision saved."""

    id: int
    cause: str
    """What decided: ``rule 12``, ``host a.example``, ``trap-budget on a.example``."""
    target: int | None
    """Key of the URL that is fetched in its place."""


class News(NamedTuple):
    """What other processes of the crawl wrote, and lies in this one's store by now."""

    pages: Sequence[int] = ()
    """Ids of the URLs whose fetch they entered, or changed what is known of it."""
    urls: Sequence[int] = ()
    """Ids of the URLs that they found: new rows."""
    verdicts: Set[str] = frozenset()
    """Copies whose verdict was entered or ended."""
    rules: Set[str] = frozenset()
    """Hosts of rules that were entered or changed, as in the rule's row: empty or ``.domain`` for many."""
    causes: Set[str] = frozenset()
    """Causes of which samples were entered or settled."""
    ended: Set[str] = frozenset()
    """Causes that ended: the work of bringing back what they saved was begun."""
    meta: Set[str] = frozenset()
    """Keys under which something was stored."""
    orders: Sequence[int] = ()
    """Ids of the orders that were answered."""
    seeds: Set[str] = frozenset()
    """Hosts of seeds that were entered."""
    visits: Sequence[int] = ()
    """Numbers of the visits that they added, first added first."""
    forms: Set[str] = frozenset()
    """Hosts whose forms or query terms changed."""
    leads: bool = False
    """The lead has just come to this process."""


class Ledger(Protocol):
    """Decisions, with their evidence."""

    def record(self, url_id: int, decision: Decision, at: float) -> None:
        """Write *decision* about a URL, made at *at* (seconds since the epoch)."""

    def knows(self, url_id: int, reason: Reason) -> bool:
        """Tell whether a decision for *reason* was written about a URL."""

    def last(self, url_id: int) -> tuple[str, str] | None:
        """Return action and reason of the last decision that was written about a URL."""


class VerdictStore(Protocol):
    """Verdicts on hosts, those that hold and those that ended; none is ever deleted."""

    def enter(self, verdict: Verdict, at: float, expires_at: float | None) -> None:
        """Write *verdict*, reached at *at* (seconds since the epoch)."""

    def end(self, copy: str, why: str) -> None:
        """Write that the verdict on *copy* holds no more: withdrawn, expired or allowed."""

    def holding(self) -> Iterator[tuple[Verdict, bool]]:
        """Yield the verdicts that hold, and whether a person gave them."""

    def of(self, copy: str) -> tuple[Verdict, bool] | None:
        """Return the verdict that holds on *copy*, and whether a person gave it; ``None`` if there is none."""

    def withdrawn(self) -> list[tuple[str, str]]:
        """Return (copy, keeper) of the verdicts that were taken back for good."""

    def expired(self, now: float) -> list[str]:
        """Return the copies whose verdict ended by its age."""


class UncertainPairStore(Protocol):
    """Pairs of hosts that a person is asked about: the 200 that are nearest to a verdict."""

    def enter(self, pair: UncertainPair) -> None:
        """Write *pair*, in place of what was written of these two hosts."""

    def decided(self, a: str, b: str) -> None:
        """Forget the pair of two hosts."""

    def forget(self, host: str) -> None:
        """Forget the pairs of *host*."""


class FormStore(Protocol):
    """The forms of each host, and the terms of its domain query."""

    def enter(self, host: str, form: Form) -> None:
        """Keep a *form* that is sent to *host*."""

    def of_host(self, host: str) -> list[Form]:
        """Return the forms of *host*, first seen first."""

    def add_terms(self, host: str, terms: Iterable[str]) -> None:
        """Keep *terms* of the domain query of *host*; known ones are left as they are."""

    def terms(self, host: str) -> list[str]:
        """Return the terms of the domain query of *host*, in their order."""

    def hosts(self) -> list[str]:
        """Return the hosts that have a form or a domain query, in their order."""


class BlockStore(Protocol):
    """Which blocks of main text the pages of a host share, or those counted so far."""

    def state(self, host: str) -> bytes | None:
        """Return what :meth:`enter` stored for *host*."""

    def enter(self, host: str, state: bytes) -> None:
        """Keep the *state* of *host* in place of an earlier one."""


class SeedStore(Protocol):
    """What the seeds say: on which hosts the crawl begins, and when pages changed."""

    def enter(self, host: str) -> None:
        """Keep *host* as one of the seeds'."""

    def hosts(self) -> list[str]:
        """Return the hosts of the seeds."""

    def are_on(self, host: str) -> bool:
        """Tell whether *host* is one of the seeds'."""

    def set_dates(self, dates: Mapping[int, float]) -> None:
        """Keep when URLs last changed, as their site says (id -> seconds since the epoch)."""

    def date_of(self, url_id: int) -> float | None:
        """Return when the URL of that id last changed, as its site says; ``None`` if it does not."""


class CaptureStore(Protocol):
    """Which payloads are kept in WARC files, and where."""

    def find(self, digest: bytes) -> Capture | None:
        """Return where the payload with that SHA-1 is kept."""

    def of_url(self, url: str) -> Capture | None:
        """Return the last payload that is kept of *url*; ``None`` where all that it had are kept of another URL."""

    def enter(self, digest: bytes, capture: Capture) -> None:
        """Write down where a payload is kept, in place of what was known of it."""


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

    def row(self, url_id: int) -> Waiting:
        """Return the URL of that id as it was entered; its payload is kept until it is done."""

    def found(self, url_ids: Sequence[int]) -> list[FoundUrl]:
        """Return how the URLs of those ids were found, but for what is dropped."""

    def key_of(self, url_id: int) -> int | None:
        """Return the key of the URL of that id."""

    def waiting_urls(self, host: str, most: int) -> list[str]:
        """Return the best waiting URLs of *host*, at most *most*."""

    def leased_urls(self, host: str) -> list[str]:
        """Return the URLs of *host* that are being fetched."""

    def set_host_ip(self, host: str, ip: str) -> None:
        """Keep the address that answered for *host*."""

    def take(self) -> Waiting | None:
        """Lease the best waiting URL of the slots that are not held."""

    def claimed(self) -> Sequence[str]:
        """Return the names of the hosts that were given to this process since the last call, which others had before.

        What is held of them is read anew. Empty where one process has the whole crawl.
        """

    def heads(self, most: int) -> list[Waiting]:
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

    def set_scores(self, scores: Mapping[int, float]) -> None:
        """Give waiting URLs other scores (id -> score), as :meth:`rescore` does."""

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

    def forget_waiting(self, prefix: bytes) -> list[tuple[str, int | None]]:
        """Delete the waiting URLs whose payload begins with *prefix*; a link may find them anew.

        Return them and the ids of the URLs that they were found on.
        """


class SavedStore(Protocol):
    """For each URL that was dropped or demoted what decided so and which URL is fetched in its place."""

    def save(self, saved: Iterable[Saved]) -> None:
        """Write down what stands in the place of URLs."""

    def restore_for(self, target: int, most: int, *, is_exempt: bool = True) -> list[tuple[int, str | None]]:
        """Let URLs that were saved by the one with key *target* wait again, exempt or as before.

        :return: (id, URL) of at most *most* of them, ``None`` for the URL of one that went on meanwhile; empty when
            none is left.
        """

    def restore_of(self, cause: str, most: int, *, after: int = 0) -> list[tuple[int, str | None]]:
        """Let URLs that were saved by *cause* wait again, as before; returns as :meth:`restore_for` does.

        They come in the order of their ids, from the one after *after* on.
        """

    def some_of(self, cause: str, most: int) -> list[Saved]:
        """Return at most *most* URLs that *cause* saved and that are dropped, spread over all of them."""

    def restore(self, url_id: int) -> None:
        """Let one URL that was saved wait again, exempt."""

    def causes_of(self, target: int) -> list[str]:
        """Return what saved URLs in favour of the one with key *target*."""

    def causes(self) -> list[str]:
        """Return all that saved URLs."""

    def bereft(self, most: int) -> list[int]:
        """Return at most *most* keys of URLs in whose favour others were saved and that bring no page.

        They are not known, were dropped without anything in their place, or their fetch failed. It reads all that is
        saved.
        """

    def begin_work(self, work: str) -> None:
        """Write down that *work* is to be done in slices; it stays through the end of the process."""

    def end_work(self, work: str) -> None:
        """Write down that it is done."""

    def unfinished_work(self) -> list[str]:
        """Return the work that was begun and not ended, first begun first."""


class CrawlDB(Protocol):
    """What one crawl knows."""

    @property
    def is_shared(self) -> bool:
        """Whether several processes may have the crawl."""

    @property
    def leads(self) -> bool:
        """Whether this process decides what concerns all that share the crawl; true where it is the only one."""

    def listen(self) -> News | None:
        """Take over what other processes committed since the last call, and return what is new; never within a span.

        ``None`` where one process has the whole crawl.
        """

    def catch_up(self) -> None:
        """Commit, and take over what other processes committed so far; never within a span.

        :meth:`listen` tells of it.
        """

    @property
    def urls(self) -> UrlStore: ...

    @property
    def saved(self) -> SavedStore: ...

    @property
    def pages(self) -> Pages: ...

    @property
    def revisits(self) -> Revisits: ...

    @property
    def visits(self) -> Visits: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def items(self) -> ItemStore: ...

    @property
    def samples(self) -> SampleStore: ...

    @property
    def verdicts(self) -> VerdictStore: ...

    @property
    def uncertain_pairs(self) -> UncertainPairStore: ...

    @property
    def orders(self) -> OrderStore: ...

    @property
    def rules(self) -> RuleStore: ...

    @property
    def forms(self) -> FormStore: ...

    @property
    def blocks(self) -> BlockStore: ...

    @property
    def seeds(self) -> SeedStore: ...

    @property
    def captures(self) -> CaptureStore: ...

    @property
    def texts(self) -> Texts: ...

    def page(self) -> AbstractContextManager[None]:
        """Open a span whose changes are all taken back if it raises."""

    def commit(self) -> None:
        """Make everything so far survive the death of the process."""

    def close(self) -> None:
        """Commit, and let the job go."""

    def meta(self, key: str) -> bytes | None:
        """Return what :meth:`set_meta` stored under *key*."""

    def set_meta(self, key: str, value: bytes) -> None:
        """Store *value*, the state of some part of the crawl."""

    def first_meta(self, key: str, value: bytes) -> bytes:
        """Store *value* if nothing is stored under *key*; return what stands there, for all that share the crawl."""

    def add_sums(self, key: str, sums: Mapping[str, int]) -> None:
        """Add to the *sums* under *key*, to which each process adds its own; the reader's ``sums`` returns them."""
