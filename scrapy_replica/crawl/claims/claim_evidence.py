"""Evidence: what each fetch says of claims. Pages of this process and of others come the same way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from scrapy_replica.claim import Claim, Kind, Restoration, Why, of_rules
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.fallback import Fallback
from scrapy_replica.crawl.claims.probes import Probes
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.scope_check import ScopeCheck
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawl.given import KeyOf
from scrapy_replica.crawl.hosts.replicas import ProbeUrl, Replicas
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawl.urls.dust import Dust, DustFindings
from scrapy_replica.crawl.urls.permalinks import Permalinks
from scrapy_replica.crawl.urls.watched_rule import Settled
from scrapy_replica.crawldb.contract import CrawlDB, Permission, State, UrlRow
from scrapy_replica.crawldb.pages import MISSING
from scrapy_replica.decision import Outcome, Reason
from scrapy_replica.records import Novelty
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.detector import Findings
from scrapy_replica.sites.evidence import path_of
from scrapy_replica.urls.pattern import parse


class ClaimEvidence:
    """Hands each fetch to the claims that it says something of, and carries out what follows.

    Samples are settled by the leader for all: the two pages of one may have been fetched at a time, so that neither of
    the processes that fetched them knew the other. A process settles those of its own pages as well.
    """

    def __init__(
        self,
        store: CrawlDB,
        replicas: Replicas,
        dust: Dust,
        permalinks: Permalinks,
        scope: CrawlScope,
        scope_check: ScopeCheck,
        samples: Samples,
        settling: Settling,
        fallback: Fallback,
        probes: Probes,
        claims: Claims,
        log: DecisionLog,
        key: KeyOf,
        counts: Counter[str],
    ) -> None:
        self._store, self._replicas, self._dust, self._permalinks = store, replicas, dust, permalinks
        self._scope, self._scope_check = scope, scope_check
        self._samples, self._settling, self._fallback = samples, settling, fallback
        self._probes, self._claims, self._log, self._key, self._counts = probes, claims, log, key, counts

    def add_page(self, observation: Observation, *, is_own: bool = True) -> None:
        """Take note of a page; one that is not this process's *own* has been through its callback."""
        self._claims.refute(self._fallback.add_page(observation))
        if is_own:
            self._settling.begin(observation.url_id)
        elif self._store.is_leader:
            self._claims.refute(self._settling.add_page(observation.page, observation.url_id))
        self._check_representative(observation, is_own=is_own)
        if is_own or self._store.is_leader:
            self._probes.add_page()
            self._probes.ask()

    def add_findings(self, found_on: Observation | None, findings: Findings, urls: Iterable[ProbeUrl] = ()) -> None:
        """Take note of what came to light about hosts, and of the pages to ask for."""
        self._counts["host/blocked"] += len(findings.verdicts)
        self._counts["host/conflicts"] += len(findings.conflicts)
        self._scope_check.check({verdict.canonical for verdict in findings.verdicts})
        if found_on is not None:
            self._probes.add_of_mirrors(urls, found_on)

    def awaits(self, url_id: int) -> bool:
        """Tell whether what the page of the URL of that id says is evidence for or against a claim."""
        key = self._store.urls.key_of(url_id)
        return self._samples.is_sample(url_id) or bool(self._claims.claims_for(key)) or self._settling.awaits(key)

    def _check_representative(self, observation: Observation, *, is_own: bool) -> None:
        """Look whether the page can stand for what was suppressed in its favour.

        A page of a canonical host that says nothing, or what another one of its host says, may be an answer to whatever
        is asked: its mirrors are asked for it.
        """
        key = self._store.urls.key_of(observation.url_id)
        claims = self._claims.claims_for(key)
        if not self._says_nothing(observation):
            if is_own:
                self._fallback.sample(observation.url_id, observation.page.url, observation.page.host)
            return
        if key is not None and any(claim.kind in {Kind.MIRROR, Kind.SCHEME, Kind.NAME} for claim in claims):
            twin = observation.twin
            self._claims.restore_for(key, Why.REPEATS, twin.url if twin is not None else None)
        elif is_own:
            self._fallback.ask_of_repeat(observation.url_id)

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
        if observation.gives_news:
            self._restore_links(observation)
        self._scope_check.check_news()
        if not observation.page.is_read:
            return
        findings = self._dust.observe(
            observation.page,
            observation.url_id,
            observation.twin,
            callback,
            frozenset(observation.items),
            asks_more=asks_more,
            gives_news=observation.gives_news,
            is_changed=observation.is_changed,
        )
        self._apply_findings(findings, observation.depth, observation.url_id)
        self._settling.give_up_unread(observation.url_id)
        self._test_permalink(observation, asks_more=asks_more, is_part=findings.is_part)

    def _test_permalink(self, observation: Observation, *, asks_more: bool, is_part: bool) -> None:
        """Take note whether the page is the one that it, or what redirected to it, was found on.

        *is_part*: it repeats its twin and leads to less, as a version for print does.
        """
        for url_id in (observation.url_id, *self._ids(observation.page.redirected_from)):
            link = self._store.urls.row(url_id)
            there = self._permalinks.finder_of(link)
            if there is None or not self._dust.are_one(there, there):
                continue  # it was not read, or has too little text
            is_one = bool(self._dust.are_one(observation.page.url, there))
            twin = observation.twin
            is_twin_there = twin is not None and bool(self._dust.are_one(twin.url, there))
            is_one = is_one or (is_part and is_twin_there)
            # One that says the same and leads further shows neither.
            if asks_more or is_one or not is_twin_there:
                self._claims.refute(self._permalinks.add(link, there, is_back=is_one and not asks_more))

    def _ids(self, urls: Sequence[str]) -> list[int]:
        known = self._store.urls.find([*map(self._key, urls)]) if urls else {}
        return [one.id for one in known.values()]

    def add_document(self, url_id: int) -> None:
        """Take note of an answer that is no page: nobody can tell whether it is news, but it is not its finder."""
        self._test_finder(url_id, is_news=False)
        self._fallback.add_failure(url_id)
        link = self._store.urls.row(url_id)
        if (there := self._permalinks.finder_of(link)) is not None:
            self._contradict_permalink(link, there)

    def _test_finder(self, url_id: int, *, is_news: bool) -> None:
        """Let what was found at a URL count against what saves pages like the one that alone led there.

        What cannot be told to be news (*is_news*) does not count between two hosts, which have pages of their own.
        """
        finder = self._settling.finder_of_news(url_id)
        if finder is None:
            return
        row = self._store.urls.row(finder)
        if (there := self._permalinks.finder_of(row)) is not None:
            self._claims.refute(self._permalinks.add(row, there, is_back=False))
        samples = [one for one in self._samples.of_url(finder) if one.outcome is not Outcome.OTHER]
        rules = {int(one.claim.subject) for one in samples if one.claim.kind is Kind.RULE}
        self._apply_findings(self._dust.led_to_news(row.url, rules), row.depth, finder)
        is_told = is_news or any(one.claim.kind in {Kind.SCHEME, Kind.NAME} for one in samples)
        if is_told and self._store.urls.row(url_id).permission is not Permission.AS_ASKED:
            self._claims.refute(self._samples.overturn(finder))

    def add_redirect(self, url_id: int, location: str, callback: str) -> None:
        """Take note of where a URL leads that *callback* was to get."""
        row = self._store.urls.row(url_id)
        self._apply_findings(self._dust.observe_redirect(row.url, url_id, location, callback), row.depth, url_id)
        there = self._permalinks.finder_of(row)
        if there is None:
            return
        is_back: bool | None = form_of(location) == form_of(there)  # a location may be no URL
        if not is_back and parse(form_of(location)).host == parse(form_of(there)).host:
            is_back = self._dust.are_one(location, there)
        if is_back is None:
            return  # the page there tells when it is read
        if not is_back:
            self._contradict_permalink(row, there)
            return
        self._settle_permalink(url_id, Outcome.SAME)
        self._claims.refute(self._permalinks.add(row, there, is_back=True))

    def _contradict_permalink(self, link: UrlRow, there: str) -> None:
        """Take note that a link does not lead back to the page at *there*, which it was found on."""
        self._settle_permalink(link.id, Outcome.OTHER)
        self._claims.refute(self._permalinks.add(link, there, is_back=False))

    def _settle_permalink(self, url_id: int, outcome: Outcome) -> None:
        for sample in self._samples.open_of(url_id):
            if sample.claim.kind is Kind.PERMALINK:
                self._claims.refute(self._samples.settle(url_id, outcome, sample.claim))

    def _apply_findings(self, findings: DustFindings, depth: int, found_on: int) -> None:
        """Draw the consequences of what rules showed on a page, at a *depth*, of the URL *found_on* (its id)."""
        for watched in findings.ended:
            self._claims.rule_ended(watched, Why.REFUTED)
        for settled in findings.settled:
            self._claims.refute(self._settle_rules(settled))
        for rules in findings.disputed:
            self._claims.lift(of_rules(rules)[0])
        for watched in findings.doubted:
            self._samples.doubted.setdefault(Claim(Kind.RULE, str(watched.id)), found_on)
        self._counts["dust/begun"] += len(set(findings.begun))
        self._probes.add_of_rules(findings.probes, depth, found_on)
        self._probes.ask()

    def _settle_rules(self, settled: Settled) -> list[Claim]:
        """Settle a sample of rewrite rules: where several made another page of it, none of them alone is blamed.

        Nor is a rule where the name of the page may be wrong, but where the sample tests no name: nobody would be.
        """
        url_id, outcome, rules, is_named = settled
        tests_name = any(sample.claim.kind is Kind.NAME for sample in self._samples.open_of(url_id))
        is_named = is_named and tests_name
        refuted = self._samples.settle(url_id, outcome, of_rules(rules)[0]) if not is_named else []
        others = self._samples.open_of(url_id) if outcome is Outcome.OTHER or len(rules) > 1 or tests_name else ()
        for sample in others:
            is_told = sample.claim.kind is (Kind.NAME if is_named else Kind.RULES) or outcome is Outcome.SAME
            refuted += self._samples.settle(url_id, outcome if is_told else Outcome.UNKNOWN, sample.claim)
        return refuted

    def _restore_links(self, observation: Observation) -> None:
        """Let links come back that were dropped because their page seemed to repeat another."""
        for url in observation.dropped:
            key = self._key(url)
            known = self._store.urls.find([key]).get(key)
            if known is not None and known.state is State.DROPPED:
                self._store.suppressed.restore_one(known.id)
                self._log.record_restored(known.id, url, Reason.EXACT_DUPLICATE_LINKS, Restoration(Why.ITEM))

    def add_failure(
        self, url_id: int, status: int | None, location: str | None = None, *, is_kept: bool, is_own: bool = True
    ) -> None:
        """Take note that a URL brought no page: what it stood for comes back.

        A redirect to another path is no page either: sites lead whatever they do not have to their front page. Where
        a page *is kept*, of which an error says nothing, no other host is asked.
        """
        url, key = self._store.urls.url_of(url_id), self._store.urls.key_of(url_id)
        is_same_path = location is not None and normal_path(path_of(location)) == normal_path(path_of(url))
        if location is not None and is_same_path and self._scope.may_stand(location):
            return
        claims = self._claims.claims_for(key)
        self._fallback.add_failure(url_id)
        if status is None or status >= MISSING:
            if is_own or self._store.is_leader:
                self._claims.refute(self._settling.add_failure(url_id))
            if is_own:
                self._dust.gone(url, [int(claim.subject) for claim in claims if claim.kind is Kind.RULE])
        if not is_own and status is not None and status < MISSING:
            return  # where it leads is known to the process that asked
        if claims and key is not None:
            # Another page may stand for them, as where only a session ended: that is asked for when their turn comes.
            # For what leads elsewhere none is looked for: rules hold of redirects, too.
            self._claims.restore_for(key, Why.GONE, url, is_anew=location is None)
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
