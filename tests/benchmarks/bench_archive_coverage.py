"""Whether what is told of coverage holds on a closed web of WARC files: crawls to the end, with other checks in each.

``python tests/benchmarks/bench_archive_coverage.py WEB.warc.gz --seeds SEEDS [--runs N] [--first K]``
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from bench_coverage import Looks
from scrapy.utils.project import get_project_settings

from scrapy_replica.addon import Addon
from scrapy_replica.commands.run import Run
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.seeds import read_seeds


def looks_of(warc, seeds, seed):
    """Crawl to the end, from another order of *seeds*; return of each look whether it was at an end, and held."""
    with pytest.MonkeyPatch.context() as patched:
        looks = Looks(patched)
        settings = get_project_settings()
        settings.setdict(rehearsal_settings([warc]) | {"REPLICA_STOP_AT": 0.999, "REPLICA_SEED": seed}, "cmdline")
        settings.set("ADDONS", {Addon: 500}, "cmdline")
        settings.set("LOG_LEVEL", "ERROR", "cmdline")
        order = random.Random(seed).sample(seeds, len(seeds))
        Run(argparse.Namespace(seeds=" ".join(order), domains="", max_pages=0, fields="url", new_only=False), settings)
        return list(looks.told())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warc")
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(0)
    told = {(is_end, when): [] for is_end in (False, True) for when in ("random", "last", "any")}
    for seed in range(args.first, args.first + args.runs):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            looks = process.submit(looks_of, args.warc, read_seeds(args.seeds), seed).result()
        for is_end in (False, True):
            if found := [held for at_end, held in looks if at_end is is_end]:
                told[is_end, "random"].append(rng.choice(found))
                told[is_end, "last"].append(found[-1])
                told[is_end, "any"].extend(found)
        shown = {f"{'end' if e else 'before'} {w}": f"{sum(held)}/{len(held)}" for (e, w), held in told.items()}
        print(seed, len(looks), shown, flush=True)


if __name__ == "__main__":
    main()
