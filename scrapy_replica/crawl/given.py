"""What a crawl is given by whoever runs it: its requests, its clock, and how URLs are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

KeyOf = Callable[[str], int]
"""URL -> what it is known by: 64 bits of its request fingerprint, signed."""

Clock = Callable[[], float]
"""Seconds since the epoch."""


class Payloads(Protocol):
    """What requests have beyond a plain GET, as the store keeps it: each payload belongs to one row."""

    def copy(self, payload: bytes | None) -> bytes | None:
        """Return an equal payload for a second row."""

    def moved(self, payload: bytes | None, url: str) -> bytes | None:
        """Return *payload* for *url* on another host, which must not hear of the page that the link was found on."""

    def callback(self, payload: bytes | None) -> str:
        """Return the name of the callback that is to get the page, empty for the spider's ``parse``."""

    def has_arguments(self, payload: bytes | None) -> bool:
        """Tell whether the callback is handed more than the page (``cb_kwargs``): another URL's would differ."""

    def may_leave(self, payload: bytes | None) -> bool:
        """Tell whether the user said that the request may leave the scope."""

    def is_lost(self, payload: bytes | None) -> bool:
        """Tell whether only an earlier run could have made the request: nothing can be fetched in its place."""

    def forget(self, payload: bytes | None) -> None:
        """Take note that no row holds *payload*."""
