"""A host that asks for patience has it: 429 and ``Retry-After`` let its slot rest, and the request comes back."""

from __future__ import annotations

import logging
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrapy_replica.components.middleware import Middleware
from scrapy_replica.components.slots import slot_of
from scrapy_replica.words.terminal import lasting
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_replica.components.extension import ReplicaExtension

logger = logging.getLogger(__name__)

TOO_MANY, UNAVAILABLE = 429, 503
WAITS = "replica_waits"
"""In the ``meta`` of a request: how often it came back for that."""
MOST_WAITS = 5
"""Times that one request comes back; then the response is the user's, and Scrapy may try it again."""
FIRST_S, MOST_S = 5.0, 600.0
"""Seconds that a host rests which does not say how long, doubled each time; and seconds beyond which nobody waits: a
server must not stop a crawl for days, and what it does not bring a mirror may."""


def retry_after(response: Response, now: float) -> float | None:
    """Return the seconds that ``Retry-After`` asks for, as a number or a date; ``None`` without it or its sense."""
    told = (response.headers.get("Retry-After") or b"").decode("ascii", "replace").strip()
    if told.isdecimal():
        return float(told[:12])
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


class PatienceMiddleware(Middleware):
    """Takes a 429, and a 503 that says when to come back, for a wish to wait, not for a failure.

    Where another scheduler is in use, and where the user wants no retries, the response is left as it is.
    """

    def __init__(self, crawler: Crawler, extension: ReplicaExtension) -> None:
        super().__init__(crawler, extension)
        self._is_on = crawler.settings.getbool("RETRY_ENABLED")
        self._in_a_row: dict[str, tuple[int, float]] = {}
        """Download slot -> times that it rested since it answered otherwise, and until when it does. Requests that were
        on their way when it began to rest do not count: of eight at once the last would have it rest ten minutes."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        extension, slot = self._extension, slot_of(request)
        if extension.rest is None or slot is None or "cached" in response.flags:
            return response
        if response.status not in {TOO_MANY, UNAVAILABLE}:
            self._in_a_row.pop(slot, None)
            extension.recover(slot)
            return response
        asked = retry_after(response, time.time())
        is_wish = response.status == TOO_MANY if asked is None else asked <= MOST_S
        waits = request.meta.get(WAITS, 0)
        is_ours = extension.flights.of(request).url_id is not None  # it came from the crawl database
        if not (is_wish and is_ours and self._is_on) or waits >= MOST_WAITS or request.meta.get("dont_retry"):
            return response
        n, until = self._in_a_row.get(slot, (0, 0.0))
        now = time.monotonic()
        n += now >= until
        seconds = asked if asked is not None else min(MOST_S, FIRST_S * 2.0 ** min(max(n - 1, waits), 10))
        self._in_a_row[slot] = n, now + seconds
        extension.rest(slot, seconds)
        extension.crawl.counts["patience/rests"] += 1
        told = "%s answers %d: nothing is asked of it for %s, and then %s again"
        logger.info(told, cleaned(slot), response.status, lasting(seconds), request)
        again = request.copy()
        again.meta[WAITS] = waits + 1
        again.dont_filter = True
        return again
