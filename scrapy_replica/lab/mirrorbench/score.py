#!/usr/bin/env python3
"""Scores results on MirrorBench: score.py BENCH RESULTS [RESULTS ...] [--split dev] [--json].

Needs Python 3.10 and nothing else. RESULTS is a folder with any of these files, for each split that was run:

test/pairs.csv      host_a,host_b,score: the more alike the higher; a pair that is not there is below all others
test/fetches.jsonl  {"url": "http://...", "status": 200} for each request, in order, redirects and errors among them
test/blocks.csv     host,canonical,pages: hosts that were not fetched any more because they are copies of another,
                    and how many of their pages had been fetched until then
dev/pairs.csv       where the threshold for F1 is found; without it a score of .5 and above says yes

A line that cannot be read is refused: what is missing would count as saved. Intervals (95 %) are by bootstrap over
families of hosts. Pairs of one family and relation have together the weight of at most 20.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import unquote

DRAWS = 1000
CAP = 20
"""Pairs of one family and relation that count in full; more share their weight."""
NO_SCORE = -math.inf
PAIR_FIGURES = ("auc_near", "f1", "recall_none_false")
Row = dict[str, str]
Pair = tuple[str, str]
Figures = dict[str, float]
Times = Mapping[str, int]
"""How often each family counts."""


class WrongFileError(Exception):
    """A file or folder cannot be scored; the message is one line."""


class Bench:
    """What is true of one split."""

    def __init__(self, folder: Path, split: str) -> None:
        root = folder / split
        self.hosts = {row["host"]: row for row in rows_of(root / "hosts.csv", "host", "replica_of", "family")}
        truth = rows_of(root / "truth.csv", "host_a", "host_b", "relation")
        told = {pair_of(row): row["relation"] for row in truth}
        self.relation = {pair: relation for pair, relation in told.items() if relation != "ambiguous"}
        self.ambiguous = told.keys() - self.relation.keys()
        columns = ("url", "host", "page_key", "status", "text", "edited")
        self.pages = {row["url"]: row for row in rows_of(root / "pages.csv.gz", *columns)}

    def family(self, host: str) -> str:
        """Return the family of *host*; nothing for one that is of none."""
        return self.hosts[host]["family"] if host in self.hosts else ""

    def site(self, host: str) -> str:
        """Return the host that *host* is a copy of, or itself."""
        return self.hosts[host]["replica_of"] or host if host in self.hosts else host


def rows_of(file: Path, *columns: str) -> list[Row]:
    """Return the rows of a table, gzip or not, that has *columns*."""
    try:
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8-sig")
        table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if missing := [name for name in columns if name not in (table.fieldnames or ())]:
            raise WrongFileError(f"{file} has no column {', '.join(missing)}")
        rows = []
        for row in table:
            if None in row or None in row.values():
                raise WrongFileError(f"{file}, line {table.line_num}: it has not as many columns as the first line")
            rows.append(row)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise WrongFileError(f"{file} cannot be read: {error}") from None
    return rows


def pair_of(row: Row) -> Pair:
    """Return the hosts of *row* in order of name."""
    a, b = sorted((row["host_a"].strip().lower(), row["host_b"].strip().lower()))
    return a, b


# Pairs


def read_scores(file: Path) -> dict[Pair, float]:
    """Return the score of each pair of hosts."""
    scores: dict[Pair, float] = {}
    for number, row in enumerate(rows_of(file, "host_a", "host_b", "score"), 2):
        try:
            score = float(row["score"])
        except ValueError:
            score = math.nan
        if math.isnan(score):
            raise WrongFileError(f"{file}, row {number}: {row['score']!r} is no number")
        if scores.setdefault(pair_of(row), score) != score:
            raise WrongFileError(f"{file}, row {number}: the pair has another score before")
    return scores


class Ranking:
    """The labelled pairs by falling score, those of equal score together, each with a weight."""

    def __init__(self, bench: Bench, scores: Mapping[Pair, float]) -> None:
        counts = Counter((bench.family(a), relation) for (a, _), relation in bench.relation.items())
        self.families = sorted({family for family, _ in counts})
        ranked = []
        for pair, relation in bench.relation.items():
            family = bench.family(pair[0])
            weight = min(1.0, CAP / counts[family, relation])
            ranked.append((scores.get(pair, NO_SCORE), relation, family, weight))
        ranked.sort(reverse=True)
        self._tied = [(score, list(rows)) for score, rows in groupby(ranked, key=lambda row: row[0])]

    def figures(self, threshold: float, times: Times) -> Figures:
        """Return AUC, F1 from *threshold* on, and recall above all that are no replicas."""
        won = above = near = called = hits = alone = 0.0
        is_clean = True
        for score, rows in self._tied:
            replicas, near_here, others = _weights(rows, times)
            won += near_here * (above + replicas / 2)
            above += replicas
            near += near_here
            is_clean = is_clean and not near_here + others
            alone = above if is_clean else alone
            if score >= threshold and score != NO_SCORE:
                hits += replicas
                called += replicas + near_here + others
        return {
            "auc_near": won / (above * near) if above * near else math.nan,
            "f1": 2 * hits / (called + above) if above else math.nan,
            "recall_none_false": alone / above if above else math.nan,
        }

    def best_threshold(self) -> float:
        """Return the score of best F1, half-way to the next below it."""
        times = dict.fromkeys(self.families, 1)
        weights = [(score, *_weights(rows, times)) for score, rows in self._tied if score != NO_SCORE]
        total = sum(_weights(rows, times)[0] for _, rows in self._tied)
        hits = called = best = 0.0
        threshold = math.inf
        for place, (score, replicas, near, others) in enumerate(weights):
            hits += replicas
            called += replicas + near + others
            if 2 * hits / (called + total) > best:
                best = 2 * hits / (called + total)
                threshold = (score + weights[place + 1][0]) / 2 if place + 1 < len(weights) else score
        return threshold


def _weights(rows: Sequence[tuple[float, str, str, float]], times: Times) -> tuple[float, float, float]:
    """Return the weights of the replicas, near misses and others among *rows*."""
    found = {"replica": 0.0, "near_miss": 0.0, "unrelated": 0.0}
    for _, relation, family, weight in rows:
        found[relation] += weight * times.get(family, 0)
    return found["replica"], found["near_miss"], found["unrelated"]


def pair_figures(bench: Bench, file: Path, learnt: tuple[Bench, Path] | None) -> Figures:
    """Return the figures of a table of scores, the threshold being the best of another split's, or .5."""
    ranking = Ranking(bench, read_scores(file))
    threshold = Ranking(learnt[0], read_scores(learnt[1])).best_threshold() if learnt else 0.5
    found = with_intervals(lambda times: ranking.figures(threshold, times), ranking.families, PAIR_FIGURES)
    return {**found, "threshold": threshold}


# Crawls


def read_fetches(file: Path) -> list[tuple[str, int]]:
    """Return URL and status of each request but those for ``robots.txt``."""
    found = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            row = json.loads(line)
            url, status = spelling_of(row["url"]), int(row["status"])
        except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
            raise WrongFileError(f"{file}, line {number}: it is no object with url and status") from None
        if not url.endswith("/robots.txt") or url.count("/") != 3:
            found.append((url, status))
    return found


def spelling_of(url: str) -> str:
    """Return *url* as the benchmark spells it: no escapes, fragment, port 80, or capitals in the host."""
    scheme, _, rest = url.partition("#")[0].partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower().removesuffix(':80')}/{unquote(path)}"


def host_of(url: str) -> str:
    return url.split("/")[2]


def crawl_figures(bench: Bench, results: Path) -> Figures:
    """Return the figures of a crawl: of the whole, and by families for the intervals."""
    fetches = read_fetches(results / "fetches.jsonl")
    contents = {row["page_key"]: bench.family(row["host"]) for row in reversed(bench.pages.values())}
    lost = contents.keys() - found_contents(bench, fetches)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in bench.pages.values():
        counts[bench.family(row["host"])]["urls"] += 1
    for key, family in contents.items():
        counts[family].update({"contents": 1, "lost": int(key in lost)})
    for url, _ in fetches:
        counts[bench.family(host_of(url))]["requests"] += 1

    def figures(times: Times) -> Figures:
        total: Counter[str] = Counter()
        for family, counted in counts.items():
            # The portal and hosts outside are of no family, and count once.
            total.update({name: count * (times.get(family, 0) if family else 1) for name, count in counted.items()})
        # What is lost would have taken a request: leaving it out saves nothing.
        saved = (total["urls"] - total["requests"] - total["lost"]) / max(1, total["urls"] - total["contents"])
        return {"saved_of_oracle": saved, "lost": total["lost"] / max(1, total["contents"])}

    found = with_intervals(figures, sorted(filter(None, counts)), ("saved_of_oracle", "lost"))
    found.update(urls=len(bench.pages), contents=len(contents), requests=len(fetches), contents_lost=len(lost))
    found["outside"] = sum(host_of(url) not in bench.hosts for url, _ in fetches)
    return found | block_figures(bench, fetches, results / "blocks.csv")


def found_contents(bench: Bench, fetches: Sequence[tuple[str, int]]) -> set[str]:
    """Return the contents that were fetched under any name, and those that a fetched page has in the same words."""
    rows = (bench.pages[url] for url, status in fetches if status == 200 and url in bench.pages)
    fetched = [row for row in rows if row["status"] == "200"]
    texts = {row["text"] for row in fetched}
    same = {row["page_key"] for row in bench.pages.values() if row["text"] in texts and row["edited"] == "0"}
    return same | {row["page_key"] for row in fetched}


def block_figures(bench: Bench, fetches: Sequence[tuple[str, int]], file: Path) -> Figures:
    """Return how many hosts were blocked, rightly and wrongly, and the median of the pages until a right block."""
    figures: Figures = {"copies": sum(bool(row["replica_of"]) for row in bench.hosts.values())}
    if not file.exists():
        return figures
    fetched = Counter(host_of(url) for url, status in fetches if status == 200)
    blocks: dict[str, tuple[str, int]] = {}
    for number, row in enumerate(rows_of(file, "host", "canonical"), 2):
        host, told = row["host"].strip().lower(), row.get("pages", "")
        if told and not (told.isdecimal() and len(told) < 10):
            raise WrongFileError(f"{file}, row {number}: {told!r} is no number of pages")
        block = row["canonical"].strip().lower(), int(told) if told else fetched[host]
        if blocks.setdefault(host, block) != block:
            raise WrongFileError(f"{file}, row {number}: {host} is blocked before, otherwise")
    right: list[int] = []
    n_ambiguous = 0
    for host, (canonical, pages) in blocks.items():
        if host in bench.hosts and host != canonical and bench.site(host) == bench.site(canonical):
            right.append(pages)
        n_ambiguous += (min(host, canonical), max(host, canonical)) in bench.ambiguous
    figures |= {"right_blocks": len(right), "ambiguous_blocks": n_ambiguous}
    figures["wrong_blocks"] = len(blocks) - len(right) - n_ambiguous
    return figures | {"pages_to_verdict": median(right) if right else math.nan}


def with_intervals(figures: Callable[[Times], Figures], families: Sequence[str], names: Sequence[str]) -> Figures:
    """Return the *figures* of all *families*, with ``_low`` and ``_high`` of those named: 2.5 and 97.5 % of draws."""
    found = dict(figures(dict.fromkeys(families, 1)))
    chance = random.Random(0)  # the same intervals each time
    draws = [figures(Counter(chance.choices(families, k=len(families)))) for _ in range(DRAWS)] if families else []
    for name in names:
        if values := sorted(drawn[name] for drawn in draws if not math.isnan(drawn[name])):
            found[f"{name}_low"] = values[math.floor(0.025 * (len(values) - 1))]
            found[f"{name}_high"] = values[math.ceil(0.975 * (len(values) - 1))]
    return found


def score_results(benches: Mapping[str, Bench], folder: Path, split: str) -> dict[str, Figures]:
    """Return the figures of one folder of results on *split*: of ``pairs`` and of ``crawl``, as far as it has them."""
    results, dev = folder / split, folder / "dev" / "pairs.csv"
    found: dict[str, Figures] = {}
    if (results / "pairs.csv").exists():
        learnt = (benches["dev"], dev) if dev.exists() else None
        found["pairs"] = pair_figures(benches[split], results / "pairs.csv", learnt)
    if (results / "fetches.jsonl").exists():
        found["crawl"] = crawl_figures(benches[split], results)
    if not found:
        raise WrongFileError(f"{results} has neither pairs.csv nor fetches.jsonl")
    return found


def tables(results: Mapping[str, Mapping[str, Figures]]) -> str:
    """Return the figures of all results as two tables."""
    lines = []
    if pairs := {name: found["pairs"] for name, found in results.items() if "pairs" in found}:
        lines.append(f"{'pairs':<15} {'AUC, near misses':<20} {'F1':<20} {'recall, none false':<20}".rstrip())
        for name, found in pairs.items():
            lines.append(f"{name:<15} " + " ".join(f"{_interval(found, key):<20}" for key in PAIR_FIGURES).rstrip())
    if crawls := {name: found["crawl"] for name, found in results.items() if "crawl" in found}:
        lines += [*([""] if lines else []), f"{'crawl':<15} requests saved of oracle      lost  blocked wrong pages"]
        for name, found in crawls.items():
            told = _interval(found, "saved_of_oracle")
            blocked = f"{found['right_blocks']}/{found['copies']}" if "right_blocks" in found else "-"
            wrong, pages = found.get("wrong_blocks", "-"), _short(found.get("pages_to_verdict", math.nan), "g")
            told = f"{found['requests']:>8,} {told:<20} {found['contents_lost']:>4,} {blocked:>8} {wrong:>5} {pages:>5}"
            lines.append(f"{name:<15} {told}")
    return "\n".join(lines)


def _interval(figures: Figures, name: str) -> str:
    ends = [_short(figures.get(f"{name}_{end}", math.nan)) for end in ("low", "high")]
    return f"{_short(figures[name])} ({' to '.join(ends)})"


def _short(value: float, form: str = ".3f") -> str:
    told = f"{value:{form}}"
    return "-" if math.isnan(value) else told.replace("0.", ".", 1) if abs(value) < 1 else told


def main() -> int:
    parser = argparse.ArgumentParser(description="Scores results on MirrorBench; its README says what they are.")
    parser.add_argument("bench", type=Path, help="folder of the benchmark")
    parser.add_argument("results", type=Path, nargs="+", help="folders with test/pairs.csv, test/fetches.jsonl, ...")
    parser.add_argument("--split", default="test", choices=("dev", "test"), help="try on dev, report test (test)")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    told = parser.parse_args()
    found: dict[str, Any] = {}
    try:
        benches = {split: Bench(told.bench, split) for split in {"dev", told.split}}
        for folder in told.results:
            name = folder.resolve().name
            found[str(folder) if name in found else name] = score_results(benches, folder, told.split)
    except WrongFileError as error:
        sys.stderr.write(f"score.py: {error}\n")
        return 2
    if told.json:
        for row in (row for parts in found.values() for row in parts.values()):
            row.update({name: None for name, value in row.items() if not math.isfinite(value)})  # NaN is no JSON
        sys.stdout.write(json.dumps({"split": told.split, "results": found}, indent=1) + "\n")
    else:
        sys.stdout.write(tables(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
