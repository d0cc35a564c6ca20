"""What a store keeps of a person's orders: their kinds, what each says, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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
        """Whether it was carried out."""
        return not self.is_open and not (self.answer or "").startswith(NOT_DONE)
