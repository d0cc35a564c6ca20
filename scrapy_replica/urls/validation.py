"""When to learn on a host, how to prove a rule before it acts, and when to withdraw it. Pure: fetching is the caller's.

Measured: on a wiki no learner is safe before about 1,000 random URLs, and on other hosts a few dozen are enough. So
learning starts early, and every rule must be proved on its own applications first and is watched afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from scrapy_replica.numeric import wilson_interval
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule, compiled

FIRST_LEARNING = 40
"""Pages of a host before its rules are learnt for the first time: session ids and sort orders show by then."""
GROWTH = 1.5
"""Learn again when a host has grown by this factor: in all a host of n pages is learnt from O(n) of them."""
TWINS_GROWTH = 2
"""And when so many times as many of its pages repeat another: spellings often come after the pages that they repeat. Of
28 small sites .45 is saved on the mean, and .43 without; with 1.5 as much as without.
"""


def is_due(pages: int, pages_at_last: int, twins: int, twins_at_last: int) -> bool:
    """Tell whether a host of *pages* pages, *twins* of which repeat another, should be learnt from (again)."""
    if twins < 2 or pages < FIRST_LEARNING:
        return False
    return pages >= GROWTH * pages_at_last or twins >= TWINS_GROWTH * max(twins_at_last, 1)


PROVED = 3
"""Right pairs after which a rule may act."""
MAX_ERROR = 0.05
"""Share of wrong pairs above which it may not."""
LATEST, MOST_WRONG = 10, 3
"""So many wrong pairs among the latest withdraw a rule, whatever it was before: what an argument means may change, and
after a hundred right pairs it would take ten wrong ones to be above the error."""


def is_proved(right: int, wrong: int) -> bool:
    """Tell whether a rule of so many right and wrong pairs may act."""
    return right >= PROVED and wrong <= MAX_ERROR * (right + wrong)


def is_refuted(right: int, wrong: int, latest: Sequence[bool] = ()) -> bool:
    """Tell whether a rule of so many right and wrong pairs is wrong: in more than :data:`MAX_ERROR` of all, 90 % sure
    (the one-sided Wilson interval), or in :data:`MOST_WRONG` of the *latest*.
    """
    return wilson_interval(wrong, right + wrong, z=1.2816)[0] > MAX_ERROR or latest.count(False) >= MOST_WRONG


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
