"""What a process hears of what others of its crawl wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_replica.claim import Claim, Work


@dataclass
class RemoteUpdate:
    """What other processes of the crawl wrote, and lies in this one's store by now."""

    pages: dict[int, None] = field(default_factory=dict)
    """Ids of the URLs whose fetch they entered, or changed what is known of it, each once."""
    urls: list[int] = field(default_factory=list)
    """Ids of the URLs that they found: new rows."""
    verdicts: set[str] = field(default_factory=set)
    """Copies whose verdict was entered or ended."""
    rules: set[str] = field(default_factory=set)
    """Hosts of rules that were entered or changed, as in the rule's row: empty or ``.domain`` for many."""
    tested: set[Claim] = field(default_factory=set)
    """Claims of which samples were entered or settled."""
    work: set[Work] = field(default_factory=set)
    """What they began to bring back."""
    meta: set[str] = field(default_factory=set)
    """Keys under which something was stored."""
    orders: list[int] = field(default_factory=list)
    """Ids of the orders that were answered."""
    seeds: set[str] = field(default_factory=set)
    """Hosts of seeds that were entered."""
    visits: list[int] = field(default_factory=list)
    """Numbers of the visits that they added, first added first."""
    unrequested: set[int] = field(default_factory=set)
    """Ids of the URLs that are fetched for the add-on's sake, and that nothing asked for."""
    forms: set[str] = field(default_factory=set)
    """Hosts whose forms or query terms changed."""
    is_leader: bool = False
    """This process has just become the leader."""


class RemotePage(NamedTuple):
    """A fetch as a process hears of it that did not make it."""

    url_id: int
    url: str
    host: str
    depth: int
    fetched_at: float
    status: int | None
    title: str | None
    words: int | None
    simhash: int | None
    relevance: float | None
    novelty: str | None
    mark: bytes | None
    neighbours: str | None
    content: int | None
    cluster: int | None
    aliases: str | None
    leads: bytes | None

    @property
    def is_given(self) -> bool:
        """Whether the user gave it."""
        return self.depth == 0


class FoundUrl(NamedTuple):
    """A URL as another process found it."""

    url: str
    host: str
    payload: bytes | None
    parent: int | None
    """Id of the page that it was found on."""
    linking_host: str | None
    """Host of that page."""
