"""Arguments that a copy adds to its URLs and that change nothing, such as session ids: no canonical host knows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from scrapy_replica.sites.alignment import joined, relative
from scrapy_replica.sites.evidence import MIN_WORDS, HostEvidence, is_same_page

MIN_PAGES = 3
"""Pages with an argument that must all be the page without it."""


def idle_arguments(copy: HostEvidence, kept: HostEvidence, prefixes: tuple[str, str]) -> frozenset[str]:
    """Return the names of arguments of *copy* without which its pages are those of *kept*, or its own.

    *prefixes* are those of *copy* and *kept*. An argument counts where it stands alone.
    """
    same: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for path, mark in copy.pages.items():
        stem, mark_of_query, query = path.partition("?")
        rest = relative(stem.rstrip("/"), prefixes[0])
        if not mark_of_query or "&" in query or rest is None or mark.words < MIN_WORDS:
            continue
        twin = kept.pages.get(joined(prefixes[1], rest)) or copy.pages.get(stem.rstrip("/"))
        if twin is not None:
            (same if is_same_page(mark, twin) else other)[query.partition("=")[0]] += 1
    return frozenset(name for name, n in same.items() if n >= MIN_PAGES and not other[name])


def without_arguments(path: str, names: Container[str]) -> str:
    """Return *path*, with its query, without the arguments of these *names*."""
    stem, _, query = path.partition("?")
    left = "&".join(part for part in query.split("&") if part.partition("=")[0] not in names)
    return f"{stem}?{left}" if left else stem
