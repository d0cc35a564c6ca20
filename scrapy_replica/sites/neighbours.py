"""The hosts that a page speaks of."""

from __future__ import annotations

import json
from typing import NamedTuple

from scrapy_replica.address import host_of
from scrapy_replica.records import Page
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.evidence import HostEvidence, path_of

MAX_NEIGHBOURS = 50
"""Other hosts kept of a host and kind."""
MAX_REDIRECTS = 200
"""Paths of one other host kept that led to a host."""


class Neighbours(NamedTuple):
    """Hosts around one page, as kept with it."""

    redirected_from: tuple[tuple[str, str], ...] = ()
    """Other hosts, each with the normalised path on it that led to the page."""
    canonical: str | None = None
    alternates: tuple[str, ...] = ()
    is_https: bool = False

    @classmethod
    def of(cls, page: Page) -> Neighbours:
        """Return the neighbours of *page*."""
        came_by = ((host_of(url), normal_path(path_of(url))) for url in page.redirected_from)
        return cls(
            tuple((host, path) for host, path in came_by if host != page.host),
            host_of(page.canonical) if page.canonical else None,
            tuple(sorted({host_of(url) for _, url in page.alternates})),
            page.url.startswith("https:"),
        )

    def tell(self, host: HostEvidence) -> None:
        """Add them to the evidence of the page's *host*."""
        host.is_https |= self.is_https
        for name, path in self.redirected_from:
            if name in host.redirected_from or len(host.redirected_from) < MAX_NEIGHBOURS:
                paths = host.redirected_from.setdefault(name, set())
                if len(paths) < MAX_REDIRECTS:
                    paths.add(path)
        for counter, names in (
            (host.canonical_to, (self.canonical,) if self.canonical is not None else ()),
            (host.alternates_to, self.alternates),
        ):
            for name in names:
                if name in counter or len(counter) < MAX_NEIGHBOURS:
                    counter[name] += 1

    def to_json(self) -> str:
        """Return the neighbours as stored."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Neighbours:
        redirected_from, canonical, alternates, is_https = json.loads(text)
        return cls(tuple((host, path) for host, path in redirected_from), canonical, tuple(alternates), is_https)
