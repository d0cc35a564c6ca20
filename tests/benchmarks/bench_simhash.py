"""The fingerprint of a text against PyPI simhash and simhash-pybind, on the same 3-shingles.

Both packages install a module ``simhash``; the compiled part of simhash-pybind is reached past the ``__init__`` of
the other.
"""

from __future__ import annotations

import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable

import mmh3
import pytest

from scrapy_replica.pages.simhash import simhash_of, token_hashes

TEXTS = 100
WORDS = 2_000  # 13 kB of text, the mean of 300 pages of documentation
ROUNDS = 7
MASK = 2**64 - 1


def sample_texts() -> list[str]:
    """Texts with about the word lengths and frequencies of English (Zipf)."""
    rng = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    vocabulary = ["".join(rng.choices(letters, weights=range(26, 0, -1), k=rng.randint(2, 9))) for _ in range(30_000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    return [" ".join(rng.choices(vocabulary, weights, k=WORDS)).capitalize() for _ in range(TEXTS)]


def shingles(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[start : start + 3]) for start in range(len(words) - 2)]


def ms_per_text(function: Callable[[str], object], texts: list[str], rounds: int = ROUNDS) -> float:
    function(texts[0])
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for text in texts:
            function(text)
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times) / len(texts)


def test_simhash(capsys, figures):
    peer = pytest.importorskip("simhash")
    compiled = pytest.importorskip("simhash._simhash")

    def pypi_md5(text: str) -> object:
        return peer.Simhash(dict(Counter(shingles(text))))

    def pybind_mmh3(text: str) -> object:
        return compiled.compute([mmh3.hash64(shingle, signed=False)[0] for shingle in shingles(text)])

    texts = sample_texts()
    ours = ms_per_text(lambda text: simhash_of(token_hashes(text)), texts)
    with capsys.disabled():
        print(f"\nsimhash of {statistics.mean(map(len, texts)):,.0f} characters, CPU time a text: {ours:.3f} ms")
    for name, function, wanted in (("PyPI simhash", pypi_md5, 18), ("simhash-pybind", pybind_mmh3, 10)):
        theirs = ms_per_text(function, texts, 3)
        figures.add(f"simhash of a text; {name}", ours, "ms", f"{1 / wanted:.3f} x", peer=theirs)
