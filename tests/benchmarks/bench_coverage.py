"""Whether what is told of coverage holds: 200 runs on each of three collections, and 203 crawls of ordinary sites.

``pytest tests/benchmarks/bench_coverage.py -s -o python_files='bench_*.py'``; half an hour on one core.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from everyday.catalogue import SITES
from hostile.scenario import our_crawl, plain_crawl, quiet

from scrapy_replica.coverage import Coverage
from scrapy_replica.crawl.checks import Checks
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import WAITING

RUNS, SEEDS = 200, range(1, 8)
N, WAIT, NEWS = 1_500, 400, 20
HOST = "site.example"


def even(rng, waiting):
    return rng.sample(waiting, NEWS)


def together(rng, waiting):
    """All were found on one page."""
    first = rng.randrange(len(waiting) - NEWS)
    return waiting[first : first + NEWS]


def deep(rng, waiting):
    """All are in the deeper half, which DEPTH_PRIORITY puts last."""
    return rng.sample(waiting[len(waiting) // 2 :], NEWS)


def holds(seed, collection):
    """Draw 5 to 200 of what waits; tell whether as much is left as is said at most."""
    rng, db = random.Random(seed), SqliteCrawlDB(None, "x")
    waiting = sorted(rng.sample(range(N), WAIT))
    drops, news = {*range(N)}.difference(waiting), {*collection(rng, waiting)}
    depth = 6 / N if collection is deep else 0
    urls = [NewUrl(f"http://{HOST}/{k}", HOST, k, priority=-int(k * depth), is_dropped=k in drops) for k in range(N)]
    keys = {url_id: key for key, (url_id, _) in enumerate(db.urls.discover(urls))}
    drawn, checked, hits = set(), 0, 0
    for _ in range(rng.randint(5, 200)):
        drawn.add(db.urls.draw(rng))
        taken = db.urls.take().id
        if taken in drawn:
            checked, hits = checked + 1, hits + (keys[taken] in news)
        news.discard(keys[taken])
    told = Coverage(N, db.urls.waiting, checked, hits).left
    db.close()
    return told is None or len(news) <= told[1]


@pytest.mark.parametrize("collection", [even, together, deep])
def test_collections(collection):
    print(f"\n{collection.__name__}: {sum(holds(seed, collection) for seed in range(RUNS)) / RUNS:.3f} of {RUNS} runs")


class Looks:
    """What a crawl that never has enough says at each check, and what came of what waited then."""

    def __init__(self, monkeypatch):
        self.looks, self.ended = [], []
        end = Checks.end

        def noted(checks, url_id, *, is_content):
            was_check = checks.is_check(url_id)
            end(checks, url_id, is_content=is_content)
            self.ended.append((url_id, is_content))
            told = checks.coverage
            if was_check and told.waiting and told.left is not None:
                rows = checks._store.urls._connection.read(f"SELECT id FROM urls WHERE state = {WAITING}")
                self.looks.append((checks._is_end, told.left[1], len(self.ended), {row[0] for row in rows}))

        monkeypatch.setattr(Checks, "end", noted)
        monkeypatch.setattr(Checks, "has_enough", property(lambda checks: False))

    def told(self):
        """Yield of each look whether it was at an end, and whether it held."""
        for is_end, most, at, waiting in self.looks:
            came = {url_id for url_id, is_content in self.ended[at:] if is_content}
            yield is_end, len(waiting & came) <= most


@pytest.mark.asyncio
async def test_ordinary_sites(monkeypatch):
    quiet()
    rng, told, lasts = random.Random(0), Counter(), Counter()
    for seed in SEEDS:
        for site in SITES:
            settings = {"REPLICA_STOP_AT": 0.999, "REPLICA_SEED": seed}
            scenario = site.scenario(site.small, "ordinary", ("demote",), settings)
            with monkeypatch.context() as patched:
                looks = Looks(patched)
                await our_crawl(scenario, "demote", await plain_crawl(scenario))
            for is_end in (False, True):
                if found := [held for at_end, held in looks.told() if at_end is is_end]:
                    told[is_end, rng.choice(found)] += 1
                    lasts[is_end, found[-1]] += 1
    for is_end, where in ((False, "before an end"), (True, "at an end")):
        for counts, when in ((told, "at a random check"), (lasts, "at the last check")):
            n = counts[is_end, True] + counts[is_end, False]
            print(f"\n{where}, {when}: {counts[is_end, True] / n:.3f} of {n} crawls", end="")
