"""Trains the extractor: ``python -m scrapy_replica.lab.training.train_extractor DIR [--held-out SET ...]``.

DIR holds ``<set>/html/<id>.html`` and ``<set>/gold/<id>.txt``. Needs the extra ``lab`` (scikit-learn).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree
from rapidfuzz.distance import LCSseq

from scrapy_replica.pages.block_features import Columns, features
from scrapy_replica.pages.blocks import Blocks, read_blocks
from scrapy_replica.pages.extractor import MODEL_FILE, Extractor, probability, second_look
from scrapy_replica.pages.trees import SPLITS, BlendedModel, BoostedTrees, signed_logarithms

if TYPE_CHECKING:
    from scrapy_replica.numeric import Float32Array


_WORD = re.compile(r"\w+")
MAX_WORDS = 40_000
"""Pages with more words are aligned up to there: the alignment takes words^2 / 8 bytes."""
MIN_ALIGNED = 3
"""Shorter aligned stretches are chance."""
MAX_RUNS = 80
"""Runs of a page that are learned from, evenly spaced: a third of the time of all runs."""
LINEAR_C = 0.001
FIRST = {
    "max_iter": 100,
    "learning_rate": 0.09,
    "l2_regularization": 20.0,
    "min_samples_leaf": 60,
    "max_features": 0.25,
}
SECOND = {
    "max_iter": 70,
    "learning_rate": 0.09,
    "l2_regularization": 30.0,
    "min_samples_leaf": 80,
    "max_features": 0.25,
}


@dataclass(slots=True)
class Example:
    """A page with truth: its group (pages of one origin are left out together), columns, rows and labels per run."""

    group: str
    columns: Columns
    rows: Float32Array
    shares: Float32Array
    """Share of each run's words that the gold text has, in order, 0..1."""


def group_of(folder: str) -> str:
    """Return the name under which sets of one origin are left out together: what stands before the first hyphen."""
    return folder.partition("-")[0]


def parse(html: bytes) -> etree._Element:
    """Parse a page as Scrapy would, UTF-8 where it is that and windows-1252 else; an empty page is an empty tree."""
    try:
        html.decode("utf-8-sig")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = "cp1252"
    parser = etree.HTMLParser(encoding=encoding, huge_tree=True)
    root: etree._Element | None = etree.fromstring(html, parser) if html.strip() else None
    return etree.Element("html") if root is None else root


def gold_shares(blocks: Blocks, gold: str) -> Float32Array:
    """Align the words of *blocks* with *gold* (longest common subsequence); return the share found per run, (n,)."""
    per_run = [_WORD.findall(text.lower()) for text in blocks.texts]
    found_words = [word for words in per_run for word in words][:MAX_WORDS]
    gold_words = _WORD.findall(gold.lower())[:MAX_WORDS]
    found = np.zeros(sum(map(len, per_run)) + 1)
    for step in LCSseq.opcodes(found_words, gold_words):
        if step.tag == "equal" and step.src_end - step.src_start >= min(MIN_ALIGNED, len(gold_words)):
            found[step.src_start : step.src_end] = 1
    ends = np.cumsum([len(words) for words in per_run])
    sums = np.concatenate([[0], np.cumsum(found)])
    lengths = np.maximum(np.diff(ends, prepend=0), 1)
    shares: Float32Array = (np.diff(sums[ends], prepend=0) / lengths).astype(np.float32)
    return shares


def read_examples(folder: Path) -> Iterator[Example]:
    """Read every page of *folder* that has text and a gold text."""
    for gold in sorted(folder.glob("*/gold/*.txt")):
        blocks = read_blocks(parse((gold.parents[1] / "html" / f"{gold.stem}.html").read_bytes()))
        if blocks.texts:
            columns = Columns(blocks)
            shares = gold_shares(blocks, gold.read_text(encoding="utf-8", errors="replace"))
            yield Example(group_of(gold.parents[1].name), columns, features(blocks, columns), shares)


def train(
    examples: Sequence[Example], groups: Sequence[str], firsts: dict[frozenset[str], BlendedModel] | None = None
) -> Extractor:
    """Train both ensembles on the examples of *groups*.

    The second learns from first scores given by a model that never saw the page's group; with a single group it is
    left out. *firsts* holds the first models that were trained on the same examples, by their groups, and is added to.
    """
    firsts = {} if firsts is None else firsts

    def first_of(some: frozenset[str]) -> BlendedModel:
        if some not in firsts:
            own = [example for example in examples if example.group in some]
            firsts[some] = _fit([example.rows for example in own], own, FIRST)
        return firsts[some]

    every = frozenset(groups)
    if len(every) < 2:
        return Extractor(first_of(every))
    own = [example for example in examples if example.group in every]
    both: list[Float32Array] = []
    for example in own:
        scores = probability(first_of(every - {example.group}).log_odds(example.rows, signed_logarithms(example.rows)))
        both.append(np.concatenate([example.rows, second_look(example.columns, scores)]))
    return Extractor(first_of(every), _fit(both, own, SECOND))


def _fit(rows: Sequence[Float32Array], examples: Sequence[Example], options: dict[str, Any]) -> BlendedModel:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - an extra
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    except ImportError as error:
        message = "training needs scikit-learn: pip install 'scrapy-replica[lab]'"
        raise ImportError(message) from error
    chosen = [np.unique(np.linspace(0, row.shape[1] - 1, MAX_RUNS).astype(np.intp)) for row in rows]
    samples = np.concatenate([row[:, runs].T for row, runs in zip(rows, chosen, strict=True)])
    shares = np.concatenate([example.shares[runs] for example, runs in zip(examples, chosen, strict=True)])
    words = [example.columns.words[runs] for example, runs in zip(examples, chosen, strict=True)]
    weights = np.concatenate([count / count.sum() for count in words])
    weights *= len(weights) / weights.sum()
    # A run half of whose words are gold is half a positive and half a negative example.
    positive, negative = shares > 0.02, shares < 0.98
    labels = np.repeat([1, 0], [positive.sum(), negative.sum()])
    both_weights = np.concatenate([(weights * shares)[positive], (weights * (1 - shares))[negative]])
    boosted = HistGradientBoostingClassifier(max_leaf_nodes=SPLITS + 1, early_stopping=False, random_state=0, **options)
    boosted.fit(np.concatenate([samples[positive], samples[negative]]), labels, sample_weight=both_weights)
    logarithms = signed_logarithms(samples)
    scale = logarithms.std(axis=0) + 1e-3
    scaled = logarithms / scale
    scaled -= scaled.mean(axis=0)
    linear = LogisticRegression(C=LINEAR_C, max_iter=300)
    linear.fit(np.concatenate([scaled[positive], scaled[negative]]), labels, sample_weight=both_weights)
    slopes = linear.coef_[0] / scale
    intercept = float(linear.intercept_[0] - slopes @ logarithms.mean(axis=0))
    return BlendedModel(exported(boosted), slopes.astype(np.float32), intercept)


def exported(model: Any) -> BoostedTrees:
    trees = [predictor.nodes for (predictor,) in model._predictors]  # noqa: SLF001 - scikit-learn has no public way
    count = len(trees)
    splits = np.zeros((count, SPLITS), np.uint8)
    thresholds = np.full((count, SPLITS), np.inf, np.float32)
    paths = np.zeros((count, SPLITS + 1), np.uint16)
    values = np.zeros((count, SPLITS + 1), np.float32)
    for tree, nodes in enumerate(trees):
        waiting = [(0, 0)]
        n_splits = n_leaves = 0
        while waiting:
            place, path = waiting.pop()
            node = nodes[place]
            if node["is_leaf"]:
                # A tree that is one leaf has no split: its value is that of split 0 (never passed) answering "left".
                paths[tree, n_leaves] = path or 1 << (SPLITS - 1)
                values[tree, n_leaves] = node["value"]
                n_leaves += 1
                continue
            splits[tree, n_splits] = node["feature_idx"]
            thresholds[tree, n_splits] = node["num_threshold"]
            bit = 1 << (SPLITS - 1 - n_splits)
            n_splits += 1
            waiting += [(int(node["left"]), path | bit), (int(node["right"]), path | bit << 8)]
    start = float(np.ravel(model._baseline_prediction)[0])  # noqa: SLF001
    arrays = (splits, thresholds, paths, values, np.array(start))
    names = ("features", "thresholds", "right_sets", "leaf_values", "start")
    return BoostedTrees.from_arrays(dict(zip(names, arrays, strict=True)), "")


def save(extractor: Extractor, path: Path, record: dict[str, object]) -> None:
    """Write the model file: both ensembles and, as JSON text, the *record* of how they were trained."""
    if extractor.second is None:
        message = "a shipped extractor needs both ensembles: train on at least two groups"
        raise ValueError(message)
    arrays = extractor.first.to_arrays("first_") | extractor.second.to_arrays("second_")
    np.savez_compressed(path, record=np.array(json.dumps(record, sort_keys=True)), **arrays)  # type: ignore[arg-type]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on all sets but the held-out ones and write the model file."""
    parser = argparse.ArgumentParser(description="train the extractor of main text")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", nargs="*", default=[], metavar="SET")
    parser.add_argument("--output", type=Path, default=MODEL_FILE)
    options = parser.parse_args(arguments)
    examples = list(read_examples(options.folder))
    held_out = {group_of(name) for name in options.held_out}
    groups = sorted({example.group for example in examples} - held_out)
    pages = {group: sum(example.group == group for example in examples) for group in groups}
    record = {"pages": pages, "first": FIRST, "second": SECOND, "linear_c": LINEAR_C, "features": len(examples[0].rows)}
    save(train(examples, groups), options.output, record)
    print(f"{options.output}: {options.output.stat().st_size} bytes, {record}")


if __name__ == "__main__":
    main()
