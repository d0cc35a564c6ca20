"""The table of URLs where several processes share a job: a local copy of it, and the order of what waits in Redis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_replica.crawldb.contract import NewUrl, UrlRow
from scrapy_replica.crawldb.redis.local_tables import LocalTables
from scrapy_replica.crawldb.redis.records import Records, UrlColumns, packed_key
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.host_order import Head
from scrapy_replica.crawldb.sqlite.urls import UrlTable

if TYPE_CHECKING:
    from scrapy_replica.crawldb.redis.database import RedisCrawlDB

LOOKED_AT = 4
"""Hosts that are looked at together: a page then takes two looks, and 5 with one host."""

GIVEN_AT_ONCE = 200
"""Slots that are offered to others in one turn."""


class Taken(NamedTuple):
    """A URL that was leased."""

    id: int
    record: bytes
    is_other: bool
    """Its slot belonged to another process before."""


class RemoteHostOrder:
    """The order of what waits lies in Redis, which keeps it by itself; what is held here are messages to it.

    Has the methods of :class:`~scrapy_replica.crawldb.sqlite.host_order.HostOrder`.
    """

    def __init__(self) -> None:
        self.acts: list[tuple[str, str | int]] = []
        """What is to be held, released, paused and resumed, in this order."""
        self.hosts: dict[int, str] = {}
        """New hosts and their slots."""
        self.of_slot: dict[str, set[int]] = {}
        """Slot -> its hosts, some of them forgotten."""
        self.held: set[str] = set()
        self.draining: set[str] = set()
        """Slots that are to be given up as soon as nothing of them is in flight."""

    def add_host(self, host: int, slot: str) -> None:
        self.hosts[host] = slot
        self.of_slot.setdefault(slot, set()).add(host)

    def forget_host(self, host: int) -> None:
        self.hosts.pop(host, None)

    def offer(self, host: int, head: Head) -> None:
        pass

    def refresh(self, host: int) -> None:
        pass

    def hold(self, slot: str) -> None:
        self.held.add(slot)
        if slot not in self.draining:
            self.acts.append(("hold", slot))

    def release(self, slot: str) -> None:
        if slot in self.held:
            self.held.remove(slot)
            if slot not in self.draining:
                self.acts.append(("release", slot))

    def drain(self, slot: str) -> None:
        """Give out nothing of *slot*, so that it comes to rest."""
        self.draining.add(slot)
        if slot not in self.held:
            self.acts.append(("hold", slot))

    def drained(self, slot: str) -> None:
        """Let *slot* take part again, here or elsewhere."""
        self.draining.remove(slot)
        if slot not in self.held:
            self.acts.append(("release", slot))

    def pause(self, host: int) -> None:
        self.acts.append(("pause", host))

    def resume(self, host: int) -> None:
        self.acts.append(("resume", host))

    def shipped(self) -> None:
        """Take note that Redis knows of it all."""
        self.acts.clear()
        self.hosts.clear()


class RedisUrlTable(UrlTable):
    """The URLs of a job that several processes share.

    A slot belongs to one process from when it takes the first URL of it until it gives it up, so that politeness, and
    what is counted for each host, are that process's business. Unlike those of one process, its URLs are not taken
    inside of a page's span, and taking one commits.
    """

    host_order: RemoteHostOrder

    def __init__(self, connection: Connection, job: RedisCrawlDB, tables: LocalTables, records: Records) -> None:
        self._job, self._silent, self._take_over = job, tables.silent, tables.apply_urls
        self._records = records
        self._ids: list[int] = []
        """Ids of the URLs to be entered next that have none yet, the first of them last."""
        self.expected: dict[int, int] = {}
        """Keys of URLs that were asked about ahead since this process listened last, and that nobody had -> their ids.
        A server that comes back may have lost which ids it gave."""
        self.in_flight: dict[int, str] = {}
        """Id of each URL that this process fetches -> its slot."""
        self._owned: dict[str, None] = {}
        """Slots that this process took URLs of, the one looked at last at the end."""
        self._claimed: list[str] = []
        super().__init__(connection)

    def _make_host_order(self) -> Any:
        self.host_order = RemoteHostOrder()
        return self.host_order

    def _open(self) -> None:
        self._last_id = 0
        self.host_order.hosts.clear()

    def store_count(self) -> None:
        """Redis counts what waits."""

    def meet(self, host: int, name: str, slot: str) -> None:
        """Take note of a host that others know as well."""
        if host not in self.hosts.rows:
            self.hosts.add(host, name, slot)
            del self.host_order.hosts[host]

    # Entering

    def _miss(self, keys: Iterable[int]) -> None:
        """Others enter URLs, too."""

    def _ask(self, urls: Sequence[NewUrl], known: dict[int, Any]) -> None:
        """Take over the rows of *urls* that others entered, and ids for those that nobody did."""
        asked = [url for url in urls if url.key not in known]
        keys = list(dict.fromkeys((url.key, place if url.key is None else 0) for place, url in enumerate(asked)))
        expected = {key: self.expected.pop(key) for key, _ in keys if key in self.expected}
        looked_up = iter(self._look([key for key, _ in keys if key not in expected]))
        found = [(expected[key], None) if key in expected else next(looked_up) for key, _ in keys]
        self._ids = [url_id for url_id, row in reversed(found) if row is None]
        rows = [row for _, row in found if row is not None]
        known.update({row.key: (row.id, *row[3:8], row.host) for row in rows if row.key is not None})

    def _look(self, keys: Sequence[int | None]) -> list[tuple[int, UrlColumns | None]]:
        """Return for each key the id and the row that others entered, which is taken over; no row where nobody did."""
        if not keys:
            return []
        records = self._job.known([packed_key(key) for key in keys])
        found = [(url_id, None if record is None else self._unpacked(url_id, record)) for url_id, record in records]
        if rows := [(url_id, row) for url_id, row in found if row is not None]:
            self._take_over(rows)
        return found

    def expect(self, keys: Collection[int]) -> None:
        """Ask at once about URLs that are to be entered soon, one by one.

        Who enters one meanwhile does so under the same id, and the next commit holds the two rows against each other.
        """
        asked = [*(set(keys) - self.find(keys).keys() - self.expected.keys())]
        found = zip(asked, self._look(asked), strict=True)
        self.expected.update({key: url_id for key, (url_id, row) in found if row is None})

    def _unpacked(self, url_id: int, record: bytes) -> UrlColumns:
        with self._records.understanding():
            row = self._records.unpack(url_id, record)
            if row.host not in self.hosts.rows:
                self.meet(row.host, *self._records.host(row.host))
        return row

    @property
    def last_id(self) -> int:
        return self._number("SELECT COALESCE(MAX(id), 0) FROM urls")

    def _new_id(self) -> int:
        return self._ids.pop()

    def _waiting(self, row: Sequence[Any]) -> UrlRow:
        return super()._waiting((*row[:-1], True))  # others may have fetched it, and not told so yet

    def first_id(self) -> int | None:
        return None

    def heads(self, most: int) -> list[UrlRow]:
        return [head for host in self._job.first(LOOKED_AT) for head in self._best(host, most)]

    def _url_of(self, url_id: int) -> str:
        row = self._read("SELECT url FROM urls WHERE id = ?", (url_id,)).fetchone()
        return self._records.asked(url_id).url if row is None else row[0]

    # What becomes of a URL

    def take(self) -> UrlRow | None:
        self._job.commit()
        taken = self._job.take()
        if taken is None:
            return None
        if taken.is_other:
            self._job.catch_up()
        row = self._unpacked(taken.id, taken.record)
        change = "state = ?, is_demoted = ?, priority = ?, score = ?, payload = ?, permission = ?"
        with self._silent():
            is_known = self._write(f"UPDATE urls SET {change} WHERE id = ?", (*row[4:8], *row[10:], row.id)).rowcount
        if not is_known:
            self._job.catch_up()  # nor is the page that it was found on
            self._take_over([(row.id, row)])
        rows = self.hosts.rows
        slot = rows[row.host][1]
        self.in_flight[row.id] = slot
        self._owned[slot] = None
        if taken.is_other:
            self._claimed += {rows[host][0] for host in self.host_order.of_slot[slot] & rows.keys()}
        place = row.score, row.priority, row.is_demoted
        return self._waiting(
            (row.id, row.host, row.url, row.key, *place, row.depth, row.parent, row.payload, row.permission, True)
        )

    def states(self, keys: Collection[int]) -> dict[int, tuple[int, str]]:
        """Return id and state, as Redis has it, of the URLs of those *keys*."""
        return {key: (url_id, str(state)) for url_id, key, state in self._rows_of(keys, "id, key, state")}

    def landed(self, url_ids: Iterable[int]) -> None:
        """Take note that these URLs are not being fetched any more."""
        for url_id in url_ids:
            self.in_flight.pop(url_id, None)

    def forget(self, url_id: int) -> None:
        super().forget(url_id)
        self._job.commit()

    def forget_waiting(self, prefix: bytes) -> list[tuple[str, int | None]]:
        forgotten = super().forget_waiting(prefix)
        self._job.commit()
        return forgotten

    def claimed(self) -> Sequence[str]:
        claimed, self._claimed = self._claimed, []
        return claimed

    @property
    def _busy(self) -> set[str]:
        return {*self.in_flight.values(), *self.host_order.held}

    def idle_slots(self) -> list[str]:
        """Return some of the slots that this process may give up: nothing of them is in flight or held."""
        busy = self._busy | self.host_order.draining
        some = list(self._owned)[:GIVEN_AT_ONCE]
        for slot in some:  # others have their turn next time
            del self._owned[slot]
            self._owned[slot] = None
        return [slot for slot in some if slot not in busy]

    def drain(self) -> None:
        """Let half of the slots come to rest, for a process that has nothing to do while all of them are busy."""
        owned = list(self._owned)
        for slot in owned[: min(len(owned) // 2, GIVEN_AT_ONCE)]:
            self.host_order.drain(slot)

    def drained(self, *, all_of_them: bool) -> list[str]:
        """Return the slots that came to rest, or all that were to, which take part again."""
        found = sorted(self.host_order.draining if all_of_them else self.host_order.draining - self._busy)
        for slot in found:
            self.host_order.drained(slot)
        return found

    def gave(self, slots: Iterable[str]) -> None:
        """Take note that *slots* were given up."""
        for slot in slots:
            self._owned.pop(slot, None)
