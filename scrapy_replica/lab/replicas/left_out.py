"""The judge of hosts on sources that it never learnt: each is left out whole, and what is chosen knows the others only.

A source is a collection of one origin: captures, a closed web, manuals, generated webs. Collections of one name are one
source. For the spread families are drawn: each draw leaves out a fifth of them, both where it learns and where it is
measured. A pair that a crawl makes no verdict of, whatever its score, is no replica by any method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import numpy as np

from scrapy_replica.lab.measures import auc, best_f1_threshold, precision_recall_f1, tpr_at_fpr
from scrapy_replica.lab.replicas.replica_crawl import crawl_figures
from scrapy_replica.lab.replicas.replica_pairs import PairTable, load, load_web, read_truth
from scrapy_replica.lab.replicas.replicas import joined
from scrapy_replica.lab.training.train_judge import judge_of
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.records import Page
from scrapy_replica.sites.features import Comparison, features_of
from scrapy_replica.sites.judge import COLUMNS, MAJORITY, Judge, columns_of, likeness_of

MEASURES = ("auc", "f1", "tpr_at_0", "tpr_at_1e-3")
"""Of pairs of whole hosts: AUC against near misses, F1, true positives at rates of false ones."""
CRAWL = ("decided", "pages", "saved", "wrong")
"""Of offline crawls, as ``lab replicas --crawl`` has them."""
DRAWN = 0.8
"""Share of the families in a draw."""
CURVE = (5, 10, 20, 40, 80, 160)

Trainer: TypeAlias = Callable[[PairTable], Judge]
Truth: TypeAlias = list[dict[str, str]]


@dataclass(frozen=True)
class Source:
    """One source.

    Attributes:
        name: What it is called.
        table: Its labelled pairs.
        webs: Its collections: the truth of each, and its pages by host.
    """

    name: str
    table: PairTable
    webs: list[tuple[Truth, Mapping[str, list[Page]]]]


class Likeness(Judge):
    """The likeness alone; nothing is learnt but the threshold."""

    def score(self, pair: Comparison) -> float:
        return likeness_of(pair)

    def scores(self, raw: FloatArray) -> FloatArray:
        return columns_of(raw)[:, COLUMNS.index("likeness")]


class Votes(Judge):
    """The votes of the rules alone, which few pages must bring to .89."""

    def score(self, pair: Comparison) -> float:
        return float(self.scores(np.array([features_of(pair)]))[0])

    def scores(self, raw: FloatArray) -> FloatArray:
        return self.votes(columns_of(raw))

    def threshold_for(self, coverage: float) -> float:
        return self.threshold + 0.39 * (1 - coverage**2)


def _judge(table: PairTable) -> Judge:
    return judge_of(table, np.ones(len(table.hosts), dtype=bool))


def _likeness(table: PairTable) -> Judge:
    judge = _judge(table)
    found = Likeness(judge.intervals, judge.lac)
    return replace(found, threshold=best_f1_threshold(_scores(table, found), table.is_replica))


def _votes(table: PairTable) -> Judge:
    judge = _judge(table)
    return Votes(judge.intervals, judge.lac, MAJORITY)


METHODS: dict[str, Trainer] = {"judge": _judge, "votes": _votes, "likeness": _likeness}


def read_sources(told: Sequence[str]) -> list[Source]:
    """Return the sources that are written ``NAME=DIR`` or ``NAME=WARC:HOSTS``.

    :raises ValueError: one is written otherwise, or does not exist, or all have one name.
    """
    found: dict[str, Source] = {}
    for each in told:
        name, mark, path = each.partition("=")
        if not mark:
            raise ValueError(f"{each}: write a source as NAME=DIR, or as NAME=WARC:HOSTS")
        source = _load(name, path)
        known = found.get(name)
        found[name] = Source(name, joined(known.table, source.table), known.webs + source.webs) if known else source
    if len(found) < 2:
        raise ValueError("sources of one name: to leave one out it takes another")
    return list(found.values())


def _load(name: str, told: str) -> Source:
    path, _, hosts = told.partition(":")
    for each in filter(None, (path, hosts)):
        if not Path(each).exists():
            raise ValueError(f"{each} does not exist")
    table, pages = load_web(Path(path), Path(hosts)) if hosts else load(Path(path))
    return source_of(name, table, pages, _truth_of(table) if hosts else read_truth(Path(path)))


def source_of(name: str, table: PairTable, pages: Mapping[str, list[Page]], truth: Truth) -> Source:
    """Return the source of one collection; its families get names that no other collection has."""
    named = [f"{table.hosts[0][0]} {family}" if family else "" for family in table.family.tolist()]
    return Source(name, replace(table, family=np.array(named)), [(truth, pages)])


def _truth_of(table: PairTable) -> Truth:
    rows = zip(table.hosts, table.relation.tolist(), table.family.tolist(), strict=True)
    return [{"host_a": a, "host_b": b, "relation": kind, "family": family} for (a, b), kind, family in rows]


def evaluate(sources: Sequence[Source], draws: int, *, crawls: bool = True) -> dict[str, float]:
    """Return ``METHOD.SOURCE.MEASURE``, and ``METHOD.mean.MEASURE``, ``.worst.`` and ``.spread.`` over the sources.

    The spread is the standard deviation of the mean over *draws*; offline crawls are of whole sources and have none.
    """
    figures: dict[str, float] = {}
    for name, train in METHODS.items():
        drawn = [_means(_drawn(sources, Random(str(draw))), train) for draw in range(draws)]
        for measure in MEASURES if drawn else ():
            figures[f"{name}.spread.{measure}"] = float(np.std([means[measure] for means in drawn]))
        found = {source.name: _measures(source.table, _trained(source, sources, train)) for source in sources}
        if crawls:
            for source in sources:
                found[source.name] |= _crawled(source, _trained(source, sources, train))
        figures |= {f"{name}.{source}.{key}": value for source, of_it in found.items() for key, value in of_it.items()}
        for measure in found[sources[0].name]:
            values = [of_it[measure] for of_it in found.values()]
            figures[f"{name}.mean.{measure}"] = float(np.mean(values))
            figures[f"{name}.worst.{measure}"] = (max if measure in {"pages", "wrong"} else min)(values)
    return figures


def _trained(source: Source, sources: Sequence[Source], train: Trainer) -> Judge:
    """Return the judge that has learnt all *sources* but *source*."""
    first, *more = [other.table for other in sources if other.name != source.name]
    for table in more:
        first = joined(first, table)
    return train(first)


def _means(sources: Sequence[Source], train: Trainer) -> dict[str, float]:
    found = [_measures(source.table, _trained(source, sources, train)) for source in sources]
    return {measure: float(np.mean([each[measure] for each in found])) for measure in MEASURES}


def _scores(table: PairTable, judge: Judge) -> FloatArray:
    scores = np.full(len(table.hosts), -1.0)
    scores[~table.is_barred] = judge.scores(table.raw[~table.is_barred])
    return scores


def _measures(table: PairTable, judge: Judge) -> dict[str, float]:
    scores, is_replica, is_near = _scores(table, judge), table.is_replica, np.asarray(table.relation != "unrelated")
    return {
        "auc": auc(scores[is_near], is_replica[is_near]),
        "f1": precision_recall_f1(scores >= judge.threshold, is_replica)[2],
        "tpr_at_0": tpr_at_fpr(scores, is_replica, 0.0),
        "tpr_at_1e-3": tpr_at_fpr(scores, is_replica, 0.001),
    }


def _crawled(source: Source, judge: Judge) -> dict[str, float]:
    """Return the figures of offline crawls of the webs of *source*: wrong ones summed, others weighted by pairs."""
    found = [crawl_figures(truth, pages, judge) for truth, pages in source.webs]
    pairs = [each["crawl.replica_pairs"] for each in found]
    names = ("crawl.decided", "crawl.median_pages_before_verdict", "crawl.saved_of_oracle")
    means = [float(np.average([each[name] for each in found], weights=pairs)) for name in names]
    return dict(zip(CRAWL, [*means, sum(each["crawl.wrong_blocks"] for each in found)], strict=True))


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


def worst_pairs(sources: Sequence[Source], n: int) -> Iterator[tuple[str, str, float, str, str]]:
    """Yield the *n* pairs of each source that the judge of the others is most mistaken about.

    :returns: source, relation, score and the two hosts.
    """
    for source in sources:
        table = source.table
        scores = _scores(table, _trained(source, sources, _judge))
        errors = np.where(table.is_replica, 1 - scores, scores)
        errors[scores < 0] = -1  # nothing to judge
        for place in np.argsort(-errors, kind="stable")[:n].tolist():
            yield source.name, str(table.relation[place]), float(scores[place]), *table.hosts[place]


def learning_curve(sources: Sequence[Source], name: str, draws: int) -> dict[str, float]:
    """Return ``learnt N.mean.MEASURE`` and ``learnt N.worst.MEASURE`` over the other sources, means of *draws* judges.

    Each has learnt *N* families of source *name* alone.

    :raises ValueError: no source is called so.
    """
    tables = {source.name: source.table for source in sources}
    if name not in tables:
        raise ValueError(f"--curve: no source is called {name}")
    learnt = tables.pop(name)
    n_families = len(set(learnt.family.tolist()) - {""})
    figures: dict[str, float] = {}
    for n in [*(n for n in CURVE if n < n_families), n_families]:
        judges = [_judge(of_families(learnt, n / n_families, Random(f"{n} {draw}"))) for draw in range(draws)]
        found = [[_measures(table, judge) for judge in judges] for table in tables.values()]
        for key in MEASURES:
            means = [float(np.mean([each[key] for each in of_it])) for of_it in found]
            figures |= {f"learnt {n}.mean.{key}": float(np.mean(means)), f"learnt {n}.worst.{key}": min(means)}
    return figures


def table_of(figures: Mapping[str, float]) -> str:
    """Return the figures as text: mean, worst source and spread of each method, and each source below."""
    rows = dict.fromkeys(key.rpartition(".")[0] for key in figures)
    measures = [each for each in (*MEASURES, *CRAWL) if any(key.endswith(f".{each}") for key in figures)]
    lines = [f"{'':<24}" + "".join(f"{each.replace('tpr_at_', 'TPR at '):>14}" for each in measures)]
    for row in rows:
        cells = [figures.get(f"{row}.{each}", math.nan) for each in measures]
        lines.append(
            f"{row.replace('.', ' '):<24}" + "".join(f"{'' if math.isnan(c) else f'{c:.3f}':>14}" for c in cells)
        )
    return "\n".join(lines)
