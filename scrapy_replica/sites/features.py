"""Features of a pair of hosts: what aligned pages, names and neighbours say.

Each feature is a function; adding one touches this module only.
NaN means unknown, never 0. Shares of n aligned pages are shrunk towards a prior, (n share + prior) / (n + 1), so
that one agreeing page does not look like a hundred.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scrapy_replica.address import name_of
from scrapy_replica.sites.evidence import (
    SAME_NUMBERS,
    SAME_PAGE_BITS,
    HostEvidence,
    PageMark,
    have_one_text,
    have_one_title,
)
from scrapy_replica.sites.redirects import lead_apart
from scrapy_replica.sites.sketch import jaccards, numbers_in_common

MAX_ALIGNED = 100
"""Aligned pages looked at; more do not change a share."""
MIN_APART, MOST_APART = 3, 0.05
"""URLs at equal places that lead to other places, at least, and their share of what was asked for on both hosts, above
which these are two sites: as many as samples may be wrong."""
MIN_TOLD = 2
"""Aligned pages that give items or state something, without which they speak neither for nor against a pair."""
SAME_TEXT_BITS = 6
"""Distance of simhashes up to which two pages of one host hold one text."""
_PRIOR = 0.3
_LANGUAGE_PRIOR = 0.7
_VERSION = re.compile(r"(?<![\d.])(?:v?\d+(?:\.\d+)+|(?:19|20)\d\d|v\d+)(?!\.?\d)")
_ADDRESS = re.compile(r"\A(?:[\d.]+|[^.]*:.*)\Z")


@dataclass(frozen=True)
class Comparison:
    """Two hosts laid side by side under one alignment.

    *aligned* are the marks of pages at equal relative paths that tell what they are, each text counted once: a
    host that answers everything with one page, were it to quote the path, has one aligned page.
    """

    first: HostEvidence
    second: HostEvidence
    prefixes: tuple[str, str]

    @cached_property
    def aligned(self) -> list[tuple[PageMark, PageMark]]:
        mine, theirs = self.first.view(self.prefixes[0])[0], self.second.view(self.prefixes[1])[0]
        seen_mine: set[int | None] = set()
        seen_theirs: set[int | None] = set()
        found = []
        for rest in sorted(mine.keys() & theirs.keys()):
            a, b = mine[rest], theirs[rest]
            if not (a.tells and b.tells):
                continue
            if a.simhash in seen_mine or b.simhash in seen_theirs:
                continue
            seen_mine.add(a.simhash)
            seen_theirs.add(b.simhash)
            found.append((a, b))
            if len(found) == MAX_ALIGNED:
                break
        if len(found) < 2:
            return found
        own = np.array([[a.simhash for a, _ in found], [b.simhash for _, b in found]], dtype=np.uint64)
        is_near = (np.bitwise_count(own[:, :, None] ^ own[:, None]) <= SAME_TEXT_BITS).any(axis=0)
        if np.count_nonzero(is_near) == len(found):
            return found
        is_repeat = np.tril(is_near, -1).any(axis=1).tolist()
        return [pair for pair, repeats in zip(found, is_repeat, strict=True) if not repeats]

    @property
    def n_common(self) -> int:
        """Pages fetched on both."""
        return len(self.first.view(self.prefixes[0])[0].keys() & self.second.view(self.prefixes[1])[0].keys())

    @property
    def coverage(self) -> float:
        """Share of the paths known on both hosts that were fetched on both, 0..1."""
        mine, theirs = self.first.view(self.prefixes[0]), self.second.view(self.prefixes[1])
        known = len(mine[1] & theirs[1])
        return min(len(mine[0].keys() & theirs[0].keys()) / known, 1.0) if known else 0.0

    @property
    def shared(self) -> float:
        """Share of one host's known pages that are known on the other in the place of it, the larger of both, 0..1.

        All pages of that host count, wherever they lie, but none twice for its arguments: of a host that adds a session
        id to its links most URLs are known nowhere else.
        """
        mine, theirs = (without_queries(host.view(prefix)[1]) for host, prefix in _sides(self))
        n_known = min(len(without_queries(host.paths)) for host in (self.first, self.second))
        return len(mine & theirs) / max(n_known, 1)

    @cached_property
    def jaccards(self) -> list[float]:
        """Estimated shingle Jaccard coefficients of the aligned pages, ascending."""
        same = [1.0 for a, b in self.aligned if have_one_text(a, b)]
        both = [(a.sketch, b.sketch) for a, b in self.aligned if not have_one_text(a, b)]
        known = [(a, b) for a, b in both if a is not None and b is not None]
        told = jaccards([a for a, _ in known], [b for _, b in known]).tolist() if known else []
        return sorted(told + same)

    @property
    def n_of_equal_items(self) -> int:
        """Aligned pages of which a callback made the same items."""
        return sum(a.items == b.items != 0 for a, b in self.aligned)

    @cached_property
    def states_other(self) -> bool:
        """Whether most of the aligned pages give other items, or where none are given state other prices and numbers:
        shops of two countries, tenants.

        Of 187 pairs of replicas, real and made of real manuals, none does by what it states: at worst 40 and 16 % of
        their pages differ. Of 486 translations, versions and templates 316 do.
        """
        told = [same for a, b in self.aligned if (same := _agree(a, b)) is not None]
        return len(told) >= MIN_TOLD and 2 * sum(told) < len(told)

    @cached_property
    def leads_apart(self) -> bool:
        """Whether URLs at equal places lead to other places, too many of them for one site: to the shops of their own
        countries, say.
        """
        mine, theirs = self.first.redirects, self.second.redirects
        both = mine.keys() & theirs.keys() if not any(self.prefixes) else set()
        names = self.first.name, self.second.name
        n_apart = sum(lead_apart(mine[path], theirs[path], names) for path in both)
        return n_apart >= MIN_APART and n_apart > MOST_APART * (len(both) + self.n_common)


def common_known_paths(pair: Comparison) -> float:
    """Common relative paths of known URLs / known URLs of the host that has fewer, in the sample of both."""
    mine, theirs = (host.view(prefix)[1] for host, prefix in _sides(pair))
    smaller = min(len(pair.first.paths), len(pair.second.paths))
    return len(mine & theirs) / smaller if smaller else math.nan


def near_texts(pair: Comparison) -> float:
    """Share of aligned pages whose main texts are one or have simhashes within 10 bits."""
    return _share((have_one_text(a, b) or _are_near(a, b) for a, b in pair.aligned), _PRIOR)


def low_shingles(pair: Comparison) -> float:
    """25th percentile of the shingle Jaccard of aligned pages: one edited page in five does not matter."""
    return _shrunk_quantile(pair.jaccards, 0.25)


def middle_shingles(pair: Comparison) -> float:
    """Median of the shingle Jaccard of aligned pages."""
    return _shrunk_quantile(pair.jaccards, 0.5)


def equal_titles(pair: Comparison) -> float:
    """Share of aligned pages with equal titles but for the name of a host, where one of them has a title."""
    return _share((have_one_title(a, b) for a, b in pair.aligned if a.title or b.title), _PRIOR)


def same_language(pair: Comparison) -> float:
    """Share of aligned pages in one language, where both are known."""
    return _share((a.language == b.language for a, b in pair.aligned if a.language and b.language), _LANGUAGE_PRIOR)


def other_numbers(pair: Comparison) -> float:
    """Share of aligned pages whose titles differ in a number only: versions, years, editions."""
    pages = [(a, b) for a, b in pair.aligned if a.title and b.title]
    return _share((a.title != b.title and a.title_pattern == b.title_pattern for a, b in pages), 0.0)


def version_marks(pair: Comparison) -> float:
    """1 if names and prefixes carry versions or years that have nothing in common, 0 if they share one.

    The numbers of an address are neither.
    """
    mine, theirs = (
        set(_VERSION.findall(f"{_ADDRESS.sub('', name_of(host.name))}/{prefix}".lower()))
        for host, prefix in _sides(pair)
    )
    return math.nan if not mine or not theirs else float(not mine & theirs)


def alternates(pair: Comparison) -> float:
    """1 if one names the other as its translation (hreflang), unknown otherwise; speaks against a replica."""
    first, second = pair.first, pair.second
    return 1.0 if first.alternates_to[second.name] or second.alternates_to[first.name] else math.nan


FEATURES: dict[str, Callable[[Comparison], float]] = {
    "cknown": common_known_paths,
    "sm10": near_texts,
    "bj25": low_shingles,
    "bj50": middle_shingles,
    "teq": equal_titles,
    "lsame": same_language,
    "tnum": other_numbers,
    "vmark": version_marks,
    "hreflang": alternates,
}
"""Name of a feature -> what returns it of a pair; NaN if unknown."""


def features_of(pair: Comparison) -> list[float]:
    return [feature(pair) for feature in FEATURES.values()]


def _are_near(a: PageMark, b: PageMark) -> bool:
    return ((a.simhash or 0) ^ (b.simhash or 0)).bit_count() <= SAME_PAGE_BITS


def _agree(a: PageMark, b: PageMark) -> bool | None:
    """Tell whether two pages give the same items; where either gives none, whether they state the same.

    ``None`` where nothing tells. That only one of them states something tells, too, and so do the numbers around main
    texts that have none: real copies with another frame disagree in 16 % of their pages at most.
    """
    if a.items and b.items:
        return a.items == b.items
    if a.offers is None or b.offers is None:
        return None
    if a.offers != b.offers:
        return False
    mine, theirs = a.numbers or a.around, b.numbers or b.around
    if mine == theirs:
        return True if mine or a.offers else None
    return numbers_in_common(mine, theirs) >= SAME_NUMBERS


def _sides(pair: Comparison) -> Iterable[tuple[HostEvidence, str]]:
    return zip((pair.first, pair.second), pair.prefixes, strict=True)


def without_queries(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("?")[0].rstrip("/") if "?" in path else path for path in paths}


def _share(answers: Iterable[bool], prior: float) -> float:
    """Return the share of true *answers*, shrunk to *prior* as if by one more answer; NaN without any."""
    listed = list(answers)
    return (sum(listed) + prior) / (len(listed) + 1) if listed else math.nan


def _shrunk_quantile(ascending: Sequence[float], q: float) -> float:
    """Return the q-quantile, interpolated and shrunk; by hand, because NumPy takes 20 us for a short list."""
    n = len(ascending)
    if not n:
        return math.nan
    place = q * (n - 1)
    low = int(place)
    value = ascending[low] + (place - low) * (ascending[min(low + 1, n - 1)] - ascending[low])
    return (n * value + _PRIOR) / (n + 1)
