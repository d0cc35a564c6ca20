"""Time of a visited page by strategy, and whether it grows with the pages visited."""

from __future__ import annotations

import time

import numpy as np
import pytest

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.lab.archives.collection import Collection, build
from scrapy_replica.lab.strategies import make
from scrapy_replica.lab.visits.visit import visit

SIZES = (10_000, 100_000)
LINKS = 12
TERMS = 60
STRATEGIES = ("best-first", "hmm-static", "hmm-dynamic", "link-aware")


def web(pages: int) -> tuple[Collection, np.ndarray]:
    """Directories of 100 pages that link within themselves and to two others; every twentieth directory is on topic."""
    chance = np.random.default_rng(1)
    directory = np.arange(pages) // 100
    targets = directory[:, None] * 100 + chance.integers(0, 100, (pages, LINKS))
    targets[:, :2] = chance.integers(0, pages, (pages, 2))
    np.minimum(targets, pages - 1, out=targets)
    is_relevant = directory % 20 == 0
    words = chance.zipf(1.3, (pages, TERMS)) % 20_000
    terms = [dict.fromkeys(map(str, row), 1) for row in words.tolist()]
    for page in np.flatnonzero(is_relevant).tolist():
        terms[page]["topic"] = 5
    urls = [f"http://h{d % 50}.org/d{d}/{page}" for page, d in enumerate(directory.tolist())]
    rows = [[(target, "a link") for target in row] for row in targets.tolist()]
    return build(((u, "", t) for u, t in zip(urls, terms, strict=True)), rows, [0], {}), is_relevant


def words() -> LinkWords:
    return LinkWords(lambda _: 0.1, lambda text: dict.fromkeys(text.split(), 1))


@pytest.mark.parametrize("size", SIZES)
def test_cost_per_page(size: int) -> None:
    found, is_relevant = web(size)
    relevance = np.where(is_relevant, 0.9, 0.05)
    costs = {}
    for name in STRATEGIES:
        start = time.process_time()
        order = visit(found, make(name, 0, words()), relevance)
        costs[name] = (time.process_time() - start) / len(order) * 1e3
    for name, cost in costs.items():
        over = cost - costs["best-first"]
        print(f"\n{size:>7,} pages  {name:<12} {cost:.3f} ms/page, {over:+.3f} over best-first", end="")
