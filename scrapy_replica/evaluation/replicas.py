"""How well are replica hosts told from other hosts? Every method on one folder of labelled pairs.

Five folds by family: whatever is fitted or chosen, thresholds included, is fitted on the other four folds. Pairs of
relation ``ambiguous`` are left out. The figures of a method M are ``M.auc_near_miss``, ``M.auc_all``, ``M.precision``,
``M.recall``, ``M.f1``, ``M.tpr_at_fpr_0``, ``_0.001``, ``_0.005``, ``M.rdr_10``, ``_100``, ``_1000``, ``_all`` and
``M.rr_at_fpr_0``, ``_0.001``, ``_0.005`` (reduction ratio over duplicate URLs).
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from scrapy_replica.config import Config
from scrapy_replica.evaluation.cuts import equal_frequency_cuts
from scrapy_replica.evaluation.measures import auc, precision_recall_f1, rdr, tpr_at_fpr
from scrapy_replica.evaluation.pareto import dominance_counts
from scrapy_replica.evaluation.replica_baselines import BiasedSVM
from scrapy_replica.evaluation.replica_pairs import N_FOLDS, PairTable, load
from scrapy_replica.evaluation.replica_published import NAMES
from scrapy_replica.lazy.em import Start, train
from scrapy_replica.lazy.intervals import Intervals
from scrapy_replica.lazy.lac import LAC, Cube
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.records import Noise, Page
from scrapy_replica.sites.judge import (
    COLUMNS,
    RAW,
    Judge,
    best_f1_threshold,
    columns_of,
    likeness,
    obvious_labels,
    threshold_at,
    trained_on,
)

Scorer: TypeAlias = Callable[[PairTable, BoolArray], FloatArray]
"""(table, rows to train on) -> scores of all rows, more is more alike."""

_EDGES = tuple((np.arange(1, 10) / 10).tolist())
_FPRS = (0.0, 0.001, 0.005)


def evaluate(
    folder: Path, *, train_folder: Path | None = None, model: Path | None = None, noise: Noise = Config.noise
) -> dict[str, float]:
    """Return every figure for the labelled pairs of *folder*.

    With *train_folder*, everything is learnt there in place of the other folds. With *model*, the judge is the one
    stored there, and the other methods are left out. *noise* says how main text is found.
    """
    table, pages = load(folder, noise)
    other = load(train_folder, noise)[0] if train_folder is not None else None
    return figures_of(table, pages, other=other, judge=Judge.load(model) if model is not None else None)


def figures_of(
    table: PairTable, pages: Mapping[str, list[Page]], *, other: PairTable | None = None, judge: Judge | None = None
) -> dict[str, float]:
    """Return every figure for a folder that is read already; see :func:`evaluate`."""
    weights = duplicate_urls(pages)
    figures: dict[str, float] = _candidate_figures(table)
    scores: dict[str, FloatArray] = {}
    for name, scorer in METHODS.items() if judge is None else [("judge", model_scorer(judge))]:
        scores[name], called = out_of_fold(scorer, table, other)
        if judge is not None:
            called = scores[name] >= judge.threshold
        figures |= {
            f"{name}.{key}": value for key, value in method_figures(table, scores[name], called, weights).items()
        }
    if judge is None:
        figures |= _feature_figures(table) | _wilcoxon(table, scores)
    return figures


def out_of_fold(scorer: Scorer, table: PairTable, other: PairTable | None = None) -> tuple[FloatArray, BoolArray]:
    """Return the scores and the calls of every pair by what was learnt without its family.

    With *other*, everything is learnt from that table instead.
    """
    n = len(table.hosts)
    if other is not None:
        both = joined(table, other)
        is_train = np.arange(len(both.hosts)) >= n
        scores = scorer(both, is_train)
        threshold = best_f1_threshold(scores[is_train], both.is_replica[is_train])
        return scores[:n], scores[:n] >= threshold
    scores, called = np.empty(n), np.empty(n, dtype=bool)
    for fold in range(N_FOLDS):
        is_train = table.fold != fold
        found = scorer(table, is_train)
        threshold = best_f1_threshold(found[is_train], table.is_replica[is_train])
        scores[~is_train] = found[~is_train]
        called[~is_train] = found[~is_train] >= threshold
    return scores, called


def joined(first: PairTable, second: PairTable) -> PairTable:
    """Return both tables as one, rows of *first* first."""
    arrays = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in PairTable.__dataclass_fields__
        if name != "hosts"
    }
    return replace(first, hosts=first.hosts + second.hosts, **arrays)


def method_figures(
    table: PairTable, scores: FloatArray, called: BoolArray, weights: Mapping[str, int]
) -> dict[str, float]:
    """Return the figures of one method."""
    is_replica, is_near = table.is_replica, table.relation != "unrelated"
    precision, recall, f1 = precision_recall_f1(called, is_replica)
    figures = {
        "auc_near_miss": auc(scores[is_near], is_replica[is_near]),
        "auc_all": auc(scores, is_replica),
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "recall_alias": _share(called, is_replica & table.is_alias),
        "recall_copy": _share(called, is_replica & ~table.is_alias),
    }
    for max_fpr in _FPRS:
        figures[f"tpr_at_fpr_{max_fpr:g}"] = tpr_at_fpr(scores, is_replica, max_fpr)
        figures[f"rr_at_fpr_{max_fpr:g}"] = reduction_ratio(table, scores, max_fpr, weights)
    for k in (10, 100, 1000):
        figures[f"rdr_{k}"] = rdr(scores, is_replica, k)
    return figures | {"rdr_all": rdr(scores, is_replica, None)}


def _share(called: BoolArray, among: BoolArray) -> float:
    return float(called[among].mean()) if among.any() else math.nan


def duplicate_urls(pages: Mapping[str, list[Page]]) -> dict[str, int]:
    """Return for each host how many of its URLs are duplicates: their main text stands at another URL, too."""
    df = Counter(page.signature for found in pages.values() for page in found if page.signature is not None)
    return {host: sum(df[page.signature] > 1 for page in found if page.signature) for host, found in pages.items()}


def reduction_ratio(table: PairTable, scores: FloatArray, max_fpr: float, weights: Mapping[str, int]) -> float:
    """Return (|U| - |U*|) / |U| over duplicate URLs U when one host of each called pair is dropped."""
    total = sum(weights.values())
    gone = dropped(table, scores, max_fpr, weights)
    return sum(weights.get(host, 0) for host in gone) / total if total else math.nan


def dropped(table: PairTable, scores: FloatArray, max_fpr: float, weights: Mapping[str, int]) -> dict[str, bool]:
    """Return the smaller host of each pair that is called at *max_fpr* -> whether it is a replica of the other one."""
    threshold = threshold_at(scores[~table.is_replica], max_fpr)
    found: dict[str, bool] = {}
    for place in np.argsort(-scores, kind="stable"):
        pair = table.hosts[place]
        if scores[place] >= threshold and not found.keys() & set(pair):
            found[min(pair, key=lambda host: (weights.get(host, 0), host))] = bool(table.is_replica[place])
    return found


def judge_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score as the crawl does."""
    return trained_on(table.raw[is_train], table.is_replica[is_train]).scores(table.raw)


def model_scorer(judge: Judge) -> Scorer:
    """Return the scorer of a ready model."""
    return lambda table, _: judge.scores(table.raw)


def bound_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score by the lazy classifier on true labels: what no label moves can be expected to pass."""
    codes = _our_intervals().codes(columns_of(table.raw))
    return 1 - _lac(codes[is_train], table.is_replica[is_train], _our_intervals().sizes).alpha(codes)


def likeness_scores(table: PairTable, _: BoolArray) -> FloatArray:
    """Score by likeness alone, which learns nothing."""
    return likeness(columns_of(table.raw))


def em_scores(start: Start | None) -> Scorer:
    """Return the scorer by EM on our features from pairs that are obvious by content; both aggregated for None."""

    def scorer(table: PairTable, is_train: BoolArray) -> FloatArray:
        intervals = _our_intervals()
        obvious = obvious_labels(table.raw, table.n_aligned, table.is_candidate)
        return _em(intervals.codes(columns_of(table.raw)), intervals.sizes, obvious, is_train, start)

    return scorer


def published_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score by PU + NU on the published five features, obvious by name or by sharing nothing."""
    intervals = Intervals(tuple(equal_frequency_cuts(column, 10) for column in table.published[is_train].T))
    obvious = np.where(table.is_named, 1, np.where(table.is_published_candidate, 0, -1))
    return _em(intervals.codes(table.published), intervals.sizes, obvious, is_train, None)


def bsvm_scores(table: PairTable, is_train: BoolArray) -> FloatArray:
    """Score by the biased SVM on our features, from the same obvious pairs as EM."""
    columns = columns_of(table.raw)
    obvious = obvious_labels(table.raw, table.n_aligned, table.is_candidate)
    return BiasedSVM().fit(columns[is_train], obvious[is_train]).scores(columns)


METHODS: dict[str, Scorer] = {
    "judge": judge_scores,
    "likeness": likeness_scores,
    "pu": em_scores(Start.PU),
    "nu": em_scores(Start.NU),
    "pu_nu": em_scores(None),
    "published": published_scores,
    "normpaths": lambda table, _: table.normpaths,
    "bsvm": bsvm_scores,
    "bound": bound_scores,
}


def _our_intervals() -> Intervals:
    return Intervals((_EDGES,) * len(COLUMNS))


def _lac(codes: IntArray, is_positive: BoolArray, sizes: tuple[int, ...]) -> LAC:
    return LAC(Cube.from_examples(sizes, codes, is_positive))


def _em(
    codes: IntArray, sizes: tuple[int, ...], obvious: IntArray, is_train: BoolArray, start: Start | None
) -> FloatArray:
    """Return alpha(x, +) after EM, or for no *start* the share of training pairs that x dominates in PU and NU."""
    starts = [start] if start is not None else [Start.PU, Start.NU]
    alphas = [1 - train(sizes, codes[is_train], obvious[is_train], each).lac.alpha(codes) for each in starts]
    return alphas[0] if start is not None else dominated_share(alphas[0], alphas[1], is_train)


def dominated_share(first: FloatArray, second: FloatArray, is_train: BoolArray) -> FloatArray:
    """Return the share of training points each point dominates, so that the scores of all folds compare."""
    share: FloatArray = np.empty(len(first))
    share[is_train] = dominance_counts(first[is_train], second[is_train])
    with_all = dominance_counts(first, second)[~is_train]
    share[~is_train] = with_all - dominance_counts(first[~is_train], second[~is_train])
    return share / float(is_train.sum())


def _candidate_figures(table: PairTable) -> dict[str, float]:
    figures = {}
    for name, rule in (("ours", table.is_candidate), ("published", table.is_published_candidate)):
        figures[f"candidates.{name}.recall"] = _share(rule, table.is_replica)
        figures[f"candidates.{name}.pairs"] = float(rule.sum())
    return figures


def _feature_figures(table: PairTable) -> dict[str, float]:
    """Return the AUC of every feature alone, and of the true-label classifier without it (near misses)."""
    is_near = table.relation != "unrelated"
    sets = {"": (COLUMNS, columns_of(table.raw)), "raw.": (RAW, table.raw), "published.": (NAMES, table.published)}
    figures = {}
    for prefix, (names, values) in sets.items():
        for place, name in enumerate(names):
            alone = np.nan_to_num(values[:, place], nan=-1.0)
            figures[f"alone.{prefix}{name}.auc_near_miss"] = auc(alone[is_near], table.is_replica[is_near])
            if prefix != "raw.":
                scores, _ = out_of_fold(_without(values, place), table)
                figures[f"without.{prefix}{name}.auc_near_miss"] = auc(scores[is_near], table.is_replica[is_near])
    return figures


def _without(values: FloatArray, place: int) -> Scorer:
    kept = np.delete(values, place, axis=1)

    def scorer(table: PairTable, is_train: BoolArray) -> FloatArray:
        intervals = Intervals(tuple(equal_frequency_cuts(column, 10) for column in kept[is_train].T))
        if kept.shape[1] == len(COLUMNS) - 1 and values.shape[1] == len(COLUMNS) and np.nanmax(kept) <= 1:
            intervals = Intervals((_EDGES,) * kept.shape[1])
        codes = intervals.codes(kept)
        return 1 - _lac(codes[is_train], table.is_replica[is_train], intervals.sizes).alpha(codes)

    return scorer


def _wilcoxon(table: PairTable, scores: Mapping[str, FloatArray]) -> dict[str, float]:
    """Return the p-values that the judge ranks replicas as another method does: the share of near misses above each."""
    try:
        from scipy.stats import wilcoxon  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("the Wilcoxon test needs SciPy: pip install 'scrapy-replica[eval]'") from error
    near = table.relation == "near_miss"

    def above(values: FloatArray) -> FloatArray:
        return np.array([(values[near] >= value).mean() for value in values[table.is_replica]])

    ours = above(scores["judge"])
    figures = {}
    for name, values in scores.items():
        theirs = above(values)
        if name != "judge":
            figures[f"wilcoxon.judge_{name}.p"] = (
                float(wilcoxon(ours, theirs).pvalue) if (ours != theirs).any() else 1.0
            )
    return figures


def train_model(folder: Path) -> Judge:
    """Return the judge trained on all labelled pairs of *folder*; ``judge.json`` was made so from the dev pairs."""
    table, _ = load(folder)
    return trained_on(table.raw, table.is_replica)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m scrapy_replica.evaluation.replicas DIR JUDGE.json")
    train_model(Path(sys.argv[1])).save(Path(sys.argv[2]))
