"""The DUST rules of one host: what they say about a URL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scrapy_replica.crawl.urls.host_pages import HostPages
from scrapy_replica.crawl.urls.watched import WatchedRule
from scrapy_replica.crawldb.contract import RuleRow
from scrapy_replica.urls.rulebook import RuleBook

MAX_DEAD = 5_000
"""Forms of a host remembered that there is no page at."""

_NO_RULES = RuleBook()


class Hit(NamedTuple):
    """Why a URL need not be fetched as it stands."""

    rules: tuple[int, ...]
    url: str
    """Its canonical form."""
    is_fetched: bool
    """A URL of that canonical form was fetched; otherwise the canonical form is to be fetched in its place."""
    is_certain: bool


class HostRules:
    """The rules of one host (and port), those of many hosts among them, and the pages that they were held against."""

    def __init__(self, name: str, wide: Iterable[WatchedRule]) -> None:
        self.name = name
        self.pages = HostPages()
        self.own: dict[str, WatchedRule] = {}
        """Key of the rule -> the rule, ended ones as well, which are not proposed again."""
        self.dead: set[str] = set()
        """Forms that there is no page at."""
        self.awaited: set[str] = set()
        """Images that were asked for to prove a rule."""
        self.spent = 0
        """URLs fetched to prove rules."""
        self.next_plan = 0
        """Pages from which URLs are looked for that prove a rule."""
        self._wide = [watched for watched in wide if watched.covers(name)]
        self._acting: dict[str, WatchedRule] = {}
        self._book = _NO_RULES
        self._images: dict[str, tuple[int, ...]] | None = None
        """Canonical form of a fetched URL -> the rules that led there."""

    @property
    def weight(self) -> int:
        """Roughly the bytes that it takes in memory."""
        n_images = len(self._images) if self._images is not None else 0
        rules = sum(watched.weight for watched in self.own.values())
        return self.pages.weight + rules + 300 * n_images + 150 * (len(self.dead) + len(self.awaited))

    @property
    def has_rules(self) -> bool:
        """Whether there is or was a rule."""
        return bool(self.own or self._wide)

    def take(self, row: RuleRow, url_ids: dict[str, int]) -> WatchedRule:
        """Take up a rule of this host; *url_ids* are those of the pages by their form, as far as they are known."""
        watched = WatchedRule(row)
        self.own[watched.rule.key] = watched
        self.awaited.update(image for image, _ in row.proofs)
        self.spent += sum(count for _, count in row.proofs)
        watched.learn(self.pages, url_ids)
        return watched

    def watched(self) -> list[WatchedRule]:
        """Return the rules that have not ended."""
        return [watched for watched in (*self.own.values(), *self._wide) if not watched.is_ended]

    def put_in_force(self) -> None:
        """Let the rules act that may."""
        acting = [watched for watched in self.watched() if watched.is_acting]
        self._acting = {watched.rule.key: watched for watched in acting}
        self._book = RuleBook(watched.rule for watched in acting) if acting else _NO_RULES
        self._images = None

    def hit(self, form: str) -> Hit | None:
        """Return what the rules say about *form*; ``None`` if it is to be fetched as it stands."""
        if not self._acting or form in self.pages.clusters:
            return None
        canonical, rules = self._canonical(form)
        before = self._fetched_images().get(canonical)
        watched = list(dict.fromkeys((*rules, *self._of_ids(before or ()))))
        if not watched:
            return None
        if before is None and (canonical in self.dead or not all(rule.has_images for rule in rules)):
            return None
        ids = tuple(rule.id for rule in watched)
        return Hit(ids, canonical, before is not None, all(rule.is_certain for rule in watched))

    def _of_ids(self, ids: tuple[int, ...]) -> list[WatchedRule]:
        return [watched for watched in self._acting.values() if watched.id in ids] if ids else []

    def _canonical(self, form: str) -> tuple[str, list[WatchedRule]]:
        canonical, rules = self._book.canonical(form)
        return (canonical, [self._acting[rule.key] for rule in rules]) if rules else (form, [])

    def _fetched_images(self) -> dict[str, tuple[int, ...]]:
        if self._images is None:
            self._images = {}
            for form, cluster in self.pages.clusters.items():
                if cluster is not None:
                    self._enter(self._images, form)
        return self._images

    def _enter(self, images: dict[str, tuple[int, ...]], form: str) -> None:
        canonical, rules = self._canonical(form)
        images.setdefault(canonical, tuple(rule.id for rule in rules))

    def fetched(self, form: str) -> None:
        """Take note that the page at *form* was fetched."""
        self.dead.discard(form)
        if self._images is not None:
            self._enter(self._images, form)

    def gone(self, form: str) -> None:
        """Take note that there is no page at *form*."""
        if len(self.dead) < MAX_DEAD:
            self.dead.add(form)

    def saves(self, form: str) -> bool:
        """Tell whether a rule changes *form*."""
        return bool(self._acting) and bool(self._book.canonical(form)[1])
