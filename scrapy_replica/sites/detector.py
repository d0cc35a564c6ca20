"""The detector: watches pages go by, judges pairs whose evidence has grown, asks for probes, and reports verdicts.

It decides when to judge, never what to fetch: the crawl takes its findings and acts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from scrapy_replica.address import host_of, registered_domain
from scrapy_replica.records import LED, Doubt, Page, UncertainPair, Verdict
from scrapy_replica.sites.alignment import normal_path, relative
from scrapy_replica.sites.candidates import Candidates, HostPair
from scrapy_replica.sites.canonical_host import host_to_keep, is_tried
from scrapy_replica.sites.copies import Copies
from scrapy_replica.sites.evidence import HostEvidence, PageMark, path_of
from scrapy_replica.sites.features import Comparison
from scrapy_replica.sites.judge import MIN_ALIGNED, Judge, verdict_of
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.sites.probes import Probe, Prober

MIN_SHARED = 0.6
"""Share of one host's known pages that the other must have: what quotes another site is no copy of it. Between .41, the
most of hosts that quote, and .74, the least of real replicas."""
MIN_EQUAL_ITEMS = 3
"""Pages whose items are those of the page in the same place, for hosts on which the spider begins: it was told to fetch
both."""
_CONTRADICTION = 0.55
"""Share of the threshold below which a pair that may be judged counts as two sites."""
MIN_LED = 8
"""URLs of a host without pages that lead to their places on another one, and none elsewhere, after which it is a copy.
Of hosts of which a fifth of the URLs lead elsewhere five of six are found out before, and samples go on."""
_GROWTH = 32
"""A pair is looked at again when one of its hosts has grown by this part of its pages."""
PROMISE = 0.1
"""Share of the listed suffixes of the smaller host that a pair has in common if it may be one site."""
_MAX_LOOKS, _MAX_READ = 16, 4
"""Pairs looked at for one page, and those of them whose other host is not in memory."""


@dataclass
class Findings:
    """What one page brought to light."""

    verdicts: list[Verdict] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    uncertain: list[UncertainPair] = field(default_factory=list)
    """Pairs that were judged and are near a verdict, without their pages."""
    certain: list[tuple[str, str]] = field(default_factory=list)
    """Pairs that were judged and are far from it."""


class Detector:
    """Replica hosts of one crawl.

    Invariant: a blocked copy is in ``verdicts`` and in no pair; its canonical is never blocked itself.

    Args:
        judge: Scores pairs.
        candidates: The pairs of hosts that it looks at.
        max_probes_of_host: Pages asked for on one host that no link led to, whatever the pairs.
        need_items: Whether two hosts are made one only where their items agree.
        is_seed: Whether a user named a host.
    """

    def __init__(
        self,
        judge: Judge,
        candidates: Candidates,
        *,
        max_probes_of_host: int = 12,
        need_items: Callable[[str, str], bool] = lambda first, second: False,  # noqa: ARG005
        is_seed: Callable[[str], bool] = lambda host: False,  # noqa: ARG005
    ) -> None:
        self.judge = judge
        self.candidates, self.copies = candidates, Copies(candidates)
        self.verdicts = self.copies.verdicts
        """Copy -> the verdict on it."""
        self._prober = Prober(self.candidates, max_probes_of_host)
        self._need_items, self._is_seed = need_items, is_seed
        self._kept_apart: set[frozenset[str]] = set()
        self._never_judged: set[str] = set()

    def add_url(self, host: str, path: str) -> None:
        """Take note of a URL that is known for the first time: *path* with its query."""
        if host not in self.verdicts:
            self.candidates.add_url(host, path)

    def add_missing(self, host: str, path: str) -> None:
        """Take note that *host* has no page at *path* (with its query): it is gone, or leads elsewhere."""
        self._prober.answered(host, normal_path(path))
        if host not in self.verdicts:
            self.candidates.add_missing(host, path)

    def add_redirect(self, host: str, path: str, other: str, place: str) -> Findings:
        """Take note that *path* of *host* leads to *place* on the host *other* (both with their queries).

        A host that has no pages, and all of whose URLs lead to their own places on one other host, is a copy of that.
        Leading to the other scheme first says nothing.
        """
        findings, met = Findings(), self.candidates.record(host)
        is_place = normal_path(path) == normal_path(place)
        if other == host and is_place:
            return findings
        is_there = is_place and met.leads_to in {None, other}
        met.leads_to, met.n_led = (other, met.n_led + 1) if is_there else ("", 0)
        is_led = met.n_led >= MIN_LED and self._may_join(host, other)
        have_pages = [self.candidates.host(name).n_pages > 0 for name in (host, other)] if is_led else []
        if have_pages == [False, True] and self.copies.canonical(other) != host:
            verdict = Verdict(host, other, "", "", 1 - 1 / (met.n_led + 2), met.n_led, {LED: float(met.n_led)})
            self.copies.enter(verdict)
            findings.verdicts.append(verdict)
        return findings

    def observe(self, page: Page, mark: PageMark, neighbours: Neighbours, at: float) -> Findings:
        """Take note of a *page* fetched *at* some time and judge what it makes ripe, without its links."""
        for url in page.redirected_from:
            self.add_missing(host_of(url), path_of(url))
        path = normal_path(path_of(page.url))
        self._prober.answered(page.host, path)
        findings = Findings()
        if page.host in self.verdicts:
            self.candidates.add_to_copy(page.host, path, mark)
            return findings
        self.candidates.add_page(page, mark, neighbours, at)
        for pair in self._due(page.host):
            self._consider(pair, findings)
            if page.host in self.verdicts:
                break
        return findings

    def add_items(self, host: str, path: str, items: int) -> Findings:
        """Take note of the *items*, hashed, of the page at *path* (with its query), and judge what they make ripe."""
        normal, findings = normal_path(path), Findings()
        self.candidates.add_items(host, normal, items)
        for pair in self.candidates.pairs_of(host):
            if pair.waits_for_items and self._may_judge(pair) and self._gives_twin(pair, host, normal):
                comparison = self.compare(pair)
                self._decide(pair, comparison, self.judge.threshold_for(comparison.coverage), findings)
        return findings

    def _gives_twin(self, pair: HostPair, host: str, normal: str) -> bool:
        """Tell whether the page in the place of that at the path *normal* of *host* gave items as well."""
        mine, theirs = pair.election.winner() if host == pair.first else pair.election.winner()[::-1]
        rest = relative(normal, mine)
        twin = self.candidates.host(pair.other(host)).view(theirs)[0].get(rest) if rest is not None else None
        return twin is not None and twin.items != 0

    def note(self, page: Page, mark: PageMark, neighbours: Neighbours, at: float) -> None:
        """Take note of a fetched *page* without judging anything: it is evidence of hosts that are held."""
        for url in page.redirected_from:
            self.candidates.add_missing(host_of(url), path_of(url))
        self.candidates.add_aside(page, mark, neighbours, at)

    def decide(self, pair: HostPair, threshold: float) -> Findings:
        """Judge *pair* by what is known, as when a crawl is over: nothing is asked for any more.

        :param threshold: score from which the two are one site.
        """
        findings = Findings()
        if self._may_judge(pair):
            comparison = self.compare(pair)
            pair.judged_at = comparison.n_common
            if len(comparison.aligned) >= MIN_ALIGNED:
                self._decide(pair, comparison, threshold, findings)
        return findings

    def _due(self, host: str) -> list[HostPair]:
        """Return the pairs of *host* to look at now: those with most evidence, few that must be read for it."""
        due = [pair for pair in self.candidates.pairs_of(host) if self._is_due(pair)]
        if len(due) > 1:
            due.sort(key=attrgetter("strength"), reverse=True)
        found: list[HostPair] = []
        n_read = 0
        for pair in due:
            n_read += pair.other(host) not in self.candidates.evidence
            if n_read > _MAX_READ or len(found) == _MAX_LOOKS:
                break
            found.append(pair)
        return found

    def _is_due(self, pair: HostPair) -> bool:
        first, second = pair.next_look
        return (self._n_pages(pair.first) >= first or self._n_pages(pair.second) >= second) and self._may_judge(pair)

    def _next_look(self, pair: HostPair) -> tuple[int, int]:
        """Return the pages of either host from which *pair* is looked at again; one without promise seldom."""
        part = _GROWTH if self._is_promising(pair) else 1
        n_first, n_second = self._n_pages(pair.first), self._n_pages(pair.second)
        return n_first + n_first // part + 1, n_second + n_second // part + 1

    def _is_promising(self, pair: HostPair) -> bool:
        """Tell, without their evidence, whether the two may have much in common."""
        if pair.n_near:
            return True
        listed = (met.n_listed for host in (pair.first, pair.second) if (met := self.candidates.met.get(host)))
        return pair.n_suffixes >= PROMISE * min(listed, default=0)

    def _n_pages(self, host: str) -> int:
        met = self.candidates.met.get(host)
        return met.n_pages if met is not None else 0

    def _host_to_keep(self, comparison: Comparison) -> HostEvidence:
        """Return which of two hosts is to be kept."""
        pair = {comparison.first.name, comparison.second.name}
        copies = {verdict.copy for kept in pair for verdict in self.copies.of(kept)}
        own = set(map(registered_domain, pair | copies))

        def readers(host: str) -> int:
            met = self.candidates.met.get(host)
            return len({*met.readers} - own) if met is not None else 0

        return host_to_keep(comparison, readers, self._is_seed)

    def keep_apart(self, a: str, b: str) -> None:
        """Never judge these two again."""
        self._kept_apart.add(frozenset((a, b)))

    def expire(self, copy: str) -> None:
        """End the verdict on *copy* without prejudice: its pages are looked at anew."""
        self.copies.end(copy)
        self.candidates.readmit(copy)

    def withdraw(self, copy: str) -> None:
        """Take back the verdict on *copy*, whose pages are looked at anew; the two are not judged again."""
        self.keep_apart(copy, self.verdicts[copy].canonical)
        self.expire(copy)

    def take_back(self, copy: str) -> None:
        """Forget the verdict on *copy* as if it had never been."""
        self.copies.end(copy)
        self.candidates.forgotten.discard(copy)
        self.candidates.read_again(copy)

    def allow(self, host: str) -> list[Verdict]:
        """Take *host* for a site of its own from now on; returns the verdicts this takes back."""
        touched = [verdict for verdict in self.verdicts.values() if host in (verdict.copy, verdict.canonical)]
        for verdict in touched:
            self.withdraw(verdict.copy)
        self.never_judge(host)
        return touched

    def never_judge(self, host: str) -> None:
        """Reach no verdict on *host* any more; those that hold stay."""
        self._never_judged.add(host)

    def compare(self, pair: HostPair) -> Comparison:
        """Return the two hosts of *pair* laid side by side."""
        candidates = self.candidates
        return Comparison(candidates.host(pair.first), candidates.host(pair.second), pair.election.winner())

    def _consider(self, pair: HostPair, findings: Findings) -> None:
        """Judge *pair* if the pages fetched on both have grown enough; else ask for probes."""
        comparison = self.compare(pair)
        pair.next_look = self._next_look(pair)
        if self._has_grown(pair, comparison):
            pair.judged_at = comparison.n_common
            wanted = self.judge.threshold_for(comparison.coverage)
            if len(comparison.aligned) >= MIN_ALIGNED and self._decide(pair, comparison, wanted, findings):
                return
        if self._prober.may_ask(pair) and not self._is_hopeless(pair) and self._is_likely(pair, comparison):
            findings.probes += self._prober.ask(pair, comparison, self._host_to_keep(comparison))

    def _may_judge(self, pair: HostPair) -> bool:
        return self._may_join(pair.first, pair.second)

    def _may_join(self, first: str, second: str) -> bool:
        if first in self.verdicts or second in self.verdicts:
            return False  # a page of the copy was on its way when it was blocked
        if self._never_judged and (first in self._never_judged or second in self._never_judged):
            return False
        return not self._kept_apart or frozenset((first, second)) not in self._kept_apart

    def _has_grown(self, pair: HostPair, comparison: Comparison) -> bool:
        """Tell whether the pages fetched on both have grown enough to judge.

        A quarter more than at the last time is enough, for a pair without hope twice as many.
        """
        if pair.prefixes != comparison.prefixes:
            pair.prefixes, pair.judged_at = comparison.prefixes, -1
        growth = pair.judged_at if self._is_hopeless(pair) else pair.judged_at // 4
        return comparison.n_common >= max(MIN_ALIGNED, pair.judged_at + max(1, growth))

    def _is_hopeless(self, pair: HostPair) -> bool:
        return pair.judged_at >= MIN_ALIGNED and pair.score < _CONTRADICTION * self.judge.threshold

    def _decide(self, pair: HostPair, comparison: Comparison, wanted: float, findings: Findings) -> bool:
        pair.score = self._score(comparison)
        if self._is_hopeless(pair):
            findings.certain.append((pair.first, pair.second))
            return False
        kept = self._host_to_keep(comparison)
        verdict = verdict_of(comparison, kept, pair.score)
        doubt = Doubt.SCORE if pair.score < wanted else self._doubt(comparison, kept)
        pair.waits_for_items = doubt is Doubt.ITEMS
        if doubt is not None:
            if doubt in {Doubt.UNSHARED, Doubt.UNTRIED, Doubt.ITEMS}:
                pair.judged_at = -1  # what comes next may tell
            findings.uncertain.append(UncertainPair(verdict, wanted, doubt))
            return False
        self.copies.enter(verdict)
        findings.verdicts.append(verdict)
        return True

    def _doubt(self, comparison: Comparison, kept: HostEvidence) -> Doubt | None:
        """Return what speaks against a verdict on two hosts whose pages are alike."""
        if comparison.shared < MIN_SHARED:
            return Doubt.UNSHARED
        if not is_tried(comparison, kept):
            return Doubt.UNTRIED
        names = comparison.first.name, comparison.second.name
        if comparison.n_of_equal_items < MIN_EQUAL_ITEMS and self._need_items(*names):
            return Doubt.ITEMS
        return Doubt.CONFLICT if self._joins_two_sites(comparison) else None

    def _joins_two_sites(self, pair: Comparison) -> bool:
        """Tell whether a verdict on *pair* would join hosts through the groups that are known as two sites."""
        return any(
            self._are_two_sites(Comparison(mine, theirs, (my_prefix, their_prefix)))
            for mine, my_prefix in self.copies.members(pair.first, pair.prefixes[0])
            for theirs, their_prefix in self.copies.members(pair.second, pair.prefixes[1])
            if mine is not pair.first or theirs is not pair.second
        )

    def _are_two_sites(self, pair: Comparison) -> bool:
        if frozenset((pair.first.name, pair.second.name)) in self._kept_apart:
            return True
        return len(pair.aligned) >= MIN_ALIGNED and self._score(pair) < _CONTRADICTION * self.judge.threshold

    def _score(self, pair: Comparison) -> float:
        """Return how sure the judge is that *pair* is one site, 0 where it states or leads to different things."""
        return 0.0 if pair.states_other or pair.leads_apart else self.judge.score(pair)

    def _is_likely(self, pair: HostPair, comparison: Comparison) -> bool:
        n_aligned = len(comparison.aligned)
        if n_aligned >= MIN_ALIGNED:
            return pair.score >= _CONTRADICTION * self.judge.threshold
        if pair.n_near:
            return True
        mine = comparison.first.view(comparison.prefixes[0])[1]
        theirs = comparison.second.view(comparison.prefixes[1])[1]
        n_common = len(mine & theirs)
        return n_common >= 3 and n_common >= 0.3 * min(len(mine), len(theirs))
