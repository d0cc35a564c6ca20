"""The shapes of URLs that a machine can make without end: dates, growing and repeating paths, combined arguments."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

_YEAR = r"(?:19|20|21)\d\d"
_MONTH, _DAY = r"(?:1[0-2]|0?[1-9])", r"(?:3[01]|[12]\d|0?[1-9])"
_DATE = re.compile(
    rf"(?<!\d)(?:{_YEAR}([-/._]){_MONTH}(?:\1{_DAY})?|{_YEAR}-?W\d\d?|{_YEAR}(?:1[0-2]|0[1-9])(?:3[01]|[0-2]\d)?"
    rf"|(?:{_DAY}[-/._])?{_MONTH}[-/._]{_YEAR}(?![-/._]\d)|{_YEAR}(?=/[^\d/.]+/?$))(?!\d|\.\w)",
    re.IGNORECASE,
)
"""Year and month, with the day or without, in either order; a week; a year before a word, which may name a month.
No name of a file: pictures are numbered below the month that they were taken in."""
_DATE_ARGUMENT = re.compile(r"(?:[\w-]*[-_])?(?:year|month|week|day|date|time)=[^&]*\d|cal_\w+=", re.IGNORECASE)
_PART_OF_DATE = re.compile(r"[ymd]=\d{1,4}$", re.IGNORECASE)
# MediaWiki, DokuWiki, MoinMoin, Trac, WordPress and its calendar.
_REVISION = re.compile(
    r"[?&;](?:(?:rev|revision|version|oldid|old_version|diff)=\d"
    r"|(?:action|do|cmd)=(?:annotate|backlink|diff|edit|history|info|media|print|raw|recent|revisions)\b"
    r"|(?:format=(?:txt|raw|print)|ical=|outlook-ical=|printable=))",
    re.IGNORECASE,
)
_TOKEN_VALUE = re.compile(r"(?<==)(?=[^&;]*\d)[0-9A-Za-z]{16,}")
_DIGITS = re.compile(r"\d+")
_LONG_PATH = 12
_REPEATS = 3
_FACETS = 2


class TrapKind(str, Enum):
    """The shape of a trap; the words stand in the ledger."""

    CALENDAR = "calendar"
    GROWING_PATH = "growing-path"
    REPEATING_SEGMENTS = "repeating-segments"
    FACETS = "facets"
    REVISIONS = "revisions"
    REPETITION = "exact-repetition"
    """No shape, but page after page the same text."""
    MADE_UP = "made-up-text"
    """No shape, and each page says something else, but a machine made it up."""
    LABYRINTH = "labyrinth"
    """No shape: no link that a reader sees leads in, and its pages lead to more of it."""
    NO_NEWS = "no-news"
    """No shape, and nothing proved: the place brought few new pages."""


class Shape(NamedTuple):
    """A URL as a machine may have made it."""

    kind: TrapKind
    place: str
    """The same for all URLs of one machine: what stands before the date, or the path."""
    values: tuple[str, ...] = ()
    """What else the URL says. Where one of these is new, it is no date and no combination that makes the URL new."""


# The links of a site's pages are the same ones over and over: of 3,932 of a small forum 400 differ.
@lru_cache(4_096)
def shape(url: str) -> Shape | None:
    """Return the shape of *url*; most have none."""
    base, _, query = without_tokens(url.partition("#")[0]).partition("?")
    parts = base.split("/")
    host, segments = "/".join(parts[2:3]), [segment for segment in parts[3:] if segment]
    if query and (asked := _REVISION.search(url)):
        return Shape(
            TrapKind.REVISIONS, f"{host}/{TrapKind.REVISIONS.value}", (asked[0].lower().strip("?&;0123456789"),)
        )
    if len(segments) > len(set(segments)) and _is_repeating(segments):
        return Shape(TrapKind.REPEATING_SEGMENTS, f"{host}/{TrapKind.REPEATING_SEGMENTS.value}", tuple(set(segments)))
    if len(segments) >= _LONG_PATH:
        return Shape(TrapKind.GROWING_PATH, f"{host}/{TrapKind.GROWING_PATH.value}")
    arguments = [argument for argument in re.split("[&;]", query) if argument] if query else []
    return _calendar(base, arguments) or _facets(base, arguments)


def _is_repeating(segments: list[str]) -> bool:
    # /2024/12/12/ is a date.
    return any(
        count >= _REPEATS or not segment.isdecimal() for segment, count in Counter(segments).items() if count > 1
    )


def _calendar(base: str, arguments: list[str]) -> Shape | None:
    has_year = any(re.match(rf"y={_YEAR}$", argument) for argument in arguments)
    others = [a for a in arguments if not (_is_date(a) or (has_year and _PART_OF_DATE.match(a)))]
    begin = base.find("/", base.find("://") + 3)
    found = _DATE.search(base, begin) if begin > 0 else None
    if found is None and len(others) == len(arguments):
        return None
    before, after = (base[: found.start()], base[found.end() :]) if found is not None else (base, "")
    after = _DATE.sub("", after).strip("/")
    return Shape(TrapKind.CALENDAR, _place(before, arguments), tuple([after, *others] if after else others))


def _is_date(argument: str) -> bool:
    return _DATE_ARGUMENT.match(argument) is not None or _DATE.search(argument) is not None


def _facets(base: str, arguments: list[str]) -> Shape | None:
    return Shape(TrapKind.FACETS, _place(base, []), tuple(arguments)) if len(arguments) >= _FACETS else None


def _place(path: str, arguments: list[str]) -> str:
    names = sorted({argument.partition("=")[0] for argument in arguments})
    return f"{path.partition('://')[2]}?{'&'.join(names)}"


def siblings(url: str) -> str:
    """Return what *url* shares with its like: host, first directory with digits folded, and names of the arguments."""
    base, _, query = url.partition("#")[0].partition("?")
    host, _, path = base.partition("://")[2].partition("/")
    first, slash, _ = path.partition("/")
    folder = _DIGITS.sub("0", first) if slash else ""
    return _place(f"://{host}/{folder}/", re.split("[&;]", query) if query else [])


def without_tokens(url: str) -> str:
    """Return *url* without the values of arguments that are session ids and the like."""
    return _TOKEN_VALUE.sub("", url) if "=" in url else url
