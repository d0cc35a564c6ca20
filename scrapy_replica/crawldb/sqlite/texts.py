"""The tables of texts that a person may be asked about, and of the answers."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.texts import Kept, Mark, Text


class TextTable:
    """One row for each question about a page, some 1.5 kB, and one for each answer."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write = connection.read, connection.write
        self._write_many = connection.write_many

    def enter(self, why: str, text: Text) -> None:
        """Keep the *text* of a page, in the place of an earlier one for the same question."""
        url_id, worth, excerpt, terms = text
        readable = excerpt.encode("utf-8", "replace").decode()
        row = (why, url_id, worth, readable, _packed(terms))
        self._write("INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?, ?)", row)

    def drop(self, why: str, url_ids: Iterable[int]) -> None:
        """Forget texts."""
        self._write_many("DELETE FROM texts WHERE why = ? AND url = ?", [(why, url_id) for url_id in url_ids])

    def kept(self, why: str) -> list[Kept]:
        """Return the texts kept for a question, without what they say."""
        rows = self._read(
            "SELECT texts.url, hosts.name, worth FROM texts JOIN urls ON urls.id = texts.url"
            " JOIN hosts ON hosts.id = urls.host WHERE why = ?",
            (why,),
        )
        return [Kept(*row) for row in rows]

    def after(self, why: str, url_id: int, most: int) -> list[Text]:
        """Return at most so many texts of pages with a greater id, in the order of their ids."""
        rows = self._read(
            "SELECT url, worth, excerpt, terms FROM texts WHERE why = ? AND url > ? ORDER BY url LIMIT ?",
            (why, url_id, most),
        )
        return [Text(found, worth, excerpt, unpacked(terms)) for found, worth, excerpt, terms in rows]

    def set_worths(self, why: str, worths: Sequence[tuple[int, float]]) -> None:
        """Give texts another worth: pairs of id and worth."""
        rows = [(worth, why, url_id) for url_id, worth in worths]
        self._write_many("UPDATE texts SET worth = ? WHERE why = ? AND url = ?", rows)

    def terms(self, url_id: int) -> Mapping[str, int] | None:
        """Return the terms of the page of that URL; ``None`` where none are kept here."""
        row = self._read("SELECT terms FROM marks WHERE url = ?", (url_id,)).fetchone()
        row = row or self._read("SELECT terms FROM texts WHERE why = 'relevance' AND url = ?", (url_id,)).fetchone()
        return unpacked(row[0]) if row is not None else None

    def mark(self, url_id: int, terms: Mapping[str, int], *, is_relevant: bool) -> None:
        """Keep what a person said of a page, in the place of what was said of it before."""
        self._write("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", (url_id, is_relevant, _packed(terms)))

    def marks(self) -> list[Mark]:
        """Return what was said of pages, in the order of their ids."""
        rows = self._read(
            "SELECT urls.url, is_relevant, terms FROM marks JOIN urls ON urls.id = marks.url ORDER BY marks.url"
        )
        return [Mark(url, bool(is_relevant), unpacked(terms)) for url, is_relevant, terms in rows]


def _packed(terms: Mapping[str, int]) -> bytes:
    return zlib.compress(json.dumps(terms, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


def unpacked(packed: bytes) -> dict[str, int]:
    """Return the terms of a row."""
    found: dict[str, int] = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    return found
