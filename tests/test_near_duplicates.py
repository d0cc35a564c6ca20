from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.pages import near_duplicates
from scrapy_replica.pages.near_duplicates import NearDuplicates

FINGERPRINTS = st.integers(0, 2**64 - 1)


def flipped(value: int, bits: list[int]) -> int:
    for bit in bits:
        value ^= 1 << bit
    return value


def brute_force(members: set[int], value: int, distance: int) -> list[int]:
    near = [member for member in members if (member ^ value).bit_count() <= distance]
    return sorted(near, key=lambda member: ((member ^ value).bit_count(), member))


@st.composite
def crowds(draw):
    """A fingerprint and others around it, from 0 to 10 bits away."""
    centre = draw(FINGERPRINTS)
    bits = st.lists(st.integers(0, 63), max_size=10, unique=True)
    return centre, {flipped(centre, draw(bits)) for _ in range(draw(st.integers(0, 25)))}


class TestQuery:
    @settings(max_examples=100)
    @given(crowds(), st.integers(0, 7), st.booleans())
    def test_equals_brute_force(self, crowd, distance, is_bulk):
        centre, members = crowd
        index = NearDuplicates()
        if is_bulk:
            index.extend(np.array(sorted(members), dtype=np.uint64))
        else:
            for member in members:
                assert index.add(member)
        assert index.query(centre, distance) == brute_force(members, centre, distance)

    @pytest.mark.parametrize("distance", range(8))
    def test_finds_every_planted_neighbour(self, distance):
        rng = random.Random(distance)
        members = [rng.getrandbits(64) for _ in range(2_000)]
        index = NearDuplicates()
        index.extend(np.array(members, dtype=np.uint64))
        for member in members[:500]:
            assert member in index.query(flipped(member, rng.sample(range(64), distance)), distance)

    def test_of_an_empty_index(self):
        assert NearDuplicates().query(0, 7) == []


class TestAdd:
    def test_tells_whether_it_is_new(self):
        index = NearDuplicates()
        assert index.add(0)
        assert not index.add(0)
        assert index.add(2**64 - 1)
        assert len(index) == 2
        assert 0 in index
        assert 1 not in index

    def test_bytes_across_two_members_are_no_member(self):
        # The 8 bytes in the middle of the bucket spell 0xABCD00000000ABCD, which was never added.
        index = NearDuplicates()
        index.add(0xABCD_0000_1111_ABCD)
        index.add(0x2222_3333_0000_ABCD)
        members = {0xABCD_0000_1111_ABCD, 0x2222_3333_0000_ABCD}
        both = b"".join(member.to_bytes(8, "little") for member in (0xABCD_0000_1111_ABCD, 0x2222_3333_0000_ABCD))
        across = {int.from_bytes(both[place : place + 8], "little") for place in range(9)}
        assert {value for value in across if value in index} == members

    def test_one_fingerprint_many_times_is_stored_once(self):
        index = NearDuplicates()
        added = [index.add(42) for _ in range(100_000)]
        assert sum(added) == 1
        assert index.query(42, 7) == [42]
        assert len(index) == 1

    def test_is_exact_at_every_step_of_its_merges(self, monkeypatch):
        monkeypatch.setattr(near_duplicates, "MAX_RECENT", 16)
        rng, index, members = random.Random(1), NearDuplicates(), set()
        for number in range(1_500):
            value = rng.getrandbits(64)
            if members and number % 3:
                value = flipped(rng.choice(sorted(members)), rng.sample(range(64), rng.randrange(9)))
            assert index.query(value, 7) == brute_force(members, value, 7)
            assert index.add(value) == (value not in members)
            members.add(value)
            assert len(index) == len(members)
            assert len(index._recent_set) <= 32

    @pytest.mark.parametrize("value", [-1, 2**64])
    def test_more_than_64_bits_are_refused(self, value):
        with pytest.raises(OverflowError):
            NearDuplicates().add(value)


class TestExtend:
    @settings(max_examples=20)
    @given(st.lists(st.lists(FINGERPRINTS, max_size=20), max_size=4))
    def test_equals_adding_one_by_one(self, batches):
        bulk, single = NearDuplicates(), NearDuplicates()
        for batch in batches:
            bulk.extend(np.array(batch, dtype=np.uint64))
            for value in batch:
                single.add(value)
        assert len(bulk) == len(single)
        for value in {value for batch in batches for value in batch}:
            assert bulk.query(value, 7) == single.query(value, 7)

    def test_can_be_added_to_afterwards(self):
        index = NearDuplicates()
        index.extend(np.array([1, 2, 2], dtype=np.uint64))
        assert index.add(3)
        assert not index.add(2)
        assert index.query(3, 1) == [3, 1, 2]
