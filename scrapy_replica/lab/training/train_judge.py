"""How the judge that ships is trained: on labelled pairs of hosts, whole ones and at early stages of a crawl.

``python -m scrapy_replica.lab.training.train_judge DIR JUDGE.json``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from scrapy_replica.lab.replicas.cuts import mdl_cuts
from scrapy_replica.lab.replicas.replica_pairs import PairTable, load
from scrapy_replica.lazy.intervals import Intervals
from scrapy_replica.lazy.lac import LAC, Cube
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.records import Noise
from scrapy_replica.sites.judge import RAW, Judge, columns_of

NOISE = Noise.LEARNED
"""How main text is found on the pages that the shipped judge learns from."""


def judge_of(table: PairTable, rows: BoolArray) -> Judge:
    """Return the judge that has learnt the pairs *rows* of *table*."""
    return trained_on(*examples(table, rows))


def examples(table: PairTable, rows: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Return raw features and labels of the pairs *rows*: of whole hosts, and of the stages with enough to compare."""
    return with_stages(table.raw[rows], table.early[rows], table.is_replica[rows])


def with_stages(whole: FloatArray, early: FloatArray, labels: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Return rows (n, k) and those of their stages (n, stages, k) that are known below them, with their labels."""
    n_stages = early.shape[1]
    early = early.reshape(-1, early.shape[2])
    is_known = ~np.isnan(early[:, RAW.index("sm10")])
    return np.concatenate([whole, early[is_known]]), np.concatenate([labels, np.repeat(labels, n_stages)[is_known]])


def trained_on(raw: FloatArray, is_replica: BoolArray) -> Judge:
    """Return a judge from labelled pairs: *raw* features, shape (n, 9), labels, shape (n,)."""
    columns = columns_of(raw)
    intervals = Intervals(tuple(mdl_cuts(column, is_replica) for column in columns.T))
    return Judge(intervals, LAC(Cube.from_examples(intervals.sizes, intervals.codes(columns), is_replica)))


def train_model(folder: Path) -> Judge:
    """Return the judge trained on all labelled pairs of *folder*."""
    table, _ = load(folder, NOISE)
    return judge_of(table, np.ones(len(table.hosts), dtype=bool))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m scrapy_replica.lab.training.train_judge DIR JUDGE.json")
    train_model(Path(sys.argv[1])).save(Path(sys.argv[2]))
