"""The table of hosts: the number of each in its download slot, its address, and which of them pause."""

from __future__ import annotations

from scrapy_replica.address import name_of
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.host_order import HostOrder
from scrapy_replica.crawldb.sqlite.schema import WAITING
from scrapy_replica.crawldb.sqlite.table import Table

MAX_IPS = 10_000
"""Hosts whose address is held in memory, 200 bytes each; then all are forgotten, which costs a statement a host."""


class HostTable(Table):
    """One row for each host and download slot; the *host_order* hears of each."""

    def __init__(self, connection: Connection, host_order: HostOrder) -> None:
        super().__init__(connection)
        self._host_order = host_order
        self._ids: dict[str, tuple[int, ...]] = {}
        self.rows: dict[int, tuple[str, str]] = {}
        """Id -> name and slot: 250 bytes a host, with the way back."""
        self._paused: set[str] = set()
        """Names of hosts of which nothing is given out."""
        self._ips: dict[str, str] = {}
        """Host -> the address that it is kept with, of some hosts."""
        for host, name, slot in self._read("SELECT id, name, slot FROM hosts").fetchall():
            self.add(host, name, slot)

    def add(self, host: int, name: str, slot: str) -> None:
        self._ids[name] = (*self._ids.get(name, ()), host)
        self.rows[host] = name, slot
        self._ips.pop(name, None)
        self._host_order.add_host(host, slot)
        if name in self._paused:
            self._host_order.pause(host)

    def undo(self, n_hosts: int) -> None:
        """Forget all hosts but the first *n_hosts*, and what was written last of the others."""
        self._ips.clear()
        while len(self.rows) > n_hosts:
            host, (name, _) = self.rows.popitem()
            if others := self._ids.pop(name)[:-1]:
                self._ids[name] = others
            self._host_order.forget_host(host)

    def id_in(self, name: str, slot: str | None = None) -> int:
        """Return the id of the host in that download slot, its own without one, entering it if it is new."""
        slot = name_of(name) if slot is None else slot
        for host in self.ids_of(name):
            if self.rows[host][1] == slot:
                return host
        host = self._connection.new_id("hosts", name, slot) or len(self.rows) + 1
        self._write("INSERT INTO hosts (id, name, slot) VALUES (?, ?, ?)", (host, name, slot))
        self.add(host, name, slot)
        return host

    def ids_of(self, name: str) -> tuple[int, ...]:
        """Return the ids of the host, one for each download slot; none where no URL of it is known."""
        return self._ids.get(name, ())

    def set_ip(self, name: str, ip: str) -> None:
        if self._ips.get(name) != ip:
            self._write("UPDATE hosts SET ip = ? WHERE name = ? AND ip IS NOT ?", (ip, name, ip))
            if len(self._ips) >= MAX_IPS:
                self._ips.clear()
            self._ips[name] = ip

    def pause(self, name: str) -> int | None:
        """Give out nothing of the host until it is resumed; return how many of its URLs wait, ``None`` if it is
        unknown.

        Only this run knows of it.
        """
        if not (ids := self.ids_of(name)):
            return None
        self._paused.add(name)
        for host in ids:
            self._host_order.pause(host)
        count = f"SELECT COUNT(*) FROM urls WHERE state = {WAITING} AND host = ?"
        return sum(self._number(count, host) for host in ids)

    def resume(self, name: str) -> bool:
        """Let a host that pauses take part again; ``False`` if it does not pause."""
        if name not in self._paused:
            return False
        self._paused.remove(name)
        for host in self.ids_of(name):
            self._host_order.resume(host)
        return True
