"""The tables of the hosts of the seeds, and of the dates that sitemaps tell."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_replica.crawldb.sqlite.table import Table


class SeedTable(Table):
    """One row for each host that the scope is made of, and one for each URL whose change a sitemap dates."""

    def enter(self, host: str) -> None:
        self._write("INSERT OR IGNORE INTO seed_hosts VALUES (?)", (host,))

    def hosts(self) -> list[str]:
        return [host for (host,) in self._read("SELECT host FROM seed_hosts")]

    def are_on(self, host: str) -> bool:
        return self._has("SELECT 1 FROM seed_hosts WHERE host = ?", host)

    def set_dates(self, dates: Mapping[int, float]) -> None:
        """Keep when URLs last changed, as their site says (id -> seconds since the epoch)."""
        self._write_many("INSERT OR REPLACE INTO dates VALUES (?, ?)", list(dates.items()))

    def date_of(self, url_id: int) -> float | None:
        """Return when the URL of that id last changed, as its site says; ``None`` if it does not."""
        return self._cell("SELECT changed_at FROM dates WHERE url = ?", url_id)
