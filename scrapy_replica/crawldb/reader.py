"""What commands see of a crawl database, and how they give it orders: the contract's second half.

Another process than the crawl uses these, while the crawl runs or after it: neither takes the job's lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_replica.claim import Claim, Standing
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.rules import RuleRow

if TYPE_CHECKING:
    from scrapy_replica.crawldb.revisits import History
    from scrapy_replica.decision import Action, Reason
    from scrapy_replica.records import Novelty, Verdict
    from scrapy_replica.usage import Statement


class DecisionView(NamedTuple):
    """One decision about a URL."""

    at: float
    """Seconds since the epoch."""
    action: Action
    wanted: Action
    reason: Reason
    evidence: Mapping[str, Any]
    is_sampled: bool
    outcome: str | None
    """What a fetch showed all the same."""


class PageView(NamedTuple):
    """What fetching a URL brought; ``None`` where nothing is known."""

    fetched_at: float
    """Seconds since the epoch."""
    status: int | None
    error: str | None
    title: str | None
    words: int | None
    relevance: float | None
    novelty: Novelty | None
    twin: str | None
    """URL of the page that it repeats."""
    statements: Sequence[Statement]
    """What its site says may be done with it."""


class UrlView(NamedTuple):
    """What is known of a URL."""

    url: str
    state: State
    depth: int
    priority: int
    """The user's."""
    score: float
    """The strategy's."""
    is_demoted: bool
    parent: str | None
    """URL of the page that it was found on."""
    page: PageView | None
    claims: Sequence[Claim]
    """Those that keep it from being fetched, or behind the others."""
    representatives: Sequence[str]
    """URLs that are fetched in its place."""
    decisions: Sequence[DecisionView]
    """First made first."""
    history: History | None
    """What asking for it again showed; ``None`` where it was never fetched, or cannot be asked for again."""


class VerdictView(NamedTuple):
    """A verdict on a host."""

    verdict: Verdict
    at: float
    """Seconds since the epoch."""
    standing: Standing
    saved: int
    """URLs of the copy that are dropped for it."""
    pages: int
    """Pages of the copy (status 200) that were fetched until then."""

    @property
    def is_in_force(self) -> bool:
        return self.standing is Standing.IN_FORCE


class HostView(NamedTuple):
    """What is known of a host."""

    host: str
    ip: str | None
    urls: Mapping[State, int]
    pages: Mapping[Novelty, int]
    verdict: VerdictView | None
    """The last one on it."""
    copies: Sequence[str]
    """Hosts that verdicts which hold call a copy of it."""
    decisions: Mapping[tuple[Action, Reason], int]
    """Number of decisions about its URLs, most first."""


class RuleView(NamedTuple):
    """A DUST rule and what it saved."""

    row: RuleRow
    saved: int
    """URLs that are dropped for it."""
    is_repeated: bool = False
    """It is in force, and others do all that it does."""


class Salvaged(NamedTuple):
    """What could be read of a damaged job, and what was lost."""

    urls: Mapping[State, int]
    """As they are in the new job."""
    rows: Mapping[str, int]
    """``pages``, ``decisions``, ``verdicts``, ``rules``, ``samples`` and ``orders`` that were read."""
    lost: int
    """URLs that there were and that could not be read."""
    fetched_again: int
    """URLs that were done and wait again, since links of theirs may be among the lost."""
    restored: int
    """URLs that were dropped and wait again, since what stood for them may be among the lost."""
    unreadable: int
    """Pages and records of the file that make no sense."""


class Process(NamedTuple):
    """A process of the crawl."""

    name: str
    """Its host and process id."""
    silent: float
    """Seconds since its last sign of life."""
    leads: bool
    """It judges hosts and learns the topic for all."""
    pages: int
    """Pages that it fetched so far."""
