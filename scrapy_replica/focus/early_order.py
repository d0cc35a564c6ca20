"""The order of the warm-up: that of discovery, but for what links themselves say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrapy_replica.address import host_of
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.records import Link

NAMELESS = Link("")


class EarlyOrder:
    """Scores links before the model knows what every page of these sites says.

    A link whose own words speak for the topic comes first, and a link that looks like one to another host (the same
    words, the same name of a file) comes last: that may be a copy of it, which a few probes tell for less. All others
    score 0.
    """

    def __init__(self, words: Callable[[], LinkWords]) -> None:
        self._words = words
        self._hosts: dict[tuple[str, str], str] = {}
        """Words and name of the file -> host on which it was found first."""
        self._moved: set[str] = set()

    def scores(self, links: Sequence[Link]) -> list[float]:
        """Return the scores of *links*, -1..1."""
        ground, *own = self._words()([NAMELESS, *links]).tolist()
        scores = [-1.0 if self._is_twin(link) else max(0.0, one - ground) for link, one in zip(links, own, strict=True)]
        self._moved.update(link.url for link, score in zip(links, scores, strict=True) if score)
        return scores

    def _is_twin(self, link: Link) -> bool:
        name = link.url.partition("?")[0].rstrip("/").rpartition("/")[2]
        host = host_of(link.url)
        return self._hosts.setdefault((link.text, name), host) != host

    def end(self) -> set[str]:
        """Return the URLs that had a score other than 0, and forget all."""
        moved, self._moved = self._moved, set()
        self._hosts.clear()
        return moved
