"""What a store keeps of DUST rules: each with its state and its record."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple, Protocol


class RuleState(str, Enum):
    """Whether a rule acts; the last two are for good. What leads from one to the next stands with ``WatchedRule``."""

    CANDIDATE = "candidate"
    """To be proved."""
    ACTING = "acting"
    """In force."""
    WITHDRAWN = "withdrawn"
    """Its pages or its samples spoke against it."""
    DISABLED = "disabled"
    """A person switched it off."""


ENDED = frozenset({RuleState.WITHDRAWN, RuleState.DISABLED})


class RuleRow(NamedTuple):
    """One rule and its record."""

    id: int
    rule: dict[str, Any]
    state: RuleState
    is_manual: bool
    """A person gave it: it acts without a proof."""
    right: int
    """Pairs of URL and image that were fetched and are one page."""
    wrong: int
    images: int
    """Images fetched that are the page of their URL, less those that do not exist."""
    proofs: list[tuple[str, int]]
    """(image, URLs fetched on purpose for it) of each pair that was to prove it."""


class RuleStore(Protocol):
    """DUST rules, from the moment they are proposed; none is ever deleted."""

    def enter(self, rule: dict[str, Any], at: float, *, is_manual: bool = False) -> int:
        """Write *rule* (its JSON form), proposed at *at*; return its id."""

    def update(self, rule_id: int, state: RuleState, right: int, wrong: int, images: int) -> None:
        """Write the record of a rule; what a person disabled stays so."""

    def set_proofs(self, rule_id: int, proofs: list[tuple[str, int]]) -> None:
        """Write what was asked for to prove a rule."""

    def rows(self) -> Iterator[RuleRow]:
        """Yield the rules in the order of their ids."""

    def of_host(self, name: str) -> Iterator[RuleRow]:
        """Yield the rules for exactly that host (and port), in the order of their ids."""

    def wide(self) -> Iterator[RuleRow]:
        """Yield the rules for more than one host."""

    def acting(self) -> Iterator[RuleRow]:
        """Yield the rules in force."""

    def withdrawn(self) -> Iterator[RuleRow]:
        """Yield the rules that were withdrawn."""

    def row(self, rule_id: int) -> RuleRow | None:
        """Return the rule of that id."""
