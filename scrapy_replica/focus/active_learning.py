"""Which pages a person should be asked about, and which of their words speak for and against the topic."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scrapy_replica.focus.linear import term_matrix
from scrapy_replica.records import Terms

OF_HOST = 0.5
"""What another page of a host that a page was chosen of is worth, as a share."""


class Candidate(NamedTuple):
    """A page that can be asked about."""

    url: str
    host: str
    relevance: float
    terms: Terms


class Share(NamedTuple):
    """What one term does to the relevance of a page."""

    term: str
    share: float
    """Relevance of the page less that of the page without the term: above 0 it speaks for the topic."""


def uncertainty(relevance: float) -> float:
    """Return how unsure a model is that gives a page that *relevance*, 0..1; 1 on the line."""
    return 1.0 - 2.0 * abs(relevance - 0.5)


def most_telling(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return the pages, at most so many, of which it teaches most to hear whether they are on the topic.

    Uncertainty sampling (Lewis & Gale 1994): those nearest to the line. One after the other is taken, and each is worth
    the less the more it is like one taken before (maximal marginal relevance, Carbonell & Goldstein 1998): by the
    cosine of their TF-IDF rows, and by ``OF_HOST`` for each page taken of its host.
    """
    documents = [candidate.terms for candidate in candidates]
    holders = Counter(term for document in documents for term in document)
    rows = term_matrix(documents, {term: math.log((1 + len(documents)) / n) for term, n in holders.items()})
    worths = [uncertainty(candidate.relevance) for candidate in candidates]
    nearest = np.zeros(len(candidates))
    chosen: list[int] = []
    hosts: Counter[str] = Counter()
    left = set(range(len(candidates)))
    while left and len(chosen) < most:
        best = max(left, key=lambda at: worths[at] * (1 - nearest[at]) * OF_HOST ** hosts[candidates[at].host])
        chosen.append(best)
        left.remove(best)
        hosts[candidates[best].host] += 1
        row = rows.take(np.array([best])).transposed_times(np.ones(1))
        nearest = np.minimum(1.0, np.maximum(nearest, rows.times(row)))
    return [candidates[at] for at in chosen]


def shares(terms: Terms, relevance: Callable[[Terms], float], most: int) -> list[Share]:
    """Return the terms that make most of the relevance of a page, at most so many for and so many against it.

    Each is left out in turn, which tells what it does whatever the model is (Robnik-Sikonja & Kononenko 2008).
    """
    whole = relevance(terms)
    found = [Share(term, whole - relevance({one: terms[one] for one in terms if one != term})) for term in terms]
    found.sort(key=lambda share: (-share.share, share.term))
    speaking_for = [share for share in found if share.share > 0][:most]
    return speaking_for + [share for share in found if share.share < 0][-most:]
