"""Terms of a text: stem -> count."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from operator import add

import Stemmer

from scrapy_replica.pages.simhash import UNSPACED
from scrapy_replica.pages.stop_words import STOP_WORDS

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
_CACHED_WORDS = 100_000
# Lower-case ASCII letters and what is not ASCII stand, everything else parts words: 5 times faster than a regular
# expression over the text, which is left for the few words that are not ASCII.
_PARTED = bytes(byte if byte >= 0x80 or chr(byte).islower() else 0x20 for byte in range(256))


def terms(text: str, language: str | None = "en") -> dict[str, int]:
    """Return the terms of *text* with their counts.

    A term is the Snowball stem of a lower-case run of two letters or more that is no stop word of *language* (ISO
    639-1; None is read as English); in a language without a stemmer it is the run itself. Scripts written without
    spaces give their character bigrams, a lone character itself.
    """
    stems = _stems(language or "en")
    counts: dict[str, int] = {}
    for part, count in Counter(_parts(text)).items():
        for word in (part,) if part.isascii() else _words(part):
            stem = stems[word]
            if stem:
                counts[stem] = counts.get(stem, 0) + count
    return counts


def spans(text: str, language: str | None = "en") -> dict[str, tuple[int, int]]:
    """Return of each term of *text* the numbers of the first and the last word that has it."""
    stems = _stems(language or "en")
    found: dict[str, tuple[int, int]] = {}
    for number, part in enumerate(_parts(text)):
        for word in (part,) if part.isascii() else _words(part):
            if stem := stems[word]:
                found[stem] = found[stem][0] if stem in found else number, number
    return found


def _parts(text: str) -> list[str]:
    return text.lower().encode("utf-8", "surrogatepass").translate(_PARTED).decode("utf-8", "surrogatepass").split()


def _words(part: str) -> list[str]:
    words = _WORD.findall(_UNSPACED_RUN.sub(" ", part))
    for run in _UNSPACED_RUN.findall(part):
        words += map(add, run, run[1:]) if len(run) > 1 else run
    return words


class _Stems(dict[str, str]):
    """Word -> its stem, empty for what is no term: a stop word, a lone ASCII letter, a blob. Emptied when full."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stop_words = STOP_WORDS.get(language, frozenset())
        name = _SNOWBALL.get(language)
        self._stem = Stemmer.Stemmer(name, 0).stemWord if name in Stemmer.algorithms() else str

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        is_lone = len(word) == 1 and word.isascii()
        is_term = not is_lone and word not in self._stop_words and len(word) <= _MAX_WORD_CHARACTERS
        self[word] = stem = self._stem(word) if is_term else ""
        return stem


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)
