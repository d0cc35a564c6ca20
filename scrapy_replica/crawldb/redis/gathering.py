"""What others wrote, gathered from the rows of their changes until the crawl applies it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy_replica.claim import Claim, Work
from scrapy_replica.crawldb.remote import RemoteUpdate


class Gathering:
    """Makes a :class:`~scrapy_replica.crawldb.remote.RemoteUpdate` of rows."""

    def __init__(self) -> None:
        self._pages: dict[int, None] = {}
        self._urls: list[int] = []
        self._orders: list[int] = []
        self._names: dict[str, set[str]] = {}
        self._visits: list[int] = []
        self._added: set[int] = set()
        self._tested: set[Claim] = set()
        self._work: set[Work] = set()

    def add_urls(self, url_ids: Sequence[int]) -> None:
        """Take note of new URLs."""
        self._urls += url_ids

    def add_row(self, table: str, key: Sequence[Any], row: Sequence[Any] | None) -> None:
        """Take note of a *row* of *table*, ``None`` where it was deleted; *key* is its primary key."""
        if table == "pages":
            self._pages[key[0]] = None
        elif table == "samples":
            self._tested.add(Claim.read(key[1]))
        elif table in {"meta", "seed_hosts", "query_terms"}:
            self._add({"meta": "meta", "seed_hosts": "seeds", "query_terms": "forms"}[table], key[0])
        elif row is None:
            return
        elif table == "added" and not row[1]:
            self._added.add(row[0])
        elif table == "visits":
            self._visits.append(row[0])
        elif table in {"verdicts", "forms"}:
            self._add(table, row[1])
        elif table == "rules":
            self._add("rules", row[2])
        elif table == "work":
            self._work.add(Work.read(row[1]))
        elif table == "orders" and row[4] is not None:
            self._orders.append(row[0])

    def _add(self, kind: str, name: str) -> None:
        self._names.setdefault(kind, set()).add(name)

    def take(self, *, is_leader: bool) -> RemoteUpdate:
        """Return what was noted since the last call.

        :param is_leader: this process has just become the leader.
        """
        update = RemoteUpdate(
            tuple(self._pages),
            tuple(self._urls),
            tested=self._tested,
            work=self._work,
            orders=tuple(self._orders),
            visits=tuple(self._visits),
            added=self._added,
            is_leader=is_leader,
            **self._names,
        )
        Gathering.__init__(self)
        return update
