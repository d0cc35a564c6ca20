"""What is known of the hosts met last, read again when an older one is met."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

State = TypeVar("State")


class HostCache(Generic[State]):
    """Host -> its state, within a weight over all hosts; the host met longest ago is evicted first.

    Nothing is written back: whoever changes a state has written the same to the store, so that *read* makes it again.

    Args:
        read: Makes the state of a host from the store.
        most: Weight of all states together; one host alone may weigh more.
        weigh: Weight of a state, in whatever *most* counts; asked when the host is read, and when another is met after
            it: most look-ups are of the host of the one before.
        evicted: Told each host that must go for others, and its state.
    """

    def __init__(
        self,
        read: Callable[[str], State],
        most: float,
        weigh: Callable[[State], int],
        evicted: Callable[[str, State], None] | None = None,
    ) -> None:
        self._read, self._most, self._weigh, self._evicted = read, most, weigh, evicted
        self._states: OrderedDict[str, State] = OrderedDict()
        self._weights: dict[str, int] = {}
        self._newest = ""
        """The host that was met last."""
        self.weight = 0

    def of(self, host: str) -> State:
        """Return the state of *host*, reading it if it is not held."""
        state = self._states.get(host)
        if state is not None and host == self._newest:
            return state
        if state is None:
            state = self._states[host] = self._read(host)
            self._note_weight(host)
        else:
            self._states.move_to_end(host)
        if self._newest in self._states:
            self._note_weight(self._newest)
        self._newest = host
        while self.weight > self._most and len(self._states) > 1:
            self._evict(next(iter(self._states)))
        return state

    def _note_weight(self, host: str) -> None:
        weight = self._weigh(self._states[host])
        self.weight += weight - self._weights.get(host, 0)
        self._weights[host] = weight

    def _evict(self, host: str) -> None:
        if self._evicted is not None:
            self._evicted(host, self._states[host])
        self.forget(host)

    def put(self, host: str, state: State) -> State:
        """Hold *state*, which was read otherwise than by *read*, and return it."""
        self.forget(host)
        self._states[host] = state
        return self.of(host)

    def peek(self, host: str) -> State | None:
        return self._states.get(host)

    def forget(self, host: str) -> None:
        """Let the state of *host* be read again when it is met."""
        if self._states.pop(host, None) is not None:
            self.weight -= self._weights.pop(host, 0)

    def clear(self) -> None:
        """Forget every host."""
        self._states.clear()
        self._weights.clear()
        self.weight = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __contains__(self, host: str) -> bool:
        return host in self._states

    def __len__(self) -> int:
        return len(self._states)
