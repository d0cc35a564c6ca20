"""Inverted lists: which hosts have a path suffix, and under which prefix."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from scrapy_replica.sites.alignment import MAX_HOSTS

MAX_ENTRIES = 600_000
"""Places in all lists. Beyond, those are given up whose paths have the highest hashes: what is left is a sample by the
last segment that mirrors draw alike. About 110 bytes each."""
MAX_INTERNED = 20_000
"""Places that are one string in all lists."""
_MASK = (1 << 60) - 1  # integers of two digits: 32 bytes each
_END = "\n"
_STEPS = 4  # bits of the hash below the first that tell shards apart


class Sharers(NamedTuple):
    """The hosts that had a suffix before, and the prefix of each."""

    places: list[tuple[str, str]]
    n_hosts: int
    """With the one that came now."""


class SuffixLists:
    """Suffix -> the hosts that have it, each with the path prefix before it.

    A list is one string (``host/prefix``, one after the other), a suffix its hash: of dictionaries from numbers to
    strings the garbage collector knows nothing, where lists of tuples made it stop the crawl for half a second. A list
    of more than 100 hosts keeps nothing and gives no further evidence. Lists stand in shards by the magnitude of the
    sampling hash of their paths, so that the sample is thinned by giving up one shard, a thirty-second to a sixteenth
    of it, at a time.

    Args:
        is_gone: Hosts whose places count no more and are given up where they are met.
    """

    def __init__(self, is_gone: Container[str]) -> None:
        self._is_gone = is_gone
        self._shards: dict[int, dict[int, str]] = {}
        self._counts: dict[int, int] = {}
        self._interned: dict[str, str] = {}
        self.n_entries = 0
        self.sample_below = 1 << 32
        """Paths with a higher hash are not listed."""

    def add(self, host: str, prefix: str, suffix: str, number: int) -> Sharers | None:
        """List *suffix*, whose path has the sampling hash *number*, for *host*, which has it behind *prefix*.

        :return: the other hosts; ``None`` where there is nothing new: the host has it, or more than 100 hosts have.
        """
        shard = self._shards.setdefault(_shard_of(number), {})
        key = hash(suffix) & _MASK
        known = shard.get(key)
        if known is None:
            shard[key] = self._place(host, prefix)
            self._count(number, 1)
            return Sharers([], 1)
        if not known:
            return None  # too many
        listed = known.split(_END)
        if any(place.startswith(host + "/") for place in listed):
            return None
        places = [_taken_apart(place) for place in listed]
        others = [place for place in places if place[0] not in self._is_gone]
        is_full = len(others) >= MAX_HOSTS
        held = [] if is_full else [f"{name}/{before}" for name, before in others] + [self._place(host, prefix)]
        shard[key] = _END.join(held)
        self._count(number, max(len(held), 1) - len(listed))
        return None if is_full else Sharers(others, len(others) + 1)

    def _place(self, host: str, prefix: str) -> str:
        if len(self._interned) > MAX_INTERNED:
            self._interned.clear()
        place = f"{host}/{prefix}"
        return self._interned.setdefault(place, place)

    def remove(self, host: str, suffix: str, number: int) -> None:
        """Take *host* out of the list of *suffix*."""
        shard = self._shards.get(_shard_of(number), {})
        key = hash(suffix) & _MASK
        listed = shard.get(key, "").split(_END)
        left = [place for place in listed if not place.startswith(host + "/")]
        if len(left) == len(listed):
            return
        self._count(number, len(left) - len(listed))
        if left:
            shard[key] = _END.join(left)
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


def _taken_apart(place: str) -> tuple[str, str]:
    host, _, prefix = place.partition("/")
    return host, prefix


def _shard_of(number: int) -> int:
    """Return a number that grows with the logarithm of *number*, which has 32 bits."""
    bits = max(number.bit_length(), _STEPS + 1)
    return bits << _STEPS | number >> (bits - _STEPS - 1) & (1 << _STEPS) - 1


def _least_of(shard: int) -> int:
    bits, step = shard >> _STEPS, shard & (1 << _STEPS) - 1
    return (1 << _STEPS | step) << (bits - _STEPS - 1)
