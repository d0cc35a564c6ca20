from __future__ import annotations

import io
import random
import re
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.pages.simhash import (
    MAX_CHARACTERS,
    MURMUR,
    RADIX,
    SHINGLE,
    UNSPACED,
    simhash_of,
    token_hashes,
)

MASK = (1 << 64) - 1
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("abcXYZ é_7 ,.\n中文かなไทยΣİß")), max_size=200)


def simhash(text: str) -> int | None:
    tokens = token_hashes(text)
    return simhash_of(tokens) if len(tokens) else None


def reference_tokens(text: str) -> list[str]:
    lowered = "".join(c.lower()[0] if re.match(r"\w", c) else c for c in text)
    return re.findall(rf"[{UNSPACED}](?<=\w)|(?:(?![{UNSPACED}])\w)+", lowered)


def reference_simhash(text: str) -> int | None:
    tokens = []
    for token in reference_tokens(text):
        marks = [ord(c) | (1 << 21 if re.match(f"[{UNSPACED}]", c) else 0) for c in token]
        tokens.append(sum(mark * pow(RADIX, place, 1 << 64) for place, mark in enumerate(marks)) & MASK)
    if not tokens:
        return None
    width = min(3, len(tokens))
    shingles = []
    for start in range(len(tokens) - width + 1):
        value = sum(tokens[start + place] * int(SHINGLE[place]) for place in range(width)) & MASK
        for multiplier in MURMUR:
            value = (value ^ value >> 33) * int(multiplier) & MASK
        shingles.append(value ^ value >> 33)
    balance = [sum(1 if value >> bit & 1 else -1 for value in shingles) for bit in range(64)]
    return sum(1 << bit for bit in range(64) if balance[bit] > 0)


def distance(one: str, other: str) -> int:
    a, b = simhash(one), simhash(other)
    assert a is not None
    assert b is not None
    return (a ^ b).bit_count()


def random_text(rng: random.Random, words: int) -> list[str]:
    return [f"w{rng.randrange(50_000):x}" for _ in range(words)]


class TestSimhash:
    @given(TEXTS)
    def test_equals_the_slow_definition(self, text):
        assert simhash(text) == reference_simhash(text)

    def test_more_shingles_than_a_byte_counts(self):
        text = " ".join(random_text(random.Random(1), 2_000))
        assert simhash(text) == reference_simhash(text)

    @pytest.mark.parametrize("text", ["", " \n", "... !?", "\u00a0"])
    def test_no_token_no_fingerprint(self, text):
        assert simhash(text) is None

    def test_one_and_two_words_have_their_own_fingerprints(self):
        values = {simhash(text) for text in ["one", "two", "one two", "two one", "one two three"]}
        assert None not in values
        assert len(values) == 5

    def test_case_and_spacing_do_not_count(self):
        assert distance("The quick, brown fox jumps", "the  QUICK brown\nfox: jumps!") == 0

    def test_text_beyond_the_cap_is_not_looked_at(self):
        text = "word " * (MAX_CHARACTERS // 5 + 1)
        assert simhash(text[:MAX_CHARACTERS]) == simhash(text + "and more of it")

    def test_lone_surrogates_do_not_raise(self):
        assert simhash("a \ud800 b") == simhash("a b")


class TestTokenHashes:
    @given(TEXTS)
    def test_as_many_as_tokens(self, text):
        assert len(token_hashes(text)) == len(reference_tokens(text))

    def test_every_chinese_character_is_a_token(self):
        assert len(token_hashes("近似重复 pages 検出")) == 7

    def test_place_in_the_text_does_not_matter(self):
        first, _, last = token_hashes("same other same").tolist()
        assert first == last

    def test_different_words_differ(self):
        words = [f"w{number}" for number in range(20_000)]
        assert len(np.unique(token_hashes(" ".join(words)))) == len(words)


class TestQuality:
    """The distances that the literature leads to expect, on generated text."""

    def test_unrelated_texts_differ_in_half_of_the_bits(self):
        rng = random.Random(7)
        values = np.array([simhash(" ".join(random_text(rng, 300))) for _ in range(300)], dtype=np.uint64)
        pairs = np.bitwise_count(values[:, None] ^ values)[np.triu_indices(300, 1)]
        assert 31.5 <= pairs.mean() <= 32.5
        assert 3.7 <= pairs.std() <= 4.3
        assert (pairs <= 6).sum() == 0

    def test_one_changed_word_in_a_long_text_stays_near(self):
        rng = random.Random(8)
        near = 0
        for _ in range(100):
            words = random_text(rng, 600)
            changed = list(words)
            changed[rng.randrange(600)] = "different"
            near += distance(" ".join(words), " ".join(changed)) <= 6
        assert near >= 98

    def test_three_changed_chinese_characters_stay_near(self):
        rng = random.Random(9)
        text = [chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(800)]
        changed = list(text)
        for place in rng.sample(range(800), 3):
            changed[place] = "变"
        assert distance("".join(text), "".join(changed)) <= 6


@pytest.mark.shared
class TestRealPages:
    def test_unrelated_pages(self, shared):
        """1,369 pages of four collections: mean 31.93 bits, 2 of 936,396 pairs within 6 (0.2 per 100,000)."""
        zstandard = pytest.importorskip("zstandard")
        with (shared / "content" / "content.tar.zst").open("rb") as packed:
            stream = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(packed).read())
        with tarfile.open(fileobj=stream) as archive:
            members = [member for member in archive if member.name.endswith(".txt")]
            texts = [archive.extractfile(member).read().decode("utf-8", "replace") for member in members]
        values = np.array([simhash(text) for text in texts if len(text.split()) >= 100], dtype=np.uint64)
        pairs = np.bitwise_count(values[:, None] ^ values)[np.triu_indices(len(values), 1)]
        assert 31.5 <= pairs.mean() <= 32.5
        assert (pairs <= 6).sum() <= 2 * len(pairs) / 100_000
