"""The table of visits: what a strategy was shown, so that it can be shown again."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.records import Link

LEVEL = 1
"""Of zlib: the rows are written once a page and read on resumption only."""


class Visit(NamedTuple):
    """A page as a strategy sees it."""

    url: str
    relevance: float | None
    """0..1; ``None`` where more links of the page before this row were scored."""
    terms: Mapping[str, int]
    links: Sequence[Link]
    """URL and anchor text of those that may be followed; their other fields are not kept."""


class VisitTable:
    """One row for each page, in the order in which the strategy was shown them: about 2 kB."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write = connection.read, connection.write

    def add(self, visit: Visit) -> None:
        """Append a row, in the transaction of the page."""
        links = [field for link in visit.links for field in (link.url, link.text)]
        body = json.dumps([list(visit.terms), list(visit.terms.values()), links], ensure_ascii=False)
        self._write(
            "INSERT INTO visits (url, relevance, body) VALUES (?, ?, ?)",
            (visit.url, visit.relevance, zlib.compress(body.encode("utf-8", "surrogatepass"), LEVEL)),
        )

    def clear(self) -> None:
        """Delete all rows."""
        self._write("DELETE FROM visits")

    def __iter__(self) -> Iterator[Visit]:
        for url, relevance, body in self._read("SELECT url, relevance, body FROM visits ORDER BY id"):
            terms, counts, links = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
            pairs = zip(links[::2], links[1::2], strict=True)
            rows = [Link(target, text, place) for place, (target, text) in enumerate(pairs)]
            yield Visit(url, relevance, dict(zip(terms, counts, strict=True)), rows)
