"""Results of the baselines, and of the add-on, on the benchmark, as files that ``score.py`` reads."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scrapy.settings import Settings

from scrapy_replica.address import host_of
from scrapy_replica.commands.job import reading
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.lab.mirrorbench import score
from scrapy_replica.lab.mirrorbench.crawlers import CRAWLERS, Crawled, crawled
from scrapy_replica.lab.mirrorbench.features import FEATURES
from scrapy_replica.lab.mirrorbench.folder import SPLITS, WARC, WHOLE
from scrapy_replica.mining.inputs import Openers, sources_of
from scrapy_replica.mining.run import mine
from scrapy_replica.sites.judge import RAW, Judge
from scrapy_replica.warc.archive import Archive

Scores = Mapping[tuple[str, str], float]
_CANONICAL = re.compile(rb'<link rel="canonical" href="([^"]+)"')
"""As the benchmark writes it."""


def run(bench: Path, out: Path, orders: int, told: Callable[[str], None]) -> str:
    """Write a folder of results of each method into the new folder *out*, and return their tables.

    Each crawl is run in so many *orders* of the links of a page; what a later one brought is in a folder of its own.

    :raises ValueError: *bench* is no benchmark, or a crawl was stopped.
    """
    if not (bench / WHOLE).exists():
        raise ValueError(f"{bench} holds no benchmark: it has no {WHOLE}; mirrorbench make writes one")
    out.mkdir(parents=True)
    for split in SPLITS:
        told(f"{split}: scores of pairs")
        for name, scores in pair_scores(bench / split).items():
            rows = [(a, b, f"{value:.6g}") for (a, b), value in sorted(scores.items())]
            _write(out / name / split / "pairs.csv", ("host_a", "host_b", "score"), rows)
    benches = {split: score.Bench(bench, split) for split in SPLITS}
    learnt = score.read_scores(out / "normpaths" / "dev" / "pairs.csv")
    threshold = score.Ranking(benches["dev"], learnt).best_threshold()
    for order, name in product(range(orders), CRAWLERS):
        result = f"{name}-{order + 1}" if order else name
        told(f"test: crawl of {result}")
        write_crawl(out / result / "test", crawled(name, bench / "test", threshold, order))
    names = sorted(path.name for path in out.iterdir())
    return score.tables({name: score.score_results(benches, out / name, "test") for name in names})


def pair_scores(split: Path) -> dict[str, Scores]:
    """Return the scores of the labelled pairs of *split* by method."""
    with (split / FEATURES).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    pairs = [(row["host_a"], row["host_b"]) for row in rows]
    raw = np.array([[float(row[name] or "nan") for name in RAW] for row in rows])
    judged = np.nan_to_num(Judge.load().scores(raw), nan=0.0)
    judged[[row["barred"] == "1" for row in rows]] = 0.0
    named = canonical_shares(split / WARC)
    return {
        "canonical": {(a, b): max(named.get((a, b), 0.0), named.get((b, a), 0.0)) for a, b in pairs},
        "normpaths": {pair: float(row["normpaths"]) for pair, row in zip(pairs, rows, strict=True)},
        "scrapy-replica": dict(zip(pairs, judged.tolist(), strict=True)),
        "mine": mined(split / WARC),
    }


def mined(warc: Path) -> Scores:
    """Return the scores of pairs by ``scrapy replica mine``, which joins whole hosts; below .5 where it is uncertain.

    Hosts of one group are pairs as well, with the least of the scores by which they came to it.
    """
    with TemporaryDirectory() as folder:
        openers = Openers(reading, partial(ArchivedPages, Settings()))
        sources = sources_of([str(warc)])
        found = mine(sources, Path(folder, "out"), "duckdb", openers, Judge.load()).judged
    doubted = [one.verdict for one in found.uncertain]
    scores = {(one.copy, one.canonical): one.score / 2 for one in doubted}
    sure = {one.copy: 0.5 + one.score / 2 for one in found.verdicts}
    for hosts in found.groups.values():
        for pair in combinations(hosts, 2):
            scores[pair] = min(sure.get(host, 1.0) for host in pair)
    return scores


def canonical_shares(warc: Path) -> dict[tuple[str, str], float]:
    """Return the share of the URLs of a host that redirect to another or name it as canonical, by both names."""
    urls: Counter[str] = Counter()
    named: dict[tuple[str, str], int] = defaultdict(int)
    for record in Archive([warc]).records():
        host = host_of(record.url)
        urls[host] += 1
        stated = _CANONICAL.search(record.body)
        target = stated[1] if stated else dict(record.headers).get(b"Location")
        if target and (other := host_of(target.decode())) != host:
            named[host, other] += 1
    return {(host, other): count / urls[host] for (host, other), count in named.items()}


def write_crawl(folder: Path, found: Crawled) -> None:
    """Write what a crawl fetched and blocked."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetches.jsonl").open("x", encoding="utf-8") as lines:
        lines.writelines(json.dumps({"url": url, "status": status}) + "\n" for url, status in found.fetches)
    if found.blocks:
        _write(folder / "blocks.csv", ("host", "canonical", "pages"), found.blocks)


def _write(file: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("x", encoding="utf-8", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(columns)
        table.writerows(rows)
