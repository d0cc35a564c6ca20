"""What others wrote, gathered from the rows of their changes until the crawl applies it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy_replica.claim import Claim, Work
from scrapy_replica.crawldb.remote import RemoteUpdate


def gather(update: RemoteUpdate, table: str, key: Sequence[Any], row: Sequence[Any] | None) -> None:
    """Take a *row* of *table* into *update*, ``None`` where it was deleted; *key* is its primary key."""
    if table == "pages":
        update.pages[key[0]] = None
    elif table == "samples":
        update.tested.add(Claim.read(key[1]))
    elif table == "meta":
        update.meta.add(key[0])
    elif table == "seed_hosts":
        update.seeds.add(key[0])
    elif table == "query_terms":
        update.forms.add(key[0])
    elif row is None:
        return
    elif table == "unrequested" and not row[1]:
        update.unrequested.add(row[0])
    elif table == "visits":
        update.visits.append(row[0])
    elif table == "verdicts":
        update.verdicts.add(row[1])
    elif table == "forms":
        update.forms.add(row[1])
    elif table == "rules":
        update.rules.add(row[2])
    elif table == "work":
        update.work.add(Work.read(row[1]))
    elif table == "orders" and row[4] is not None:
        update.orders.append(row[0])
