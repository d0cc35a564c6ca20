"""How the judge that ships is trained: on labelled pairs of hosts, whole ones and at early stages of a crawl.

``python -m scrapy_replica.lab.training.train_judge JUDGE.json SOURCE ...``; a source is a folder with ``truth.csv`` and
``warc/``, or the WARC file of a web and the table of its hosts, joined by a colon: ``web.warc.gz:hosts.csv``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.replicas.cuts import mdl_cuts
from scrapy_replica.lab.replicas.replica_pairs import PairTable, load_source
from scrapy_replica.lazy.intervals import Intervals
from scrapy_replica.lazy.lac import LAC, Cube
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.records import Noise
from scrapy_replica.sites.judge import RAW, VOTE_WEIGHT, Judge, columns_of, evidence_of, votes_of

T = TypeVar("T", np.bool_, np.int64)

NOISE = Noise.LEARNED
"""How main text is found on the pages that the shipped judge learns from."""
_RIDGE = 1e-5
"""Keeps the calibration finite where the evidence parts all pairs."""
_STEPS = 50


def judge_of(table: PairTable, rows: BoolArray) -> Judge:
    """Return the judge that has learnt the pairs *rows* of *table*, calibrated on families that it had not learnt."""
    raw, labels = examples(table, rows)
    return trained_on(raw, labels, with_stages(table.raw[rows], table.early[rows], table.fold[rows])[1])


def judge_of_sources(tables: Sequence[PairTable], vote_weight: float = VOTE_WEIGHT) -> Judge:
    """Return the judge that has learnt all of *tables*, calibrated on each by what it had learnt from the others."""
    every = [np.ones(len(table.hosts), dtype=bool) for table in tables]
    if len(tables) == 1:
        return judge_of(tables[0], every[0])
    raw, labels = zip(*map(examples, tables, every), strict=True)
    groups = np.repeat(np.arange(len(tables)), [len(found) for found in labels])
    return trained_on(np.concatenate(raw), np.concatenate(labels), groups, vote_weight)


def examples(table: PairTable, rows: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Return raw features and labels of the pairs *rows*: of whole hosts, and of the stages with enough to compare."""
    return with_stages(table.raw[rows], table.early[rows], table.is_replica[rows])


def with_stages(whole: FloatArray, early: FloatArray, told: NDArray[T]) -> tuple[FloatArray, NDArray[T]]:
    """Return rows (n, k), below them their stages (n, stages, k) that are known, and what is *told* of each."""
    n_stages = early.shape[1]
    early = early.reshape(-1, early.shape[2])
    is_known = ~np.isnan(early[:, RAW.index("sm10")])
    return np.concatenate([whole, early[is_known]]), np.concatenate([told, np.repeat(told, n_stages)[is_known]])


def trained_on(
    raw: FloatArray, is_replica: BoolArray, groups: IntArray | None = None, vote_weight: float = VOTE_WEIGHT
) -> Judge:
    """Return a judge from labelled pairs: *raw* features, shape (n, 9), labels, shape (n,).

    The score is calibrated on the evidence of the pairs of each of *groups*, shape (n,), sources or families, where the
    classifier had learnt the other groups only. Five in turn unless told.
    """
    columns = columns_of(raw)
    groups = np.arange(len(raw)) % 5 if groups is None else groups
    evidence = np.full(len(raw), np.nan)
    for group in np.unique(groups):
        is_own = groups == group
        votes = votes_of(*_learnt(columns, is_replica, ~is_own), columns[is_own])
        evidence[is_own] = evidence_of(columns[is_own], votes, vote_weight)
    is_known = ~np.isnan(raw[:, RAW.index("sm10")])
    intercept, slope = calibration(evidence[is_known], is_replica[is_known], groups[is_known])
    return Judge(*_learnt(columns, is_replica, np.ones(len(raw), dtype=bool)), intercept, slope, vote_weight)


def _learnt(columns: FloatArray, is_replica: BoolArray, rows: BoolArray) -> tuple[Intervals, LAC]:
    intervals = Intervals(tuple(mdl_cuts(column, is_replica[rows]) for column in columns[rows].T))
    return intervals, LAC(Cube.from_examples(intervals.sizes, intervals.codes(columns[rows]), is_replica[rows]))


def calibration(evidence: FloatArray, is_replica: BoolArray, groups: IntArray) -> tuple[float, float]:
    """Return intercept and slope of the log odds of a replica (Platt 1999), by Newton's method.

    Every group counts the same, and in it replicas as much as all others: how many there are is chance of the sources.
    """
    weights = np.zeros(len(evidence))
    for group in np.unique(groups):
        for label in (True, False):
            part = (groups == group) & (is_replica == label)
            weights[part] = 1 / max(part.sum(), 1)
    weights /= weights.sum()
    rows, found = np.column_stack([np.ones(len(evidence)), evidence]), np.zeros(2)
    for _ in range(_STEPS):
        odds = 1 / (1 + np.exp(-rows @ found))
        gradient = rows.T @ (weights * (odds - is_replica)) + _RIDGE * found
        curvature = (rows * (weights * odds * (1 - odds))[:, None]).T @ rows + _RIDGE * np.eye(2)
        found = found - np.linalg.solve(curvature, gradient)
    return float(found[0]), float(found[1])


def main(arguments: Sequence[str]) -> None:
    """Train the judge on all sources and write it."""
    if len(arguments) < 2:
        sys.exit("usage: python -m scrapy_replica.lab.training.train_judge JUDGE.json SOURCE ...")
    file, *sources = arguments
    judge_of_sources([load_source(source, NOISE)[0] for source in sources]).save(Path(file))


if __name__ == "__main__":
    main(sys.argv[1:])
