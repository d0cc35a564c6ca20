"""Where on a host a DUST rule was right: an argument that means nothing in one place may name the page in another."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple
from urllib.parse import unquote

from scrapy_replica.urls.pattern import argument_name, parse

EVERYWHERE = 3
"""Places in which a rule was right, and none in which it was wrong, after which it is taken to hold on the whole host:
listings of a file server have a place each, so proving it in each would save nothing."""
PER_WRONG = 10
"""Right pairs that outweigh a wrong one in its place."""

A_NAME = 3
"""Images whose URLs have one value in a part of the path that a rule leaves out, whatever it is, after which that value
is a name: ``/item/7/reviews`` is no title of the item. Of 15 such pages of 150 items 12 were lost."""
MAX_NAMES = 1_000
"""Values counted of one rule, some 300 bytes each; what was met longest ago goes first."""

_DIGITS = re.compile(r"\d+")
_NAME = re.compile(r"\D+\d{0,2}|\d{1,4}")
"""What may be a name: no session or title with a number, which are new in each URL."""


class Place(NamedTuple):
    """The part of a host in which a pair says something of a URL."""

    callback: int
    """What the spider does with the page, as a number."""
    taken: frozenset[str]
    """Names of the arguments that the rule takes away or changes, and those that it leaves out of the path."""
    where: str
    """First name of the path, its digits left out, and the names of the other arguments."""


def place_of(form: str, image: str, callback: int) -> Place:
    before, after = parse(form), parse(image)
    kept = set(after.arguments or ())
    taken = frozenset(argument_name(argument) for argument in before.arguments or () if argument not in kept)
    others = sorted({argument_name(argument) for argument in kept})
    first = _DIGITS.sub("", after.components[0]) if after.components else ""
    return Place(callback, taken, f"{first}?{'&'.join(others)}")


class LeftOut:
    """The values that one rule leaves out of paths, and which of them are names, as they come again on other pages."""

    def __init__(self) -> None:
        self._images: dict[str, set[str]] = {}
        """Value -> some of the images of the URLs that have it; the one that came last is the last."""

    def __len__(self) -> int:
        return len(self._images)

    def names(self, form: str, image: str) -> frozenset[str]:
        """Return the names among what of the path of *form* its *image* lacks; take note of both."""
        lacks = Counter(parse(form).components) - Counter(parse(image).components)
        values = [value for value in lacks if _NAME.fullmatch(unquote(value))]
        return frozenset(f"/{value}" for value in values if self._is_name(value, image))

    def _is_name(self, value: str, image: str) -> bool:
        images = self._images.pop(value, set())
        if len(images) < A_NAME:
            images.add(image)
        if len(self) >= MAX_NAMES:
            del self._images[next(iter(self._images))]
        self._images[value] = images
        return len(images) == A_NAME


class Places:
    """What the pairs of one rule showed in each place: one wrong pair ends what many right ones began.

    Made again from the pages of the host when that is met.
    """

    def __init__(self) -> None:
        self._trust: dict[Place, int] = {}

    def __len__(self) -> int:
        return len(self._trust)

    def __contains__(self, place: Place) -> bool:
        return place in self._trust

    def record(self, place: Place, *, is_same: bool) -> None:
        trust = self._trust.get(place, 0)
        self._trust[place] = min(trust + 1, 1) if is_same else min(trust, 0) - PER_WRONG

    def is_right(self, place: Place) -> bool:
        """Tell whether the rule was right in *place*, and not wrong since."""
        return self._trust.get(place, 0) > 0

    def holds(self, place: Place) -> bool:
        """Tell whether the rule may be taken to hold in *place*."""
        if place in self._trust:
            return self._trust[place] > 0
        known = [trust for other, trust in self._trust.items() if other[:2] == place[:2]]
        return len(known) >= EVERYWHERE and min(known) > 0
