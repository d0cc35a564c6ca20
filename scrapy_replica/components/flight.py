"""A request on its way: what the components know of it, in one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_replica.components.payloads import says_it_leaves
from scrapy_replica.crawldb.contract import Permission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml import etree
    from scrapy import Request

    from scrapy_replica.components.warc import Batch
    from scrapy_replica.crawl.observation import Observation
    from scrapy_replica.decision import Decision
    from scrapy_replica.freshness.answer import Answer
    from scrapy_replica.records import Capture

OWN_HEADERS = frozenset({b"Accept", b"Accept-Language", b"Referer", b"User-Agent"})
"""Headers that say nothing that another host must not hear."""

NO_PAGE = "replica_no_page"
"""In the ``meta`` of requests that the add-on makes for itself: what they bring is no page of the crawl."""


@dataclass(slots=True)
class Flight:
    """What is known of one request between the callback that made it and the end of its own callback."""

    found_on: Observation | None = None
    """The page that it was found on."""
    score: float = 0.0
    """The strategy's."""
    key: int | None = None
    """64 bits of its fingerprint, once they were needed."""
    decision: Decision | None = None
    """What is done with it, once that was decided."""
    is_start: bool = False
    """``Spider.start()`` made it."""
    is_retry: bool = False
    """It tries once more what failed."""
    url_id: int | None = None
    """Id of its URL, once the scheduler gave it out."""
    slot: str | None = None
    """Download slot that it occupies, from when the scheduler gave it out to when it left the downloader."""
    ready_at: float | None = None
    """When the delay of that slot ends, until the request comes to the downloader: a cached one never does."""
    status: int | None = None
    """HTTP status of its response."""
    location: str | None = None
    """URL that its response redirects to."""
    size: int | None = None
    """Bytes of the body of its response as they came over the network; ``None`` where none did."""
    error: str | None = None
    """Name of the exception that it ended with."""
    asks_more: bool = False
    """The callback that got its page asked for a URL that is new and does not stand on the page."""
    record: tuple[str, str] | None = None
    """Id and date of the WARC record of its response."""
    batch: Batch | None = None
    """What its last WARC record is written with."""
    kept: bytes | None = None
    """SHA-1 of the body of its response, if all of it is kept as WARC."""
    original: Capture | None = None
    """Where the body is kept that it asks for if it changed."""
    is_observed: bool = False
    """Its response became a page, or was found to be none."""
    payload: bytes | None = None
    """What it has beyond a plain GET, as it was stored."""
    has_conditions: bool = False
    """The spider put conditions on it."""
    is_conditional: bool = False
    """It asked for its page if that changed since it was last crawled."""
    is_through: bool = False
    """Its callback came to its end."""
    observation: Observation | None = None
    """What was learnt from its page, until its callback is through."""
    elements: Sequence[etree._Element] = ()
    """Elements of its page, until its callback is through."""
    answer: Answer | None = None
    """What its response tells of changes, where it is a page or word that it did not change."""
    items: set[int] = field(default_factory=set)
    """Hashes of the items that its callback gave, word by word but for session ids."""

    @property
    def is_kept(self) -> bool:
        """All that was to be kept of it as WARC is on the disk: it may be done."""
        return self.batch is None or self.batch.is_written


class Flights:
    """The flight of each request that is alive."""

    def __init__(self) -> None:
        self._flights: WeakKeyDictionary[Request, Flight] = WeakKeyDictionary()

    def of(self, request: Request) -> Flight:
        """Return the flight of *request*, which begins here if it is new."""
        flight = self._flights.get(request)
        if flight is None:
            flight = self._flights[request] = Flight()
        return flight


def may_leave(request: Request) -> bool:
    """Tell whether *request* may leave the scope: so Scrapy has it of ``dont_filter``, and else it says so."""
    return request.dont_filter or says_it_leaves(request.meta)


def permission_of(request: Request, *, is_start: bool = False) -> Permission:
    """Return what a decision may do to *request*, which ``Spider.start()`` made or a callback."""
    meta = request.meta
    if meta.get("replica") is False or "redirect_urls" in meta:
        return Permission.EXEMPT
    # Scrapy marks what start() makes of start_urls dont_filter; the user did not ask for it.
    if request.method != "GET" or request.body or (request.dont_filter and not is_start):
        return Permission.AS_ASKED
    if request.cookies or not OWN_HEADERS.issuperset(request.headers):
        return Permission.STAY
    return Permission.MOVE
