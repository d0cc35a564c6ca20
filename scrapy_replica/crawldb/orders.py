"""A person's orders: their kinds, what each says, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scrapy_replica.crawldb.sqlite.table import Table

BLOCK, ALLOW, DIFFERENT = "block", "allow", "different"
"""Kinds of orders, with what they say: ``{"host", "canonical"}``: block it as a copy of that one (what lies below
``"copy_prefix"`` there lies below ``"canonical_prefix"`` here, where they are given); ``{"host"}``: allow it for good;
``{"host", "other"}``: they are two sites."""
RULE, DISABLE_RULE = "rule", "disable-rule"
"""``{"rule"}``: put it, in its JSON form, in force; ``{"id"}``: switch the rule of that id off for good."""
MARK = "mark"
"""``{"url", "is_relevant"}``: the page at that URL is on the topic, or is not."""
SEEDS, EXCLUDE = "seeds", "exclude"
"""``{"urls"}``: fetch them; ``{"pattern"}``: fetch nothing whose URL it fits, or with ``"lift"`` do so again."""
PAUSE, RESUME = "pause", "resume"
"""``{"host"}``: fetch nothing of it for now; go on with it."""

NOT_DONE = "not done: "
"""Begins the answer to an order that could not be carried out; why follows."""


class Order(NamedTuple):
    """What a person told the crawl, and what became of it."""

    id: int
    at: float
    """Seconds since the epoch."""
    kind: str
    what: Mapping[str, Any]
    done_at: float | None
    """``None``: the crawl has not seen it yet."""
    answer: str | None
    """What the crawl said to it, in words."""

    @property
    def is_open(self) -> bool:
        """Whether it waits for the crawl to see it."""
        return self.done_at is None

    @property
    def is_done(self) -> bool:
        return not self.is_open and not (self.answer or "").startswith(NOT_DONE)


Give = Callable[[str, Mapping[str, Any]], int]
"""Writes an order of a kind, with what it says, and returns its id; the crawl obeys within a second, or when it is next
run."""


class OrderTable(Table):
    """Orders, those that wait for the crawl and those that it answered; none is ever deleted."""

    def give(self, kind: str, what: Mapping[str, Any], at: float) -> int:
        """Write an order; return its id.

        :raises ValueError: it is no text that can be stored.
        """
        values = row_of(self._connection.new_id("orders"), at, kind, what)
        return int(self._write("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?) RETURNING id", values).fetchone()[0])

    def open(self) -> list[Order]:
        """Return the orders that were not answered yet, first given first."""
        return list(self._rows("done_at IS NULL ORDER BY id"))

    def answer(self, order_id: int, at: float, answer: str | None) -> None:
        """Write that an order was looked at, and what there is to say."""
        self._write("UPDATE orders SET done_at = ?, answer = ? WHERE id = ?", (at, answer, order_id))

    def row(self, order_id: int) -> Order:
        return next(self._rows("id = ?", (order_id,)))

    def done(self, kind: str) -> Iterator[Order]:
        """Yield the orders of that *kind* that were carried out, first given first."""
        return (order for order in self._rows("kind = ? ORDER BY id", (kind,)) if order.is_done)

    def last(self, most: int) -> list[Order]:
        """Return what was told the crawl by hand and what it answered, at most so many, last told first."""
        return list(self._rows("id > 0 ORDER BY id DESC LIMIT ?", (most,)))

    def _rows(self, condition: str, values: Sequence[Any] = ()) -> Iterator[Order]:
        sql = f"SELECT id, at, kind, what, done_at, answer FROM orders WHERE {condition}"
        for order_id, at, kind, what, done_at, answer in self._read(sql, values).fetchall():
            yield Order(order_id, at, kind, _object(what), done_at, answer)


def row_of(order_id: int | None, at: float, kind: str, what: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the row of a new order, columns in their order.

    :raises ValueError: it is no text that can be stored.
    """
    if not _is_text(what):
        raise ValueError("an order holds half a character, or a byte that is no UTF-8: nothing was written")
    return order_id, at, kind, json.dumps(what), None, None


def _object(text: str) -> dict[str, Any]:
    """Return the object that *text* is in JSON; empty where it is none, which whoever is to obey then says.

    Half a surrogate pair is no text, and nothing that says it can be stored.
    """
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and _is_text(found) else {}


def _is_text(what: Mapping[str, Any]) -> bool:
    try:
        json.dumps(what, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
