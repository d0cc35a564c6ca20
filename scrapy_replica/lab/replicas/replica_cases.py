"""Labelled pairs as the published experiments take them: features, what is obvious, folds; and who scores them.

Five folds; what is learnt for a fold is learnt on the others, and on the obvious pairs of the collection: the obvious
replicas for PU, the obvious others for NU (Carvalho et al. 2017, section 4.1.2). Reading: Carvalho 2014 (p. 39) halves
its pairs and learns in five folds of a half; the five folds of 2017 are taken.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scrapy_replica.lab.measures import auc
from scrapy_replica.lab.replicas.cuts import equal_width_cuts, mdl_cuts
from scrapy_replica.lab.replicas.em import Start, train
from scrapy_replica.lab.replicas.em_in_order import train_in_order
from scrapy_replica.lab.replicas.pareto import dominance_counts
from scrapy_replica.lab.replicas.replica_baselines import BiasedSVM, normpaths
from scrapy_replica.lab.replicas.replica_links import NAMES as LINKS
from scrapy_replica.lab.replicas.replica_methods import Cutter, obvious_by_content, parts_of
from scrapy_replica.lab.replicas.replica_pairs import N_FOLDS, PairTable
from scrapy_replica.lab.replicas.replica_published import NAMES as PUBLISHED
from scrapy_replica.lab.replicas.replica_published import Collection, is_obvious_replica
from scrapy_replica.lab.replicas.replica_web import SyntheticWeb, candidate_pairs, unrelated_pairs
from scrapy_replica.lazy.intervals import Intervals
from scrapy_replica.lazy.lac import LAC, Cube, distinct_vectors
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.sites.judge import COLUMNS

IN_ALL = -1
"""Fold of a pair that everything is learnt from and nothing is measured on."""
AGGREGATES = ("pareto", "mean", "product", "max", "min")
"""How PU and NU become one score; published is the first."""
_SVM_UNLABELLED = 4000


@dataclass(frozen=True)
class Cases:
    """Pairs of hosts, one row each.

    Attributes:
        hosts: Names of the pairs.
        names: Of the features.
        values: Features, NaN where unknown.
        obvious: 1 obvious replica, -1 obviously none, 0 neither.
        is_replica: The truth.
        is_tested: What is measured on.
        fold: 0..4, or ``IN_ALL``.
        normpaths: NormPaths similarity.
        cutter: How features are cut into intervals.
        is_locked: PU and NU both know the obvious pairs of both kinds, as a crawl does.
    """

    hosts: list[tuple[str, str]]
    names: tuple[str, ...]
    values: FloatArray
    obvious: IntArray
    is_replica: BoolArray
    is_tested: BoolArray
    fold: IntArray
    normpaths: FloatArray
    cutter: Cutter
    is_locked: bool = False

    def of(self, names: Sequence[str]) -> Cases:
        """Return the same pairs with the features *names* only."""
        places = [self.names.index(name) for name in names]
        return replace(self, names=tuple(names), values=self.values[:, places])

    def training(self, start: Start, fold: int) -> BoolArray:
        """Return the pairs that *start* learns from to score *fold*, shape (n,)."""
        rows = np.asarray(self.fold != fold)
        return rows if self.is_locked else rows & (self.obvious != (-1 if start is Start.PU else 1))

    def intervals(self, rows: BoolArray) -> Intervals:
        """Return the intervals that the pairs *rows* suggest; by MDL those among them that are obvious."""
        if self.cutter is mdl_cuts:
            rows = rows & (self.obvious != 0)
        return Intervals(tuple(self.cutter(column, self.obvious[rows] == 1) for column in self.values[rows].T))


def equal_widths(values: FloatArray, _: BoolArray) -> tuple[float, ...]:
    """Cut into ten intervals of equal width; equal frequency fails on skewed cosines (PU .83 in place of .97)."""
    return equal_width_cuts(values, 10)


def our_cases(table: PairTable) -> Cases:
    """Return pairs with what speaks for and against them, and connectivity; obvious by content."""
    names = COLUMNS[: COLUMNS.index("likeness")]
    return _of_table(table, names, parts_of(table), obvious_by_content(table), cutter=mdl_cuts, is_locked=True)


def published_cases(table: PairTable) -> Cases:
    """Return pairs with the published features, and connectivity; obvious by name, or for sharing nothing."""
    obvious = np.where(table.is_named, 1, np.where(table.is_published_candidate, 0, -1))
    return _of_table(table, PUBLISHED, table.published, obvious, cutter=equal_widths)


def _of_table(table: PairTable, names: tuple[str, ...], values: FloatArray, obvious: IntArray, **how: Any) -> Cases:
    return Cases(
        hosts=table.hosts,
        names=(*names, *LINKS),
        values=np.hstack([values, table.links]),
        obvious=obvious,
        is_replica=table.is_replica,
        is_tested=np.asarray(table.relation != "unrelated"),
        fold=table.fold,
        normpaths=table.normpaths,
        **how,
    )


def made_cases(web: SyntheticWeb, seed: int) -> Cases:
    """Return the candidates of a made-up web, in random order, and pairs that share nothing, half as many.

    As published, the folds are random, and to four of them come .62 obvious others for each pair (800,000 to 1.28
    million). Candidates that are obvious by name are not tested.
    """
    rng = random.Random(seed)
    pairs = candidate_pairs(web)
    rng.shuffle(pairs)
    others = unrelated_pairs(web, len(pairs) // 2, rng)
    collection = Collection()
    for host, pages in web.pages.items():
        collection.add(host, (path for path, _ in pages), web.ips[host])
    similarity = normpaths(web.pages)
    hosts = pairs + others
    obvious = np.array([int(is_obvious_replica(a, b)) for a, b in pairs] + [-1] * len(others))
    return Cases(
        hosts=hosts,
        names=PUBLISHED,
        values=np.array([collection.values(a, b) for a, b in hosts]),
        obvious=obvious,
        is_replica=np.array([web.site[a] == web.site[b] for a, b in hosts]),
        is_tested=obvious == 0,
        fold=np.where(obvious == 0, np.arange(len(hosts)) % N_FOLDS, IN_ALL),
        normpaths=np.array([similarity.get(pair, 0.0) for pair in hosts]),
        cutter=equal_widths,
    )


def em_scores(cases: Cases, start: Start, threshold: float | None = None, *, is_in_order: bool = False) -> FloatArray:
    """Return alpha(x, +) of every pair by what EM made of the other folds, NaN where no fold tests it.

    :param threshold: one a_min for all pairs in place of the best entropy cut of each.
    :param is_in_order: each pair sees the moves of those before it, as described; else all of a round move at once.
    """
    scores = np.full(len(cases.fold), np.nan)
    for fold in range(N_FOLDS):
        rows, is_test = cases.training(start, fold), cases.fold == fold
        intervals = cases.intervals(rows)
        codes = intervals.codes(cases.values)
        given = intervals.sizes, codes[rows], cases.obvious[rows], start
        trained = train_in_order(*given) if is_in_order else train(*given, threshold=threshold)
        scores[is_test] = 1 - _alpha(trained.lac, codes[is_test])
    return scores


def bound_scores(cases: Cases) -> FloatArray:
    """Return alpha(x, +) by the classifier that knows the true labels of the other folds."""
    scores = np.full(len(cases.fold), np.nan)
    for fold in range(N_FOLDS):
        rows, is_test = cases.fold != fold, cases.fold == fold
        labels = cases.is_replica[rows]
        intervals = Intervals(tuple(cases.cutter(column, labels) for column in cases.values[rows].T))
        codes = intervals.codes(cases.values)
        scores[is_test] = 1 - _alpha(LAC(Cube.from_examples(intervals.sizes, codes[rows], labels)), codes[is_test])
    return scores


def bsvm_scores(cases: Cases, *, is_drawn: bool = False) -> FloatArray:
    """Return the margins by the biased SVM of the other folds, of at most 4,000 of their unlabelled pairs.

    :param is_drawn: it begins with as many replicas drawn from these folds as there are obvious ones, which its authors
        assume, in place of the obvious ones.
    """
    scores = np.full(len(cases.fold), np.nan)
    for fold in range(N_FOLDS):
        rows = cases.training(Start.PU, fold)
        known = np.flatnonzero(rows & (cases.obvious == 1))
        unlabelled = np.flatnonzero(rows & (cases.obvious != 1))
        if is_drawn:
            replicas = unlabelled[cases.is_replica[unlabelled]]
            known = np.random.default_rng(fold).choice(replicas, min(len(known), len(replicas)), replace=False)
            unlabelled = np.setdiff1d(unlabelled, known)
        step = max(1, -(-len(unlabelled) // _SVM_UNLABELLED))
        chosen = np.concatenate([known, unlabelled[::step]])
        obvious = np.where(np.isin(chosen, known), 1, np.minimum(cases.obvious[chosen], 0))
        is_test = cases.fold == fold
        scores[is_test] = BiasedSVM().fit(cases.values[chosen], obvious).scores(cases.values[is_test])
    return scores


def _alpha(lac: LAC, codes: IntArray) -> FloatArray:
    vectors, places = distinct_vectors(lac.cube.sizes, codes)
    alpha: FloatArray = lac.alpha(vectors)[places]
    return alpha


def aggregated(cases: Cases, pu: FloatArray, nu: FloatArray, how: str) -> FloatArray:
    """Return one score of both, larger is more alike; by Pareto how many of the tested pairs a pair dominates.

    The pairs of all folds are points of one plane, so that their ranks compare. The mean comes as a sum.
    """
    if how != "pareto":
        ways = {"mean": np.add, "product": np.multiply, "max": np.maximum, "min": np.minimum}
        combined: FloatArray = ways[how](pu, nu)
        return combined
    scores = np.full(len(pu), np.nan)
    scores[cases.is_tested] = dominance_counts(pu[cases.is_tested], nu[cases.is_tested])
    return scores


def aucs(cases: Cases, scores: FloatArray) -> FloatArray:
    """Return the AUC of the tested pairs of each fold that has both kinds."""
    parts = [cases.is_tested & (cases.fold == fold) for fold in range(N_FOLDS)]
    found: FloatArray = np.array([auc(scores[part], cases.is_replica[part]) for part in parts])
    return found[~np.isnan(found)]
