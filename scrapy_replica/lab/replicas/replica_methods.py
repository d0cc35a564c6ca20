"""The methods that replica pairs are scored by: the judge, what it is made of, and what it is held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from scrapy_replica.lab.replicas.cuts import equal_frequency_cuts, equal_width_cuts, mdl_cuts
from scrapy_replica.lab.replicas.em import Start, train
from scrapy_replica.lab.replicas.pareto import dominance_counts
from scrapy_replica.lab.replicas.replica_baselines import BiasedSVM
from scrapy_replica.lab.replicas.replica_links import NAMES as LINKS
from scrapy_replica.lab.replicas.replica_pairs import PairTable
from scrapy_replica.lab.training.train_judge import examples, judge_of, trained_on, with_stages
from scrapy_replica.lazy.intervals import Intervals
from scrapy_replica.lazy.lac import LAC, Cube, distinct_vectors
from scrapy_replica.mining.obvious import labels_of, retrained
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.sites.judge import COLUMNS, MAJORITY, RAW, THRESHOLD, Judge, columns_of

Scorer: TypeAlias = Callable[[PairTable, BoolArray], FloatArray]
"""(table, rows to train on) -> scores of all rows, more is more alike."""

Cutter: TypeAlias = Callable[[FloatArray, BoolArray], tuple[float, ...]]
"""(known and unknown values of a feature, labels) -> cut points."""


def judge_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score as the crawl does."""
    return crawl_scores(judge_of(table, is_train), table)


def taught_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score as mining does when it has learnt the obvious pairs among all, whose labels are not known."""
    return crawl_scores(retrained(judge_of(table, is_train), table.raw, obvious_by_content(table)), table)


def whole_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score by the judge that has learnt from whole hosts only."""
    return crawl_scores(trained_on(table.raw[is_train], table.is_replica[is_train]), table)


def crawl_scores(judge: Judge, table: PairTable) -> FloatArray:
    """Return the scores by *judge*, 0 of pairs that a crawl makes no verdict of whatever their score."""
    scores = np.zeros(len(table.hosts))
    scores[~table.is_barred] = judge.scores(table.raw[~table.is_barred])
    return scores


def votes_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score by the votes of the judge's rules."""
    return judge_of(table, is_train).votes(columns_of(table.raw))


def no_weakest_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score by what the votes would be without the weakest part."""
    raw, labels = examples(table, is_train)
    columns = columns_of(raw)[:, :-1]
    intervals = _intervals(columns, mdl_cuts, labels)
    learnt = _lac(intervals.codes(columns), labels, intervals.sizes)
    return 1 - learnt.alpha(intervals.codes(columns_of(table.raw)[:, :-1]))


def linked_scores(names: Sequence[str]) -> Scorer:
    """Return the scorer by what the judge would be with the features *names* of connectivity beside its own."""
    places = [LINKS.index(name) for name in names]

    def seen(raw: FloatArray) -> FloatArray:
        return np.hstack([columns_of(raw[:, : len(RAW)]), raw[:, len(RAW) :]])

    def scorer(table: PairTable, is_train: BoolArray) -> FloatArray:
        whole = np.hstack([table.raw, table.links[:, places]])
        early = np.concatenate([table.early, table.early_links[:, :, places]], axis=2)
        raw, labels = with_stages(whole[is_train], early[is_train], table.is_replica[is_train])
        intervals = _intervals(seen(raw), mdl_cuts, labels)
        learnt = _lac(intervals.codes(seen(raw)), labels, intervals.sizes)
        vectors, rows = distinct_vectors(intervals.sizes, intervals.codes(seen(whole)))
        return 1 - learnt.alpha(vectors)[rows]

    return scorer


def model_scorer(judge: Judge) -> Scorer:
    """Return the scorer of a ready model."""
    return lambda table, _: crawl_scores(judge, table)


def bound_scores(cutter: Cutter) -> Scorer:
    """Return the scorer by the lazy classifier on true labels: what no label moves can be expected to pass."""
    return lambda table, is_train: supervised(parts_of(table), cutter)(table, is_train)


def likeness_scores(table: PairTable, _: BoolArray) -> FloatArray:
    """Score by likeness alone, which learns nothing."""
    return columns_of(table.raw)[:, COLUMNS.index("likeness")]


def em_alphas(table: PairTable, is_train: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return alpha(x, +) by PU and by NU on our features, from pairs obvious by content, cut by MDL on these."""
    obvious, columns = obvious_by_content(table), parts_of(table)
    is_clear = is_train & (obvious != 0)
    intervals = _intervals(columns[is_clear], mdl_cuts, obvious[is_clear] == 1)
    return _em(intervals.codes(columns), intervals.sizes, obvious, is_train)


def published_scores(cutter: Cutter) -> Scorer:
    """Return the scorer by PU + NU on the published five features, obvious by name or by sharing nothing."""

    def scorer(table: PairTable, is_train: BoolArray) -> FloatArray:
        obvious = np.where(table.is_named, 1, np.where(table.is_published_candidate, 0, -1))
        is_clear = is_train & (obvious != 0) if cutter is mdl_cuts else is_train
        intervals = _intervals(table.published[is_clear], cutter, obvious[is_clear] == 1)
        return dominated_share(*_em(intervals.codes(table.published), intervals.sizes, obvious, is_train), is_train)

    return scorer


def bsvm_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score by the biased SVM on our features, from the same obvious pairs as EM."""
    return BiasedSVM().fit(parts_of(table)[is_train], obvious_by_content(table)[is_train]).scores(parts_of(table))


def obvious_by_content(table: PairTable) -> IntArray:
    """Return 1, -1 or 0 for every pair, as a crawl finds them."""
    return labels_of(table.raw, table.n_aligned, table.is_candidate)


def parts_of(table: PairTable) -> FloatArray:
    """Return what the classifier sees but for the likeness and the weakest part, shape (n, 5)."""
    return columns_of(table.raw)[:, : COLUMNS.index("likeness")]


def _fixed_edges(*_: object) -> tuple[float, ...]:
    return tuple((np.arange(1, 10) / 10).tolist())


def _equal_width(values: FloatArray, _: BoolArray) -> tuple[float, ...]:
    return equal_width_cuts(values, 10)


def _equal_frequency(values: FloatArray, _: BoolArray) -> tuple[float, ...]:
    return equal_frequency_cuts(values, 10)


def supervised(values: FloatArray, cutter: Cutter = mdl_cuts) -> Scorer:
    """Return the scorer by the lazy classifier on true labels over *values*."""

    def scorer(table: PairTable, is_train: BoolArray) -> FloatArray:
        labels = table.is_replica[is_train]
        intervals = _intervals(values[is_train], cutter, labels)
        codes = intervals.codes(values)
        return 1 - _lac(codes[is_train], labels, intervals.sizes).alpha(codes)

    return scorer


def _intervals(columns: FloatArray, cutter: Cutter, labels: BoolArray) -> Intervals:
    return Intervals(tuple(cutter(column, labels) for column in columns.T))


def _lac(codes: IntArray, is_positive: BoolArray, sizes: tuple[int, ...]) -> LAC:
    return LAC(Cube.from_examples(sizes, codes, is_positive))


def _em(
    codes: IntArray, sizes: tuple[int, ...], obvious: IntArray, is_train: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return alpha(x, +) after EM from the obvious positives, and from the obvious negatives."""
    pu, nu = (
        1 - train(sizes, codes[is_train], obvious[is_train], start).lac.alpha(codes) for start in (Start.PU, Start.NU)
    )
    return pu, nu


def dominated_share(first: FloatArray, second: FloatArray, is_train: BoolArray) -> FloatArray:
    """Return the share of training points each point dominates, so that the scores of all folds compare."""
    share: FloatArray = np.empty(len(first))
    share[is_train] = dominance_counts(first[is_train], second[is_train])
    with_all = dominance_counts(first, second)[~is_train]
    share[~is_train] = with_all - dominance_counts(first[~is_train], second[~is_train])
    return share / float(is_train.sum())


METHODS: dict[str, Scorer] = {
    "judge": judge_scores,
    "judge_taught": taught_scores,
    "judge_whole": whole_scores,
    "votes": votes_scores,
    "votes_no_weakest": no_weakest_scores,
    "likeness": likeness_scores,
    "bound": bound_scores(mdl_cuts),
    "bound_fixed": bound_scores(_fixed_edges),
    "pu": lambda *given: em_alphas(*given)[0],
    "nu": lambda *given: em_alphas(*given)[1],
    "pu_nu_mean": lambda *given: np.mean(em_alphas(*given), axis=0),
    "pu_nu_product": lambda *given: np.prod(em_alphas(*given), axis=0),
    "pu_nu": lambda table, is_train: dominated_share(*em_alphas(table, is_train), is_train),
    "bsvm": bsvm_scores,
    "published": published_scores(_equal_frequency),
    "published_width": published_scores(_equal_width),
    "published_mdl": published_scores(mdl_cuts),
    "normpaths": lambda table, _: table.normpaths,
}
THRESHOLDS = dict.fromkeys(("judge", "judge_taught"), THRESHOLD) | dict.fromkeys(
    ("votes", "votes_no_weakest"), MAJORITY
)
"""Methods that bring their threshold along; those of the others have the best F1 of the training folds."""
