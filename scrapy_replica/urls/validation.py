"""When to learn on a host, how to prove a rule before it acts, and when to withdraw it. Pure: fetching is the caller's.

Measured: on a wiki no learner is safe before about 1,000 random URLs, and on other hosts a few dozen are enough. So
learning starts early, and every rule must be proved on its own applications first and is watched afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from scrapy_replica.numeric import wilson_interval
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule, compiled

FIRST_LEARNING = 40
"""Pages of a host before its rules are learnt for the first time: session ids and sort orders show by then."""
GROWTH = 1.5
"""Learn again when a host has grown by this factor: in all a host of n pages is learnt from O(n) of them."""


def is_due(pages: int, pages_at_last: int, twins: int) -> bool:
    """Tell whether a host of *pages* pages, *twins* of which repeat another, should be learnt from (again)."""
    if twins < 2 or pages < FIRST_LEARNING:
        return False
    return pages_at_last == 0 or pages >= GROWTH * pages_at_last


LATEST, MOST_WRONG = 10, 3
"""So many wrong pairs among the latest withdraw a rule, whatever it was before: what an argument means may change, and
after a hundred right pairs it would take ten wrong ones to be above the error."""


class Pair(NamedTuple):
    """Two URLs that a rule says are one page."""

    url: str
    image: str


_parsed = lru_cache(2_000)(parse)  # every rule under proof looks at the same waiting URLs, again and again


def pairs_to_fetch(
    rule: Rule,
    urls: Iterable[str],
    known: Iterable[str],
    budget: int = 5,
    says_nothing: Callable[[Pair], bool] | None = None,
) -> list[Pair]:
    """Return up to *budget* applications of *rule* to *urls*, those first of which one side is *known* (fetched), and
    without those of which *says_nothing* is true.

    The pairs are spread over different first values of the URL's path and arguments, so that one quiet corner of the
    host does not prove a rule for all of it. Both sides must be fetched, or known, and have the same content.
    """
    change = compiled(rule.transformation)
    fetched = set(known)
    cheap: dict[str, Pair] = {}
    dear: dict[str, Pair] = {}
    for url in urls:
        pattern = _parsed(url)
        changed = change(pattern) if rule.holds(pattern) else None
        if changed is None or str(changed) == url:
            continue
        pair = Pair(url, str(changed))
        if says_nothing is not None and says_nothing(pair):
            continue
        group = cheap if url in fetched or pair.image in fetched else dear
        group.setdefault(f"{pattern.path} {changed.query}", pair)
    return [*_spread(list(cheap.values()), budget), *_spread(list(dear.values()), budget)][:budget]


def _spread(pairs: list[Pair], count: int) -> list[Pair]:
    step = max(len(pairs) // count, 1) if count else 1
    return pairs[::step][:count]


@dataclass(slots=True)
class RuleWatch:
    """The record of one rule: proved on pairs, then watched on samples of its applications.

    States: *candidate* (may not act) -> *active* after ``needed`` pairs without a wrong one -> *withdrawn* as soon as
    its error is above ``max_error`` with 90 % confidence, or :data:`MOST_WRONG` of the :data:`LATEST` pairs are wrong;
    a candidate likewise.
    A withdrawn rule never comes back by itself.
    """

    rule: Rule
    needed: int = 3
    max_error: float = 0.05
    right: int = 0
    wrong: int = 0
    wrong_pairs: list[Pair] = field(default_factory=list)
    """The first ten, for the ledger."""
    is_withdrawn: bool = False
    latest: tuple[bool, ...] = ()
    """Whether each of the latest pairs was right, as far as it was seen in this run."""

    def __post_init__(self) -> None:
        if self.needed < 1 or not 0 <= self.max_error < 1:
            raise ValueError("needed must be at least 1 and max_error in 0..1")

    @property
    def may_act(self) -> bool:
        """Whether URLs may be rewritten by it."""
        if self.is_withdrawn:
            return False
        checked = self.right + self.wrong
        return self.right >= self.needed and self.wrong <= self.max_error * checked

    def record(self, pair: Pair, is_same_page: bool) -> None:
        """Take note of a fetched *pair*, of the proof or of the sample alike."""
        self.latest = (*self.latest, is_same_page)[-LATEST:]
        if is_same_page:
            self.right += 1
            return
        self.wrong += 1
        if len(self.wrong_pairs) < 10:
            self.wrong_pairs.append(pair)
        if self.error_lower_bound() > self.max_error or self.latest.count(False) >= MOST_WRONG:
            self.is_withdrawn = True

    def error_lower_bound(self) -> float:
        """Return the lower end of the 90 % Wilson interval of the share of wrong pairs."""
        return wilson_interval(self.wrong, self.right + self.wrong, z=1.2816)[0]  # one-sided
