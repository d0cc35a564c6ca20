"""The judge in the middle of a crawl, rehearsed offline: all hosts as one web, a page of each host in turn.

Every host is a seed; a host's pages come breadth-first along its links, those no link leads to at the end. A blocked
copy gets no further request. What the detector asks for as a probe is fetched at once if the folder has it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from scrapy_replica.address import host_of
from scrapy_replica.lab.replicas.held import HeldDetector
from scrapy_replica.lab.replicas.replica_pairs import N_FOLDS, PairTable
from scrapy_replica.lab.training.train_judge import judge_of
from scrapy_replica.records import Page, Verdict
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.detector import Detector
from scrapy_replica.sites.evidence import path_of
from scrapy_replica.sites.judge import Judge
from scrapy_replica.sites.probes import Probe


@dataclass
class Rehearsal:
    """One crawl over *pages*, host -> its pages, the first of each being its seed."""

    pages: Mapping[str, list[Page]]
    judge: Judge
    fetched: dict[str, list[str]] = field(default_factory=dict)
    """Host -> URLs in the order they were fetched."""
    blocked: list[tuple[Verdict, int]] = field(default_factory=list)
    """Verdicts with the pages their copy had cost by then."""
    n_probes: int = 0
    n_failed_probes: int = 0

    def run(self) -> Detector:
        """Crawl to the end; returns the detector with its verdicts."""
        self._detector = HeldDetector(self.judge)
        self._by_url = {host: {page.url: page for page in found} for host, found in self.pages.items()}
        self._by_path = {
            host: {normal_path(path_of(url)): url for url in found} for host, found in self._by_url.items()
        }
        # what no link leads to waits at the end of its host's queue
        self._waiting = {host: deque([found[0].url]) for host, found in self.pages.items()}
        self._unlinked = {host: deque(found) for host, found in self._by_url.items()}
        self._queued = {found[0].url for found in self.pages.values()}
        self._told: set[str] = set()
        self.fetched = {host: [] for host in self.pages}
        active = sorted(self.pages)
        while active:
            active = [host for host in active if self._step(host)]
        return self._detector

    def _step(self, host: str) -> bool:
        """Fetch one page of *host*; False if it is finished or blocked."""
        if host in self._detector.verdicts:
            return False
        done = set(self.fetched[host])
        for queue in (self._waiting[host], self._unlinked[host]):
            while queue:
                url = queue.popleft()
                if url not in done:
                    self._fetch(host, url)
                    return True
        return False

    def _fetch(self, host: str, url: str) -> None:
        page = self._by_url[host][url]
        self.fetched[host].append(url)
        findings = self._detector.add_fetched(page)
        for link in page.links:
            target = host_of(link.url)
            if target in self.pages:
                self._follow(host, target, link.url)
        self.blocked += [(verdict, len(self.fetched[verdict.copy])) for verdict in findings.verdicts]
        for probe in findings.probes:
            self._probe(probe)

    def _follow(self, source: str, target: str, url: str) -> None:
        if url in self._told:
            return
        self._told.add(url)
        if source != target:
            self._detector.candidates.add_link(target, source)
        self._detector.add_url(target, path_of(url))
        if url in self._by_url[target] and url not in self._queued:
            self._queued.add(url)
            self._waiting[target].append(url)

    def _probe(self, probe: Probe) -> None:
        self.n_probes += 1
        url = self._by_path[probe.host].get(probe.normal)
        if probe.host in self._detector.verdicts or url is None or url in self.fetched[probe.host]:
            self.n_failed_probes += 1
        else:
            self._fetch(probe.host, url)


def crawl_figures(
    truth: list[dict[str, str]], pages: Mapping[str, list[Page]], judge: Judge, families: set[str] | None = None
) -> dict[str, float]:
    """Return the figures ``crawl.*`` of one rehearsal under *judge*.

    ``crawl.decided`` is the share of replica pairs that stood as one site before either copy was finished;
    ``crawl.saved_of_oracle`` compares the pages of blocked copies that were not fetched with what is saved by
    knowing from the first page, the largest host of each group being kept. Of related pairs only those of *families*
    count, where given.
    """
    rehearsal = Rehearsal(pages, judge)
    detector = rehearsal.run()
    relation = {(row["host_a"], row["host_b"]): row for row in truth}
    counted = {
        pair
        for pair, row in relation.items()
        if families is None or row["family"] in families or row["relation"] == "unrelated"
    }
    replicas = [pair for pair in counted if relation[pair]["relation"] == "replica"]
    decided = [pair for pair in replicas if detector.copies.canonical(pair[0]) == detector.copies.canonical(pair[1])]
    right, wrong, spent = 0, 0, []
    for verdict, cost in rehearsal.blocked:
        pair = min(verdict.copy, verdict.canonical), max(verdict.copy, verdict.canonical)
        # what the truth does not list has nothing in common
        kind = relation[pair]["relation"] if pair in counted else "unrelated" if pair not in relation else "ambiguous"
        if kind == "replica":
            spent.append(cost)
            right += len(pages[verdict.copy]) - len(rehearsal.fetched[verdict.copy])
        wrong += kind in ("near_miss", "unrelated")
    oracle = oracle_savings(replicas, {host: len(found) for host, found in pages.items()})
    return {
        "crawl.decided": len(decided) / len(replicas) if replicas else float("nan"),
        "crawl.median_pages_before_verdict": median(spent) if spent else float("nan"),
        "crawl.saved_of_oracle": right / oracle if oracle else float("nan"),
        "crawl.wrong_blocks": float(wrong),
        "crawl.replica_pairs": float(len(replicas)),
        "crawl.probes": float(rehearsal.n_probes),
        "crawl.failed_probes": float(rehearsal.n_failed_probes),
    }


def oracle_savings(replicas: list[tuple[str, str]], n_pages: Mapping[str, int]) -> int:
    """Return the pages saved by fetching one page of every copy and all of the largest host of its group."""
    group_of: dict[str, set[str]] = {}
    for first, second in replicas:
        merged = group_of.get(first, {first}) | group_of.get(second, {second})
        for host in merged:
            group_of[host] = merged
    groups = {frozenset(group) for group in group_of.values()}
    return sum(sum(n_pages[h] - 1 for h in group) - max(n_pages[h] - 1 for h in group) for group in groups)


def held_out_crawl_figures(
    truth: list[dict[str, str]], pages: Mapping[str, list[Page]], table: PairTable
) -> dict[str, float]:
    """Return the figures of five rehearsals, each by a judge that never saw the families counted in it.

    Means are weighted by replica pairs, wrong blocks and probes are sums.
    """
    fold_of = {pair: int(fold) for pair, fold in zip(table.hosts, table.fold, strict=True)}
    sums: dict[str, float] = {}
    total = 0.0
    for fold in range(N_FOLDS):
        judge = judge_of(table, table.fold != fold)
        families = {
            row["family"]
            for row in truth
            if row["relation"] in ("replica", "near_miss") and fold_of[row["host_a"], row["host_b"]] == fold
        }
        found = crawl_figures(truth, pages, judge, families)
        weight = found["crawl.replica_pairs"]
        total += weight
        for name, value in found.items():
            if name in ("crawl.decided", "crawl.median_pages_before_verdict", "crawl.saved_of_oracle"):
                if weight:
                    sums[name] = sums.get(name, 0.0) + weight * value
            else:
                sums[name] = sums.get(name, 0.0) + value
    means = ("crawl.decided", "crawl.median_pages_before_verdict", "crawl.saved_of_oracle")
    return {name: value / total if name in means and total else value for name, value in sums.items()}
