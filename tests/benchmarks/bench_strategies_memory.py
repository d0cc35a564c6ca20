"""Memory, time and checkpoints of the strategies over a long crawl.

``pytest -s tests/benchmarks/bench_strategies_memory.py``, or by itself with names and a number of pages::

    python tests/benchmarks/bench_strategies_memory.py [--pages 1000000] link-aware ...
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.strategies import make
from scrapy_replica.records import Link, Page

PAGES = 300_000
STRATEGIES = ("breadth-first", "best-first-anchors", "hmm-dynamic", "link-aware")
HOSTS = 10_000
LINKS = 20
URLS_A_PAGE = 10
"""New URLs that a page brings; its other links are known."""
TERMS = 60
WORDS = 200_000
EVERY = 100_000
CHECKPOINT_EVERY = 10_000


def visits(pages: int) -> Iterator[tuple[Page, float]]:
    """Pages of 20 links, ten of them to new URLs, of hosts as uneven as on the web; half of the others to near ones."""
    chance = np.random.default_rng(1)
    for start in range(0, pages, 1_000):
        terms = (chance.zipf(1.3, (1_000, TERMS)) % WORDS).tolist()
        back = (chance.random((1_000, LINKS - URLS_A_PAGE)) ** 3).tolist()
        relevance = np.where(chance.random(1_000) < 0.1, 0.9, 0.05 + 0.2 * chance.random(1_000)).tolist()
        chosen = chance.integers(0, URLS_A_PAGE, 1_000).tolist()
        for place in range(1_000):
            number = start + place
            found = URLS_A_PAGE * number
            new = range(found, found + URLS_A_PAGE)
            known = (int(found * (1.0 - share)) for share in back[place])
            links = tuple(Link(url(each), f"link {each % 50_000}") for each in (*new, *known))
            # One of the URLs that were found some 500 pages ago.
            here = url(max(0, found - 500 * URLS_A_PAGE) + chosen[place])
            words = dict.fromkeys(map(str, terms[place]), 1)
            yield Page(here, "", terms=words, links=links), relevance[place]


def url(number: int) -> str:
    host = int((number * 0.6180339887 % 1.0) ** 4 * HOSTS)
    return f"http://www.host-{host}.example/section-{number // 3000 % 40}/{number % 50}/a-page-{number}.html"


def resident() -> float:
    """MB of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def measure(name: str, pages: int) -> None:
    """Print a row for each 100,000 pages: MB, ms a page, and what a checkpoint takes."""

    def words() -> LinkWords:
        return LinkWords(lambda _: 0.1, lambda text: dict.fromkeys(text.split(), 1))

    gc.collect()
    before, strategy = resident(), make(name, 0, words())
    spent, longest, begun, done = 0.0, 0.0, 0.0, 0
    pieces: Iterator[bytes] = iter(())
    for number, (page, relevance) in enumerate(visits(pages), 1):
        start = time.process_time()
        strategy.visited(page, relevance)
        strategy.scores(page, page.links)
        strategy.rescored()
        strategy.scores_now([link.url for link in page.links[:8]])
        took = time.process_time() - start
        if number % CHECKPOINT_EVERY == 0:
            start = time.process_time()
            pieces = strategy.save()
            begun = max(begun, time.process_time() - start)
        next(pieces, None)
        spent, longest = spent + took, max(longest, took)
        if number % EVERY == 0 or number == pages:
            row = f"\n{name:<20} {number:>9,} pages {resident() - before:6.0f} MB"
            cost = f"{spent / (number - done) * 1e3:6.3f} ms a page, longest {longest * 1e3:4.0f} ms,"
            cost += f" a checkpoint begun in {begun * 1e3:.0f} ms at most"
            print(row, cost, end="", flush=True)
            spent, longest, begun, done = 0.0, 0.0, 0.0, number
    checkpoint(name, strategy, make(name, 0, words()), before)


def checkpoint(name: str, strategy: Strategy, fresh: Strategy, before: float) -> None:
    """Print what one more checkpoint takes."""
    times = [time.process_time()]
    pieces = []
    state = strategy.save()
    times.append(time.process_time())
    for piece in state:
        pieces.append(piece)
        times.append(time.process_time())
    most = resident() - before
    start = time.process_time()
    fresh.load(pieces)
    took = np.diff(times) * 1e3
    print(
        f"\n{name:<20} checkpoint of {sum(map(len, pieces)) / 1e6:.1f} MB: begun in {took[0]:.0f} ms,"
        f" {len(pieces)} pieces in {took[1:].sum():.0f} ms, the longest {took[1:].max():.0f} ms;"
        f" loaded in {(time.process_time() - start) * 1e3:.0f} ms; {most:.0f} MB while it is made",
        end="",
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_long_crawl(name: str) -> None:
    # A process of its own, so that memory is that of one strategy.
    process = multiprocessing.get_context("spawn").Process(target=measure, args=(name, PAGES))
    process.start()
    process.join()
    assert process.exitcode == 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--pages", type=int, default=PAGES)
    options = parser.parse_args()
    for chosen in options.names:
        measure(chosen, options.pages)
