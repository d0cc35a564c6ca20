"""Crawler traps, recognised by novelty: a path pattern whose URLs bring nothing new is a trap, whatever its shape.

The shapes that traps usually have (calendars, paths that grow, segments that repeat, facets) only lower the number of
pages without news that is waited for. Old versions and other views of a page are no news whatever they say: each
difference between two versions of a wiki page is a text of its own.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from enum import Enum

from scrapy_replica.urls.pattern import argument_name

_DATE = re.compile(r"(?:19|20)\d\d([-/])?(?:0[1-9]|1[0-2])|[?&](?:year|month|week|day|date|cal_\w+)=", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_VALUE = re.compile(r"=[^&]*")
# MediaWiki, DokuWiki, MoinMoin, Trac, WordPress and its calendar.
_REVISION = re.compile(
    r"[?&;](?:(?:rev|revision|version|oldid|old_version|diff)=\d"
    r"|(?:action|do|cmd)=(?:annotate|backlink|diff|edit|history|info|media|print|raw|recent|revisions)\b"
    r"|(?:format=(?:txt|raw|print)|ical=|outlook-ical=|printable=))",
    re.IGNORECASE,
)
_LONG_PATH = 12
_REPEATS = 3
_FACETS = 4


class TrapKind(str, Enum):
    """The shape of a trap; the words stand in the ledger."""

    CALENDAR = "calendar"
    GROWING_PATH = "growing-path"
    REPEATING_SEGMENTS = "repeating-segments"
    FACETS = "facets"
    REVISIONS = "revisions"
    NO_NEWS = "no-news"


class Traps:
    """Watches pages without news per path pattern.

    A pattern is the host, the first two path components with digits folded, and the names of the arguments. Each keeps
    one count: the pages since the last one with news. A pattern with a trap's shape is a trap after
    *patience* such pages in a row, any other after ten times as many; news set the count back. So a calendar with
    events is crawled, and one without ends. The revisions of a host are one pattern, which has no news.

    At most *max_patterns* patterns are kept, the least recently observed are forgotten first.
    """

    def __init__(self, patience: int = 10, max_patterns: int = 10_000) -> None:
        if patience < 1 or max_patterns < 1:
            raise ValueError("patience and max_patterns must be at least 1")
        self._patience = patience
        self._max_patterns = max_patterns
        self._idle: OrderedDict[str, int] = OrderedDict()

    def observe(self, url: str, was_novel: bool) -> None:
        """Take note that the page at *url* was fetched and whether it brought anything new."""
        is_revision = _REVISION.search(url) is not None
        pattern = _revisions_of(url) if is_revision else path_pattern(url)
        idle = 0 if was_novel and not is_revision else self._idle.get(pattern, 0) + 1
        self._idle[pattern] = idle
        self._idle.move_to_end(pattern)
        if len(self._idle) > self._max_patterns:
            self._idle.popitem(last=False)

    def is_trap(self, url: str) -> TrapKind | None:
        """Return the kind of trap that *url* leads into, None if it may be fetched."""
        if "?" in url and _REVISION.search(url) and self._idle.get(_revisions_of(url), 0) >= self._patience:
            return TrapKind.REVISIONS
        idle = self._idle.get(path_pattern(url), 0)
        if idle < self._patience:
            return None
        kind = shape(url)
        if kind is not None:
            return kind
        return TrapKind.NO_NEWS if idle >= 10 * self._patience else None

    def __len__(self) -> int:
        return len(self._idle)

    @property
    def slack(self) -> int:
        """Pages that can be observed, whatever they are, before any URL is in a trap; 0 where one may be."""
        return max(0, self._patience - max(self._idle.values(), default=0))


def _revisions_of(url: str) -> str:
    return "/".join([*url.split("/", 3)[2:3], TrapKind.REVISIONS.value, ""])


def path_pattern(url: str) -> str:
    """Return host, first two path components with digits folded, and argument names of *url*."""
    base, _, query = url.partition("?")
    parts = base.split("/", 5)
    pattern = "/".join((*parts[2:3], _DIGITS.sub("0", "/".join(parts[3:5]))))
    if not query:
        return pattern
    # One expression for all names is a third faster than a partition of each argument: it runs for every link.
    names = _VALUE.sub("", query.partition("#")[0]).split("&")
    return f"{pattern}/?{'&'.join(sorted(set(names)))}"


def shape(url: str) -> TrapKind | None:
    """Return the kind of trap that *url* looks like by itself; most such URLs are none."""
    base, _, query = url.partition("?")
    segments = [segment for segment in base.split("/")[3:] if segment]
    if segments and max(map(segments.count, segments)) >= _REPEATS:
        return TrapKind.REPEATING_SEGMENTS
    if _REVISION.search(url):
        return TrapKind.REVISIONS
    if len(segments) >= _LONG_PATH:
        return TrapKind.GROWING_PATH
    if _DATE.search(url):
        return TrapKind.CALENDAR
    if query and len({argument_name(argument) for argument in query.split("&")}) >= _FACETS:
        return TrapKind.FACETS
    return None
