"""What a person tells the crawl through its database, carried out by the part that knows how."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from scrapy_replica.crawl.given import Clock
from scrapy_replica.crawldb.contract import CrawlDB, StoreError
from scrapy_replica.crawldb.orders import NOT_DONE, Order

logger = logging.getLogger(__name__)

AT_ONCE = 50
"""Orders carried out in one turn; a mark of a page may take 20 ms, in which nothing is fetched."""

Handler = Callable[[Mapping[str, Any]], str | None]
"""Carries out what an order says and returns what there is to say about it; raises ``ValueError``, in words, where it
cannot be done."""

Follower = Callable[[Mapping[str, Any]], object]
"""Does in one process what an order that another one carried out changes in each."""


class Orders:
    """Hands each order to the part that obeys its kind, once.

    An order that cannot be carried out leaves nothing behind but the answer why, and the next one gets its turn. One of
    a kind that no part has taken on yet stays open. Anybody may have written it, so what it says is held against what
    its kind has to say before any part sees it.
    """

    def __init__(self, store: CrawlDB, now: Clock) -> None:
        self._store, self._now = store, now
        self._handlers: dict[str, tuple[Handler, Mapping[str, type]]] = {}
        self._followers: dict[str, Follower] = {}

    def add(self, kind: str, handler: Handler, **says: type) -> None:
        """Let *handler* carry out the orders of that *kind*, each of which *says* these things."""
        self._handlers[kind] = handler, says

    def follow(self, kind: str, follower: Follower) -> None:
        """Let *follower* do here what follows from an order of that *kind* that another process carried out."""
        self._followers[kind] = follower

    def apply_remote(self, order_ids: Iterable[int]) -> None:
        for order in map(self._store.orders.row, order_ids):
            follower = self._followers.get(order.kind)
            if follower is not None and order.is_done:
                with suppress(ValueError):  # it was so before
                    follower(order.what)

    def obey(self) -> bool:
        """Carry out what is open, at most ``AT_ONCE`` orders; the others have their turn next time.

        :return: whether there was any.
        """
        known = (order for order in self._store.orders.open() if order.kind in self._handlers)
        orders = list(islice(known, AT_ONCE))
        for order in orders:
            self._store.orders.answer(order.id, self._now(), self._carry_out(order))
        return bool(orders)

    def _carry_out(self, order: Order) -> str | None:
        handler, says = self._handlers[order.kind]
        try:
            for name, kind in says.items():
                if not isinstance(order.what.get(name), kind):
                    raise ValueError(f"its {name!r} is missing or wrong")
            with self._store.span():
                return handler(order.what)
        except StoreError:
            raise  # the file, not the order
        except ValueError as error:
            return f"{NOT_DONE}{error}"
        except Exception as error:
            logger.exception("The order %d (%s) cannot be carried out", order.id, order.kind)
            return f"{NOT_DONE}{type(error).__name__}: {error}"
