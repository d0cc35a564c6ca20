"""How well text classifiers learn a topic from positive and unlabelled pages: 20 Newsgroups and WebKB.

The split is ours, since the published counts do not add up on the public sets; it is part of the result. The line of
every classifier that gives a score is drawn where r**2 / Pr[f(x) = 1] is largest on the validation pair (Lee & Liu
2003), r = recall on its positives: the labels of its other pages are not used.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.bprtfidf import BPrTFIDF
from scrapy_replica.focus.elkan_noto import ElkanNoto, Matrix, term_idf, term_matrix
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.svmc import SVMC
from scrapy_replica.pages.stop_words import STOP_WORDS
from scrapy_replica.pages.terms import terms as count_terms

FloatArray = NDArray[np.float64]
Terms = Mapping[str, int]
Scorer = Callable[[Sequence[Terms]], FloatArray]


@dataclass(frozen=True)
class Split:
    """Sizes of a split: labelled positives, unlabelled pages and the positives hidden in them, validation, test."""

    label_column: str
    positive_label: str
    labelled: int
    unlabelled: int
    hidden: int
    validation_positive: int
    validation_other: int
    test_other: int | None
    """``None``: all that is left."""


NEWSGROUPS = Split("newsgroup", "rec.sport.hockey", 300, 3000, 300, 100, 1280, 1780)
WEBKB = Split("label", "faculty", 350, 4000, 150, 140, 1000, None)
PUBLISHED = {
    ("20news", False): {"1-dnf": 0.31, "osvm": 0.32, "cosine": 0.31, "bprtfidf": 0.85},
    ("20news", True): {"1-dnf": 0.31, "osvm": 0.21, "cosine": 0.21, "bprtfidf": 0.87},
    ("webkb", False): {"1-dnf": 0.22, "osvm": 0.24, "cosine": 0.26, "bprtfidf": 0.52},
    ("webkb", True): {"1-dnf": 0.31, "osvm": 0.33, "cosine": 0.50, "bprtfidf": 0.66},
}
"""F1 of the source by (set, stop words taken out)."""
CLASSIFIERS = ("1-dnf", "osvm", "cosine", "bprtfidf", "elkan-noto", "mean")
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Parts:
    """Documents of one split as term counts, and the labels of the test part."""

    positive: list[Terms]
    unlabelled: list[Terms]
    validation_positive: list[Terms]
    validation_other: list[Terms]
    test: list[Terms]
    is_positive: NDArray[np.bool_]


def evaluate(
    file: Path, classifiers: Sequence[str] = CLASSIFIERS, seed: int = 0, stop_words: Sequence[bool] = (True, False)
) -> dict[str, Any]:
    """Return figures and inputs for the set in *file* (``20news_bydate.parquet`` or ``webkb.parquet``).

    ``figures``: ``<classifier>.f1``, ``.precision``, ``.recall``, ``.seconds`` with stop words taken out, and the same
    under ``<classifier>-with-stop-words``; ``<classifier>.published`` beside them.
    """
    rows = _read(file)
    name = "20news" if "newsgroup" in rows else "webkb"
    split = NEWSGROUPS if name == "20news" else WEBKB
    values: dict[str, float] = {}
    for without in stop_words:
        documents = [count_terms(text) if without else with_stop_words(text) for text in rows["text"]]
        parts = divide(documents, [label == split.positive_label for label in rows[split.label_column]], split, seed)
        for classifier in classifiers:
            key = classifier if without else f"{classifier}-with-stop-words"
            values.update({f"{key}.{figure}": v for figure, v in measure(classifier, parts).items()})
            published = PUBLISHED[name, without].get(classifier)
            if published is not None:
                values[f"{key}.published"] = published
    return {"figures": values, "inputs": {"file": file.name, "seed": seed, **vars(split)}}


def divide(documents: Sequence[Terms], labels: Sequence[bool], split: Split, seed: int) -> Parts:
    """Divide at random; raises ``ValueError`` if there are fewer positives or others than the split takes."""
    chance = np.random.default_rng(seed)
    mask = np.array(labels, dtype=bool)
    positive, other = chance.permutation(np.flatnonzero(mask)), chance.permutation(np.flatnonzero(~mask))
    if len(positive) <= split.labelled + split.hidden + split.validation_positive:
        raise ValueError(f"{len(positive)} pages of {split.positive_label} are too few for this split")
    cuts = np.cumsum([split.labelled, split.hidden, split.validation_positive])
    labelled, hidden, validation, test = np.split(positive, cuts)
    unlabelled_other, validation_other, test_other = np.split(
        other, np.cumsum([split.unlabelled - split.hidden, split.validation_other])
    )
    test_other = test_other[: split.test_other]
    take = [documents[i] for i in (*test, *test_other)]
    return Parts(
        [documents[i] for i in labelled],
        [documents[i] for i in (*hidden, *unlabelled_other)],
        [documents[i] for i in validation],
        [documents[i] for i in validation_other],
        take,
        np.arange(len(take)) < len(test),
    )


def measure(classifier: str, parts: Parts) -> dict[str, float]:
    """Train one classifier, draw its line, and return f1, precision, recall on the test part and seconds."""
    start = time.process_time()
    score = _train(classifier, parts)
    line = best_line(score(parts.validation_positive), score(parts.validation_other))
    said = score(parts.test) >= line
    right = int((said & parts.is_positive).sum())
    precision, recall = right / max(1, int(said.sum())), right / max(1, int(parts.is_positive.sum()))
    return {
        "f1": 2 * precision * recall / (precision + recall) if right else 0.0,
        "precision": precision,
        "recall": recall,
        "seconds": time.process_time() - start,
    }


def best_line(positive: FloatArray, other: FloatArray) -> float:
    """Return the score that maximises r**2 / Pr[f(x) = 1] over all pages of the pair."""
    everything = np.concatenate([positive, other])
    lines = np.unique(positive)
    recall = np.array([(positive >= line).mean() for line in lines])
    said = np.array([(everything >= line).mean() for line in lines])
    return float(lines[(recall**2 / said).argmax()])


def _train(classifier: str, parts: Parts) -> Scorer:
    if classifier in ("1-dnf", "osvm", "cosine"):
        return _svmc(classifier, parts)
    if classifier == "elkan-noto":
        regression = ElkanNoto.fit(parts.positive, parts.unlabelled)
        return lambda documents: np.array([regression.margin(terms) for terms in documents])
    models: dict[str, BPrTFIDF | Relevance] = {"bprtfidf": BPrTFIDF(), "mean": Relevance()}
    if classifier not in models:
        raise ValueError(f"there is no classifier {classifier!r}; choose from {', '.join(CLASSIFIERS)}")
    model = models[classifier]
    model.fit(parts.positive, Background.from_documents(parts.unlabelled))
    return lambda documents: np.array([model.relevance(terms) for terms in documents])


def _svmc(mapper: str, parts: Parts) -> Scorer:
    idf = term_idf([*parts.positive, *parts.unlabelled])
    columns = {term: column for column, term in enumerate(idf)}

    def rows(documents: Sequence[Terms]) -> Any:
        return csr(term_matrix(documents, idf, columns))

    model = SVMC(mapper)
    model.fit(rows(parts.positive), rows(parts.unlabelled))
    return lambda documents: model.decide(rows(documents))


def csr(matrix: Matrix) -> Any:
    """Return *matrix* as a SciPy CSR matrix (scikit-learn brings SciPy; extra ``learn``)."""
    try:
        sparse: Any = import_module("scipy.sparse")
    except ImportError as error:
        raise ImportError("SVMC needs scikit-learn: pip install scrapy-replica[learn]") from error
    return sparse.csr_matrix((matrix.values, (matrix.rows, matrix.columns)), shape=matrix.shape)


def with_stop_words(text: str) -> dict[str, int]:
    """Return the terms of *text* and its English stop words, as they stand."""
    stops = Counter(word for word in _WORD.findall(text.lower()) if word in STOP_WORDS["en"])
    return dict(Counter(count_terms(text)) + stops)


def table(result: Mapping[str, Any]) -> str:
    """Return the result as text, published F1 beside ours."""
    values, inputs = result["figures"], result["inputs"]
    sizes = f"{inputs['labelled']} labelled, {inputs['unlabelled']} unlabelled (hiding {inputs['hidden']})"
    validation = f"validation {inputs['validation_positive']} / {inputs['validation_other']}"
    head = f"{inputs['file']}: {inputs['positive_label']}, {sizes}, {validation}"
    lines = [head, f"{'classifier':<28} {'F1':>6} {'P':>6} {'R':>6} {'published':>9} {'s':>6}"]
    for key in (name.removesuffix(".f1") for name in values if name.endswith(".f1")):
        published = values.get(f"{key}.published")
        lines.append(
            f"{key:<28} {values[f'{key}.f1']:6.3f} {values[f'{key}.precision']:6.3f} {values[f'{key}.recall']:6.3f} "
            f"{'-' if published is None else format(published, '.2f'):>9} {values[f'{key}.seconds']:6.1f}"
        )
    return "\n".join(lines)


def _read(file: Path) -> dict[str, list[str]]:
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("reading Parquet files needs pyarrow: pip install scrapy-replica[test]") from error
    table_ = parquet.read_table(file)
    names = set(table_.schema.names)
    column = next((name for name in ("newsgroup", "label") if name in names), None)
    if column is None or "text" not in names:
        raise ValueError(f"{file} is neither 20 Newsgroups nor WebKB: it lacks text, or newsgroup and label")
    titles = table_.column("title").to_pylist() if "title" in names else [""] * table_.num_rows
    texts = [
        f"{title or ''} {text or ''}" for title, text in zip(titles, table_.column("text").to_pylist(), strict=True)
    ]
    return {"text": texts, column: table_.column(column).to_pylist()}
