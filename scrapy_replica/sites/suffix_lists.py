"""Inverted lists: which hosts have a path suffix, and under which prefix."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple, TypeAlias

from scrapy_replica.sites.alignment import MAX_HOSTS

Place: TypeAlias = tuple[str, str]
"""A host and the path prefix before the suffix; one object for all suffixes that it is the place of."""
_List: TypeAlias = "Place | list[Place] | None"

MAX_ENTRIES = 600_000
"""Places in all lists. Beyond, those are given up whose paths have the highest hashes: what is left is a sample by the
last segment that mirrors draw alike. About 100 bytes each."""
_MASK = (1 << 60) - 1  # integers of two digits: 32 bytes each
_STEPS = 4  # bits of the hash below the first that tell shards apart


class Sharers(NamedTuple):
    """The places that had a suffix before."""

    places: list[Place]
    n_hosts: int
    """With the one that came now."""


class SuffixLists:
    """Suffix -> the places that have it.

    Suffixes are kept as hashes. A list of more than 100 hosts keeps nothing and gives no further evidence. Lists stand
    in shards by the magnitude of the sampling hash of their paths, so that the sample is thinned by giving up one shard,
    a thirty-second to a sixteenth of it, at a time.

    Args:
        is_gone: Hosts whose places count no more and are given up where they are met.
    """

    def __init__(self, is_gone: Container[str]) -> None:
        self._is_gone = is_gone
        self._shards: dict[int, dict[int, _List]] = {}
        self._counts: dict[int, int] = {}
        self.n_entries = 0
        self.sample_below = 1 << 32
        """Paths with a higher hash are not listed."""

    def add(self, place: Place, suffix: str, number: int) -> Sharers | None:
        """List *suffix*, whose path has the sampling hash *number*, at *place*.

        :return: the other places; ``None`` where there is nothing new: the host has it, or more than 100 hosts have.
        """
        shard = self._shards.setdefault(_shard_of(number), {})
        key = hash(suffix) & _MASK
        known = shard.get(key, ())
        if known is None:
            return None
        places = [known] if isinstance(known, tuple) and known else list(known)
        if any(host == place[0] for host, _ in places):
            return None
        others = [other for other in places if other[0] not in self._is_gone]
        is_closed = len(others) >= MAX_HOSTS
        held: _List = None if is_closed else [*others, place] if others else place
        shard[key] = held
        self._count(number, (1 if is_closed else len(others) + 1) - len(places))
        return None if is_closed else Sharers(others, len(others) + 1)

    def remove(self, host: str, suffix: str, number: int) -> None:
        """Take *host* out of the list of *suffix*."""
        shard = self._shards.get(_shard_of(number), {})
        key = hash(suffix) & _MASK
        known = shard.get(key)
        if known is None:
            return
        places = [known] if isinstance(known, tuple) else known
        left = [place for place in places if place[0] != host]
        self._count(number, len(left) - len(places))
        if left:
            shard[key] = left
        else:
            del shard[key]

    def _count(self, number: int, change: int) -> None:
        place = _shard_of(number)
        self._counts[place] = self._counts.get(place, 0) + change
        self.n_entries += change
        while self.n_entries > MAX_ENTRIES and len(self._shards) > 1:
            highest = max(self._shards)
            del self._shards[highest]
            self.n_entries -= self._counts.pop(highest, 0)
            self.sample_below = _least_of(highest)


def _shard_of(number: int) -> int:
    """Return a number that grows with the logarithm of *number*, which has 32 bits."""
    bits = max(number.bit_length(), _STEPS + 1)
    return bits << _STEPS | number >> (bits - _STEPS - 1) & (1 << _STEPS) - 1


def _least_of(shard: int) -> int:
    bits, step = shard >> _STEPS, shard & (1 << _STEPS) - 1
    return (1 << _STEPS | step) << (bits - _STEPS - 1)
