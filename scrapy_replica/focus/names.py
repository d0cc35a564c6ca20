"""Numbers for names that come without end: those in use keep theirs."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.numeric import IntArray


class Names:
    """Name -> number, for fewer than *most* names: a new one takes the slot of one that was not asked for lately.

    A slot is ``number % most``. When its name changes so does its number, so numbers kept elsewhere can be told to be
    of a forgotten name; 0 stands for none. Which slot is given up says the clock algorithm. About 220 bytes a name.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._owner = array("q", bytes(8 * most))
        """Slot -> its present number."""
        self._owners: IntArray = np.frombuffer(self._owner, dtype=np.int64)
        """The same memory, for looking many up."""
        self._names = [""]
        self._numbers: dict[str, int] = {}
        self._is_recent = bytearray(most)
        self._hand = 0

    @property
    def used(self) -> int:
        """Slots in use, 0 included."""
        return len(self._names)

    def find(self, name: str) -> int:
        """Return the number of *name*, 0 if it has none."""
        return self._numbers.get(name, 0)

    def enter(self, name: str) -> tuple[int, bool]:
        """Return the number of *name*, and whether it is new."""
        number = self._numbers.get(name)
        if number is not None:
            self._is_recent[number % self.most] = True
            return number, False
        if len(self._names) < self.most:
            number = len(self._names)
            self._names.append(name)
        else:
            slot = self._give_up()
            number = self._owner[slot] + self.most
            self._names[slot] = name
        slot = number % self.most
        self._owner[slot] = self._numbers[name] = number
        self._is_recent[slot] = True
        return number, True

    def _give_up(self) -> int:
        while True:
            self._hand = self._hand % (self.most - 1) + 1
            if not self._is_recent[self._hand]:
                del self._numbers[self._names[self._hand]]
                return self._hand
            self._is_recent[self._hand] = False

    def slots(self, numbers: IntArray) -> IntArray:
        """Return the slots of numbers, 0 for those of forgotten names; the same shape."""
        slots = numbers % self.most
        return np.asarray(slots * (self._owners.take(slots) == numbers))

    def slot(self, number: int) -> int:
        """Return the slot of a number, 0 if its name was forgotten."""
        slot = number % self.most
        return slot if self._owner[slot] == number else 0

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: copies, which stay as they are."""
        return {
            "names": self._names.copy(),
            "owners": self._owners[: self.used].copy(),
            "is_recent": np.frombuffer(bytes(self._is_recent[: self.used]), dtype=np.uint8),
            "hand": self._hand,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._names = list(state["names"])
        self._owners[: self.used] = state["owners"]
        self._numbers = dict(zip(self._names[1:], self._owners[1 : self.used].tolist(), strict=True))
        self._is_recent[: self.used] = state["is_recent"].tobytes()
        self._hand = state["hand"]
