"""What others wrote, gathered from the rows of their changes until the crawl hears of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy_replica.crawldb.contract import News

OF = "of "
"""Begins the work of bringing back what a cause saved: it has ended."""


def ended_by(work: str) -> str | None:
    """Return the cause that has ended if this *work* was begun; ``None`` if none has."""
    return work.removeprefix(OF) if work.startswith(OF) else None


class Hearing:
    """Makes :class:`~scrapy_replica.crawldb.contract.News` of rows."""

    def __init__(self) -> None:
        self._pages: dict[int, None] = {}
        self._urls: list[int] = []
        self._orders: list[int] = []
        self._names: dict[str, set[str]] = {}
        self._visits: list[int] = []

    def found(self, url_ids: Sequence[int]) -> None:
        """Take note of new URLs."""
        self._urls += url_ids

    def heard(self, table: str, key: Sequence[Any], row: Sequence[Any] | None) -> None:
        """Take note of a *row* of *table*, ``None`` where it was deleted; *key* is its primary key."""
        if table == "pages":
            self._pages[key[0]] = None
        elif table == "samples":
            self._add("causes", key[1])
        elif table in {"meta", "seed_hosts", "query_terms"}:
            self._add({"meta": "meta", "seed_hosts": "seeds", "query_terms": "forms"}[table], key[0])
        elif row is None:
            return
        elif table == "visits":
            self._visits.append(row[0])
        elif table in {"verdicts", "forms"}:
            self._add(table, row[1])
        elif table == "rules":
            self._add("rules", row[2])
        elif table == "work" and (cause := ended_by(row[1])) is not None:
            self._add("ended", cause)
        elif table == "orders" and row[4] is not None:
            self._orders.append(row[0])

    def _add(self, kind: str, name: str) -> None:
        self._names.setdefault(kind, set()).add(name)

    def told(self, *, leads: bool) -> News:
        """Return what was noted since the last call.

        :param leads: the lead has just come to this process.
        """
        pages, names = tuple(self._pages), self._names
        news = News(
            pages, tuple(self._urls), orders=tuple(self._orders), visits=tuple(self._visits), leads=leads, **names
        )
        Hearing.__init__(self)
        return news
