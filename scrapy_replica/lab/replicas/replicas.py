"""How well are replica hosts told from other hosts? Every method on one folder of labelled pairs.

Five folds by family: whatever is fitted or chosen, thresholds included, is fitted on the other four folds. Pairs of
relation ``ambiguous`` are left out. The figures of a method M are ``M.auc_near_miss``, ``M.auc_all``, ``M.precision``,
``M.recall``, ``M.f1``, ``M.tpr_at_fpr_0``, ``_0.001``, ``_0.005``, ``M.rdr_10``, ``_100``, ``_1000``, ``_all`` and
``M.rr_at_fpr_0``, ``_0.001``, ``_0.005`` (reduction ratio over duplicate URLs).
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from scrapy_replica.config import Config
from scrapy_replica.lab.measures import auc, best_f1_threshold, precision_recall_f1, rdr, tpr_at_fpr
from scrapy_replica.lab.replicas.replica_methods import (
    METHODS,
    THRESHOLDS,
    Scorer,
    model_scorer,
    obvious_by_content,
    supervised,
)
from scrapy_replica.lab.replicas.replica_pairs import N_FOLDS, PairTable, load
from scrapy_replica.lab.replicas.replica_published import NAMES
from scrapy_replica.mining.obvious import threshold_at
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.records import Noise, Page
from scrapy_replica.sites.judge import COLUMNS, RAW, Judge, columns_of

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
        scores[name], called = out_of_fold(scorer, table, other, threshold=THRESHOLDS.get(name))
        if judge is not None:
            called = scores[name] >= judge.threshold
        figures |= {
            f"{name}.{key}": value for key, value in method_figures(table, scores[name], called, weights).items()
        }
    if judge is None:
        figures |= _feature_figures(table) | _wilcoxon(table, scores)
    return figures


def out_of_fold(
    scorer: Scorer, table: PairTable, other: PairTable | None = None, *, threshold: float | None = None
) -> tuple[FloatArray, BoolArray]:
    """Return the scores and the calls of every pair by what was learnt without its family.

    With *other*, everything is learnt from that table instead. Without a *threshold*, that of the best F1 where it was
    learnt is taken.
    """
    n = len(table.hosts)
    if other is not None:
        both = joined(table, other)
        is_train = np.arange(len(both.hosts)) >= n
        scores, called = _judged(scorer, both, is_train, threshold)
        return scores[:n], called[:n]
    scores, called = np.empty(n), np.empty(n, dtype=bool)
    for fold in range(N_FOLDS):
        is_test = table.fold == fold
        found = _judged(scorer, table, ~is_test, threshold)
        scores[is_test], called[is_test] = found[0][is_test], found[1][is_test]
    return scores, called


def _judged(
    scorer: Scorer, table: PairTable, is_train: BoolArray, threshold: float | None
) -> tuple[FloatArray, BoolArray]:
    scores = scorer(table, is_train)
    if threshold is None:
        threshold = best_f1_threshold(scores[is_train], table.is_replica[is_train])
    return scores, scores >= threshold


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


def figures_of_groups(truth: list[dict[str, str]], file: Path) -> dict[str, float]:
    """Return precision, recall and F1 of the pairs of hosts that a table of ``kept`` and ``host`` makes one site.

    Pairs of relation ``ambiguous`` are left out.
    """
    with file.open(encoding="utf-8", newline="") as table:
        kept_of = {row["host"]: row["kept"] for row in csv.DictReader(table)}
    rows = [row for row in truth if row["relation"] != "ambiguous"]
    called = np.array([kept_of.get(row["host_a"], 0) == kept_of.get(row["host_b"], 1) for row in rows])
    is_replica = np.array([row["relation"] == "replica" for row in rows])
    precision, recall, f1 = precision_recall_f1(called, is_replica)
    return {
        "groups.precision": precision,
        "groups.recall": recall,
        "groups.f1": f1,
        "groups.pairs": float(called.sum()),
        "groups.wrong_pairs": float((called & ~is_replica).sum()),
    }


def _share(called: BoolArray, among: BoolArray) -> float:
    return float(called[among].mean()) if among.any() else math.nan


def duplicate_urls(pages: Mapping[str, list[Page]]) -> dict[str, int]:
    """Return for each host how many of its URLs are duplicates: their main text stands at another URL, too."""
    df = Counter(page.signature for found in pages.values() for page in found if page.signature is not None)
    return {host: sum(df[page.signature] > 1 for page in found if page.signature) for host, found in pages.items()}


class Pairs(Protocol):
    """Labelled pairs of hosts."""

    @property
    def hosts(self) -> list[tuple[str, str]]: ...

    @property
    def is_replica(self) -> BoolArray: ...


def reduction_ratio(table: Pairs, scores: FloatArray, max_fpr: float, weights: Mapping[str, int]) -> float:
    """Return (|U| - |U*|) / |U| over duplicate URLs U when one host of each called pair is dropped."""
    total = sum(weights.values())
    gone = dropped(table, scores, max_fpr, weights)
    return sum(weights.get(host, 0) for host in gone) / total if total else math.nan


def dropped(table: Pairs, scores: FloatArray, max_fpr: float, weights: Mapping[str, int]) -> dict[str, bool]:
    """Return the smaller host of each pair that is called at *max_fpr* -> whether it is a replica of the other one."""
    threshold = threshold_at(scores[~table.is_replica], max_fpr)
    found: dict[str, bool] = {}
    for place in np.argsort(-scores, kind="stable"):
        pair = table.hosts[place]
        if scores[place] >= threshold and not found.keys() & set(pair):
            found[min(pair, key=lambda host: (weights.get(host, 0), host))] = bool(table.is_replica[place])
    return found


def _candidate_figures(table: PairTable) -> dict[str, float]:
    figures = {}
    for name, rule in (("ours", table.is_candidate), ("published", table.is_published_candidate)):
        figures[f"candidates.{name}.recall"] = _share(rule, table.is_replica)
        figures[f"candidates.{name}.pairs"] = float(rule.sum())
    for name, positives in (("ours", obvious_by_content(table) == 1), ("published", table.is_named)):
        figures[f"obvious.{name}.positives"] = float(positives.sum())
        figures[f"obvious.{name}.precision"] = _share(table.is_replica, positives)
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
                scores, _ = out_of_fold(supervised(np.delete(values, place, axis=1)), table)
                figures[f"without.{prefix}{name}.auc_near_miss"] = auc(scores[is_near], table.is_replica[is_near])
    return figures


def _wilcoxon(table: PairTable, scores: Mapping[str, FloatArray]) -> dict[str, float]:
    """Return the p-values that the judge ranks replicas as another method does: the share of near misses above each."""
    try:
        from scipy.stats import wilcoxon  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("the Wilcoxon test needs SciPy: pip install 'scrapy-replica[lab]'") from error
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
