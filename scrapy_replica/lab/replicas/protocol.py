"""The judge of hosts on sources that are left out whole: what is learnt or chosen for one knows the others only.

A source is a collection of one origin: captures, a closed web, manuals, generated webs. Files of one name are one
source. Families are drawn for the spread: each draw leaves out a fifth of them, where it learns and where it is
measured. Pairs with too few pages to compare are called no replicas by every method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeAlias

import numpy as np

from scrapy_replica.lab.measures import auc, precision_recall_f1, tpr_at_fpr
from scrapy_replica.lab.replicas.replica_crawl import crawl_figures
from scrapy_replica.lab.replicas.replica_pairs import PairTable, load_source, related
from scrapy_replica.lab.replicas.replicas import joined
from scrapy_replica.lab.training.train_judge import judge_of_sources
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.records import Page
from scrapy_replica.sites.features import Comparison, features_of
from scrapy_replica.sites.judge import MIN_ALIGNED, RAW, Judge, columns_of, votes_of

MEASURES = ("auc", "f1", "tpr_at_0", "tpr_at_0.001")
CRAWL = ("decided", "pages", "saved", "wrong")
DRAWN = 0.8
"""Share of the families in a draw."""
WEIGHTS = (0.8, 2.0)
"""Weights of the vote that were candidates, beside the one that is."""
_VOTES_MARGIN = 0.39

Trainer: TypeAlias = Callable[[Sequence[PairTable]], Judge]
"""Sources to learn from -> judge."""


@dataclass(frozen=True)
class VotesAlone(Judge):
    """The classifier alone, a replica where more of its rules say so than not."""

    threshold: float = 0.5

    def score(self, pair: Comparison) -> float:
        return float(self.scores(np.array([features_of(pair, RAW)]))[0])

    def scores(self, raw: FloatArray) -> FloatArray:
        return votes_of(self.intervals, self.lac, columns_of(raw))

    def threshold_for(self, coverage: float) -> float:
        return self.threshold + _VOTES_MARGIN * (1 - coverage**2)


def _votes_alone(tables: Sequence[PairTable]) -> Judge:
    judge = judge_of_sources(tables)
    return VotesAlone(judge.intervals, judge.lac, judge.intercept, judge.slope)


METHODS: dict[str, Trainer] = {
    "judge": judge_of_sources,
    "likeness": lambda tables: judge_of_sources(tables, 0.0),
    "votes": _votes_alone,
    "shipped": lambda _: Judge.load(),
}
"""``shipped`` has learnt the sources that the others leave out."""


@dataclass(frozen=True)
class Source:
    """One source.

    Attributes:
        name: What it is called.
        table: Its labelled pairs.
        webs: Its collections: the labelled pairs of each, and its pages.
    """

    name: str
    table: PairTable
    webs: list[tuple[list[dict[str, str]], Mapping[str, list[Page]]]]


def read_sources(told: Sequence[str]) -> list[Source]:
    """Return the sources that are written ``name=DIR`` or ``name=WARC:HOSTS``.

    :raises ValueError: one is written otherwise, or does not exist, or fewer than three have different names.
    """
    found: dict[str, Source] = {}
    for each in told:
        name, mark, path = each.partition("=")
        if not mark:
            raise ValueError(f"{each}: write a source as NAME=DIR, or as NAME=WARC:HOSTS")
        table, pages = load_source(path)
        table = replace(table, family=np.array([f"{each} {family}" if family else "" for family in table.family]))
        known = found.get(name)
        webs = [*(known.webs if known else []), (related(table), pages)]
        found[name] = Source(name, joined(known.table, table) if known else table, webs)
    if len(found) < 3:
        raise ValueError(f"sources of {len(found)} names: to leave one out and calibrate on the others it takes three")
    return list(found.values())


def evaluate(sources: Sequence[Source], draws: int, seed: int = 0, *, crawls: bool = True) -> dict[str, float]:
    """Return ``METHOD.SOURCE.MEASURE``, and ``METHOD.mean.MEASURE``, ``.worst.`` and ``.spread.`` over the sources.

    The spread is the standard deviation of the mean over *draws*; other weights of the vote have none. Offline crawls
    (``decided``, ``pages``, ``saved``, ``wrong``; see ``lab replicas --crawl``) are of the whole sources.
    """
    methods = METHODS | {f"weight_{weight:g}": _weighted(weight) for weight in WEIGHTS}
    figures: dict[str, float] = {}
    for name, train in methods.items():
        whole = _of_sources(sources, train)
        n_draws = draws if name in METHODS else 0
        drawn = [_of_sources(_drawn(sources, Random(f"{seed} {draw}")), train) for draw in range(n_draws)]
        for measure in MEASURES:
            means = [np.mean([found[measure] for found in each.values()]) for each in drawn]
            figures |= {f"{name}.{source}.{measure}": found[measure] for source, found in whole.items()}
            figures |= _summary(name, measure, [found[measure] for found in whole.values()])
            figures[f"{name}.spread.{measure}"] = float(np.std(means)) if means else math.nan
        if crawls and name in METHODS:
            crawled = {source.name: _crawled(source, sources, train) for source in sources}
            for measure in CRAWL:
                figures |= {f"{name}.{source}.{measure}": found[measure] for source, found in crawled.items()}
                figures |= _summary(name, measure, [found[measure] for found in crawled.values()])
    return figures


def _weighted(weight: float) -> Trainer:
    return lambda tables: judge_of_sources(tables, weight)


def _summary(name: str, measure: str, values: Sequence[float]) -> dict[str, float]:
    worst = max if measure in {"pages", "wrong"} else min
    return {f"{name}.mean.{measure}": float(np.mean(values)), f"{name}.worst.{measure}": worst(values)}


def _of_sources(sources: Sequence[Source], train: Trainer) -> dict[str, dict[str, float]]:
    return {source.name: _measures(source.table, *_left_out(source, sources, train)) for source in sources}


def _left_out(source: Source, sources: Sequence[Source], train: Trainer) -> tuple[FloatArray, float]:
    """Return the scores of the pairs of *source* by what was learnt from the others, and the threshold."""
    judge = train([other.table for other in sources if other.name != source.name])
    return np.where(source.table.n_aligned >= MIN_ALIGNED, judge.scores(source.table.raw), -1.0), judge.threshold


def _measures(table: PairTable, scores: FloatArray, threshold: float) -> dict[str, float]:
    is_replica, is_near = table.is_replica, np.asarray(table.relation != "unrelated")
    return {
        "auc": auc(scores[is_near], is_replica[is_near]),
        "f1": precision_recall_f1(scores >= threshold, is_replica)[2],
        "tpr_at_0": tpr_at_fpr(scores, is_replica, 0.0),
        "tpr_at_0.001": tpr_at_fpr(scores, is_replica, 0.001),
    }


def _drawn(sources: Sequence[Source], rng: Random) -> list[Source]:
    return [replace(source, table=of_families(source.table, DRAWN, rng)) for source in sources]


def of_families(table: PairTable, share: float, rng: Random) -> PairTable:
    """Return the pairs of *share* of the families, at least of one, and those that have none."""
    families = sorted(set(table.family.tolist()) - {""})
    kept = {"", *rng.sample(families, max(1, round(share * len(families))))}
    return _rows(table, np.array([family in kept for family in table.family.tolist()]))


def _rows(table: PairTable, rows: BoolArray) -> PairTable:
    arrays: dict[str, Any] = {
        name: getattr(table, name)[rows] for name in PairTable.__dataclass_fields__ if name != "hosts"
    }
    return PairTable(hosts=[pair for pair, is_kept in zip(table.hosts, rows, strict=True) if is_kept], **arrays)


def _crawled(source: Source, sources: Sequence[Source], train: Trainer) -> dict[str, float]:
    """Return the figures of offline crawls of the webs of *source*, wrong ones summed, the others weighted by pairs."""
    judge = train([other.table for other in sources if other.name != source.name])
    found = [crawl_figures(truth, pages, judge) for truth, pages in source.webs]
    pairs = [each["crawl.replica_pairs"] for each in found]

    def mean(name: str) -> float:
        return float(np.average([each[name] for each in found], weights=pairs))

    return {
        "decided": mean("crawl.decided"),
        "pages": mean("crawl.median_pages_before_verdict"),
        "saved": mean("crawl.saved_of_oracle"),
        "wrong": sum(each["crawl.wrong_blocks"] for each in found),
    }


def worst_pairs(sources: Sequence[Source], n: int) -> Iterator[tuple[str, str, float, str, str]]:
    """Yield the *n* pairs of each source that the judge of the others is most mistaken about.

    :returns: source, relation, score and the two hosts.
    """
    for source in sources:
        scores, _ = _left_out(source, sources, judge_of_sources)
        is_replica = source.table.is_replica
        errors = np.where(is_replica, 1 - scores, scores)
        errors[source.table.n_aligned < MIN_ALIGNED] = -1  # nothing to judge
        for place in np.argsort(-errors)[:n].tolist():
            yield source.name, str(source.table.relation[place]), float(scores[place]), *source.table.hosts[place]


def learning_curve(sources: Sequence[Source], name: str, draws: int) -> dict[str, float]:
    """Return ``curve.N.MEASURE``: means over the other sources, by judges that learnt *N* families of one source.

    :raises ValueError: no source is called so.
    """
    found = [source for source in sources if source.name == name]
    if not found:
        raise ValueError(f"--curve: no source is called {name}")
    table = found[0].table
    n_families = len(set(table.family.tolist()) - {""})
    figures: dict[str, float] = {}
    for n in [n for n in (5, 10, 20, 40, 80, 160) if n < n_families] + [n_families]:
        values = []
        for draw in range(draws):
            judge = judge_of_sources([of_families(table, n / n_families, Random(f"{n} {draw}"))])
            for source in sources:
                if source.name != name:
                    scores = np.where(source.table.n_aligned >= MIN_ALIGNED, judge.scores(source.table.raw), -1.0)
                    values.append(list(_measures(source.table, scores, judge.threshold).values()))
        figures |= {f"curve.{n}.{key}": float(value) for key, value in zip(MEASURES, np.mean(values, 0), strict=True)}
    return figures


def table_of(figures: Mapping[str, float]) -> str:
    """Return the figures as a table: mean, worst source and spread of each method; of crawls there is no spread."""
    names = list(dict.fromkeys(key.partition(".")[0] for key in figures if not key.startswith("curve.")))
    lines = [f"{'':<12}" + "".join(f"{measure:>20}" for measure in (*MEASURES, *CRAWL))]
    for name in names:
        cells = []
        for measure in (*MEASURES, *CRAWL):
            mean, worst, spread = (
                figures.get(f"{name}.{part}.{measure}", math.nan) for part in ("mean", "worst", "spread")
            )
            more = "" if math.isnan(spread) else f" ({spread:.3f})"
            cells.append("" if math.isnan(mean) else f"{mean:.3f} {worst:.3f}{more}")
        lines.append(f"{name:<12}" + "".join(f"{cell:>20}" for cell in cells))
    curve = sorted({int(key.split(".")[1]) for key in figures if key.startswith("curve.")})
    lines += [
        f"{n:>4} families  " + "  ".join(f"{measure} {figures[f'curve.{n}.{measure}']:.3f}" for measure in MEASURES)
        for n in curve
    ]
    return "\n".join(lines)
