"""WebKB as a web to visit: the pages of four universities and of some 180 other departments, labelled by people.

The collection is a sample: of the links on its pages an eighth is left, those to another of its pages, and many pages
cannot be reached from the department that a visit begins at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml import etree, html

from scrapy_replica.address import host_of
from scrapy_replica.lab.archives.collection import Collection, TermCounter, build, counted_texts, parquet

COLUMNS = {"id", "url", "university", "label", "title", "text", "html", "outlinks"}
HOME = "cornell"
MOST_ANCHOR = 120
"""Characters of an anchor that are kept."""
_INDEX = re.compile(r"/(?:index|home|welcome)\.html?$", re.IGNORECASE)


def is_webkb(path: Path) -> bool:
    """Return whether the file has the columns of WebKB."""
    return set(parquet().read_schema(path).names) >= COLUMNS


def read_webkb(
    path: Path, count_terms: TermCounter, cache: Path | None = None, homes: Sequence[str] = (HOME,)
) -> Collection:
    """Read the pages; a visit begins at the department pages of *homes*: a university, or a host of the others.

    Labels are those of people (``course``, ``faculty``, ``student``, ...). A second page with one URL gets a ``#``.
    *cache* as in :func:`~scrapy_replica.lab.archives.collection.read_parquet`. Raises ``ValueError`` where *homes* have
    no department page.
    """
    table = parquet().read_table(path)
    rows: dict[str, list[Any]] = {name: table.column(name).to_pylist() for name in COLUMNS - {"text"}}
    places = {number: place for place, number in enumerate(rows["id"])}
    titles = [title or "" for title in rows["title"]]
    urls = list(_told_apart(rows["url"]))
    labels: dict[str, list[int]] = {}
    for place, label in enumerate(rows["label"]):
        labels.setdefault(label, []).append(place)
    seeds = [
        place
        for place in labels["department"]
        if rows["university"][place] in homes or host_of(rows["url"][place]) in homes
    ]
    if not seeds:
        raise ValueError(f"{path.name} has no department page of {', '.join(homes)}")
    pages = zip(urls, titles, counted_texts(path, table, count_terms, cache), strict=True)
    return build(pages, _links(rows, places), seeds, labels)


def _links(rows: Mapping[str, list[Any]], places: Mapping[int, int]) -> Iterator[list[tuple[int, str]]]:
    keys = [_key(url) for url in rows["url"]]
    for url, text, numbers in zip(rows["url"], rows["html"], rows["outlinks"], strict=True):
        targets = [places[number] for number in numbers or () if number in places]
        anchors = _anchors(url, text) if targets else {}
        yield [(target, anchors.get(keys[target], "")) for target in targets]


def _anchors(url: str, text: str) -> dict[str, str]:
    """Return the text of the first link to each URL, by :func:`_key`."""
    try:
        tree = html.fromstring(text.encode("utf-8", "replace"))
    except (etree.ParserError, ValueError):
        return {}
    found: dict[str, str] = {}
    for link in tree.iter("a"):
        if href := link.get("href"):
            try:
                key = _key(urljoin(url, href))
            except ValueError:  # no URL
                continue
            found.setdefault(key, " ".join("".join(map(str, link.itertext())).split())[:MOST_ANCHOR])
    return found


def _key(url: str) -> str:
    """Return what is the same for the ways in which pages write one URL."""
    parts = urlsplit(url.strip())
    path = _INDEX.sub("/", parts.path or "/")
    return parts.netloc.lower().removesuffix(":80") + path.rstrip("/")


def _told_apart(urls: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    for url in urls:
        name = url.strip()
        while name in seen:
            name += "#"
        seen.add(name)
        yield name
