"""What a store keeps for strategies that remember pages: a checkpoint, and the pages shown since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scrapy_replica.records import Link


class Visit(NamedTuple):
    """A page as a strategy sees it."""

    url: str
    relevance: float | None
    """0..1; ``None`` where more links of the page before this row were scored, and where there is no page."""
    terms: Mapping[str, int]
    links: Sequence[Link]
    """URL and anchor text of those that may be followed; their other fields are not kept."""
    is_unproductive: bool = False
    """The fetch brought nothing new."""
