"""The table of the hosts of the seeds."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.table import Table


class SeedTable(Table):
    """One row for each host that the scope is made of."""

    def enter(self, host: str) -> None:
        self._write("INSERT OR IGNORE INTO seed_hosts VALUES (?)", (host,))

    def hosts(self) -> list[str]:
        return [host for (host,) in self._read("SELECT host FROM seed_hosts")]

    def are_on(self, host: str) -> bool:
        return self._has("SELECT 1 FROM seed_hosts WHERE host = ?", host)
