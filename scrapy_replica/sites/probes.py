"""Probes: pages already fetched on one host are asked for on the other, which decides a likely pair early and safely.

Two copies sampled at random have few pages in common for long (about m*m/n after m fetched of n); a probe adds one
for one request. URLs that are known on the other host come first: they would be fetched anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from scrapy_replica.sites.alignment import joined, relative
from scrapy_replica.sites.candidates import Candidates, HostPair
from scrapy_replica.sites.evidence import HostEvidence, sample_hash
from scrapy_replica.sites.features import Comparison

_MOST_OF_PAIR = 12
"""Pages asked for to decide one pair."""
_AT_ONCE = 2
"""Pages asked of one host at a time."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A page to ask for."""

    host: str
    path: str
    """Path and query to ask for, as they stand in a URL."""
    normal: str
    """The same, normalised."""
    is_known: bool
    """The URL was found on some page; otherwise it is a guess through the alignment."""


class Prober:
    """Asks for probes of pairs of hosts, a few at a time.

    Args:
        candidates: What is known of the hosts.
        most_of_host: Pages asked for on one host that no link led to, whatever the pairs.
    """

    def __init__(self, candidates: Candidates, most_of_host: int) -> None:
        self._candidates, self._most_of_host = candidates, most_of_host

    def may_ask(self, pair: HostPair) -> bool:
        """Tell whether more may be asked for to decide *pair*, and one of its hosts is to answer no more at a time."""
        return pair.n_probes < _MOST_OF_PAIR and any(map(self._is_free, (pair.first, pair.second)))

    def _is_free(self, host: str) -> bool:
        met = self._candidates.met.get(host)
        return met is None or met.pending is None or len(met.pending) < _AT_ONCE

    def ask(self, pair: HostPair, comparison: Comparison, kept: HostEvidence) -> list[Probe]:
        """Ask the host that would be *kept* for pages already fetched on the other one, and then the other way round.

        The first cost nothing where they are there; the others make a page that is fetched next one to compare.
        """
        first, second, prefixes = comparison.first, comparison.second, comparison.prefixes
        if kept is first:
            first, second, prefixes = second, first, prefixes[::-1]
        asked = self._ask(pair, first, second, prefixes, may_guess=True)
        return asked + self._ask(pair, second, first, prefixes[::-1], may_guess=False)

    def _ask(
        self, pair: HostPair, source: HostEvidence, target: HostEvidence, prefixes: tuple[str, str], *, may_guess: bool
    ) -> list[Probe]:
        """Ask *target* for pages of *source*."""
        met = self._candidates.record(target.name)
        pending = met.pending or set()
        may_guess = may_guess and met.n_probes < self._most_of_host
        n = min(_AT_ONCE - len(pending), _MOST_OF_PAIR - pair.n_probes)
        probes = choose(source, target, prefixes, n, pending, may_guess=may_guess) if n > 0 else []
        for probe in probes:
            pair.n_probes += 1
            pair.next_look = (0, 0)
            met.n_probes += not probe.is_known
            pending.add(probe.normal)
            met.pending = pending
        return probes

    def answered(self, host: str, normal: str) -> None:
        """Take note that the page of *host* at the path *normal*, normalised, need not be waited for."""
        pending = self._candidates.record(host).pending
        if pending is not None:
            pending.discard(normal)


def choose(
    source: HostEvidence,
    target: HostEvidence,
    prefixes: tuple[str, str],
    n: int,
    pending: set[str],
    *,
    may_guess: bool = True,
) -> list[Probe]:
    """Return up to *n* probes of *target*: pages of *source* that were not asked of it and are not *pending* there.

    *prefixes* are those of *source* and *target*; *pending* holds normalised paths of *target* already asked for. First
    come pages that are missing on *source*, to tell which of the two lacks them, and the start page, which links to all
    that is a host's own; then pages fetched on *source*, known on *target* first; then what *source* alone knows.

    :param may_guess: ask for pages that are not known on *target*, too.
    """
    mine, theirs = source.view(prefixes[0]), target.view(prefixes[1])
    places = (relative(path, prefixes[0]) for path in source.missing)
    missing = {rest for rest in places if rest is not None and rest in theirs[1]}
    rests = missing | mine[0].keys() | (mine[1] - theirs[1]) | ({""} & (mine[1] | theirs[1]))
    found = []
    for rest in rests if may_guess else rests & theirs[1]:
        normal, like = joined(prefixes[1], rest), joined(prefixes[0], rest)
        mark = mine[0].get(rest)
        if rest in theirs[0] or normal in pending or normal in target.missing or (mark and not mark.tells):
            continue
        raw = target.paths.get(normal) or moved(source.paths.get(like, "/" + like), *prefixes)
        if raw is None:
            continue
        probe = Probe(target.name, raw, normal, rest in theirs[1])
        # spread over the site, by a hash that copies draw alike: what is asked of one is asked of all
        order = (rest not in missing, bool(rest), mark is None, not probe.is_known, sample_hash(normal), raw)
        found.append((order, probe))
    return [probe for _, probe in sorted(found, key=itemgetter(0))[:n]]


def moved(path: str, prefix: str, new_prefix: str) -> str | None:
    """Return *path* (with its query) with *new_prefix* in place of *prefix*, None if it lies elsewhere.

    Extensions and index names stay as they are: copies keep them.
    """
    if prefix and path != f"/{prefix}" and not path.startswith((f"/{prefix}/", f"/{prefix}?")):
        return None
    rest = path[len(prefix) + 1 :] if prefix else path
    if not new_prefix:
        return rest or "/"
    return f"/{new_prefix}{rest}"
