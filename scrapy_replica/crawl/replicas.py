"""Replica hosts in a running crawl: findings become verdicts, which act, are kept and are looked at again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import numpy as np

from scrapy_replica.config import Config
from scrapy_replica.crawldb.sqlite import SqliteCrawlDB
from scrapy_replica.records import Novelty, Page, Verdict
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.detector import Detector, Findings
from scrapy_replica.sites.evidence import PageMark, path_of
from scrapy_replica.sites.features import features_of
from scrapy_replica.sites.judge import RAW, Judge, obvious_labels
from scrapy_replica.sites.mapping import counterpart, is_below, origin_of
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.sites.probes import Probe

logger = logging.getLogger(__name__)

TUNE_EVERY = 500
"""Pages between two looks at the obvious negatives of the crawl, which set the threshold (0.1 s each)."""
TUNE_PAIRS = 1000
LAST_ORDER = "last order"
DAY_SECONDS = 86_400.0


class ProbeUrl(NamedTuple):
    """A page to ask for, only to tell whether its host is a copy."""

    url: str
    host: str
    is_known: bool


class Block(NamedTuple):
    """Why a URL of a copy is not fetched."""

    verdict: Verdict
    url: str | None
    """The same page on the kept host; ``None`` where its origin is unknown."""
    is_manual: bool


class Replicas:
    """Verdicts on hosts.

    The detector works in memory; page marks, neighbours, known URLs, verdicts and orders in the crawl database make it
    again when a crawl is resumed.
    """

    def __init__(self, config: Config, db: SqliteCrawlDB, now: Callable[[], float]) -> None:
        self._config, self._db, self._now = config, db, now
        self._judge = Judge.load()
        self._detector = Detector(self._judge, max_probes_of_host=config.probes)
        self._manual: set[str] = set()
        self._origins: dict[str, str] = {}
        self._fetched: dict[str, dict[str, str]] = {}
        """Host -> normalised path -> URL of the pages fetched (about 200 bytes each)."""
        self._pages = 0
        if config.hosts:
            self._rebuild()
        for verdict, is_manual in db.verdicts.holding():
            self._enact(verdict, is_manual=is_manual)
        for copy, keeper in db.verdicts.withdrawn():
            self._detector.keep_apart(copy, keeper)
        for order in db.verdicts.orders(0):
            if order.keeper is None:
                self._detector.allowed.add(order.host)
        self._last_order = int(db.meta(LAST_ORDER) or 0)

    def _rebuild(self) -> None:
        candidates = self._detector.candidates
        for url, host in self._db.known_urls():
            self.known(url, host)
        for url, host, mark, neighbours in self._db.pages.marks():
            candidates.add_neighbours(host, Neighbours.from_json(neighbours))
            candidates.add_mark(host, path_of(url), PageMark.unpack(mark))
            self._fetched.setdefault(host, {})[normal_path(path_of(url))] = url
            self._detector.first_seen.setdefault(host, len(self._detector.first_seen))
        self._detector.in_links.update(self._db.in_links())

    # Decisions

    def block_of(self, url: str, host: str) -> Block | None:
        """Return why *url* on *host* is not to be fetched; ``None`` if it may be."""
        verdict = self._detector.verdicts.get(host)
        if verdict is None or not is_below(path_of(url).partition("?")[0], verdict.copy_prefix):
            return None
        return Block(verdict, self._canonical_url(url, verdict), host in self._manual)

    def _canonical_url(self, url: str, verdict: Verdict) -> str | None:
        origin = self._origins.get(verdict.keeper)
        return counterpart(url, verdict.copy_prefix, origin, verdict.keeper_prefix) if origin else None

    # Evidence

    def known(self, url: str, host: str) -> None:
        """Take note of a URL that was found for the first time."""
        if self._config.hosts:
            self._origins.setdefault(host, origin_of(url))
            self._detector.known(host, path_of(url))

    def linked(self, host: str) -> None:
        """Take note of a link to *host* from another host."""
        self._detector.in_links[host] += 1

    def observe(self, page: Page, url_id: int) -> tuple[Findings, list[ProbeUrl]]:
        """Take note of a fetched page; return what it brought to light and the pages to ask for."""
        if not self._config.hosts:
            return Findings(), []
        self._fetched.setdefault(page.host, {})[normal_path(path_of(page.url))] = page.url
        findings = self._detector.observe(page)
        mark = self._detector.candidates.hosts[page.host].pages.get(normal_path(path_of(page.url)))
        if mark is not None:
            self._db.pages.set_mark(url_id, mark.pack(), Neighbours.of(page).to_json())
        for verdict in findings.verdicts:
            self._keep(verdict, is_manual=False)
        for verdict in findings.withdrawn:
            self._db.verdicts.end(verdict.copy, "withdrawn")
        self._pages += 1
        if self._pages % TUNE_EVERY == 0:
            self._tune()
        urls = (self._probe_url(probe) for probe in findings.probes) if self._config.probes else ()
        return findings, [url for url in urls if url is not None]

    def _tune(self) -> None:
        """Choose the threshold that lets the wanted share of this crawl's obvious negatives pass."""
        pairs = list(islice(self._detector.candidates.pairs.values(), TUNE_PAIRS))
        if not pairs:
            return
        compared = [self._detector.compare(pair) for pair in pairs]
        raw = np.array([features_of(comparison, RAW) for comparison in compared])
        n_aligned = np.array([len(comparison.aligned) for comparison in compared])
        labels = obvious_labels(raw, n_aligned, np.array([pair.is_candidate for pair in pairs]))
        self._detector.judge = self._judge.with_threshold_for(raw[labels == -1], self._config.max_fpr)

    def _probe_url(self, probe: Probe) -> ProbeUrl | None:
        if probe.is_known:
            for waiting in self._db.waiting_of(probe.host):
                if normal_path(path_of(waiting.url)) == probe.path:
                    return ProbeUrl(waiting.url, probe.host, is_known=True)
        like, origin = self._fetched.get(probe.like_host, {}).get(probe.like), self._origins.get(probe.host)
        if like is None or origin is None:
            return None
        url = counterpart(like, probe.like_prefix, origin, probe.prefix)
        return ProbeUrl(url, probe.host, is_known=False) if url is not None else None

    def failed(self, url: str, host: str) -> None:
        """Take note that *url* brought no page; it may have been a probe."""
        self._detector.failed(host, normal_path(path_of(url)))

    def outcome(self, page: Page, novelty: Novelty) -> Novelty | None:
        """Return what fetching a page showed that was to be dropped; ``None`` if that cannot be told yet.

        A page of a copy that looks new is new only if the kept host has another page in that place.
        """
        verdict = self._detector.verdicts.get(page.host)
        if verdict is None or novelty is not Novelty.NOVEL:
            return novelty
        is_same = self._detector.is_copied(page)
        return None if is_same is None else Novelty.NEAR_DUPLICATE if is_same else Novelty.NOVEL

    # Verdicts

    def _enact(self, verdict: Verdict, *, is_manual: bool) -> None:
        self._detector.enact(verdict)
        if is_manual:
            self._manual.add(verdict.copy)

    def _keep(self, verdict: Verdict, *, is_manual: bool) -> None:
        now = self._now()
        expires_at = None if is_manual else now + self._config.verdict_days * DAY_SECONDS
        self._db.verdicts.enter(verdict, now, expires_at)
        logger.info("%s is a replica of %s (score %.3f)", verdict.copy, verdict.keeper, verdict.score)

    def obey(self) -> tuple[list[str], list[str]]:
        """Carry out the orders given since the last call and end verdicts by age; return hosts (blocked, freed)."""
        blocked, freed = [], []
        for copy in self._db.verdicts.expired(self._now()):
            self._end(copy, "expired")
            freed.append(copy)
        for order in self._db.verdicts.orders(self._last_order):
            if order.host in self._detector.verdicts:
                self._end(order.host, "allowed")
                freed.append(order.host)
            if order.keeper is None:
                self._detector.allowed.add(order.host)
            else:
                self._detector.allowed.discard(order.host)
                verdict = Verdict(order.host, order.keeper, "", "", 1.0, 0)
                self._enact(verdict, is_manual=True)
                self._keep(verdict, is_manual=True)
                blocked.append(order.host)
            self._last_order = order.id
            self._db.set_meta(LAST_ORDER, str(order.id).encode())
        return blocked, freed

    def _end(self, copy: str, why: str) -> None:
        self._detector.verdicts.pop(copy, None)
        self._manual.discard(copy)
        self._db.verdicts.end(copy, why)
