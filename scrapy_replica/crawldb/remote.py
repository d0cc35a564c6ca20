"""What a process hears of what others of its crawl wrote."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_replica.claim import Claim, Work


class RemoteUpdate(NamedTuple):
    """What other processes of the crawl wrote, and lies in this one's store by now."""

    pages: Sequence[int] = ()
    """Ids of the URLs whose fetch they entered, or changed what is known of it."""
    urls: Sequence[int] = ()
    """Ids of the URLs that they found: new rows."""
    verdicts: Set[str] = frozenset()
    """Copies whose verdict was entered or ended."""
    rules: Set[str] = frozenset()
    """Hosts of rules that were entered or changed, as in the rule's row: empty or ``.domain`` for many."""
    tested: Set[Claim] = frozenset()
    """Claims of which samples were entered or settled."""
    work: Set[Work] = frozenset()
    """What they began to bring back."""
    meta: Set[str] = frozenset()
    """Keys under which something was stored."""
    orders: Sequence[int] = ()
    """Ids of the orders that were answered."""
    seeds: Set[str] = frozenset()
    """Hosts of seeds that were entered."""
    visits: Sequence[int] = ()
    """Numbers of the visits that they added, first added first."""
    added: Set[int] = frozenset()
    """Ids of the URLs that are fetched for the add-on's sake, and that nothing asked for."""
    forms: Set[str] = frozenset()
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
    found_on: str | None
    """Host of that page."""
