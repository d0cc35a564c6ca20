"""The words of pages: a mixture of what all pages say and what their subject and its neighbours say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.arrays import ragged
from scrapy_replica.lab.generation import laws
from scrapy_replica.lab.generation.plan import SUBJECTS
from scrapy_replica.lab.generation.vocabulary import SUBJECT_SHIFT, SUBJECT_WORDS, Vocabulary
from scrapy_replica.numeric import IntArray

NEARNESS = ((0, 0.50), (1, 0.13), (-1, 0.13), (2, 0.05), (-2, 0.05))
"""Distance on the ring of subjects of a page's topical words, with its probability; else any subject."""
_NEAR = np.cumsum(np.array([share for _, share in NEARNESS], dtype=np.float32))
_STEPS = np.array([*(step for step, _ in NEARNESS), 0])
_SLICE = 4096
_WORD_BITS = 17


@dataclass(frozen=True)
class Rows:
    """Terms of pages, those of the i-th at ``start[i]`` to ``start[i + 1]``, sorted by id."""

    start: IntArray
    ids: NDArray[np.int32]
    counts: NDArray[np.uint16]

    def take(self, rows: IntArray) -> Rows:
        """Return the terms of *rows*."""
        lengths = self.start[rows + 1] - self.start[rows]
        places = ragged(self.start[rows], lengths)
        return Rows(np.concatenate([[0], np.cumsum(lengths)]), self.ids[places], self.counts[places])


def texts(
    chance: np.random.Generator,
    vocabulary: Vocabulary,
    pages: Pages,
    more: tuple[IntArray, NDArray[np.int32]],
) -> Rows:
    """Draw the text of *pages*; *more* are words that they have besides, as (row, word), by row."""
    parts, (rows, words) = [], more
    for first in range(0, len(pages.subject), _SLICE):
        span = slice(first, first + _SLICE)
        part = Pages(pages.subject[span], pages.strength[span], pages.lengths[span])
        besides = slice(*np.searchsorted(rows, [first, first + _SLICE]).tolist())
        parts.append(_slice(chance, vocabulary, part, rows[besides] - first, words[besides]))
    return joined(parts)


@dataclass(frozen=True)
class Pages:
    """What the text of pages is drawn from; ``lengths`` are numbers of draws."""

    subject: IntArray
    strength: NDArray[np.float32]
    lengths: IntArray


def _slice(
    chance: np.random.Generator, vocabulary: Vocabulary, pages: Pages, rows: IntArray, words: NDArray[np.int32]
) -> Rows:
    n = int(pages.lengths.sum())
    row = np.repeat(np.arange(len(pages.subject), dtype=np.uint32), pages.lengths)
    word = vocabulary.general[laws.ranks(chance.random(n, np.float32), laws.VOCABULARY_SHIFT, laws.VOCABULARY)]
    topical = np.flatnonzero(chance.random(n, np.float32) < pages.strength[row])
    near = np.searchsorted(_NEAR, chance.random(len(topical), np.float32))
    about = (pages.subject[row[topical]] + _STEPS[near]) % SUBJECTS
    astray = np.flatnonzero(near == len(NEARNESS))
    about[astray] = chance.integers(SUBJECTS, size=len(astray))
    drawn = laws.ranks(chance.random(len(topical), np.float32), SUBJECT_SHIFT, SUBJECT_WORDS)
    word[topical] = vocabulary.of_subject[about, drawn]
    counts = counted(len(pages.subject), np.append(row, rows.astype(np.uint32)), np.append(word, words))
    repeats = laws.REPEATS[chance.integers(len(laws.REPEATS), size=len(counts.ids), dtype=np.uint16)]
    repeats[np.repeat(pages.lengths == 0, np.diff(counts.start))] = 0
    return Rows(counts.start, counts.ids, counts.counts + repeats)


def counted(n: int, row: NDArray[np.uint32], word: NDArray[np.int32]) -> Rows:
    """Return how often each *word* stands in its *row* of *n*."""
    keys = np.sort(row.astype(np.uint32) << np.uint32(_WORD_BITS) | word.astype(np.uint32))
    first = np.flatnonzero(np.diff(keys, prepend=np.uint32(0xFFFFFFFF)))
    counts = np.diff(first, append=len(keys)).astype(np.uint16)
    kept = keys[first]
    start = np.searchsorted(kept, np.arange(n + 1, dtype=np.uint64) << np.uint64(_WORD_BITS))
    return Rows(start, (kept & np.uint32((1 << _WORD_BITS) - 1)).astype(np.int32), counts)


def added(n: int, row: IntArray, word: NDArray[np.int32], count: NDArray[Any]) -> Rows:
    """Return *n* rows in which the counts of equal words of a row are summed, which must not be below 0."""
    key = row.astype(np.int64) << _WORD_BITS | word
    order = np.argsort(key, kind="stable")
    key, count = key[order], count[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    sums = np.add.reduceat(count.astype(np.int64), first) if len(first) else np.zeros(0, np.int64)
    start = np.searchsorted(key[first], np.arange(n + 1) << _WORD_BITS)
    return Rows(start, (key[first] & ((1 << _WORD_BITS) - 1)).astype(np.int32), sums.astype(np.uint16))


def joined(parts: list[Rows]) -> Rows:
    """Return rows of all *parts*, one behind the other."""
    lengths = [np.diff(part.start) for part in parts]
    start = np.cumsum(np.concatenate([[0], *lengths]))
    return Rows(start, np.concatenate([part.ids for part in parts]), np.concatenate([part.counts for part in parts]))
