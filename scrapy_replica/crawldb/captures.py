"""The table of payloads that are kept in WARC files."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.table import Table
from scrapy_replica.records import Capture


class CaptureTable(Table):
    """One row for each payload, by its SHA-1."""

    def find(self, digest: bytes) -> Capture | None:
        row = self._read("SELECT url, date, file FROM captures WHERE digest = ?", (digest,)).fetchone()
        return Capture(*row) if row else None

    def of_url(self, url: str) -> Capture | None:
        """Return the last payload that is kept of *url*; ``None`` where all that it had are kept of another URL."""
        row = self._read("SELECT url, date, file FROM captures WHERE url = ? ORDER BY date DESC", (url,)).fetchone()
        return Capture(*row) if row else None

    def enter(self, digest: bytes, capture: Capture) -> None:
        self._write("INSERT OR REPLACE INTO captures VALUES (?, ?, ?, ?)", (digest, *capture))
