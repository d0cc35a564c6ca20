"""What a store keeps of DUST rules: each with its state and its record."""

from __future__ import annotations

from typing import Any, NamedTuple

from scrapy_replica.claim import Standing


class RuleRow(NamedTuple):
    """One rule and its record."""

    id: int
    rule: dict[str, Any]
    state: Standing
    is_manual: bool
    """A person gave it: it acts without a proof."""
    right: int
    """Pairs of URL and image that were fetched and are one page."""
    wrong: int
    images: int
    """Images fetched that are the page of their URL, less twice those that do not exist."""
    proofs: list[tuple[str, int]]
    """(image, URLs fetched on purpose for it) of each pair that was to prove it."""
