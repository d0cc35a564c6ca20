"""The dup-clusters of one host, and what a transformation would do to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.address import host_of
from scrapy_replica.urls.context import Fact, facts
from scrapy_replica.urls.judge import Seen
from scrapy_replica.urls.pattern import UrlPattern, argument_name, parse, size_of
from scrapy_replica.urls.rule import WILDCARD, Step, compiled, triggers

Transformation = tuple[Step, ...]
MAX_HOST_FORMS = 50_000


class Application(NamedTuple):
    """A transformation changes the form ``member`` into ``image``."""

    member: int
    image: str


class Tally(NamedTuple):
    """Image groups of at least two forms: how many are clean, how many mix clusters."""

    clean: int
    mixed: int
    clusters: int
    """Different clusters among the clean groups. A cluster that repeats is one witness: a soft 404 has many URLs."""
    removable: int
    """Forms that the clean groups save."""

    @property
    def error(self) -> float:
        """Share of mixed groups; 1 without any group."""
        groups = self.clean + self.mixed
        return self.mixed / groups if groups else 1.0


class HostEvidence:
    """The distinct forms (URLs without fragment) seen on one host, each with the cluster of its page."""

    def __init__(self, host: str, is_sorted: bool = True) -> None:
        self.host = host
        self.is_sorted = is_sorted
        self.forms: list[UrlPattern] = []
        self.locals: list[str] = []
        self.clusters: list[int] = []
        self.where: dict[str, int] = {}
        self.conflicts = 0
        """URLs that fell on a form of another cluster."""
        self._with_argument: dict[str, list[int]] = defaultdict(list)
        self._fact_ids: dict[Fact, int] = {}
        self._facts_of: dict[int, NDArray[np.int32]] = {}

    def add(self, url: UrlPattern, cluster: int) -> None:
        """Take up *url* whose page is in *cluster*; of a form seen before the first cluster stays."""
        form = url.sorted() if self.is_sorted else url
        local = form.local
        known = self.where.setdefault(local, len(self.forms))
        if known < len(self.forms):
            self.conflicts += self.clusters[known] != cluster
            return
        for name in {argument_name(argument) for argument in form.arguments or ()}:
            self._with_argument[name].append(known)
        self.forms.append(form)
        self.locals.append(local)
        self.clusters.append(cluster)

    def members(self) -> list[list[int]]:
        """Return the clusters of at least two forms."""
        found: dict[int, list[int]] = defaultdict(list)
        for form, cluster in enumerate(self.clusters):
            found[cluster].append(form)
        return [forms for forms in found.values() if len(forms) > 1]

    def candidates_of(self, transformation: Transformation) -> Iterable[int]:
        """Return the forms that *transformation* may change."""
        names = triggers(transformation)
        if len(names) == 1:
            return self._with_argument.get(names[0], ())
        if names:
            return sorted({form for name in names for form in self._with_argument.get(name, ())})
        return may_change(transformation, self.locals)

    def applications(self, transformation: Transformation) -> list[Application]:
        """Return what *transformation* makes smaller."""
        change = compiled(transformation)
        found = []
        for form in self.candidates_of(transformation):
            changed = change(self.forms[form])
            if changed is None:
                continue
            image = (changed.sorted() if self.is_sorted else changed).local
            local = self.locals[form]
            if size_of(image) < size_of(local):
                found.append(Application(form, image))
        return found

    def groups(self, applications: Iterable[Application]) -> dict[str, list[int]]:
        """Return image -> the forms that have it, changed or not, where there are at least two."""
        by_image: dict[str, list[int]] = defaultdict(list)
        changed = set()
        for member, image in applications:
            by_image[image].append(member)
            changed.add(member)
        for image, members in by_image.items():
            itself = self.where.get(image)
            if itself is not None and itself not in changed:
                members.append(itself)
        return {image: members for image, members in by_image.items() if len(members) > 1}

    def tally(self, groups: dict[str, list[int]]) -> Tally:
        clean = mixed = removable = 0
        seen = set()
        for members in groups.values():
            first = self.clusters[members[0]]
            if all(self.clusters[member] == first for member in members):
                clean += 1
                removable += len(members) - 1
                seen.add(first)
            else:
                mixed += 1
        return Tally(clean, mixed, len(seen), removable)

    def seen(self, applications: Sequence[Application]) -> Seen:
        """Return what these *applications* of a rule do, for its judge."""
        groups = self.groups(applications)
        tally = self.tally(groups)
        images = sum(image in self.where for image in groups)
        grouped = sum(application.image in groups for application in applications)
        return Seen(len(groups), tally.clean, tally.clusters, images, grouped, len(applications))

    def is_clean(self, members: Sequence[int]) -> bool:
        return len({self.clusters[member] for member in members}) == 1

    def facts_of(self, form: int) -> NDArray[np.int32]:
        """Return the numbers of the facts that are true of *form*."""
        known = self._facts_of.get(form)
        if known is None:
            ids = self._fact_ids
            known = np.array([ids.setdefault(fact, len(ids)) for fact in facts(self.forms[form])], np.int32)
            self._facts_of[form] = known
        return known

    def facts_by_id(self) -> list[Fact]:
        return list(self._fact_ids)


def may_change(transformation: Transformation, locals_: Sequence[str]) -> list[int]:
    """Return the places in *locals_*, paths with queries, that hold some text without which nothing is changed."""
    needles = triggers(transformation)
    if not needles and transformation[0].kind in {"replace", "template"}:
        needles = (max(WILDCARD.split(transformation[0].key)[::2], key=len),)
    if len(needles) == 1:
        needle = needles[0]
        return [place for place, local in enumerate(locals_) if needle in local]
    return [place for place, local in enumerate(locals_) if not needles or any(needle in local for needle in needles)]


def by_host(urls: Sequence[str], clusters: Sequence[Hashable]) -> Iterator[HostEvidence]:
    """Yield the evidence of each host, in order of their names.

    Arguments are sorted unless that alone would mix clusters of the host: there their order has a meaning. Of a host
    with more than ``MAX_HOST_FORMS`` URLs the first so many are taken: more do not change what is learnt, and keep
    memory and time bounded.
    """
    hosts: dict[str, list[int]] = defaultdict(list)
    for row, url in enumerate(urls):
        hosts[host_of(url)].append(row)
    for host in sorted(hosts):
        rows = hosts.pop(host)[:MAX_HOST_FORMS]
        numbers: dict[Hashable, int] = {}
        numbered = [numbers.setdefault(clusters[row], len(numbers)) for row in rows]
        patterns = [parse(urls[row])._replace(fragment="") for row in rows]
        yield evidence_of(host, patterns, numbered)


def evidence_of(host: str, patterns: Sequence[UrlPattern], clusters: Sequence[int]) -> HostEvidence:
    ordered = _filled(HostEvidence(host, is_sorted=False), patterns, clusters)
    evidence = _filled(HostEvidence(host), patterns, clusters)
    # one stray conflict is a page that changed between two fetches; several say that the order has a meaning
    if evidence.conflicts - ordered.conflicts > max(2, 0.01 * len(evidence.forms)):
        return ordered
    return evidence


def _filled(evidence: HostEvidence, patterns: Sequence[UrlPattern], clusters: Sequence[int]) -> HostEvidence:
    for pattern, cluster in zip(patterns, clusters, strict=True):
        evidence.add(pattern, cluster)
    return evidence
