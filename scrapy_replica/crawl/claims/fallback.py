"""Fallback: what a canonical host does not bring is asked of its mirrors, and by the other scheme."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from scrapy_replica.address import has_secret, host_of, origin_of
from scrapy_replica.claim import Claim, Kind, Why
from scrapy_replica.crawl.claims.claim_test import ClaimTest
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.settling import compared
from scrapy_replica.crawl.frontier import Frontier
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.hosts.schemes import Schemes
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawldb.contract import CrawlDB, Known, Permission, State, UrlRow
from scrapy_replica.crawldb.samples import Stratum
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Novelty

MOST_LEFT = 1_000
"""Repeats of one host that are remembered because no mirror was asked for them, the last."""
MOST_IN_ALL = 50_000
"""These, and what was never met, over all hosts, some 600 bytes each; then all are forgotten, which costs samples."""
MOST_STEPS = 20
"""Pages that are gone back over to tell whether something leads to a URL; after more it is taken for led to."""
MOST_MIRRORS = 16
"""Mirrors of one host of which samples of what nothing leads to are drawn, page by page."""
MOST_LED_TO = 100_000
"""Pages of which it is known that something leads to them elsewhere, 150 bytes each; then all are forgotten."""


class Unlinked(NamedTuple):
    """What stands on a mirror, or by the other scheme, and was never met: what would lead there was left out."""

    row: UrlRow
    """Of the page that was fetched in its place: what it was asked with is not kept once that is done."""
    url: str


class Asked(NamedTuple):
    """Why a mirror is asked."""

    failed_id: int
    """Id of the URL of the host to keep."""
    is_repeat: bool
    """It brought another page of its host."""


@dataclass(slots=True)
class Repeats:
    """What mirrors are asked of the pages of one host that say what another one of it says."""

    test: ClaimTest = field(default_factory=ClaimTest)
    """What they showed."""
    left: deque[UrlRow] = field(default_factory=partial(deque, maxlen=MOST_LEFT))
    """Those that they were not asked for, the newest first: what stops being right does so late."""


class Fallback:
    """Asks mirrors for the pages that their canonical host does not bring.

    What was suppressed on a mirror comes back when its representative fails. What lies behind it was never found there,
    because the pages that lead to it were suppressed: the canonical host's own links do, so each of them that fails is
    asked of the mirrors. Of those that say what another page of their host says, as a host does that answers anything,
    samples are asked: a shop whose goods have four URLs took 580 requests in place of plain Scrapy's 400 when all were.
    What a mirror has and its canonical host lacks counts against the claim. The same holds of a URL that fails by http
    and its twin by https.
    """

    def __init__(
        self, store: CrawlDB, frontier: Frontier, replicas: Replicas, schemes: Schemes, samples: Samples
    ) -> None:
        self._store, self._frontier, self._samples = store, frontier, samples
        self._replicas, self._schemes = replicas, schemes
        self._asked: dict[int, Asked] = {}
        """Id of a URL on a mirror, or by the other scheme -> what it is asked for."""
        self.repeats: defaultdict[str, Repeats] = defaultdict(Repeats)
        """Host to keep -> its pages that say what another one of it says."""
        self._led_to: set[tuple[int, str]] = set()
        """Ids of pages and origins where something leads to what stands there in their place."""
        self.unlinked: defaultdict[str, deque[Unlinked]] = defaultdict(partial(deque, maxlen=MOST_LEFT))
        """Host of a claim -> what is unlinked there and was not drawn, the newest first."""
        self._n_left = 0

    def sample(self, url_id: int, url: str, host: str) -> None:
        """Draw samples of what stands in place of *url*, which brought its page, where nothing leads there.

        What would lead there is suppressed, so a claim that is wrong of one directory alone was never met there.
        """
        elsewhere = self._elsewhere(url, host)[:MOST_MIRRORS]
        row = self._store.urls.row(url_id) if elsewhere else None
        if row is None or not _may_be_asked(row):
            return
        for other in elsewhere:
            is_unlinked = self._found(other) is None and self._is_led_to(row, other)
            if is_unlinked and not self._frontier.ask_as_sample(row, other, is_late=False):
                self._make_room()
                self.unlinked[host_of(other)].appendleft(Unlinked(row, other))

    def sample_late(self, one: Unlinked) -> bool:
        """Take one that was not drawn as a sample in any case; tell whether it is asked for."""
        self.unlinked[host_of(one.url)].remove(one)
        return self._frontier.ask_as_sample(one.row, one.url, is_late=True)

    def ask(self, url_id: int) -> bool:
        """Ask the mirrors, and the other scheme, for what was not brought at the URL of that id.

        Tell whether any is asked.
        """
        failed = self._store.urls.row(url_id)
        return sum(self._enter(failed, url, is_repeat=False) for url in self._others(failed)) > 0

    def ask_of_repeat(self, url_id: int) -> None:
        """Ask them for the URL of that id, which brought another page of its host, if it is drawn."""
        failed = self._store.urls.row(url_id)
        if not self._is_left(failed):
            self.ask_late(failed)

    def draws_repeat(self, url_id: int) -> bool:
        """Tell whether what was saved in favour of such a URL is drawn, and is to come back."""
        failed = self._store.urls.row(url_id)
        if self._is_left(failed):
            return False
        for url in self._others(failed):
            known = self._found(url)
            if known is not None and known.state is State.DROPPED:
                self._await(failed, known.id, is_repeat=True)
        return True

    def _is_left(self, failed: UrlRow) -> bool:
        """Tell whether mirrors may bring what repeats another page, and it is not drawn; remember it then."""
        repeats = self.repeats[failed.host]
        if not self._others(failed) or self._samples.draws(repeats.test, failed.url):
            return False
        self._make_room()
        repeats.left.appendleft(failed)
        return True

    def ask_late(self, failed: UrlRow) -> bool:
        """Ask them for such a URL in any case; tell whether any is asked."""
        return sum(self._enter(failed, url, is_repeat=True) for url in self._others(failed)) > 0

    def _make_room(self) -> None:
        self._n_left += 1
        if self._n_left > MOST_IN_ALL:
            self._n_left = 1
            self.unlinked.clear()
            for repeats in self.repeats.values():
                repeats.left.clear()

    def _others(self, failed: UrlRow) -> list[str]:
        """Return the URLs that may bring what *failed* did not."""
        if not _may_be_asked(failed):
            return []
        return [url for url in self._elsewhere(failed.url, failed.host) if self._is_led_to(failed, url)]

    def _elsewhere(self, url: str, host: str) -> list[str]:
        """Return the URLs that stand in place of *url* on the mirrors of *host*, and by the other scheme."""
        others = self._replicas.on_copies(url, host)
        other = self._schemes.instead_of(url, host)
        return others if other is None else [*others, other]

    def _is_led_to(self, row: UrlRow, other: str) -> bool:
        """Tell whether something leads to *other*, which stands elsewhere in place of *row*.

        A link to it was found, or the page that *row* was found on stands there as well, something leads to that, and
        it was left out. What the canonical host alone leads to is not asked of a mirror that answers everything: such
        sites took 1.2 to 1.5 times plain Scrapy's requests. Of a page only its first finder is known. Where that is no
        page of the canonical host, as with a sitemap, other pages there may lead to it, and so those of the mirror.
        What another mirror's page leads to is taken for a link of the page that this repeats: six mirrors that lead to
        pages which nobody has took 360 requests of 328.
        """
        origin, met = origin_of(other), [(row.id, origin_of(other))]
        known = self._found(other)
        for _ in range(MOST_STEPS):
            if known is not None or met[-1] in self._led_to:
                if len(self._led_to) >= MOST_LED_TO:
                    self._led_to.clear()
                self._led_to.update(met)
                return True
            if row.parent is None:
                return len(met) == 1  # else a seed led to it, and nothing to what stands there in place of the seed
            row = self._on_canonical(self._store.urls.row(row.parent))
            there = next((url for url in self._elsewhere(row.url, row.host) if origin_of(url) == origin), None)
            known = self._found(there) if there is not None else None
            if there is None:
                return True
            if known is not None and self._store.pages.has_page(known.id):
                return False  # whose links are known
            met.append((row.id, origin))
        return True

    def _on_canonical(self, row: UrlRow) -> UrlRow:
        """Return the URL that stands on the canonical host in place of *row*, which a mirror has; else *row* itself."""
        url = self._replicas.url_on_canonical(row.url, row.host)
        known = self._found(url) if url is not None else None
        return row if known is None else self._store.urls.row(known.id)

    def _found(self, url: str) -> Known | None:
        """Return what is known of *url*, unless nothing but a test asked for it."""
        key = self._frontier.key(url)
        known = self._store.urls.known(key)
        return known if known is not None and known.id not in self._store.unrequested.ids else None

    def _enter(self, failed: UrlRow, url: str, *, is_repeat: bool) -> bool:
        asked_id = self._frontier.enter_in_place_of(failed, url, Why.REPEATS if is_repeat else Why.GONE)
        if asked_id is None:
            return False
        self._await(failed, asked_id, is_repeat=is_repeat)
        return True

    def _await(self, failed: UrlRow, asked_id: int, *, is_repeat: bool) -> None:
        self._asked[asked_id] = Asked(failed.id, is_repeat)
        if is_repeat:
            self.repeats[failed.host].test.add(None, None, Stratum.of(failed.url))

    def _settle(self, asked: Asked, outcome: Outcome) -> None:
        if asked.is_repeat:
            failed = self._store.urls.row(asked.failed_id)
            self.repeats[failed.host].test.settle(None, outcome, Stratum.of(failed.url))

    def add_page(self, observation: Observation) -> list[Claim]:
        """Take note of a page; return the claims that it refuted."""
        asked = self._asked.pop(observation.url_id, None)
        if asked is None:
            return []
        failed_id = asked.failed_id
        host = observation.page.host
        are_on_one_host = self._store.urls.row(failed_id).host == host
        outcome = self._outcome(observation, failed_id, are_on_one_host=are_on_one_host)
        self._settle(asked, outcome)
        if are_on_one_host:
            claim, reason = Claim(Kind.SCHEME, host), Reason.OTHER_SCHEME
        elif (verdict := self._replicas.verdict_of(host)) is not None:
            claim, reason = verdict.claim, Reason.REPLICA_HOST
        else:
            return []
        if outcome is Outcome.SAME:
            return []
        decision = Decision(Action.FETCH, Action.DROP, reason, claims=(claim,))
        self._samples.enter(observation.url_id, observation.page.url, decision)
        return self._samples.settle(observation.url_id, outcome)

    def _outcome(self, observation: Observation, failed_id: int, *, are_on_one_host: bool) -> Outcome:
        page, failed = self._store.pages.trace(observation.url_id), self._store.pages.trace(failed_id)
        if page is not None and failed is not None:
            return compared(page, failed, is_beside_told=are_on_one_host)
        if observation.novelty is Novelty.UNKNOWN:
            return Outcome.UNKNOWN
        return Outcome.OTHER if observation.novelty is Novelty.NOVEL else Outcome.SAME

    def add_failure(self, url_id: int) -> None:
        """Take note that a URL brought no page: it was asked in vain.

        A mirror that has nothing in the place of a repeat lacks no more than what says the same there: when that was no
        outcome all of them were asked for, and a site took 419 requests in place of plain Scrapy's 386.
        """
        asked = self._asked.pop(url_id, None)
        if asked is not None:
            self._settle(asked, Outcome.SAME)


def _may_be_asked(row: UrlRow) -> bool:
    """Tell whether another host may hear what was asked for by *row*."""
    is_plain = row.permission is Permission.MOVE or (row.permission is Permission.EXEMPT and row.payload is None)
    return is_plain and not has_secret(row.url)
