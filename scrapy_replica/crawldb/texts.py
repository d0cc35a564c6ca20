"""Texts of some pages, which a person may be asked about, and what was said of pages."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.sqlite.connection import unpacked
from scrapy_replica.crawldb.sqlite.table import Table


class Text(NamedTuple):
    """A page that a person may be asked about."""

    url_id: int
    worth: float
    """How much an answer would teach; the least go first where there is no more room."""
    excerpt: str
    """Beginning of the main text, as the site wrote it."""
    terms: Mapping[str, int]
    """Stem -> count."""


class Kept(NamedTuple):
    """A text that is kept, without what it says."""

    url_id: int
    host: str
    worth: float


class Question(NamedTuple):
    """A page as a person is asked about it."""

    url: str
    host: str
    title: str | None
    excerpt: str
    terms: Mapping[str, int]


class Mark(NamedTuple):
    """What a person said of a page."""

    url: str
    is_relevant: bool
    terms: Mapping[str, int]


class TextTable(Table):
    """One row for each page that can be asked about, some 1.5 kB, and one for each answer."""

    def enter(self, text: Text) -> None:
        """Keep the *text* of a page, in the place of an earlier one."""
        url_id, worth, excerpt, terms = text
        readable = excerpt.encode("utf-8", "replace").decode()
        row = (url_id, worth, readable, _packed(terms))
        self._write("INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)", row)

    def drop(self, url_ids: Iterable[int]) -> None:
        self._write_many("DELETE FROM texts WHERE url = ?", [(url_id,) for url_id in url_ids])

    def kept(self) -> list[Kept]:
        rows = self._read(
            "SELECT texts.url, hosts.name, worth FROM texts JOIN urls ON urls.id = texts.url"
            " JOIN hosts ON hosts.id = urls.host"
        )
        return [Kept(*row) for row in rows]

    def after(self, url_id: int, most: int) -> list[Text]:
        """Return at most so many texts of pages with a greater id, in the order of their ids."""
        rows = self._read(
            "SELECT url, worth, excerpt, terms FROM texts WHERE url > ? ORDER BY url LIMIT ?", (url_id, most)
        )
        return [Text(found, worth, excerpt, unpacked(terms)) for found, worth, excerpt, terms in rows]

    def set_worths(self, worths: Sequence[tuple[int, float]]) -> None:
        self._write_many("UPDATE texts SET worth = ? WHERE url = ?", [(worth, url_id) for url_id, worth in worths])

    def terms(self, url_id: int) -> Mapping[str, int] | None:
        """Return the terms of the page of that URL; ``None`` where none are kept here."""
        kept = self._cell("SELECT terms FROM marks WHERE url = ?", url_id)
        kept = kept or self._cell("SELECT terms FROM texts WHERE url = ?", url_id)
        return unpacked(kept) if kept is not None else None

    def terms_at(self, url: str) -> Mapping[str, int] | None:
        """Return the same for a URL."""
        # Texts first, which are few: URLs are found by their ids. CROSS JOIN keeps this order.
        url_id = self._cell(
            "SELECT marks.url FROM marks CROSS JOIN urls ON urls.id = marks.url WHERE urls.url = ?1 UNION ALL"
            " SELECT texts.url FROM texts CROSS JOIN urls ON urls.id = texts.url WHERE urls.url = ?1",
            url,
        )
        return self.terms(url_id) if url_id is not None else None

    def said_of(self, url: str) -> bool | None:
        """Return what a person said of the page at *url*; ``None`` if nothing."""
        sql = "SELECT is_relevant FROM marks CROSS JOIN urls ON urls.id = marks.url WHERE urls.url = ?"
        said = self._cell(sql, url)
        return bool(said) if said is not None else None

    def questions(self) -> list[Question]:
        rows = self._read(
            "SELECT urls.url, hosts.name, title, excerpt, terms FROM texts JOIN urls ON urls.id = texts.url"
            " JOIN hosts ON hosts.id = urls.host LEFT JOIN pages ON pages.url = texts.url ORDER BY texts.url"
        )
        return [Question(url, host, title, excerpt, unpacked(terms)) for url, host, title, excerpt, terms in rows]

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


def is_sound(packed: bytes) -> bool:
    """Tell whether *packed* can be read as the terms of a row."""
    try:
        counts = unpacked(packed)
    except StoreError:
        return False
    return isinstance(counts, dict) and all(isinstance(count, int) and count > 0 for count in counts.values())
