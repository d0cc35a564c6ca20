"""What a link says about its target before it is fetched: its anchor text, the words and the directory of its URL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote, urlsplit

import numpy as np

from scrapy_replica.address import host_of
from scrapy_replica.numeric import FloatArray
from scrapy_replica.records import Link

CACHED_LINKS = 200_000
DEEPEST = 8
"""Directories kept below a host; deeper ones are counted with their ancestor."""

_WORD = re.compile(r"[^\W\d_]+")


class LinkWords:
    """Relevance of each link's own words, by the page model: called with links, returns floats 0..1, shape (n,).

    The words of navigation links repeat on every page, so answers are kept for at most ``CACHED_LINKS`` different links
    (about 60 MB), then forgotten all at once.
    """

    def __init__(
        self, relevance: Callable[[Mapping[str, int]], float], count_terms: Callable[[str], Mapping[str, int]]
    ) -> None:
        self._relevance = relevance
        self._count_terms = count_terms
        self._known: dict[tuple[str, str], float] = {}

    def terms(self, link: Link) -> Mapping[str, int]:
        """Return the stem counts of the anchor text and of the words of the URL."""
        return self._count_terms(f"{link.text} {url_words(link.url)}")

    def __call__(self, links: Sequence[Link]) -> FloatArray:
        return np.array([self._one(link) for link in links], dtype=np.float64)

    def _one(self, link: Link) -> float:
        key = link.url, link.text
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= CACHED_LINKS:
                self._known.clear()
            known = self._known[key] = finite(self._relevance(self.terms(link)))
        return known


def finite(relevance: float) -> float:
    """Return *relevance*, 0 where a model has no answer."""
    return relevance if math.isfinite(relevance) else 0.0


def url_words(url: str) -> str:
    """Return the words of path and query, in order, without digits and marks."""
    parts = urlsplit(url)
    return " ".join(_WORD.findall(unquote(f"{parts.path} {parts.query}")))


def directories(url: str) -> list[str]:
    """Return the host and the directories that hold *url*, outermost first, each as a prefix of the URL.

    >>> directories("http://a.org/x/y/z.html")
    ['a.org', 'a.org/x', 'a.org/x/y']
    """
    parts = urlsplit(url)
    names = parts.path.split("/")[1:-1][:DEEPEST]
    prefixes = [host_of(url)]
    for name in names:
        prefixes.append(f"{prefixes[-1]}/{name}")
    return prefixes
