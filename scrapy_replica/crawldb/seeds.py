"""The table of the hosts of the seeds."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.table import Table


class SeedTable(Table):
    """One row for each host that the scope is made of; all are held in memory."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._hosts: set[str] | None = None

    def read_again(self) -> None:
        """Take note that a row was taken back, or written by another process."""
        self._hosts = None

    def enter(self, host: str) -> None:
        if not self.are_on(host):
            self._write("INSERT OR IGNORE INTO seed_hosts VALUES (?)", (host,))
            self.hosts().add(host)

    def hosts(self) -> set[str]:
        if self._hosts is None:
            self._hosts = {*self._column("SELECT host FROM seed_hosts")}
        return self._hosts

    def are_on(self, host: str) -> bool:
        return host in self.hosts()
