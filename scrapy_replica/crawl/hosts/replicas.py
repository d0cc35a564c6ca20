"""Replica hosts in a running crawl: findings become verdicts, which act, are kept and are looked at again."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import mmh3

from scrapy_replica.address import host_of, origin_of
from scrapy_replica.claim import Claim, Standing
from scrapy_replica.config import Config
from scrapy_replica.crawl.given import Clock
from scrapy_replica.crawl.hosts.fetched_pages import FetchedPages
from scrapy_replica.crawl.hosts.frames import Frames
from scrapy_replica.crawl.hosts.stored_evidence import StoredEvidence
from scrapy_replica.crawl.hosts.uncertain_pairs import UncertainPairs
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.orders import ALLOW, DIFFERENT
from scrapy_replica.pages.near_duplicates import NearDuplicates
from scrapy_replica.records import LED, Page, Verdict
from scrapy_replica.sites.alignment import normal_path, relative
from scrapy_replica.sites.candidates import Candidates
from scrapy_replica.sites.detector import Detector, Findings
from scrapy_replica.sites.evidence import PageMark, mark_of, path_of
from scrapy_replica.sites.judge import judge_at
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.sites.probes import Probe, moved
from scrapy_replica.words.phrases import evidence_of
from scrapy_replica.words.terminal import score

logger = logging.getLogger(__name__)

VERDICT_S = 2_592_000.0
"""Seconds after which a verdict ends and the copy is looked at again: thirty days."""


class ProbeUrl(NamedTuple):
    """A page to ask for, only to tell whether its host is a copy."""

    url: str
    host: str
    is_known: bool


class Block(NamedTuple):
    """Why a URL of a copy is not fetched."""

    verdict: Verdict
    url: str | None
    """The same page on the canonical host; ``None`` where its origin is unknown."""


class Replicas:
    """Verdicts on hosts.

    The detector reads what is known of a host from the crawl database when the host is met; verdicts that hold are
    read on opening.

    :param index: the simhashes of all pages.
    """

    def __init__(self, config: Config, db: CrawlDB, now: Clock, index: NearDuplicates) -> None:
        self._config, self._db, self._now = config, db, now
        self.detector = Detector(
            judge_at(config.judge),
            Candidates(StoredEvidence(db, index)),
            max_probes_of_host=config.probes,
            need_items=self._need_items,
            is_seed=db.seeds.are_on,
        )
        self._callbacks: defaultdict[str, set[str]] = defaultdict(set)
        """Host -> names of the callbacks that get its pages."""
        self._uncertain = UncertainPairs(db.uncertain_pairs, self.detector)
        self.fetched = FetchedPages(self.detector)
        self._frames = Frames()
        for verdict in db.verdicts.holding():
            self.detector.copies.enter(verdict)
        self.become_leader()

    def become_leader(self) -> None:
        """Load the pairs and hosts that are never to be judged: withdrawn verdicts, and what a person ordered."""
        for copy, canonical in self._db.verdicts.refuted():
            self.detector.keep_apart(copy, canonical)
        for order in self._db.orders.done(ALLOW):  # later verdicts stand
            self.detector.never_judge(order.what["host"])
        for order in self._db.orders.done(DIFFERENT):
            self.detector.keep_apart(order.what["host"], order.what["other"])

    def forget(self, host: str) -> None:
        """Read anew what concerns *host*: a page of it that was told was taken back in the crawl database."""
        self.detector.candidates.read_again(host)
        self.fetched.forget(host)
        held = {verdict.copy: verdict for verdict in self._db.verdicts.holding()}
        for copy in self.detector.verdicts.keys() - held.keys():
            self.detector.take_back(copy)
        for copy in held.keys() - self.detector.verdicts.keys():
            self.detector.copies.enter(held[copy])

    def read_again(self, host: str) -> None:
        """Read the evidence of *host* anew when it is needed: others added to it."""
        self.detector.candidates.evidence.forget(host)
        self.fetched.forget(host)

    def apply_remote(self, copies: Iterable[str]) -> list[Verdict]:
        """Take over what became of the verdicts on *copies* in other processes; return those that began there."""
        began = []
        for copy in copies:
            before, found = self.detector.verdicts.get(copy), self._db.verdicts.of(copy)
            if found is not None and found == before:
                continue
            if before is not None:
                self._apply_remote_end(before)
            if found is not None:
                self.detector.copies.enter(found)
                began.append(found)
        return began

    def _apply_remote_end(self, verdict: Verdict) -> None:
        if not self._db.is_leader:
            self.detector.take_back(verdict.copy)
        elif (verdict.copy, verdict.canonical) in self._db.verdicts.refuted():
            self.detector.withdraw(verdict.copy)
        else:
            self.detector.expire(verdict.copy)
        self.fetched.forget(verdict.copy)

    # Decisions

    def block_of(self, url: str, host: str) -> Block | None:
        """Return why *url* on *host* is not to be fetched; ``None`` if it may be."""
        verdict = self.detector.verdicts.get(host)
        if verdict is None or relative(normal_path(path_of(url)), verdict.copy_prefix) is None:
            return None
        return Block(verdict, self._canonical_url(url, verdict))

    def on_copies(self, url: str, host: str) -> list[str]:
        """Return the URLs on those copies of the canonical *host* that have pages that stand where *url* does."""
        with_pages = (verdict for verdict in self.judged_copies_of(host) if LED not in verdict.evidence)
        copies = (self.url_on_copy(verdict, url) for verdict in with_pages)
        return [other for other in copies if other is not None]

    def judged_copies_of(self, canonical: str) -> list[Verdict]:
        """Return the verdicts on copies of *canonical*, but for those that a person gave."""
        return [verdict for verdict in self.detector.copies.of(canonical) if not verdict.is_manual]

    def url_on_copy(self, verdict: Verdict, url: str) -> str | None:
        """Return the URL on the copy that stands where *url* does on the canonical host; ``None`` if there is none."""
        copy = self.detector.candidates.host(verdict.copy)
        path = moved(path_of(url), verdict.canonical_prefix, verdict.copy_prefix)
        return copy.origin + copy.paths.get(normal_path(path), path) if path and copy.origin else None

    def shares(self, canonical: str, callback: str) -> bool:
        """Tell whether *callback* gets pages of the host *canonical* as well, as far as this run knows."""
        known = self._callbacks.get(canonical)
        return known is None or callback in known

    def _canonical_url(self, url: str, verdict: Verdict) -> str | None:
        path = path_of(url)
        known = self.detector.copies.canonical_place(verdict.copy, path)
        canonical, target = known or (verdict.canonical, moved(path, verdict.copy_prefix, verdict.canonical_prefix))
        origin = self.detector.candidates.host(canonical).origin
        return origin + target if origin and target else None

    # Evidence

    def add_url(self, url: str, host: str, callback: str | None) -> None:
        """Take note of a URL that was found for the first time, and which *callback* is to get its page."""
        if self._config.mirrors:
            if callback is not None:
                self._callbacks[host].add(callback)
            evidence = self.detector.candidates.evidence.peek(host)
            if self._db.is_leader:
                self.detector.add_url(host, path_of(url))
            elif evidence is not None:
                evidence.add_path(normal_path(path_of(url)), path_of(url))
            if evidence is not None and evidence.origin is None:
                evidence.origin = origin_of(url)

    def add_link(self, host: str, source: str) -> None:
        if self._config.mirrors and self._db.is_leader:
            self.detector.candidates.add_link(host, source)

    def add_missing(self, url: str) -> None:
        if self._config.mirrors:
            told = self.detector if self._db.is_leader else self.detector.candidates
            told.add_missing(host_of(url), path_of(url))

    def note_place(self, url: str, place: str) -> None:
        """Take note of the *place* that *url* leads to, in scope or not: on a copy it is the same."""
        if self._config.mirrors:
            self.detector.candidates.add_redirect(host_of(url), path_of(url), place)

    def add_redirect(self, url: str, location: str) -> Findings:
        """Take note that *url* leads to *location*; return what that brought to light."""
        if not self._config.mirrors or not self._db.is_leader:
            return Findings()
        places = host_of(url), path_of(url), host_of(location), path_of(location)
        return self._write_all(self.detector.add_redirect(*places))

    def traces_of(self, page: Page) -> tuple[PageMark, Neighbours] | None:
        """Return what *page* is compared with pages of other hosts by; ``None`` where hosts are not compared."""
        return (mark_of(self._frames.without(page)), Neighbours.of(page)) if self._config.mirrors else None

    def observe(self, page: Page, traces: tuple[PageMark, Neighbours] | None) -> tuple[Findings, list[ProbeUrl]]:
        """Take note of a page that was just fetched and is kept with *traces*; return what :meth:`add_page` does."""
        return (Findings(), []) if traces is None else self.add_page(page, *traces, self._now())

    def add_page_items(self, page: Page, url_id: int, items: Iterable[int]) -> Findings:
        """Take note of the *items*, as hashes, that a callback made of a *page*; return what they brought to light."""
        trace = self._db.pages.trace(url_id)
        if trace is None or trace.mark is None:
            return Findings()
        mark = replace(PageMark.unpack(trace.mark), items=_hash_of(items))
        self._db.pages.set_mark(url_id, mark.pack())
        return self.add_items(page.url, page.host, mark)

    def add_items(self, url: str, host: str, mark: PageMark) -> Findings:
        """Take note of the items that the *mark* of a page tells, which was observed before."""
        if self._db.is_leader:
            return self._write_all(self.detector.add_items(host, path_of(url), mark.items))
        self.detector.candidates.add_items(host, normal_path(path_of(url)), mark.items)
        return Findings()

    def _need_items(self, first: str, second: str) -> bool:
        """Tell whether text alone does not make two hosts one: the spider begins on both, and it makes items."""
        return self._db.seeds.are_on(first) and self._db.seeds.are_on(second) and self._db.items.are_given()

    def add_page(
        self, page: Page, mark: PageMark, neighbours: Neighbours, at: float
    ) -> tuple[Findings, list[ProbeUrl]]:
        """Take note of a page fetched *at* some time; return what it brought to light and the pages to ask for.

        Nothing where another process leads, which judges it.
        """
        evidence = self.detector.candidates.evidence.peek(page.host)
        if evidence is not None and not evidence.n_pages:
            evidence.origin = origin_of(page.url)
        if not self._db.is_leader:
            self.detector.note(page, mark, neighbours, at)
            return Findings(), []
        self._uncertain.remember(page)
        findings = self._write_all(self.detector.observe(page, mark, neighbours, at))
        urls = (self._probe_url(probe) for probe in findings.probes) if self._config.probes else ()
        return findings, [url for url in urls if url is not None]

    def _write_all(self, findings: Findings) -> Findings:
        for verdict in findings.verdicts:
            self._write(verdict)
        self._uncertain.enter(findings)
        return findings

    def _probe_url(self, probe: Probe) -> ProbeUrl | None:
        origin = self.detector.candidates.host(probe.host).origin
        return ProbeUrl(origin + probe.path, probe.host, probe.is_known) if origin else None

    def url_on_canonical(self, url: str, host: str) -> str | None:
        """Return the URL on the canonical host that stands for *url* on a copy; ``None`` if *host* is none."""
        verdict = self.detector.verdicts.get(host)
        return self._canonical_url(url, verdict) if verdict is not None else None

    def verdict_of(self, copy: str) -> Verdict | None:
        """Return the verdict on *copy*, unless a person gave it."""
        verdict = self.detector.verdicts.get(copy)
        return None if verdict is None or verdict.is_manual else verdict

    def holding(self) -> list[Verdict]:
        """Return the verdicts that hold and that no person gave."""
        return [verdict for verdict in self.detector.verdicts.values() if not verdict.is_manual]

    def refute(self, claim: Claim) -> Verdict | None:
        """End the verdict behind *claim* for good, and return it; ``None`` if it is not in force."""
        verdict = self.verdict_of(claim.subject)
        if verdict is None or verdict.claim != claim:
            return None
        self.detector.withdraw(verdict.copy)
        self._db.verdicts.end(verdict.copy, Standing.REFUTED)
        self.fetched.forget(verdict.copy)
        return verdict

    # Verdicts

    def _write(self, verdict: Verdict) -> None:
        now = self._now()
        self._db.verdicts.enter(verdict, now, now + VERDICT_S)
        self._db.uncertain_pairs.forget(verdict.copy)
        witnesses = "; ".join([f"score {score(verdict.score)}", *evidence_of(verdict)])
        why = "a person says so" if verdict.is_manual else witnesses
        logger.info("%s is a copy of %s (%s)", verdict.copy, verdict.canonical, why)

    def expire(self) -> list[Verdict]:
        return [self._end(copy, Standing.SUSPENDED) for copy in self._db.verdicts.expired(self._now())]

    def allow(self, host: str) -> list[Verdict]:
        """Never judge *host* again, as a person wants it; return the verdicts that ended."""
        touched = self.detector.allow(host)
        self._db.uncertain_pairs.forget(host)
        for verdict in touched:
            self._db.verdicts.end(verdict.copy, Standing.DISABLED)
            self.fetched.forget(verdict.copy)
        return touched

    def keep_apart(self, a: str, b: str) -> list[Verdict]:
        """Take two hosts for two sites, as a person wants it; return the verdicts that ended."""
        self.detector.keep_apart(a, b)
        self._db.uncertain_pairs.decided(a, b)
        if self.detector.copies.canonical(a) != self.detector.copies.canonical(b):
            return []
        return [self._end(host, Standing.DISABLED) for host in (a, b) if host in self.detector.verdicts]

    def block(self, copy: str, canonical: str, copy_prefix: str = "", canonical_prefix: str = "") -> list[Verdict]:
        """Block *copy* in favour of *canonical*, as a person wants it; return the verdicts that ended.

        What lies below *copy_prefix* there lies below *canonical_prefix* here, both without outer slashes.
        """
        freed = []
        if self.detector.copies.canonical(canonical) == copy:  # the person knows better which of the two to keep
            freed.append(self._end(canonical, Standing.DISABLED))
        if copy in self.detector.verdicts:  # what that one suppressed is decided once more, under this order
            freed.append(self._end(copy, Standing.DISABLED))
        verdict = Verdict(copy, canonical, copy_prefix, canonical_prefix, 1.0, 0, is_manual=True)
        self.detector.copies.enter(verdict)
        self._write(verdict)
        return freed

    def _end(self, copy: str, standing: Standing) -> Verdict:
        verdict = self.detector.verdicts[copy]
        self.detector.expire(copy)
        self.fetched.forget(copy)
        self._db.verdicts.end(copy, standing)
        return verdict


def _hash_of(items: Iterable[int]) -> int:
    """Return 64 bits for a set of hashes."""
    packed = b"".join(item.to_bytes(8, "little", signed=True) for item in sorted(items))
    return mmh3.hash64(packed, signed=False)[0] or 1
