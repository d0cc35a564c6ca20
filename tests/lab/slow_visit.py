"""The simulated visit as it would be told: every step looks at all that waits. For comparison with the fast one."""

from __future__ import annotations

import numpy as np

from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.visits.frontier import LOOKED_AT


def slow_visit(
    collection: Documents, strategy: Strategy, relevance: np.ndarray, warm_up: int, per_host: int
) -> list[int]:
    numbers = {url: number for number, url in enumerate(collection.urls)}
    waiting: dict[int, float] = {}
    found: list[int] = []
    order: list[int] = []

    def put(page: int, score: float) -> None:
        if page not in order and score > waiting.get(page, -np.inf):
            waiting[page] = score
            if page not in found:
                found.append(page)

    def ranked() -> list[int]:
        return sorted(waiting, key=lambda page: (-waiting[page], found.index(page)))

    def best() -> int:
        while True:
            pages = ranked()[:LOOKED_AT]
            now = strategy.scores_now([collection.urls[page] for page in pages])
            if now is None:
                return pages[0]
            waiting.update(zip(pages, now.tolist(), strict=True))
            page = pages[int(now.argmax())]
            if waiting[page] >= max(waiting.values()):
                return page

    for seed in collection.seeds.tolist():
        put(seed, 0.0)
    while waiting:
        page = min(waiting, key=found.index) if len(order) < warm_up else best()
        del waiting[page]
        if sum(collection.hosts[each] == collection.hosts[page] for each in order) >= per_host:
            continue
        order.append(page)
        read = collection.page(page)
        strategy.visited(read, float(relevance[page]))
        scores = strategy.scores(read, read.links).tolist()
        moved = strategy.rescored()
        for target, score in zip(collection.links(page), scores, strict=True):
            put(target, score)
        for url, score in moved.items():
            if numbers[url] in waiting:
                waiting[numbers[url]] = score
    return order
