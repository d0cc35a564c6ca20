"""The DUST rules in force: what they say about a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from scrapy_replica.crawl.urls.host_pages import HostPages, form_of
from scrapy_replica.crawl.urls.watched import WatchedRule
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rulebook import RuleBook

MAX_TARGETS = 100_000
"""Canonical forms remembered until they are fetched, and as many that are no page: about 20 MB each."""


class Hit(NamedTuple):
    """Why a URL need not be fetched as it stands."""

    rules: tuple[int, ...]
    url: str
    """Its canonical form."""
    is_fetched: bool
    """A URL of that canonical form was fetched; otherwise the canonical form is to be fetched in its place."""
    is_certain: bool


class InForce:
    """The rules that act, and the canonical forms of what was fetched on their hosts.

    A URL on a host without rules costs one look into a set.
    """

    def __init__(self, hosts: Mapping[str, HostPages]) -> None:
        self._hosts = hosts
        self._book = RuleBook()
        self._rules: dict[str, WatchedRule] = {}
        self._names: set[str] = set()
        self._is_wide = False
        self._images: dict[str, dict[str, tuple[int, ...]]] = {}
        """Host (and port) -> canonical form of a fetched URL -> the rules that led there."""
        self._dead: set[str] = set()
        """Forms that there is no page at."""
        self._targets: dict[str, list[WatchedRule]] = {}
        """Canonical form that is to be fetched in the place of others -> the rules that led there."""

    def put(self, rules: list[WatchedRule]) -> None:
        """Put *rules* in force in place of those before."""
        self._rules = {watched.rule.key: watched for watched in rules}
        self._book = RuleBook(watched.rule for watched in rules)
        self._names = {watched.rule.host.partition(":")[0] for watched in rules}
        self._is_wide = any(not name or name.startswith(".") for name in self._names)
        self._images.clear()

    def await_(self, canonical: str, rules: list[WatchedRule]) -> None:
        """Take note that *canonical* is to be fetched in the place of others, because of *rules*."""
        if len(self._targets) < MAX_TARGETS:
            self._targets[canonical] = rules

    def hit(self, url: str, host: str) -> Hit | None:
        """Return what the rules say about *url* on *host*; ``None`` if it is to be fetched as it stands."""
        if host not in self._names and not self._is_wide:
            return None
        form = form_of(url)
        name = parse(form).host
        if not self._book.has_rules(name) or (name in self._hosts and form in self._hosts[name].clusters):
            return None
        canonical, rules = self._canonical(form)
        before = self._images_of(name).get(canonical)
        watched = list(dict.fromkeys((*rules, *self._of_ids(before or ()))))
        if not watched:
            return None
        if before is None and (canonical in self._dead or not all(rule.has_images for rule in rules)):
            return None
        if before is None:
            self.await_(canonical, rules)
        ids = tuple(rule.id for rule in watched)
        return Hit(ids, canonical, before is not None, all(rule.is_certain for rule in watched))

    def _of_ids(self, ids: tuple[int, ...]) -> list[WatchedRule]:
        return [watched for watched in self._rules.values() if watched.id in ids] if ids else []

    def _canonical(self, form: str) -> tuple[str, list[WatchedRule]]:
        canonical, rules = self._book.canonical(form)
        return (canonical, [self._rules[rule.key] for rule in rules]) if rules else (form, [])

    def _images_of(self, name: str) -> dict[str, tuple[int, ...]]:
        images = self._images.get(name)
        if images is None:
            images = self._images[name] = {}
            if name in self._hosts:
                for form, cluster in self._hosts[name].clusters.items():
                    if cluster is not None:
                        self._enter(images, form)
        return images

    def _enter(self, images: dict[str, tuple[int, ...]], form: str) -> None:
        canonical, rules = self._canonical(form)
        images.setdefault(canonical, tuple(rule.id for rule in rules))

    def fetched(self, form: str, name: str) -> None:
        """Take note that the page at *form*, on host (and port) *name*, was fetched."""
        self._targets.pop(form, None)
        self._dead.discard(form)
        images = self._images.get(name)
        if images is not None:
            self._enter(images, form)

    def saves(self, form: str, name: str) -> bool:
        """Tell whether a rule changes *form*."""
        return self._book.has_rules(name) and bool(self._book.canonical(form)[1])

    def gone(self, form: str) -> None:
        """Take note that there is no page at *form*."""
        if len(self._dead) < MAX_TARGETS:
            self._dead.add(form)
        self._targets.pop(form, None)
