"""From a URL of one host to the URL of the same page on another."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit, urlunsplit

from scrapy_replica.sites.alignment import relative


def counterpart(url: str, prefix: str, origin: str, other_prefix: str) -> str | None:
    """Return the URL on *origin* (``scheme://host[:port]``) of the page at *url*.

    What follows *prefix* in the path of *url* follows *other_prefix* there; ``None`` if *url* does not lie below
    *prefix*. Prefixes have no outer slashes.

    >>> counterpart("http://b.example/python/docs/os.html?x=1", "python/docs", "https://a.example", "")
    'https://a.example/os.html?x=1'
    """
    parts = urlsplit(url)
    segments = parts.path.split("/")[1:]
    decoded = "/".join(unquote(segment) for segment in segments if segment)
    if relative(decoded, prefix) is None:
        return None
    rest, to_skip = segments, prefix.count("/") + 1 if prefix else 0
    while to_skip:
        to_skip -= rest[0] != ""
        rest = rest[1:]
    path = "/".join(["", *([other_prefix] if other_prefix else []), *(rest or [""])])
    return urlunsplit((*urlsplit(origin)[:2], path, parts.query, ""))


def origin_of(url: str) -> str:
    """Return ``scheme://host[:port]`` of an absolute URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def is_below(path: str, prefix: str) -> bool:
    """Tell whether the *path* of a URL lies below *prefix*."""
    return not prefix or relative("/".join(s for s in unquote(path).split("/") if s), prefix) is not None
