"""When a page says that it was published and changed."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml import etree

MAX_SCRIPT = 200_000
"""Characters of a script with structured data that are looked through."""

_DATE = re.compile(r"\s*(\d{4})[-/.]?(\d\d)[-/.]?(\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?")
_PUBLISHED = ("datepublished", "article:published_time", "og:published_time", "citation_publication_date",
    "dcterms.created", "dc.date.created", "dc.date", "dc.date.issued", "dcterms.issued", "parsely-pub-date",
    "sailthru.date", "publishdate", "publish-date", "publication_date", "pubdate", "date", "datecreated",
)  # fmt: skip
_CHANGED = ("datemodified", "article:modified_time", "og:updated_time", "dcterms.modified", "dc.date.modified",
    "last-modified", "revised", "lastmod",
)  # fmt: skip
_IN_JSON = re.compile(r'"(date(?:Published|Modified|Created))"\s*:\s*"([^"]{4,40})"')


class Dates(NamedTuple):
    """ISO 8601, a day or a moment as the page tells it; ``None`` where it tells none."""

    published: str | None
    changed: str | None


def dates_of(root: etree._Element) -> Dates:
    """Return the dates that the page parsed as *root* tells: structured data, ``meta``, then its only ``<time>``."""
    told: dict[str, str] = {}
    for name, value in _told(root):
        if name not in told and (found := as_iso(value)) is not None:
            told[name] = found
    published = _first(_PUBLISHED, told)
    if published is None:
        times = {found for time in root.iter("time") if (found := as_iso(time.get("datetime") or "")) is not None}
        published = times.pop() if len(times) == 1 else None
    return Dates(published, _first(_CHANGED, told))


def _told(root: etree._Element) -> Iterator[tuple[str, str]]:
    for script in root.iter("script"):
        if script.get("type") == "application/ld+json":
            for name, value in _IN_JSON.findall((script.text or "")[:MAX_SCRIPT]):
                yield name.lower(), value
    for element in root.iter("meta", "time", "span", "abbr"):
        name = element.get("property") or element.get("itemprop") or element.get("name") or element.get("http-equiv")
        if name:
            value = element.get("content") or element.get("datetime") or element.get("title") or element.text
            yield name.lower(), value or ""


def _first(names: Iterable[str], told: dict[str, str]) -> str | None:
    return next((told[name] for name in names if name in told), None)


def as_iso(text: str) -> str | None:
    """Return the date that *text* begins with in ISO 8601; ``None`` if it is none, or before 1990."""
    if (found := _DATE.match(text)) is None:
        return None
    year, month, day, time, zone = found.groups()
    told = f"{year}-{month}-{day}"
    if time is not None:
        zone = "+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}" if zone else ""
        told += f"T{time}{zone}"
    try:
        return told if datetime.fromisoformat(told).year >= 1990 else None
    except ValueError:
        return None
