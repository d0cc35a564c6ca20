"""How many duplicate URLs do the learnt rules remove, and how many URLs do they remove wrongly?

A group = the URLs with one canonical form. The first is kept; a removed one is *right* if its page is a twin of the
one kept, *wrong* otherwise. *Removable* = URLs beyond the first of every cluster. Rules are learnt on one half of the
table and judged on the other, in both directions, and the counts added.
"""

from __future__ import annotations

import csv
import gzip
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import mmh3

from scrapy_replica.urls.learners import LEARNERS
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule
from scrapy_replica.urls.rulebook import RuleBook

MIN_TEXT_CHARS = 200
"""Shorter pages are left out: equal crumbs of text are no evidence that two pages are one."""
EPSILONS = {"e0": 0.0, "e10": 0.1}
SUPPORT = 3
Canonicaliser = Callable[[str], str]
_BY_NUMBER = re.compile(r"(?:p|page_id)=\d+$")


class Row(NamedTuple):
    """One URL of the table."""

    url: str
    host: str
    cluster: str
    """Host and digest of the visible text."""
    canonical: str
    """Target of ``rel=canonical``; empty without one."""
    kind: str


class Count(NamedTuple):
    """Removals on a judged half."""

    removable: int = 0
    right: int = 0
    wrong: int = 0

    @property
    def recall(self) -> float:
        return self.right / self.removable if self.removable else 0.0

    @property
    def precision(self) -> float:
        removed = self.right + self.wrong
        return self.right / removed if removed else 1.0


def read(path: str | Path) -> list[Row]:
    """Read a table with the columns host, url, text_sha1, text_chars, canonical, kind (CSV, gzipped or not).

    Login pages that only carry the way back are left out: their equal text is no duplicate. ValueError names a column
    that is missing.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    rows: dict[str, Row] = {}
    with opener(path, "rt", encoding="utf-8") as lines:
        table = csv.DictReader(lines)
        missing = {"host", "url", "text_sha1", "text_chars"} - set(table.fieldnames or ())
        if missing:
            raise ValueError(f"{path}: no column {', '.join(sorted(missing))}")
        for line in table:
            if int(line["text_chars"]) > MIN_TEXT_CHARS and "UserLogin" not in line["url"]:
                cluster = f"{line['host']} {line['text_sha1']}"
                row = Row(line["url"], line["host"], cluster, line.get("canonical") or "", line.get("kind") or "")
                rows.setdefault(row.url, row)
    return list(rows.values())


def family(row: Row) -> str:
    """Return what must not stand in both halves: the page that a URL is about (target, title or path) on its host."""
    pattern = parse(row.url)
    page = pattern.value("target") or pattern.value("title") or pattern.path
    return f"{row.host} {page.replace(' ', '_')}"


SPLITS: dict[str, Callable[[Row], str]] = {
    "family": family,
    "url": lambda row: row.url,
    "cluster": lambda row: row.cluster,
}


def halves(rows: Sequence[Row], key: Callable[[Row], str]) -> tuple[list[Row], list[Row]]:
    """Cut *rows* in two by the hash of *key*."""
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[mmh3.hash(key(row), signed=False) & 1].append(row)
    return parts


def judge(canonical: Canonicaliser, rows: Iterable[Row]) -> dict[str, Count]:
    """Return the removals per host."""
    kept: dict[str, str] = {}
    seen: set[str] = set()
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        count = counts.setdefault(row.host, Counter())
        count["removable"] += row.cluster in seen
        seen.add(row.cluster)
        form = canonical(row.url)
        if form not in kept:
            kept[form] = row.cluster
        else:
            count["right" if kept[form] == row.cluster else "wrong"] += 1
    return {host: Count(c["removable"], c["right"], c["wrong"]) for host, c in counts.items()}


def total(counts: Iterable[Count]) -> Count:
    """Add *counts*."""
    listed = list(counts)
    return Count(sum(c.removable for c in listed), sum(c.right for c in listed), sum(c.wrong for c in listed))


def unknowable(rows: Sequence[Row]) -> int:
    """Count the removable URLs that name a page by its number in the database (``/?p=7``), which no rule can know."""
    clusters: dict[str, list[bool]] = {}
    for row in rows:
        clusters.setdefault(row.cluster, []).append(bool(_BY_NUMBER.fullmatch(parse(row.url).query)))
    return sum(min(sum(is_number), len(is_number) - 1) for is_number in clusters.values() if not all(is_number))


def evaluate(path: str | Path, learners: Iterable[str] = LEARNERS, with_peers: bool = True) -> dict[str, float]:
    """Return the figures by name: ``<learner>_e0.recall``, ``.precision``, ``.wrong``, ``.rules``, ``.seconds`` (CPU
    time of learning one half, mean of two) on the family split, and the same with ``_e10``; ``combined_e0.url.recall``
    and so on for the other splits, ``combined_e0.host.<host>.recall`` per host, and the peers under their names.
    """
    rows = read(path)
    figures: dict[str, float] = {"urls": len(rows), "unknowable": unknowable(rows)}
    parts = halves(rows, family)
    figures["removable"] = sum(total(judge(str, part).values()).removable for part in parts)
    for name in learners:
        for suffix, epsilon in EPSILONS.items():
            figures |= _learner_figures(f"{name}_{suffix}", name, epsilon, parts, per_host=name == "combined")
    if "combined" in set(learners):
        for split in ("url", "cluster"):
            for suffix, epsilon in EPSILONS.items():
                halved = halves(rows, SPLITS[split])
                figures |= _learner_figures(f"combined_{suffix}.{split}", "combined", epsilon, halved, per_host=False)
    canonical_of = {row.url: row.canonical for row in rows if row.canonical}
    figures |= _figures("rel_canonical", [judge(lambda url: canonical_of.get(url, url), part) for part in parts])
    if with_peers:
        for name, canonical in peers().items():
            figures |= (
                _figures(name, [judge(canonical, part) for part in parts]) if canonical else {f"{name}.absent": 1}
            )
    return figures


def _learner_figures(
    prefix: str, name: str, epsilon: float, parts: tuple[list[Row], list[Row]], per_host: bool
) -> dict[str, float]:
    counts: list[dict[str, Count]] = []
    rules: list[Rule] = []
    started = time.process_time()
    seconds = 0.0
    for learnt, judged in (parts, parts[::-1]):
        started = time.process_time()
        found = LEARNERS[name]([row.url for row in learnt], [row.cluster for row in learnt], epsilon, SUPPORT)
        seconds += time.process_time() - started
        book = RuleBook(found)
        rules += found
        counts.append(judge(lambda url, book=book: book.canonical(url)[0], judged))  # type: ignore[misc]
    figures = _figures(prefix, counts)
    figures |= {f"{prefix}.rules": len(rules) / 2, f"{prefix}.seconds": seconds / 2}
    if per_host:
        for host in sorted({host for count in counts for host in count}):
            own = total(count[host] for count in counts if host in count)
            figures |= {f"{prefix}.host.{host}.{key}": value for key, value in _plain(own).items()}
    return figures


def _figures(prefix: str, counts: Sequence[dict[str, Count]]) -> dict[str, float]:
    whole = total(count for per_host in counts for count in per_host.values())
    return {f"{prefix}.{key}": value for key, value in _plain(whole).items()}


def _plain(count: Count) -> dict[str, float]:
    return {
        "recall": count.recall,
        "precision": count.precision,
        "removable": count.removable,
        "right": count.right,
        "wrong": count.wrong,
    }


def peers() -> dict[str, Canonicaliser | None]:
    """Return the canonicalisers of other packages; None for one that is not installed (extra ``test``)."""
    makers = {
        "w3lib": _w3lib,
        "url_normalize": lambda: import_module("url_normalize").url_normalize,
        "duplicate_url_discarder": _duplicate_url_discarder,
        "courlan": _courlan,
    }
    found: dict[str, Canonicaliser | None] = {}
    for name, maker in makers.items():
        found[name] = _made(maker)
    return found


def _made(maker: Callable[[], Canonicaliser]) -> Canonicaliser | None:
    try:
        return _patient(maker())
    except ImportError:
        return None


def _patient(canonical: Callable[[str], str | None]) -> Canonicaliser:
    """Return *canonical* with URLs left as they are where it refuses them."""

    def answer(url: str) -> str:
        try:
            return canonical(url) or url
        except ValueError:
            return url

    return answer


def _w3lib() -> Canonicaliser:
    canonical: Canonicaliser = import_module("w3lib.url").canonicalize_url
    return canonical


def _duplicate_url_discarder() -> Canonicaliser:
    canonicaliser = import_module("duplicate_url_discarder.url_canonicalizer").UrlCanonicalizer
    rules = import_module("duplicate_url_discarder_rules").RULE_PATHS
    canonical = _w3lib()
    discarder = canonicaliser(rules)
    return lambda url: canonical(discarder.process_url(url))


def _courlan() -> Canonicaliser:
    normalize = import_module("courlan").normalize_url
    return lambda url: str(normalize(url, strict=True))
