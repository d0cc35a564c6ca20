"""The words of a web: those of all pages, those of each subject, the phrases that are titles and anchors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.generation import laws
from scrapy_replica.lab.generation.plan import SUBJECTS
from scrapy_replica.numeric import FloatArray

SUBJECT_WORDS = 400
SUBJECT_SHIFT = 12.0
"""Within a subject the i-th word has a probability in proportion to 1 / (i + shift)."""
COMMONEST_SUBJECT_WORD = 150
"""Rank among all words of the commonest word that a subject may have."""
PHRASES = 64
"""Titles of a subject."""
CHROME = ("home", "contact", "print", "search", "help", "index", "login", "map", "news", "blog", "shop", "forum")
"""Anchors that tell nothing of the page they lead to."""
_CONSONANTS, _VOWELS, _LAST_VOWELS = "bcdfghjklmnprstvz", "aeiou", "aou"


@dataclass(frozen=True)
class Vocabulary:
    """Words are numbered by the share of pages that are expected to have them, 0 for the commonest."""

    words: list[str]
    general: NDArray[np.int32]
    """Rank -> word, shape (VOCABULARY,)."""
    of_subject: NDArray[np.int32]
    """Words of each subject, the commonest first, shape (SUBJECTS, SUBJECT_WORDS)."""
    anchor_words: NDArray[np.int32]
    """Two words of each anchor text, -1 for none: first those of CHROME, then PHRASES of each subject."""
    anchors: list[str]

    def titles(self, subject: NDArray[np.int64], phrase: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the anchor texts that are the titles of pages of *subject*."""
        return len(CHROME) + subject * PHRASES + phrase % PHRASES


@lru_cache(maxsize=2)
def make_vocabulary(seed: int) -> Vocabulary:
    """Draw the words of subjects and phrases."""
    chance = np.random.default_rng([seed, 1])
    n, low = laws.VOCABULARY, COMMONEST_SUBJECT_WORD
    drawn = low * (n / low) ** chance.random((SUBJECTS, SUBJECT_WORDS))
    of_subject = np.sort(drawn.astype(np.int64), axis=1)
    of_subject = chance.permuted(of_subject, axis=1)
    share = _expected(of_subject, n)
    chrome = np.full(len(CHROME), share.max())  # on every page, before all others
    number = np.empty(n + len(CHROME), np.int64)
    order = np.argsort(-np.concatenate([chrome * 2, share]), kind="stable")
    number[order] = np.arange(len(number))
    general, subjects = number[len(CHROME) :], number[len(CHROME) :][of_subject]
    words = np.empty(len(number), dtype=object)
    words[number] = [*CHROME, *_pseudo_words(n)]
    first = np.arange(PHRASES)
    phrases = np.stack([subjects[:, first], subjects[:, (first * 7 + 3) % 97 + PHRASES]], axis=2).reshape(-1, 2)
    anchor_words = np.concatenate([np.stack([number[: len(CHROME)], np.full(len(CHROME), -1)], axis=1), phrases])
    anchors = [*CHROME, *(f"{words[a]} {words[b]}" for a, b in phrases.tolist())]
    return Vocabulary(
        words.tolist(), general.astype(np.int32), subjects.astype(np.int32), anchor_words.astype(np.int32), anchors
    )


def _expected(of_subject: NDArray[np.int64], n: int) -> FloatArray:
    """How often each word is expected, of general text and of all subjects alike."""
    share = 0.7 / (np.arange(n) + laws.VOCABULARY_SHIFT) / np.log1p(n / laws.VOCABULARY_SHIFT)
    of_word = 1.0 / (np.arange(SUBJECT_WORDS) + SUBJECT_SHIFT)
    topical = np.tile(0.3 * of_word / of_word.sum() / SUBJECTS, SUBJECTS)
    both: FloatArray = share + np.bincount(of_subject.reshape(-1), topical, n)
    return both


@cache
def _pseudo_words(n: int) -> list[str]:
    return [pseudo_word(rank) for rank in range(n)]


def pseudo_word(rank: int) -> str:
    """Return the word of *rank*: syllables of a consonant and a vowel, two for the commonest, then three.

    No two ranks have one word. The last vowel is none that a stemmer takes off, so each word is its own stem.
    """
    syllables = len(_CONSONANTS) * len(_VOWELS)
    twos = syllables * len(_CONSONANTS) * len(_LAST_VOWELS)
    count, rest = (2, rank * 2_477 % twos) if rank < twos else (3, (rank - twos) * 15_485_867 % (twos * syllables))
    rest, last = divmod(rest, len(_LAST_VOWELS))
    rest, consonant = divmod(rest, len(_CONSONANTS))
    word = _CONSONANTS[consonant] + _LAST_VOWELS[last]
    for _ in range(count - 1):
        rest, syllable = divmod(rest, syllables)
        word = _CONSONANTS[syllable // len(_VOWELS)] + _VOWELS[syllable % len(_VOWELS)] + word
    return word
