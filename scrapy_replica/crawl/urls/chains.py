"""Whether words are those of a Markov chain, whatever they say.

In a chain of order k the next word depends on the k words before it, and on nothing before these. Language remembers:
of two places with the same k words before them, those that agree in the word before these as well are followed by one
word far more often. The odds of that are pooled over all runs of k words (Mantel and Haenszel 1959), with pairs of
places on different pages. Nothing is asked of the words themselves: sayings, names, translations are language, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import FloatArray, IntArray

LINE = 0
"""Stands where a line ends."""


def odds_ratio(pages: Sequence[Sequence[int]], order: int) -> tuple[float, float]:
    """Return the odds ratio, 1 of a chain of that *order*, and how much tells of it.

    A run counts by the root of its number of pairs, not by that number: what stands on all pages is one fact.

    :param pages: a number for each word, the same for the same word, :data:`LINE` at the end of each line.
    :return: what tells is the sum over runs of the shares of pairs that are contrasted, at most a quarter of each.
    """
    words = np.concatenate([np.asarray([*page, LINE], np.uint64) for page in pages])
    page_of = np.repeat(np.arange(len(pages)), [len(page) + 1 for page in pages])
    n = len(words) - order - 1
    if n < 1:
        return 1.0, 0.0
    columns = [words[first : first + n] for first in range(order + 2)]
    is_whole = np.all([column != LINE for column in columns], axis=0)
    before, *run, after = (column[is_whole] for column in columns)
    page_of = page_of[:n][is_whole]
    _, places = np.unique(_mixed(before, *run, after, page_of), return_index=True)
    before, after, page_of = before[places], after[places], page_of[places]
    _, run_of = np.unique(_mixed(*(column[places] for column in run)), return_inverse=True)
    pairs, same_before, same_after, both = (
        _pairs(run_of, page_of, *same) for same in ((), (before,), (after,), (before, after))
    )
    together = both * (pairs - same_before - same_after + both)
    apart = (same_before - both) * (same_after - both)
    pairs = np.maximum(1, pairs)
    odds = float((apart * pairs**-1.5).sum())
    ratio = float((together * pairs**-1.5).sum()) / odds if odds else np.inf
    return ratio, float(((together + apart) / pairs**2).sum())


def _pairs(run_of: IntArray, page_of: IntArray, *same: NDArray[Any]) -> FloatArray:
    """Return of each run how many pairs of its places, on different pages, agree in *same*."""
    n_runs = int(run_of.max(initial=-1)) + 1
    found = np.zeros(n_runs)
    for sign, keys in ((1, same), (-1, (*same, page_of))):
        _, first, counts = np.unique(_mixed(run_of, *keys), return_index=True, return_counts=True)
        found += sign * np.bincount(run_of[first], counts * (counts - 1) / 2, n_runs)
    return found


def _mixed(*columns: NDArray[Any]) -> NDArray[np.uint64]:
    """Return one number for each row of *columns*."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
