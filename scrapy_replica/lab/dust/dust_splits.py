"""Ways of cutting a table of URLs in two, so that no rule is judged on a page that it was learnt from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import mmh3

from scrapy_replica.urls.pattern import parse

LISTING_URLS = 50
"""One text under more URLs than these says that there is nothing to list; how many of those go is counted apart."""
_SPECIAL = re.compile(r"(?:Special|Spezial|Especial|Spécial|Speciale|Speciaal):[^/]*")
_SCRIPT = re.compile(r"^/$|\.(?:php\d?|aspx?|jspx?|cgi|pl|do|cfm)$|/cgi-bin/")


class Row(NamedTuple):
    """One URL of the table."""

    url: str
    host: str
    cluster: str
    """Host and digest of the visible text."""
    canonical: str
    """Target of ``rel=canonical``; empty without one."""
    chars: int = 0
    """Characters of the visible text."""

    @property
    def text(self) -> str:
        """Digest of the visible text."""
        return self.cluster.rpartition(" ")[2]


def family(row: Row) -> str:
    """Return what must not stand in both halves: the page that a URL is about (target, title or path) on its host."""
    pattern = parse(row.url)
    page = pattern.value("target") or pattern.value("title") or pattern.path
    return f"{row.host} {page.replace(' ', '_')}"


def family_with_services(row: Row) -> str:
    """Return the same, but of a service, which has no page of its own, the values that it is asked with.

    A service is a page like ``Special:NewFiles`` or a script of which no argument names a page. Kept whole, one can
    be half of all removable URLs and lie in one half.
    """
    pattern = parse(row.url)
    title = pattern.value("title")
    is_service = _SPECIAL.fullmatch(title) if title else _SCRIPT.search(pattern.path)
    if not is_service or not pattern.arguments or pattern.value("target"):
        return family(row)
    values = sorted(argument.partition("=")[2] for argument in pattern.arguments)
    return " ".join((row.host, pattern.path, *values))


SPLITS: dict[str, Callable[[Row], str]] = {
    "family": family,
    "services": family_with_services,
    "url": lambda row: row.url,
    "cluster": lambda row: row.cluster,
}


def halves(rows: Sequence[Row], key: Callable[[Row], str]) -> tuple[list[Row], list[Row]]:
    """Cut *rows* in two by the hash of *key*."""
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[mmh3.hash(key(row), signed=False) & 1].append(row)
    return parts


def empty_listings(rows: Iterable[Row]) -> frozenset[str]:
    """Return the clusters of more than :data:`LISTING_URLS` URLs."""
    sizes = Counter(row.cluster for row in rows)
    return frozenset(cluster for cluster, size in sizes.items() if size > LISTING_URLS)
