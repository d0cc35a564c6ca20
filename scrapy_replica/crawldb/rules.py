"""What a store keeps of DUST rules: each with its state and its record."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


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
