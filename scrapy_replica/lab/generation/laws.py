"""The laws that the generated web follows, with the figures of the collections that they were fitted to.

*uci* is a crawl of one university (44,155 pages, 88 hosts), *emacswiki* a wiki (9,324 pages), *mdn* a manual (7,930
pages). Exponents are maximum likelihood estimates of a discrete power law from the least value given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import FloatArray, IntArray

HOST_EXPONENT = 1.47
"""Pages a host: uci 1.47 from 10 pages, 1.38 from 3."""
HOST_CAP = 5_000
"""Pages of a host at most, as in the cut of 10 million pages of Orlandi's collection (2007, p. 42)."""
HOST_SHARE = 0.05
"""Pages of a host at most, as a share of a small web."""
DIRECTORY_EXPONENT = 1.8
"""Pages a directory: uci 1.93 from 2 pages, 1.92 from 5; mdn 1.66 and 1.91."""
DIRECTORY_CAP = 300
"""Gives the mean of uci, 3.9 pages a directory."""

LINKS_ZERO = 0.25
LINKS_LOG_MEAN = 0.8
LINKS_LOG_SD = 1.6
LINKS_CAP = 600
"""Links in the text of a page; with the navigation and the listing of directories the out-degree of uci: median 3,
mean 11.6, 90th percentile 36, logarithms of standard deviation 1.2 (emacswiki 1.0, mdn 1.4)."""
NAVIGATION_MEAN = 3.0
"""Links that all pages of a host share: on uci 41 % of all links stand on more than a fifth of their host's pages."""
LINKS_IN_DIRECTORY = 0.45
LINKS_IN_HOST = 0.88
"""Of the links in the text, cumulated. uci: of all links 24 % within the directory, 97 % within the host."""
SKEW = 6.0
"""Target of a link within a host: first page + size * u ** SKEW, u uniform: the in-degree has the exponent
1 + SKEW / (SKEW - 1) = 2.2 (uci 1.84-2.01, emacswiki 2.16-2.28, mdn 1.4)."""

WORDS_LOG_MEAN = 4.25
WORDS_LOG_SD = 0.95
WORDS_CAP = 1_200
"""Draws of words a page: distinct terms uci mean 89, median 37; emacswiki 142, 92; mdn 159, 95."""
COUNT_EXPONENT = 2.2
"""How often a term stands on a page that has it: once on uci .66, emacswiki .60, mdn .64."""
VOCABULARY = 100_000
VOCABULARY_SHIFT = 15.0
"""Zipf and Mandelbrot: the r-th word has a probability in proportion to 1 / (r + shift). Share of the pages with the
words of rank 10, 100, 1,000: uci .28, .11, .019."""


def power_law(chance: np.random.Generator, exponent: float, most: int, n: int) -> IntArray:
    """Draw *n* whole numbers 1..most, k in proportion to k ** -exponent (the continuous law, inverted)."""
    low, high = 0.5, most + 0.5
    a = 1.0 - exponent
    drawn: FloatArray = (low**a + chance.random(n) * (high**a - low**a)) ** (1.0 / a)
    return np.clip(np.rint(drawn), 1, most).astype(np.int64)


def lognormal(chance: np.random.Generator, log_mean: float, log_sd: float, most: int, n: int) -> IntArray:
    """Draw *n* whole numbers 0..most."""
    return np.minimum(chance.lognormal(log_mean, log_sd, n), most).astype(np.int64)


def ranks(uniform: NDArray[np.float32], shift: float, most: int) -> NDArray[np.int32]:
    """Return ranks 0..most-1, r in proportion to 1 / (r + shift), by inversion of *uniform* numbers 0..1."""
    scale = np.float32(np.log1p(most / shift))
    drawn = np.float32(shift) * np.expm1(uniform * scale)
    found: NDArray[np.int32] = np.minimum(drawn.astype(np.int32), most - 1)
    return found


def _repeats() -> NDArray[np.uint16]:
    share = (np.arange(4096) + 0.5) / 4096
    return (np.clip(0.5 * (1 - share) ** (-1.0 / (COUNT_EXPONENT - 1.0)) + 0.5, 1, 60) - 1).astype(np.uint16)


REPEATS = _repeats()
"""How often more than once a term stands on a page: 4,096 equally probable numbers."""
