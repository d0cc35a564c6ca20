"""Hot queue: URLs near relevant pages first (Cho, Garcia-Molina & Page 1998; Orlandi 2007, p. 8)."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.strategies.random import Random
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.strategy import Needs
    from scrapy_replica.records import Link, Page

HOT_WITHIN = 3
HOT = 1.0
"""What a hot URL scores beyond its rank, which is at most 1."""
MOST_LINKS = 300_000
"""Links that count, those found last."""
MOST_FOLLOWED = 1_000
"""Links looked at after a page, some 5 ms; what grew hot beyond these is moved after the next pages."""


class HotQueue(Strategy):
    """A URL within three links of a relevant page is hot; hot ones come first, in each queue by similarity.

    The links are those known by now: when a visited page grows hot, what it leads to does as well. Similarity is the
    best relevance of a page that links to the URL, and a page is relevant above .5.

    *Readings.* The source counts "at most 3 from a page on topic" for "each new page that enters the frontier", which
    is the URL as in the paper, not the page it stands on. It takes the hot link "with the lowest cosine": the highest,
    since the lowest would be the page least on topic.

    Memory: 242 bytes a URL, 8 bytes a link, at most 77 MB.
    """

    name: ClassVar[str] = "hot-queue"

    def __init__(self) -> None:
        self._graph = KnownGraph(MOST_LINKS)
        self._graph.urls.add_column("heat", np.int8)  # 1 + HOT_WITHIN - links from a relevant page, 0 for a cold URL
        self._graph.urls.add_column("rank", np.float64)
        self._warmer: deque[int] = deque()
        """Numbers of visited URLs that grew hotter; what they lead to did not yet."""
        self._relevance = 0.0

    def visited(self, page: Page, relevance: float) -> None:
        self._relevance = relevance if math.isfinite(relevance) else 0.0
        self._graph.visit(page.url)
        if self._relevance > IS_RELEVANT:
            urls = self._graph.urls
            urls["heat"][urls.row(urls.find(page.url))] = HOT_WITHIN + 1

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        urls = self._graph.urls
        heat = int(urls["heat"][urls.row(urls.find(page.url))]) - 1
        rows = urls.rows(self._graph.link([link.url for link in links]))
        self._warm(rows, heat)
        urls.write("rank", rows, np.maximum(urls["rank"][rows], self._ranks(page, links)))
        return np.asarray(urls["rank"][rows] + HOT * (urls["heat"][rows] > 0), dtype=np.float64)

    def _ranks(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        """Return the place of each link in its queue, 0..1."""
        return np.full(len(links), self._relevance)

    def _warm(self, rows: IntArray, heat: int) -> IntArray:
        """Give URLs that are cooler this *heat*; return the rows of those that wait and were cold, shape (n,)."""
        urls = self._graph.urls
        cooler = np.unique(rows[(rows > 0) & (urls["heat"][rows] < heat)])
        was_cold = urls["heat"][cooler] == 0
        urls["heat"][cooler] = heat
        waits = urls["page"][cooler] == 0
        self._warmer.extend(urls.number(row) for row in cooler[~waits].tolist())
        return np.asarray(cooler[waits & was_cold], dtype=np.int64)

    def rescored(self) -> dict[str, float]:
        graph, urls, moved, followed = self._graph, self._graph.urls, {}, 0
        while self._warmer and followed < MOST_FOLLOWED:
            row = urls.row(self._warmer.popleft())
            places = graph.places(int(urls["page"][row]))
            targets = urls.rows(graph.links["target"][graph.links.rows(places)])
            for hot in self._warm(targets, int(urls["heat"][row]) - 1).tolist():
                moved[urls.urls[hot]] = HOT + float(urls["rank"][hot])
            followed += 1 + len(places)
        return moved

    def state(self) -> dict[str, Any]:
        warmer = np.array(self._warmer, dtype=np.int64)
        return {"graph": self._graph.state(), "warmer": warmer, "relevance": self._relevance}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._graph.restore(state["graph"])
        self._warmer = deque(state["warmer"].tolist())
        self._relevance = state["relevance"]


class HotQueueRandom(HotQueue):
    """The first form of the hot queue: in each queue by lot, as :class:`Random` draws.

    *Reading.* The source draws "a link at random" each time; here a URL draws once, when it is found.
    """

    name: ClassVar[str] = "hot-queue-random"

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._draw = Random(seed)

    @classmethod
    def made(cls, needs: Needs) -> Self:
        return cls(needs.seed)

    def _ranks(self, page: Page, links: Sequence[Link]) -> FloatArray:
        return self._draw.scores(page, links)
