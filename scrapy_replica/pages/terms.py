"""Terms of a text: stem -> count."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from operator import add
from typing import TYPE_CHECKING

import Stemmer

from scrapy_replica.pages.simhash import UNSPACED
from scrapy_replica.pages.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[^\W\d_]{2,}")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_MAX_WORD_CHARACTERS = 40
"""A longer run of letters is an encoded blob; the longest words of the stop list languages are shorter."""
# The languages for which Snowball has a stemmer, ISO 639-1 code -> its name.
_SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "nb": "norwegian", "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_CACHED_STEMS = 100_000


def terms(text: str, language: str | None = "en") -> dict[str, int]:
    """Return the terms of *text* with their counts.

    A term is the Snowball stem of a lower-case run of two letters or more that is no stop word of *language* (ISO
    639-1; None is read as English); in a language without a stemmer it is the run itself. Scripts written without
    spaces give their character bigrams, a lone character itself.
    """
    language = language or "en"
    text = text.lower()
    counts = Counter(_WORD.findall(text))
    if _UNSPACED_RUN.search(text):
        counts = Counter(_WORD.findall(_UNSPACED_RUN.sub(" ", text)))
        counts.update(_bigrams(text))
    stop_words = STOP_WORDS.get(language, frozenset())
    words = [word for word in counts if word not in stop_words and len(word) <= _MAX_WORD_CHARACTERS]
    stems: dict[str, int] = {}
    for word, stem in zip(words, _stemmed(words, language), strict=True):
        stems[stem] = stems.get(stem, 0) + counts[word]
    return stems


def _bigrams(text: str) -> Iterator[str]:
    for run in _UNSPACED_RUN.findall(text):
        yield from map(add, run, run[1:]) if len(run) > 1 else run


def _stemmed(words: list[str], language: str) -> list[str]:
    stemmer = _stemmer(language)
    return words if stemmer is None else stemmer.stemWords(words)


@cache
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    name = _SNOWBALL.get(language)
    return Stemmer.Stemmer(name, _CACHED_STEMS) if name in Stemmer.algorithms() else None
