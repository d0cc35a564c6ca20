"""The copies: which host is one of which other, by the verdicts that hold, and where its pages lie there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

from scrapy_replica.records import Verdict
from scrapy_replica.sites.alignment import joined, normal_path, relative
from scrapy_replica.sites.candidates import Candidates
from scrapy_replica.sites.evidence import HostEvidence, is_same_page
from scrapy_replica.sites.judge import MIN_ALIGNED
from scrapy_replica.sites.probes import moved


def idle_arguments(copy: HostEvidence, kept: HostEvidence, prefixes: tuple[str, str]) -> frozenset[str]:
    """Return the names of arguments of *copy* without which its pages are those of *kept*, or its own.

    *prefixes* are those of *copy* and *kept*. An argument counts where it stands alone, on as many pages as a verdict
    needs, all of which are the page without it.
    """
    same: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for path, mark in copy.pages.items():
        stem, mark_of_query, query = path.partition("?")
        rest = relative(stem.rstrip("/"), prefixes[0])
        if not mark_of_query or "&" in query or rest is None or not mark.tells:
            continue
        twin = kept.pages.get(joined(prefixes[1], rest)) or copy.pages.get(stem.rstrip("/"))
        if twin is not None:
            (same if is_same_page(mark, twin) else other)[query.partition("=")[0]] += 1
    return frozenset(name for name, n in same.items() if n >= MIN_ALIGNED and not other[name])


def without_arguments(path: str, names: Container[str]) -> str:
    """Return *path*, with its query, without the arguments of these *names*."""
    stem, _, query = path.partition("?")
    left = "&".join(part for part in query.split("&") if part.partition("=")[0] not in names)
    return f"{stem}?{left}" if left else stem


_MAX_MEMBERS = 10
"""Copies of a group that a new member is held against."""


class Copies:
    """The verdicts of one crawl that hold.

    Invariant: a copy is in no pair; its canonical host is never a copy of the copy.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self.verdicts: dict[str, Verdict] = {}
        """Copy -> the verdict on it."""
        self._of: dict[str, dict[str, Verdict]] = {}
        """Canonical host -> its copies -> their verdicts."""
        self._idle: dict[str, tuple[int, frozenset[str]]] = {}
        """Copy -> pages of the two hosts by then, and arguments of the copy that change nothing."""

    def enter(self, verdict: Verdict) -> None:
        """Take a verdict that holds."""
        self.verdicts[verdict.copy] = verdict
        self._of.setdefault(verdict.canonical, {})[verdict.copy] = verdict
        self._candidates.forget(verdict.copy)

    def end(self, copy: str) -> Verdict:
        verdict = self.verdicts.pop(copy)
        del self._of[verdict.canonical][copy]
        self._idle.pop(copy, None)
        return verdict

    def of(self, canonical: str) -> Iterable[Verdict]:
        return self._of.get(canonical, {}).values()

    def canonical(self, host: str) -> str:
        """Return the host that is fetched in place of *host*, itself if it is no copy."""
        while host in self.verdicts:
            host = self.verdicts[host].canonical
        return host

    def members(self, kept: HostEvidence, prefix: str) -> list[tuple[HostEvidence, str]]:
        """Return *kept* and its copies that are aligned with it at *prefix*, each with its own prefix."""
        copies = [v for v in self.of(kept.name) if v.canonical_prefix == prefix][:_MAX_MEMBERS]
        return [(kept, prefix), *((self._candidates.host(verdict.copy), verdict.copy_prefix) for verdict in copies)]

    def canonical_place(self, host: str, path: str) -> tuple[str, str] | None:
        """Return the host and path that stand for *path* (with its query) of the copy *host*.

        None if *host* is no copy, or if the canonical is not known to have a page there.
        """
        copy, target = host, path if host in self.verdicts else None
        while host in self.verdicts and target is not None:
            verdict = self.verdicts[host]
            host, target = verdict.canonical, self._counterpart(verdict, target)
        if target is None or host == copy:
            return None
        raw = self._candidates.host(host).paths.get(normal_path(target))
        return (host, raw) if raw is not None else None

    def _counterpart(self, verdict: Verdict, path: str) -> str | None:
        """Return the place on the canonical host of *path* of its copy, without arguments that change nothing there."""
        target = moved(path, verdict.copy_prefix, verdict.canonical_prefix)
        if target is None or "?" not in target:
            return target
        kept = self._candidates.host(verdict.canonical)
        bare = without_arguments(target, self._idle_arguments(verdict, kept))
        return bare if normal_path(bare) in kept.paths and normal_path(target) not in kept.paths else target

    def _idle_arguments(self, verdict: Verdict, kept: HostEvidence) -> frozenset[str]:
        """Return what :func:`idle_arguments` does, looked at anew when the two have a quarter more pages."""
        n_before, found = self._idle.get(verdict.copy, (0, frozenset()))
        copy = self._candidates.host(verdict.copy)
        n_pages = copy.n_pages + kept.n_pages
        if n_pages > n_before + n_before // 4:
            found = idle_arguments(copy, kept, (verdict.copy_prefix, verdict.canonical_prefix))
            self._idle[verdict.copy] = n_pages, found
        return found

    def places(self, verdict: Verdict) -> list[tuple[str, str]]:
        """Return the normalised paths of pages of copy and canonical host that lie at one place, least alike first."""
        copy, kept = self._candidates.host(verdict.copy), self._candidates.host(verdict.canonical)
        mine, theirs = copy.view(verdict.copy_prefix)[0], kept.view(verdict.canonical_prefix)[0]

        def unlikeness(rest: str) -> tuple[int, str]:
            return -((mine[rest].simhash or 0) ^ (theirs[rest].simhash or 0)).bit_count(), rest

        rests = sorted(mine.keys() & theirs.keys(), key=unlikeness)
        return [(joined(verdict.copy_prefix, rest), joined(verdict.canonical_prefix, rest)) for rest in rests]
