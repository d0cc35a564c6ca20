"""Download slots, as Scrapy 2.18 and 2.19 call them: the one module that knows their settings, and where they stand.

Scrapy's throttling scopes will take their place (``THROTTLING_SCOPE_CONCURRENCY``, ``THROTTLING_SCOPES``, and
``throttling_scopes`` in ``meta``): https://github.com/scrapy/scrapy/pull/6931.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_replica.address import hostname_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader

CONCURRENCY, DELAY = "CONCURRENT_REQUESTS_PER_DOMAIN", "DOWNLOAD_DELAY"
"""Settings: requests of a slot at once, and seconds between two of them."""

SLOT = "download_slot"
"""In the ``meta`` of a request: its slot, where the user chose one, and once the downloader has it."""


def slot_of(request: Request) -> str | None:
    """Return the slot that *request* has; ``None`` before the downloader has it, where the user chose none."""
    slot: str | None = request.meta.get(SLOT)
    return slot


def chosen_slot(request: Request) -> str | None:
    """Return the slot that the user chose for *request*; ``None`` if none was.

    The downloader writes the slot into ``meta``, and redirects copy it.
    """
    slot = slot_of(request)
    before = request.meta.get("redirect_urls")
    if slot is not None and before and slot == hostname_of(before[-1]):
        del request.meta[SLOT]
        return None
    return slot


class Limits:
    """What each slot may do by now."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader = downloader
        self._concurrency = downloader.settings.getint(CONCURRENCY)
        self._delay = downloader.settings.getfloat(DELAY)

    def of(self, slot: str) -> tuple[int, float]:
        """Return concurrency, and delay in seconds, of *slot*; AutoThrottle changes its delay."""
        live = self._downloader.slots.get(slot)
        if live is not None:
            return live.concurrency, live.delay
        own = self._downloader.per_slot_settings.get(slot, {})
        return own.get("concurrency", self._concurrency), own.get("delay", self._delay)
