"""The hosts that a page speaks of, and how it was come by."""

from __future__ import annotations

import json
from typing import NamedTuple

from scrapy_replica.address import host_of
from scrapy_replica.records import Page
from scrapy_replica.sites.evidence import HostEvidence

MAX_NEIGHBOURS = 50
"""Other hosts kept of a host and kind."""


class Neighbours(NamedTuple):
    """Hosts around one page, as kept with it."""

    canonical: str | None = None
    alternates: tuple[str, ...] = ()
    is_https: bool = False
    way: tuple[str, ...] = ()
    """URLs that led to the page, first requested first, and its own; empty where it is the one that was asked for."""

    @classmethod
    def of(cls, page: Page) -> Neighbours:
        return cls(
            host_of(page.canonical) if page.canonical else None,
            tuple(sorted({host_of(url) for _, url in page.alternates})),
            page.url.startswith("https:"),
            (*page.redirected_from, page.url) if page.redirected_from else (),
        )

    def tell(self, host: HostEvidence) -> None:
        """Add them to the evidence of the page's *host*."""
        host.is_https |= self.is_https
        for counter, names in (
            (host.canonical_to, (self.canonical,) if self.canonical is not None else ()),
            (host.alternates_to, self.alternates),
        ):
            for name in names:
                if name in counter or len(counter) < MAX_NEIGHBOURS:
                    counter[name] += 1

    def to_json(self) -> str:
        """Return the neighbours as stored."""
        return json.dumps(self if self.way else self[:3])

    @classmethod
    def from_json(cls, text: str) -> Neighbours:
        canonical, alternates, is_https, *way = json.loads(text)
        return cls(canonical, tuple(alternates), is_https, tuple(*way))
