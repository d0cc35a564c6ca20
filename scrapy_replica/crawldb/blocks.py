"""The table of the blocks of text that hosts repeat."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.table import Table


class BlockTable(Table):
    """One row for each host: which blocks of main text its pages share, or those counted so far."""

    def state(self, host: str) -> bytes | None:
        return self._cell("SELECT state FROM blocks WHERE host = ?", host)

    def enter(self, host: str, state: bytes) -> None:
        self._write("INSERT OR REPLACE INTO blocks VALUES (?, ?)", (host, state))
