"""Numbers of new rows, each given once over all processes."""

from __future__ import annotations

from scrapy_replica.crawldb.redis.local_tables import pack
from scrapy_replica.crawldb.redis.server import Server

TIMED = frozenset({"decisions", "visits", "checkpoints"})
"""Tables with rows for most pages. They are numbered without asking the server, by its clock; the numbers of the
others, which people read, are small."""

PROCESS_BITS = 10
"""Of a number by the clock; above are microseconds since the epoch, good until the year 2255."""


class Ids:
    """Keeps :class:`~scrapy_replica.crawldb.sqlite.connection.NewId`.

    :param process: number of this process among those of the job; one of 1,024 has the same by the clock.
    """

    def __init__(self, server: Server, process: int) -> None:
        self._server = server
        self._process = process % (1 << PROCESS_BITS)
        self._last_us = 0

    def __call__(self, table: str, *names: str) -> int:
        """Return the number of a new row of *table*, that of the host of that name and slot for ``hosts``."""
        if table in TIMED:
            self._last_us = max(self._last_us + 1, int(self._server.now() * 1e6))
            return self._last_us << PROCESS_BITS | self._process
        if table == "hosts":
            return int(self._server.call("host", ["hosts", "id:hosts"], [pack(names)], is_change=False))
        return int(self._server.run("INCR", self._server.key(f"id:{table}")))
