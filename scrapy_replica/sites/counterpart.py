"""The same link on another page: what stands on a twin's host where a link of a page leads on its own."""

from __future__ import annotations

from scrapy_replica.address import origin_of
from scrapy_replica.sites.alignment import normal_path, unshared
from scrapy_replica.sites.evidence import path_of
from scrapy_replica.sites.probes import moved


def counterpart(url: str, page: str, twin: str) -> str | None:
    """Return the URL that is to *twin* what *url*, a link of *page*, is to *page*; ``None`` where there is none.

    What the two pages' paths end in alike is laid on each other, and the link is moved with it:

    >>> counterpart("http://b.example/old/x", "http://b.example/old/", "http://a.example/")
    'http://a.example/x'
    """
    if origin_of(url) != origin_of(page):
        return None
    own, other = normal_path(path_of(page)), normal_path(path_of(twin))
    prefixes = unshared(own, other) or (own, other)
    path = moved(path_of(url), *prefixes)
    found = origin_of(twin) + path if path is not None else None
    return None if found == url else found
