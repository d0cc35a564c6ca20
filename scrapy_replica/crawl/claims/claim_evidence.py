"""Evidence: what each fetch says of claims. Pages of this process and of others come the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scrapy_replica.claim import Claim, Kind, Why
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.fallback import Fallback
from scrapy_replica.crawl.claims.permalink_evidence import PermalinkEvidence
from scrapy_replica.crawl.claims.rule_evidence import RuleEvidence
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.given import KeyOf
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawldb.contract import CrawlDB, Permission
from scrapy_replica.crawldb.pages import GONE, MISSING
from scrapy_replica.crawldb.samples import Sample
from scrapy_replica.decision import Outcome
from scrapy_replica.records import Novelty, Page

MANY = 16
"""URLs that show one text, after which it is an answer to whatever is asked, as of a page that is not there."""


class ClaimEvidence:
    """Hands each fetch to the claims that it says something of, and carries out what follows.

    Samples are settled by the leader for all: the two pages of one may have been fetched at a time, so that neither of
    the processes that fetched them knew the other. A process settles those of its own pages as well.
    """

    def __init__(
        self,
        store: CrawlDB,
        key: KeyOf,
        samples: Samples,
        settling: Settling,
        fallback: Fallback,
        claims: Claims,
        rules: RuleEvidence,
        permalinks: PermalinkEvidence,
    ) -> None:
        self._store, self._key, self._claims = store, key, claims
        self._samples, self._settling, self._fallback = samples, settling, fallback
        self._rules, self._permalinks = rules, permalinks

    def add_page(self, observation: Observation, *, is_own: bool = True) -> None:
        """Take note of a page; one that is not this process's *own* has been through its callback."""
        self._claims.refute(self._fallback.add_page(observation))
        if is_own:
            self._settling.begin(observation.url_id)
        elif self._store.is_leader:
            self._claims.refute(self._settling.add_page(observation.page, observation.url_id))
        self._check_representative(observation, is_own=is_own)

    def awaits(self, url_id: int) -> bool:
        """Tell whether what the page of the URL of that id says is evidence for or against a claim."""
        key = self._store.urls.key_of(url_id)
        is_claimed = self._samples.is_sample(url_id) or bool(self._store.suppressed.claims_for(key))
        return is_claimed or self._settling.awaits(key)

    def _check_representative(self, observation: Observation, *, is_own: bool) -> None:
        """Look whether the page can stand for what was suppressed in its favour.

        A page of a canonical host that says nothing, or what another one of its host says, may be an answer to whatever
        is asked: its mirrors are asked for it. Of what such pages stood for a sample comes back, and all of it where
        many URLs show one page.
        """
        key = self._store.urls.key_of(observation.url_id)
        claims = self._store.suppressed.claims_for(key)
        if not self._says_nothing(observation):
            if is_own:
                self._fallback.sample(observation.url_id, observation.page.url, observation.page.host)
            return
        if key is None or not any(claim.kind in {Kind.MIRROR, Kind.SCHEME, Kind.NAME} for claim in claims):
            if is_own:
                self._fallback.ask_of_repeat(observation.url_id)
        elif not is_own or self._is_of_many(observation.page) or self._fallback.draws_repeat(observation.url_id):
            twin = observation.twin
            self._claims.restore_for(key, Why.REPEATS, twin.url if twin is not None else None)

    def _is_of_many(self, page: Page) -> bool:
        """Tell whether many URLs show what *page* says, or it says nothing: an answer to whatever is asked."""
        return page.signature is None or len(self._store.pages.by_signature(page.signature, MANY)) >= MANY

    @staticmethod
    def _says_nothing(observation: Observation) -> bool:
        """Tell whether a page has no text, or that of another one of its host."""
        if observation.novelty is Novelty.EXACT_DUPLICATE and observation.twin is not None:
            # By the other scheme it is the page that was asked for.
            is_other = observation.twin.url.partition("://")[2] != observation.page.url.partition("://")[2]
            return is_other and not ClaimEvidence._repeats_other_host(observation)
        return observation.novelty in {Novelty.UNKNOWN, Novelty.EXACT_DUPLICATE}

    @staticmethod
    def _repeats_other_host(observation: Observation) -> bool:
        return observation.twin is not None and observation.twin.host != observation.page.host

    def end_callback(self, observation: Observation, callback: str, *, asks_more: bool) -> None:
        """Take note that *callback* is through with the page; *asks_more*: it asked for what is new and not on it."""
        if not observation.is_known:
            self._claims.refute(self._settling.end(observation.page, observation.url_id))
        is_news, via = observation.gives_news or bool(observation.is_new), self._ids(observation.page.redirected_from)
        if observation.gives_news or observation.novelty is not Novelty.EXACT_DUPLICATE:
            for url_id in (observation.url_id, *via):
                self._test_finder(url_id, is_news=is_news)
        if is_news or self._repeats_other_host(observation):
            for url_id in via:
                self._store.pages.set_news(url_id)
        if not observation.page.is_read:
            return
        is_part = self._rules.add_page(observation, callback, asks_more=asks_more)
        self._settling.close_of_rules(observation.url_id)
        self._settling.give_up_unread(observation.url_id)
        self._permalinks.add_page(observation, via, asks_more=asks_more, is_part=is_part)

    def _ids(self, urls: Sequence[str]) -> list[int]:
        known = self._store.urls.find([*map(self._key, urls)]) if urls else {}
        return [one.id for one in known.values()]

    def add_document(self, url_id: int) -> None:
        """Take note of an answer that is no page: nobody can tell whether it is news, but it is not its finder."""
        self._test_finder(url_id, is_news=False)
        self._fallback.add_failure(url_id)
        self._permalinks.add_document(url_id)

    def _test_finder(self, url_id: int, *, is_news: bool) -> None:
        """Let what was found at a URL count against what saves pages like the one that alone led there.

        What cannot be told to be news (*is_news*) does not count between two hosts, which have pages of their own.
        """
        finder = self._settling.finder_of_news(url_id)
        if finder is None:
            return
        self._permalinks.add_led_to_news(self._store.urls.row(finder))
        samples = self._hold_against_rules(finder)
        is_told = is_news or any(one.claim.kind in {Kind.SCHEME, Kind.NAME} for one in samples)
        if is_told and self._store.urls.row(url_id).permission is not Permission.AS_ASKED:
            self._claims.refute(self._samples.overturn(finder))

    def _hold_against_rules(self, url_id: int) -> list[Sample]:
        """Take note that a URL is not what rules take it for; return the samples that it was and did not say so yet."""
        samples = [one for one in self._store.samples.of_url(url_id) if one.outcome is not Outcome.OTHER]
        rules = {int(one.claim.subject) for one in samples if one.claim.kind is Kind.RULE}
        self._rules.add_led_to_news(self._store.urls.row(url_id), rules)
        return samples

    def add_news(self, url_id: int) -> None:
        """Take note that an answer that is no page brought news, so that nothing stands for it."""
        self._hold_against_rules(url_id)
        self._claims.refute(self._samples.overturn(url_id))

    def add_redirect(self, url_id: int, via: Sequence[int], location: str, callback: str) -> None:
        """Take note of where a URL leads that *callback* was to get, and those that led there (ids *via*)."""
        row = self._store.urls.row(url_id)
        for one in (url_id, *via):
            self._claims.refute(self._settling.add_redirect(one, location))
        self._rules.add_redirect(row, location, callback)
        self._permalinks.add_redirect(row, location)

    def add_failure(
        self, url_id: int, status: int | None, *, leads_on: bool = False, is_kept: bool, is_own: bool = True
    ) -> None:
        """Take note that a URL brought no page, or *leads on* to another path: what it stood for comes back.

        Where a page *is kept*, of which an error says nothing, no other host is asked.
        """
        url, key = self._store.urls.url_of(url_id), self._store.urls.key_of(url_id)
        claims = self._store.suppressed.claims_for(key)
        self._fallback.add_failure(url_id)
        if status is None or status >= MISSING:
            if is_own or self._store.is_leader:
                self._claims.refute(self._settling.add_failure(url_id, is_gone=status in GONE))
            if is_own:
                self._rules.add_failure(url, claims, is_told=status in GONE and not is_kept)
        if not is_own and status is not None and status < MISSING:
            return  # where it leads is known to the process that asked
        if claims and key is not None:
            # Another page may stand for them, as where only a session ended: that is asked for when their turn comes.
            # For what leads elsewhere, or is given to a callback as a redirect, none is looked for: rules hold of it.
            leads_on = leads_on or (status is not None and 300 <= status < MISSING)
            self._claims.restore_for(key, Why.GONE, url, is_anew=not leads_on)
        elif is_own and not is_kept and leads_on:
            self._fallback.ask_of_repeat(url_id)
        elif is_own and not is_kept:
            self._fallback.ask(url_id)

    def add_unchanged(self, url_id: int) -> None:
        """Take note that a page is as it was: what waited to be held against it is."""
        self._claims.refute(self._settling.add_unchanged(url_id))

    def add_samples(self, claims: Iterable[Claim]) -> None:
        """Take note of samples that other processes drew or settled; the leader ends what all of them refute."""
        self._samples.forget(claims)
        if self._store.is_leader:
            self._claims.refute(claim for claim in claims if self._samples.test_of(claim).is_refuted)
