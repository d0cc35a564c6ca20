"""What was learnt from one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scrapy_replica.crawldb.pages import PageRow
from scrapy_replica.records import Link, Novelty, Page


@dataclass(slots=True)
class Observation:
    page: Page
    url_id: int
    depth: int
    relevance: float
    """Probability that the page is on topic, 0..1; 0 without a topic."""
    novelty: Novelty
    twin: PageRow | None = None
    """The page that this one repeats."""
    is_new: bool | None = None
    """Its text, or the bytes of a document, came for the first time; ``None`` where it has too little text to tell."""
    is_collected: bool = False
    """It is new to the crawl, and the collection of ``REPLICA_KNOWN`` has it."""
    is_known: bool = False
    """It was fetched before, and says what it said; nothing was judged."""
    was_given: bool = False
    """It is known, and its callback was through with it then, on the same terms: its items came before."""
    is_changed: bool = False
    """It was fetched before, and said something else."""
    told: int = 0
    """Hash of what its callback is handed beside the page; 0 for nothing, and once the callback asked for more."""
    items: set[int] = field(default_factory=set)
    """Hashes of the items that the callback made of it so far."""
    gives_news: bool = False
    """One of them is an item that no page gave before."""
    dropped: list[str] = field(default_factory=list)
    """Links of it that were dropped because the page repeats its twin."""
    unfollowed: Sequence[Link] = ()
    """Links that are still to be entered, of a page that has very many."""
    held: Sequence[Link] = ()
    """Links that are entered if it turns out that no other page has them, of a page that nothing asked for."""
