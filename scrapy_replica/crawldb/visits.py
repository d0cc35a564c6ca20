"""What a strategy was shown: a checkpoint, and the pages shown since."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scrapy_replica.crawldb.sqlite.connection import Connection, unpacked
from scrapy_replica.crawldb.sqlite.table import Table
from scrapy_replica.records import Link


class Visit(NamedTuple):
    """A page as a strategy sees it."""

    url: str
    relevance: float | None
    """0..1; ``None`` where more links of the page before this row were scored, and where there is no page."""
    terms: Mapping[str, int]
    links: Sequence[Link]
    """URL and anchor text of those that may be followed; their other fields are not kept."""
    is_unproductive: bool = False
    """The fetch brought nothing new."""


LEVEL = 1
"""Of zlib: the rows are written once a page and read on resumption only."""

EVERY = 10_000
"""Visits from one checkpoint to the next. With link-aware, the slowest strategy, showing them again takes some 10 s;
the file holds 20 MB of them. Its checkpoint, 30 MB, costs 1.1 s of processor time: .1 ms a page."""

DELETED_VISITS, DELETED_PIECES = 100, 4
"""Rows deleted after a page."""

KEY = "checkpoint"


class VisitTable(Table):
    """One row of about 2 kB for each page since the checkpoint, and the checkpoint in pieces.

    Which checkpoint holds is one row of ``meta``, written with its last piece; what is needless follows from it. So a
    transaction that is rolled back leaves the checkpoint before: one that misses a piece is never taken for whole.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._meta, self._set_meta = connection.meta, connection.set_meta
        self.lasts = connection.path is not None
        self._pieces: Iterator[bytes] | None = None
        self._strategy, self._until = "", 0
        self._first = self._next = 0
        self._is_tidy = False
        """No checkpoint is being written, and nothing is left that the last one made needless."""
        self._since = self.count_after(self.saved_until)

    def _record(self) -> tuple[str, int, int, int]:
        """Return strategy, first and last piece of the checkpoint, and the visit up to which it goes."""
        found = self._meta(KEY)
        strategy, first, last, until = json.loads(found) if found else ("", 0, 0, 0)
        return strategy, first, last, until

    @property
    def is_due(self) -> bool:
        """There are ``EVERY`` visits since the last checkpoint, and it left nothing to be done."""
        return self._since >= EVERY and self._is_tidy

    @property
    def is_saving(self) -> bool:
        """A checkpoint was begun and is not written yet."""
        return self._pieces is not None

    @property
    def saved_until(self) -> int:
        """Number of the last visit that the checkpoint has in it, 0 if there is none."""
        return self._record()[3]

    def add(self, visit: Visit) -> int:
        """Append a row, in the transaction of the page; return its number."""
        packed = b"" if visit.is_unproductive else _packed(visit)
        row = self._connection.new_id("visits"), visit.url, visit.relevance, packed
        number = self._write("INSERT INTO visits VALUES (?, ?, ?, ?)", row).lastrowid
        assert number is not None
        self._since += 1
        return number

    def begin(self, strategy: str, pieces: Iterator[bytes]) -> None:
        """Make a checkpoint of all visits so far, whose *pieces* :meth:`work` writes."""
        self._pieces, self._strategy, self._until = pieces, strategy, self.newest
        # One process at a time makes checkpoints; one that it did not end may not have come here yet.
        new = self._connection.new_id("checkpoints")
        newest = self._number("SELECT COALESCE(MAX(id), 0) FROM checkpoints")
        self._first = self._next = max(newest + 1, new or 0)
        self._since, self._is_tidy = 0, False

    def work(self) -> None:
        """Write a piece, or delete some rows that the checkpoint made needless."""
        if self._pieces is None:
            self._is_tidy = self._is_tidy or not self._delete()
        elif (piece := next(self._pieces, None)) is not None:
            self._write("INSERT INTO checkpoints (id, piece) VALUES (?, ?)", (self._next, piece))
            self._next += 1
        else:
            self._pieces = None
            self._end()

    def _end(self) -> None:
        last = self._next - 1
        sql = "SELECT COUNT(*) FROM checkpoints WHERE id BETWEEN ? AND ?"
        if self._number(sql, self._first, last) == self._next - self._first:
            self._set_meta(KEY, json.dumps([self._strategy, self._first, last, self._until]).encode())

    def _delete(self) -> int:
        """Delete some rows and return how many."""
        _, first, last, until = self._record()
        # The last visit of the checkpoint stays, so that ids never begin anew.
        some = "DELETE FROM visits WHERE id IN (SELECT id FROM visits WHERE id < ? ORDER BY id LIMIT ?)"
        deleted = self._write(some, (until, DELETED_VISITS)).rowcount
        for condition, piece in (("<", first), (">", last)):
            some = f"SELECT id FROM checkpoints WHERE id {condition} ? ORDER BY id LIMIT ?"
            deleted += self._write(f"DELETE FROM checkpoints WHERE id IN ({some})", (piece, DELETED_PIECES)).rowcount
        return deleted

    def checkpoint(self, strategy: str) -> Iterable[bytes] | None:
        """Return the pieces of the last checkpoint, ``None`` if there is none of the *strategy* of that name."""
        found, first, last, _ = self._record()
        if not last or found != strategy:
            return None
        rows = self._read("SELECT piece FROM checkpoints WHERE id BETWEEN ? AND ? ORDER BY id", (first, last))
        return (piece for (piece,) in rows)

    def tail(self) -> Iterator[Visit]:
        """Return the visits since the last checkpoint."""
        return (visit for _, visit in self._visits("id > ? ORDER BY id", self.saved_until))

    @property
    def newest(self) -> int:
        """Number of the last visit, 0 if there is none."""
        return self._number("SELECT COALESCE(MAX(id), 0) FROM visits")

    def count_after(self, number: int) -> int:
        return self._number("SELECT COUNT(*) FROM visits WHERE id > ?", number)

    def after(self, number: int, most: int) -> list[tuple[int, Visit]]:
        return list(self._visits("id > ? ORDER BY id LIMIT ?", number, most))

    def of(self, numbers: Sequence[int]) -> list[tuple[int, Visit]]:
        """Return the visits of those *numbers* that are kept, in that order, and their numbers."""
        return [found for number in numbers for found in self._visits("id = ?", number)]

    def _visits(self, condition: str, *values: str | int) -> Iterator[tuple[int, Visit]]:
        sql = f"SELECT id, url, relevance, body FROM visits WHERE {condition}"
        for number, *row in self._read(sql, values):
            yield number, _visit(*row)

    def count_remote(self, n: int) -> None:
        """Take note that other processes added *n* visits."""
        self._since += n

    def pages(self) -> list[tuple[int, str]]:
        """Return number and URL of the visits that are pages."""
        return self._read("SELECT id, url FROM visits WHERE relevance IS NOT NULL ORDER BY id").fetchall()

    def terms_of(self, url: str) -> Mapping[str, int] | None:
        """Return the terms of the page at *url*, if a visit of it is kept."""
        found = self._visits("url = ? AND relevance IS NOT NULL ORDER BY id DESC LIMIT 1", url)
        return next((visit.terms for _, visit in found), None)

    def judge(self, relevances: Sequence[tuple[int, float]]) -> None:
        """Give pages their new relevance: pairs of number and relevance."""
        pairs = [(relevance, number) for number, relevance in relevances]
        self._write_many("UPDATE visits SET relevance = ? WHERE id = ?", pairs)

    def clear(self) -> None:
        """Delete all visits; there is no checkpoint yet."""
        self._write("DELETE FROM visits")
        self._since = 0


def _packed(visit: Visit) -> bytes:
    links = [field for link in visit.links for field in (link.url, link.text)]
    body = json.dumps([list(visit.terms), list(visit.terms.values()), links], ensure_ascii=False)
    return zlib.compress(body.encode("utf-8", "surrogatepass"), LEVEL)


def _visit(url: str, relevance: float | None, body: bytes) -> Visit:
    if not body:
        return Visit(url, None, {}, (), is_unproductive=True)
    terms, counts, links = unpacked(body)
    pairs = zip(links[::2], links[1::2], strict=True)
    rows = [Link(target, text, place) for place, (target, text) in enumerate(pairs)]
    return Visit(url, relevance, dict(zip(terms, counts, strict=True)), rows)
