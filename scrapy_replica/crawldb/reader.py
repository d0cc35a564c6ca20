"""What commands see of a crawl database, and how they give it orders: the contract's second half.

Another process than the crawl uses these, while the crawl runs or after it: neither takes the job's lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.orders import Order
from scrapy_replica.crawldb.rules import RuleRow

if TYPE_CHECKING:
    from scrapy_replica.crawldb.results import Results
    from scrapy_replica.crawldb.revisits import History
    from scrapy_replica.crawldb.status import Status
    from scrapy_replica.crawldb.tables import Tables
    from scrapy_replica.crawldb.texts import Texts
    from scrapy_replica.crawldb.visits import Visits
    from scrapy_replica.decision import Action, Reason
    from scrapy_replica.records import Form, Novelty, UncertainPair, Verdict


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
    saved_by: Sequence[str]
    """What keeps it from being fetched, or behind the others: ``rule 12``, ``host a.example``, a reason."""
    stand_ins: Sequence[str]
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
    is_manual: bool
    ended: str | None
    """Why it holds no more; ``None`` while it does."""
    saved: int
    """URLs of the copy that are dropped for it."""
    pages: int
    """Pages of the copy (status 200) that were fetched until then."""


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


class SiteView(NamedTuple):
    """A host that forms are sent to."""

    host: str
    forms: Sequence[Form]
    query: Sequence[str]
    """Terms of its domain query."""


class Salvaged(NamedTuple):
    """What could be read of a damaged job, and what was lost."""

    urls: Mapping[State, int]
    """As they are in the new job."""
    rows: Mapping[str, int]
    """``pages``, ``decisions``, ``verdicts``, ``rules`` and ``orders`` that were read."""
    lost: int
    """URLs that there were and that could not be read."""
    fetched_again: int
    """URLs that were done and wait again, since links of theirs may be among the lost."""
    restored: int
    """URLs that were dropped and wait again, since what stood for them may be among the lost."""
    unreadable: int
    """Pages and records of the file that make no sense."""


class Reader(Protocol):
    """What is known, as it was last committed when the first of it was read.

    Everything raises :class:`~scrapy_replica.crawldb.contract.StoreError` where the database cannot be read.
    """

    @property
    def visits(self) -> Visits:
        """What the strategy was shown, to be read."""

    @property
    def texts(self) -> Texts:
        """Pages that a person may be asked about, and the answers, to be read."""

    @property
    def results(self) -> Results:
        """What came of the crawl."""

    @property
    def tables(self) -> Tables:
        """What is known as tables for other programs."""

    def meta(self, key: str) -> bytes | None:
        """Return the state that some part of the crawl stored under *key*."""

    def sums(self, key: str) -> dict[str, int]:
        """Return the sums under *key* over all processes of the crawl."""

    def seed_hosts(self) -> list[str]:
        """Return the hosts of the seeds, where the crawl stays near them."""

    def url(self, url: str, key: int | None = None) -> UrlView | None:
        """Return what is known of the URL that has that *key*, otherwise of *url* to the letter; ``None`` if nothing.

        Without a key it may read every URL of the job.
        """

    def host_names(self) -> list[str]:
        """Return the names of all hosts."""

    def host(self, host: str) -> HostView | None:
        """Return what is known of *host*; ``None`` if nothing. It may read as much as :meth:`url`."""

    def verdicts(self) -> list[VerdictView]:
        """Return the verdicts that hold, first reached first."""

    def uncertain_pairs(self) -> list[UncertainPair]:
        """Return the pairs of hosts that a person is asked about, nearest to a verdict first."""

    def rules(self) -> list[RuleView]:
        """Return all DUST rules, first proposed first."""

    def rule(self, rule_id: int) -> RuleRow | None:
        """Return the rule of that id, if there is one."""

    def saved_by_rules(self) -> int:
        """Return the number of URLs that are dropped for some rule."""

    def sites(self, host: str | None = None) -> list[SiteView]:
        """Return the hosts that have a form or a domain query, in their order; only *host* if it is given."""

    def status(self, now: float | None, hosts: int) -> Status:
        """Return the figures of the job, of at most so many *hosts* one by one.

        :param now: seconds since the epoch; ``None`` where the crawl does not run, whose last hour ends with its last
            fetch.
        """

    def acts(self, most: int) -> list[Order]:
        """Return what was told the crawl by hand and what it answered, at most so many, last told first."""


class Orders(Protocol):
    """What a person tells the crawl; it obeys within a second, or when it is next run."""

    def give(self, kind: str, what: Mapping[str, Any]) -> int:
        """Write an order of that *kind* and return its id; the contract names the kinds and *what* each says.

        :raises StoreError: it could not be written.
        """
