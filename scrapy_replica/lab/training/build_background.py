"""Makes the shipped term statistics: ``python -m scrapy_replica.lab.training.build_background OUT_DIR``.

Needs the package ``wordfreq`` (its word lists are CC BY-SA 4.0, see ``background/NOTICE``) on the maker's machine only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import Stemmer

from scrapy_replica.focus.background import LANGUAGES, pack

if TYPE_CHECKING:
    from collections.abc import Mapping

SNOWBALL = {"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "pt": "portuguese"}
STEMS = 25_000
WORD = re.compile(r"[^\W\d_]{2,}")


def stem_frequencies(words: Mapping[str, float], language: str) -> dict[str, float]:
    """Return stem -> share of the running words, most frequent first, from *words* (word -> share).

    Stop words stay in: pages do not have them, and to cut them by frequency would take "people" and "years" with them.
    """
    stem = Stemmer.Stemmer(SNOWBALL[language]).stemWord
    shares: dict[str, float] = {}
    for word, share in words.items():
        for token in WORD.findall(word.lower()):
            stemmed = stem(token)
            shares[stemmed] = shares.get(stemmed, 0.0) + share
    ordered = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:STEMS])


def main() -> None:
    """Write one NPZ file per language into the folder named on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m scrapy_replica.lab.training.build_background OUT_DIR")
    try:
        import wordfreq  # noqa: PLC0415 - on the maker's machine only
    except ImportError:
        sys.exit("the word lists come from the package wordfreq: pip install wordfreq")
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        words = wordfreq.get_frequency_dict(language, wordlist="best")
        data = pack(stem_frequencies(words, language))
        (out / f"{language}.npz").write_bytes(data)
        sys.stderr.write(f"{language}.npz: {len(data):,} bytes\n")


if __name__ == "__main__":
    main()
