from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.lab.calibration import minhash
from scrapy_replica.lab.calibration.minhash import N_HASHES, bands, common_bands, differences, minhash_of
from scrapy_replica.pages.simhash import shingle_hashes, token_hashes

MASK = (1 << 64) - 1
TEXTS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "中", "ij"]), min_size=1, max_size=12).map(" ".join)


def reference(text):
    """The definition, one shingle and one function at a time."""
    shingles = {int(shingle) for shingle in shingle_hashes(token_hashes(text))}
    functions = zip(minhash.FACTORS.tolist(), minhash.SUMMANDS.tolist(), strict=True)
    return [min((factor * shingle + summand) & MASK for shingle in shingles) for factor, summand in functions]


def of(words):
    return minhash_of(token_hashes(" ".join(words)))


def words(n, seed):
    rng = random.Random(seed)
    return [f"w{rng.randrange(1 << 30):x}" for _ in range(n)]


class TestMinhash:
    @settings(max_examples=30)
    @given(TEXTS)
    def test_equals_the_slow_definition(self, text):
        assert minhash_of(token_hashes(text)).tolist() == reference(text)

    def test_more_shingles_than_are_hashed_at_a_time(self):
        text = " ".join(words(2 * minhash.CHUNK + 7, 1))
        assert minhash_of(token_hashes(text)).tolist() == reference(text)

    def test_how_often_a_shingle_stands_does_not_count(self):
        assert of(["a", "b", "c"] * 2).tolist() == of(["a", "b", "c"] * 50).tolist()

    @pytest.mark.parametrize("changed", [30, 150, 400])
    def test_entries_in_common_estimate_the_jaccard_similarity(self, changed):
        """The end of a text is another one: of 998 shingles each so many are not in the other."""
        shared, found = 998 - changed, []
        for seed in range(20):
            start, ends = words(1_000 - changed, seed), (words(changed, seed + 50), words(changed, seed + 100))
            one, other = (of(start + end) for end in ends)
            found.append(int((one == other).sum()) / N_HASHES)
        jaccard = shared / (998 + changed)
        # The mean of 20 x 128 draws has a standard deviation of at most .01.
        assert np.mean(found) == pytest.approx(jaccard, abs=0.04)


ROWS = st.integers(1, 20).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 1 << 32)))


class TestDifferences:
    @settings(max_examples=30)
    @given(ROWS)
    def test_equal_the_slow_count(self, rows):
        n, seed = rows
        one, other = np.random.default_rng(seed).integers(0, 2, (2, n, N_HASHES), dtype=np.uint64)
        slow = [sum(a != b for a, b in zip(x, y, strict=True)) for x, y in zip(one, other, strict=True)]
        assert differences(one, other).tolist() == slow

    @settings(max_examples=30)
    @given(ROWS)
    def test_bands_are_equal_where_four_entries_are(self, rows):
        n, seed = rows
        one, other = np.random.default_rng(seed).integers(0, 2, (2, n, N_HASHES), dtype=np.uint64)
        slow = [
            [x[first : first + 4].tolist() == y[first : first + 4].tolist() for first in range(0, N_HASHES, 4)]
            for x, y in zip(one, other, strict=True)
        ]
        assert common_bands(one, other).tolist() == slow
        assert (bands(one) == bands(other)).tolist() == slow
