"""How many duplicate URLs do the learnt rules remove, and how many URLs do they remove wrongly?

A group = the URLs with one canonical form. The first is kept; a removed one is *right* if its page is a twin of the
one kept, *wrong* otherwise. *Removable* = URLs beyond the first of every cluster. Rules are learnt on one half of the
table and judged on the other, in both directions, and the counts added.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from scrapy_replica.lab.dust.dust_judge import Hosts, by_judge, by_support_and_error, hosts_of, learnt_with, recalls
from scrapy_replica.lab.dust.dust_kinds import KINDS, difference, is_by_number, kinds_of
from scrapy_replica.lab.dust.dust_learners import DESCRIBED, LEARNERS
from scrapy_replica.lab.dust.dust_learners.bar_yossef import ValidatedBook
from scrapy_replica.lab.dust.dust_learners.learner import Book
from scrapy_replica.lab.dust.dust_peers import Canonicaliser, peers
from scrapy_replica.lab.dust.dust_splits import SPLITS, Row, empty_listings, family, halves
from scrapy_replica.lab.dust.dust_top import Point, curve, figures_of
from scrapy_replica.urls.interchange import priors
from scrapy_replica.urls.rule import Rule
from scrapy_replica.urls.rulebook import RuleBook

MIN_TEXT_CHARS = 200
"""Shorter pages are left out: equal crumbs of text are no evidence that two pages are one."""
EPSILONS = {"e0": 0.0, "e10": 0.1}
SUPPORT = 3
EMPTY = "empty"
"""The kind of the URLs of an empty listing."""
LARGEST_HOSTS = 10
"""Hosts whose rules are shown."""


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
    """Read a table with the columns host, url, text_sha1, text_chars and perhaps canonical (CSV, gzipped or not).

    Login pages that only carry the way back are left out: their equal text is no duplicate.

    :raises ValueError: the file is no such table, or there is no page of enough text in it.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as lines:
            rows = _rows(csv.DictReader(lines), path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is no table of URLs (CSV, gzipped or not): {error}") from error
    if not rows:
        raise ValueError(f"{path}: no URL whose page has more than {MIN_TEXT_CHARS} characters of text")
    return rows


def _rows(table: csv.DictReader[str], path: str | Path) -> list[Row]:
    missing = {"host", "url", "text_sha1", "text_chars"} - set(table.fieldnames or ())
    if missing:
        raise ValueError(f"{path}: no column {', '.join(sorted(missing))}")
    rows: dict[str, Row] = {}
    for line in table:
        chars = line["text_chars"]
        if chars is None or not chars.isdecimal():
            raise ValueError(f"{path}, line {table.line_num}: text_chars is {chars!r}, not a number")
        if int(chars) > MIN_TEXT_CHARS and "UserLogin" not in line["url"]:
            cluster = f"{line['host']} {line['text_sha1']}"
            rows.setdefault(
                line["url"], Row(line["url"], line["host"], cluster, line.get("canonical") or "", int(chars))
            )
    return list(rows.values())


Counts = Mapping[tuple[str, str], Count]
"""(host, kind of difference) -> removals there."""


class Part(NamedTuple):
    """URLs that are judged together."""

    rows: Sequence[Row]
    kinds: Mapping[str, str]
    """Removable URL -> what it differs in from the others of its cluster, or :data:`EMPTY`."""


def part_of(rows: Sequence[Row], listings: Container[str] = ()) -> Part:
    """Return *rows* with what the removable ones differ in; those of the clusters *listings* are of a kind apart."""
    kinds = kinds_of((row.url, row.cluster) for row in rows)
    named = [
        (row.url, EMPTY if row.cluster in listings else kind) for row, kind in zip(rows, kinds, strict=True) if kind
    ]
    return Part(rows, dict(named))


def removals(canonical: Canonicaliser, rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield each row whose canonical form was there before, and the row that is kept in its place."""
    kept: dict[str, Row] = {}
    for row in rows:
        first = kept.setdefault(canonical(row.url), row)
        if first is not row:
            yield row, first


def judge(canonical: Canonicaliser, part: Part) -> Counts:
    """Return the removals. A wrong one is of the kind in which the URL differs from the one kept in its place."""
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in part.rows:
        if row.url in part.kinds:
            counts[row.host, part.kinds[row.url]]["removable"] += 1
    for row, first in removals(canonical, part.rows):
        if first.cluster == row.cluster:
            counts[row.host, part.kinds[row.url]]["right"] += 1
        else:
            counts[row.host, difference(first.url, row.url)]["wrong"] += 1
    return {place: Count(c["removable"], c["right"], c["wrong"]) for place, c in counts.items()}


def total(counts: Iterable[Count]) -> Count:
    """Add *counts*."""
    listed = list(counts)
    return Count(sum(c.removable for c in listed), sum(c.right for c in listed), sum(c.wrong for c in listed))


def unknowable(rows: Sequence[Row]) -> int:
    """Count the removable URLs that name a page by its number in the database (``/?p=7``), which no rule can know."""
    clusters: dict[str, list[bool]] = {}
    for row in rows:
        clusters.setdefault(row.cluster, []).append(is_by_number(row.url))
    return sum(min(sum(is_number), len(is_number) - 1) for is_number in clusters.values() if not all(is_number))


class Evaluation(NamedTuple):
    """What there is to tell of one table."""

    figures: dict[str, float]
    rules: dict[str, list[Rule]]
    """The largest hosts -> the rules that ``combined`` learnt from one half at an error of 0."""
    top: list[Point]
    """The best N pairwise rules, if ``combined`` is judged."""


def evaluate(
    path: str | Path, learners: Iterable[str] = (*DESCRIBED, *LEARNERS), with_peers: bool = True
) -> Evaluation:
    """Return the figures by name: ``<learner>_e0.recall``, ``.precision``, ``.removable``, ``.right``, ``.wrong``,
    ``.rules``, ``.seconds`` (CPU time of learning one half, mean of two) on the family split, the same with ``_e10``,
    and ``<learner>_e0.host.<host>.recall``, ``<learner>_e0.kind.<kind>.recall`` and so on (see ``dust_kinds.KINDS``).

    ``combined_e0.services``, ``.url`` and ``.cluster`` are the other splits, ``.by_host`` what other hosts alone
    taught; there, empty listings are counted apart, as ``.empty.right`` and so on. ``rel_canonical`` and the peers have
    the same figures; they learn nothing. ``judged_e0`` is ``combined`` with a judge that does not know the host.
    ``order.judge.recall_0.01`` is the recall up to where 1 % of the removals are wrong, candidates being taken in the
    order of such judges, ``order.support_and_error`` in that without. ``top.0.09.precision`` and so on are those of the
    most precise 9 % of the pairwise rules (see ``dust_top.SHARES``), ``bar_yossef_2009_e0.fetched`` the URLs that were
    fetched to validate the rules of one half.

    :raises ValueError: the file is no such table.
    """
    rows = read(path)
    listings = empty_listings(rows)
    parts = [part_of(half, listings) for half in halves(rows, family)]
    largest: dict[str, list[Rule]] = {host: [] for host, _ in Counter(r.host for r in rows).most_common(LARGEST_HOSTS)}
    figures: dict[str, float] = {
        "urls": len(rows),
        "unknowable": unknowable(rows),
        "removable": sum(len(part.kinds) for part in parts),
    }
    for name in learners:
        for suffix, epsilon in EPSILONS.items():
            found, book = _learnt(partial(book_of, name, epsilon), parts)
            figures |= _named(f"{name}_{suffix}", found)
            for rule in book if (name, epsilon) == ("combined", 0.0) and isinstance(book, RuleBook) else ():
                if rule.host in largest:
                    largest[rule.host].append(rule)
    points: list[Point] = []
    if "combined" in set(learners):
        hosts = hosts_of(rows)
        points = curve(hosts, sum(len(part.kinds) for part in parts))
        figures |= _other_splits(rows) | _judged(hosts, parts) | figures_of(points)
    canonical_of = {row.url: row.canonical for row in rows if row.canonical}
    figures |= _unlearnt("rel_canonical", lambda url: canonical_of.get(url, url), parts)
    for name, canonical in (peers() if with_peers else {}).items():
        figures |= _unlearnt(name, canonical, parts) if canonical is not None else {f"{name}.absent": 1}
    return Evaluation(figures, largest, points)


def _judged(hosts: Hosts, parts: Sequence[Part]) -> dict[str, float]:
    """Return the figures of ``combined`` with judges that do not know the host, and of the orders of candidates."""
    figures: dict[str, float] = {}
    for suffix, epsilon in EPSILONS.items():
        found, _ = _learnt(lambda half, e=epsilon: RuleBook(learnt_with(hosts, e, half)), parts)  # type: ignore[misc]
        figures |= _named(f"judged_{suffix}", found)
    removable = sum(len(part.kinds) for part in parts)
    for name, key in (("support_and_error", by_support_and_error), ("judge", by_judge(hosts))):
        found = {f"recall_{share:g}": recall for share, recall in recalls(hosts, removable, key).items()}
        figures |= _named(f"order.{name}", found)
    return figures


def _other_splits(rows: Sequence[Row]) -> dict[str, float]:
    """Return the figures of ``combined`` on the other splits; those of empty listings are no part of the totals."""
    figures: dict[str, float] = {}
    listings = empty_listings(rows)
    for split in (name for name in SPLITS if name != "family"):
        parts = [part_of(half, listings) for half in halves(rows, SPLITS[split])]
        for suffix, epsilon in EPSILONS.items():
            found, _ = _learnt(partial(book_of, "combined", epsilon), parts)
            figures |= _named(f"combined_{suffix}.{split}", _totals(found))
    for suffix, epsilon in EPSILONS.items():
        figures |= _named(f"combined_{suffix}.by_host", _totals(_carried(epsilon, rows, listings)))
    return figures


def _totals(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the totals of *figures* without the empty listings, and these apart."""
    empty = {key: figures[f"kind.{EMPTY}.{key}"] for key in ("removable", "right", "wrong")}
    count = Count(*(int(figures[key] - empty[key]) for key in empty))
    rest = {key: figures[key] for key in ("rules", "seconds")}
    return _plain(count) | rest | _named(EMPTY, empty)


def _carried(epsilon: float, rows: Sequence[Row], listings: Container[str]) -> dict[str, float]:
    """Return the figures of the rules that other hosts taught, and of the shipped guesses, on each host."""
    started = time.process_time()
    learnt = learn("combined", epsilon, rows)
    seconds = time.process_time() - started
    by_host: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_host[row.host].append(row)
    counts = []
    for host, own in by_host.items():
        book = RuleBook([*priors(), *(rule.anywhere() for rule in learnt if rule.host != host)])
        counts.append(judge(lambda url, book=book: book.canonical(url)[0], part_of(own, listings)))  # type: ignore[misc]
    return _figures(counts) | {"rules": len(learnt), "seconds": seconds}


def _unlearnt(name: str, canonical: Canonicaliser, parts: Sequence[Part]) -> dict[str, float]:
    """Return the figures of what knows no error and learns no rules, by the names that learners have."""
    found = _figures([judge(canonical, part) for part in parts]) | {"rules": 0, "seconds": 0.0}
    return _named(f"{name}_e0", found) | _named(f"{name}_e10", found)


def _named(prefix: str, figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix}.{name}": value for name, value in figures.items()}


def learn(name: str, epsilon: float, rows: Sequence[Row]) -> list[Rule]:
    """Return what the learner called *name* learns from *rows*."""
    return LEARNERS[name]([row.url for row in rows], [row.cluster for row in rows], epsilon, SUPPORT)


def book_of(name: str, epsilon: float, rows: Sequence[Row]) -> Book:
    """Return the rules that the learner called *name*, ours or as published, learns from *rows*."""
    if name in DESCRIBED:
        return DESCRIBED[name](rows, epsilon, SUPPORT)
    return RuleBook(learn(name, epsilon, rows))


def _learnt(learner: Callable[[Sequence[Row]], Book], parts: Sequence[Part]) -> tuple[dict[str, float], Book]:
    """Learn on each of the two *parts* and judge on the other; return the figures and the rules of the first."""
    counts: list[Counts] = []
    books: list[Book] = []
    seconds = 0.0
    for learnt_from, judged in (parts, parts[::-1]):
        started = time.process_time()
        books.append(learner(learnt_from.rows))
        seconds += time.process_time() - started
        counts.append(judge(lambda url, book=books[-1]: book.canonical(url)[0], judged))  # type: ignore[misc]
    figures = _figures(counts) | {"rules": sum(map(len, books)) / 2, "seconds": seconds / 2}
    if isinstance(books[0], ValidatedBook):
        figures["fetched"] = sum(book.fetched for book in books if isinstance(book, ValidatedBook)) / 2
    return figures, books[0]


def _figures(counts: Sequence[Counts]) -> dict[str, float]:
    """Return the figures of all removals, of each kind and of each host."""
    places = [(place, count) for part in counts for place, count in part.items()]
    figures = _plain(total(count for _, count in places))
    for kind in (*KINDS, EMPTY):
        own = total(count for (_, its_kind), count in places if its_kind == kind)
        figures |= _named(f"kind.{kind}", _plain(own))
    for host in sorted({host for (host, _), _ in places}):
        own = total(count for (its_host, _), count in places if its_host == host)
        figures |= _named(f"host.{host}", _plain(own))
    return figures


def _plain(count: Count) -> dict[str, float]:
    return {
        "recall": count.recall,
        "precision": count.precision,
        "removable": count.removable,
        "right": count.right,
        "wrong": count.wrong,
    }
