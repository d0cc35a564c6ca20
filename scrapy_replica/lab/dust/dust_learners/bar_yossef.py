"""DustBuster with its size filter and its validation by fetches (Bar-Yossef, Keidar, Schonfeld 2009, *Do not crawl in
the DUST: different URLs with similar text*, ACM TWEB 3(1)).

Likely rules alpha -> beta come from the URLs alone; sizes known from a log throw out pairs of URLs that cannot be one
page; of two rules of which one contains the other one goes; what is left is validated by fetching pairs. Nothing else
is known of the pages: ``dustbuster`` beside it is told their clusters.

*Readings*, for a table in place of a site. The size is that of the text, known of one fetch, so the ranges of two URLs
overlap where it is equal. A fetch is a look into the table that is learnt from; a URL that is not in it cannot be
fetched, and another pair is drawn. A rule is validated on at most :data:`SAMPLES` pairs, on fewer where there are no
more, and on as many as the support at least.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from scrapy_replica.address import host_of
from scrapy_replica.lab.dust.dust_learners.dustbuster import likely_rules
from scrapy_replica.lab.dust.dust_splits import Row
from scrapy_replica.urls.learners.evidence import HostEvidence, by_host
from scrapy_replica.urls.pattern import UrlPattern, parse
from scrapy_replica.urls.rule import Rule, Step
from scrapy_replica.urls.rulebook import RuleBook

SAMPLES = 100
"""Pairs that are fetched to validate a rule."""
MAX_DEFICIENCY = 0.05
"""Share of its support that a rule may have beyond a narrower one that stands in its place."""


class Likely(NamedTuple):
    """A rule, the pairs (URL, image) that are both known, and how many of them are of equal size."""

    source: str
    target: str
    pairs: list[tuple[int, int]]
    support: int


class ValidatedBook(RuleBook):
    """The rules that were validated, and what that took."""

    fetched = 0
    """Different URLs that were fetched."""


def learn(rows: Sequence[Row], epsilon: float = 0.0, support: int = 3) -> ValidatedBook:
    """Return the rules of every host of *rows* of which at most the share *epsilon* of the fetched pairs differ."""
    book = ValidatedBook()
    sizes = {(host_of(row.url), _local(parse(row.url))): row.chars for row in rows}
    for evidence in by_host([row.url for row in rows], [row.cluster for row in rows]):
        own = [sizes[evidence.host, _local(form)] for form in evidence.forms]
        fetched: set[int] = set()
        for likely in without_redundant(_of_equal_size(evidence, own, support)):
            error = _refuted(evidence, likely, epsilon, support, fetched)
            if error is not None and error <= epsilon:
                change = (Step("replace", likely.source, likely.target),)
                keeps = not evidence.is_sorted
                book.add(Rule(evidence.host, (), change, likely.support, error, "dustbuster", (), keeps))
        book.fetched += len(fetched)
    return book


def _local(form: UrlPattern) -> str:
    return form.sorted().local


def _of_equal_size(evidence: HostEvidence, sizes: Sequence[int], support: int) -> list[Likely]:
    """Return the likely rules with *support* pairs of equal size at least, those with most first."""
    found = []
    for change in likely_rules(evidence, support):
        pairs = [
            (a.member, evidence.where[a.image]) for a in evidence.applications(change) if a.image in evidence.where
        ]
        equal = sum(sizes[one] == sizes[other] for one, other in pairs)
        if equal >= support:
            found.append(Likely(change[0].key, change[0].value or "", pairs, equal))
    return sorted(found, key=lambda likely: (-likely.support, likely.source, likely.target))


def without_redundant(rules: Sequence[Likely]) -> list[Likely]:
    """Of a rule and a narrower one leave out the wider if the narrower has almost its support, else the narrower."""
    gone: set[tuple[str, str]] = set()
    for wide in rules:
        for narrow in rules:
            if (
                (wide.source, wide.target) in gone
                or (narrow.source, narrow.target) in gone
                or not _is_part(wide, narrow)
            ):
                continue
            loser = wide if wide.support - narrow.support <= MAX_DEFICIENCY * wide.support else narrow
            gone.add((loser.source, loser.target))
    return [rule for rule in rules if (rule.source, rule.target) not in gone]


def _is_part(wide: Likely, narrow: Likely) -> bool:
    """Tell whether *narrow* is *wide* with the same text before and behind it on both sides."""
    place = narrow.source.find(wide.source) if len(narrow.source) > len(wide.source) else -1
    while place >= 0:
        if narrow.target == narrow.source[:place] + wide.target + narrow.source[place + len(wide.source) :]:
            return True
        place = narrow.source.find(wide.source, place + 1)
    return False


def _refuted(evidence: HostEvidence, likely: Likely, epsilon: float, support: int, fetched: set[int]) -> float | None:
    """Fetch pairs until a rule is valid or not; return the share that differs, None if there are too few."""
    pairs = random.Random(0).sample(likely.pairs, min(SAMPLES, len(likely.pairs)))
    if len(pairs) < support:
        return None
    right = wrong = 0
    for one, other in pairs:
        fetched |= {one, other}
        is_right = evidence.clusters[one] == evidence.clusters[other]
        right, wrong = right + is_right, wrong + (not is_right)
        if right >= (1 - epsilon) * len(pairs) or wrong > epsilon * len(pairs):
            break
    return wrong / (right + wrong)
