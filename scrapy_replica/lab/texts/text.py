"""How well text classifiers learn a topic from positive and unlabelled pages: 20 Newsgroups and WebKB.

The split is ours, since the published counts do not add up on the public sets; it is part of the result. Figures are
means over splits that are drawn anew. The line of every classifier is drawn where r**2 / Pr[f(x) = 1] is largest on the
validation pair (Lee & Liu 2003), r = recall on its positives: the labels of its other pages are not used.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.bprtfidf import BPrTFIDF
from scrapy_replica.focus.elkan_noto import ElkanNoto
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.lab.measures import precision_recall_f1
from scrapy_replica.lab.replicas.svmc import MAPPERS, SVMC, NoNegativesError
from scrapy_replica.lab.texts.bprtfidf_strict import StrictBPrTFIDF
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.pages.stop_words import STOP_WORDS
from scrapy_replica.pages.terms import terms as count_terms

Terms = Mapping[str, int]


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
    ("20news", False): {"1-dnf": 0.31, "osvm": 0.32, "cosine": 0.31, "bprtfidf-strict": 0.85},
    ("20news", True): {"1-dnf": 0.31, "osvm": 0.21, "cosine": 0.21, "bprtfidf-strict": 0.87},
    ("webkb", False): {"1-dnf": 0.22, "osvm": 0.24, "cosine": 0.26, "bprtfidf-strict": 0.52},
    ("webkb", True): {"1-dnf": 0.31, "osvm": 0.33, "cosine": 0.50, "bprtfidf-strict": 0.66},
}
"""F1 of the source by (set, stop words taken out)."""


class RelevanceModel(Protocol):
    """What learns a topic from examples and unlabelled text: B-PrTFIDF, SVMC, Elkan & Noto, the mean."""

    def fit(self, positives: Sequence[Terms], background: Background) -> None:
        """Learn a topic from stem counts; raises ``ValueError`` where it cannot be learnt."""

    def relevance(self, terms: Terms) -> float:
        """Return how sure the model is that a page is on topic, 0..1; more than .5 is relevant."""

    def save(self) -> bytes:
        """Return the fitted model, without pickled objects."""

    def load(self, state: bytes) -> None:
        """Take the model that :meth:`save` returned."""


MODELS: dict[str, Callable[[], RelevanceModel]] = {
    **{mapper: partial(SVMC, mapper) for mapper in MAPPERS},
    "bprtfidf-strict": StrictBPrTFIDF,
    "bprtfidf": BPrTFIDF,
    "elkan-noto": ElkanNoto,
    "mean": Relevance,
}
SPLITS = 5
MEASURED = ("f1", "precision", "recall", "own_f1", "seconds")
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Parts:
    """Documents of one split as term counts, and the labels of the test part."""

    positive: list[Terms]
    unlabelled: list[Terms]
    validation_positive: list[Terms]
    validation_other: list[Terms]
    test: list[Terms]
    is_positive: BoolArray


def evaluate(
    file: Path,
    classifiers: Sequence[str] = tuple(MODELS),
    splits: int = SPLITS,
    stop_words: Sequence[bool] = (True, False),
) -> dict[str, Any]:
    """Return figures and inputs for the set in *file* (``20news_bydate.parquet`` or ``webkb.parquet``).

    ``figures``: ``<classifier>.f1``, ``.precision``, ``.recall``, ``.own_f1`` (with the classifier's own line,
    relevance > .5, which needs no validation part), ``.seconds`` with stop words taken out, and the same under
    ``<classifier>-with-stop-words``: means over *splits* splits, of seeds 0, 1, ..., and ``.f1_sd``, the standard
    deviation of one; ``<classifier>.published`` beside them; ``split.<part>``, sizes of the parts. It shows progress.
    """
    rows = _read(file)
    name = "20news" if "newsgroup" in rows else "webkb"
    split = NEWSGROUPS if name == "20news" else WEBKB
    labels = [label == split.positive_label for label in rows[split.label_column]]
    values: dict[str, float] = {}
    measured: dict[str, list[dict[str, float]]] = {}
    for without in stop_words:
        documents = [count_terms(text) if without else with_stop_words(text) for text in rows["text"]]
        for parts, classifier in _shown(documents, labels, split, classifiers, splits):
            values.update({f"split.{part}": size for part, size in sizes(parts, split).items()})
            key = classifier if without else f"{classifier}-with-stop-words"
            measured.setdefault(key, []).append(measure(classifier, parts))
            published = PUBLISHED[name, without].get(classifier)
            if published is not None:
                values[f"{key}.published"] = published
    for key, found in measured.items():
        values |= {f"{key}.{figure}": float(np.mean([each[figure] for each in found])) for figure in MEASURED}
        values[f"{key}.f1_sd"] = float(np.std([each["f1"] for each in found], ddof=1)) if splits > 1 else 0.0
    return {"figures": values, "inputs": {"file": file.name, "splits": splits, "topic": split.positive_label}}


def _shown(
    documents: Sequence[Terms], labels: Sequence[bool], split: Split, classifiers: Sequence[str], splits: int
) -> Iterator[tuple[Parts, str]]:
    """Yield each split with each classifier, and show how many where standard error is a terminal."""
    from tqdm import tqdm  # noqa: PLC0415 - an extra

    with tqdm(desc="learning", total=splits * len(classifiers), leave=False, disable=None) as bar:
        for seed in range(splits):
            parts = divide(documents, labels, split, seed)
            for classifier in classifiers:
                yield parts, classifier
                bar.update()


def sizes(parts: Parts, split: Split) -> dict[str, int]:
    """Return the number of documents of each part; *hidden* ones are among the unlabelled."""
    positive = int(parts.is_positive.sum())
    return {
        "labelled": len(parts.positive),
        "unlabelled": len(parts.unlabelled),
        "hidden": split.hidden,
        "validation_positive": len(parts.validation_positive),
        "validation_other": len(parts.validation_other),
        "test_positive": positive,
        "test_other": len(parts.test) - positive,
    }


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
    """Train one classifier and return the figures of its judgement of the test part, and processor seconds."""
    start = time.process_time()
    if classifier not in MODELS:
        raise ValueError(f"there is no classifier {classifier!r}; choose from {', '.join(MODELS)}")
    model = MODELS[classifier]()
    # A mapper that finds no strong negative leaves a classifier that says yes to everything (Orlandi 2007, p. 50).
    with suppress(NoNegativesError):
        model.fit(parts.positive, Background.from_documents(parts.unlabelled))

    def scores(documents: Sequence[Terms]) -> FloatArray:
        return np.array([model.relevance(terms) for terms in documents])

    line = best_line(scores(parts.validation_positive), scores(parts.validation_other))
    test = scores(parts.test)
    precision, recall, f1 = precision_recall_f1(test >= line, parts.is_positive)
    own = precision_recall_f1(test > 0.5, parts.is_positive)[2]
    seconds = time.process_time() - start
    return {"f1": f1, "precision": precision, "recall": recall, "own_f1": own, "seconds": seconds}


def best_line(positive: FloatArray, other: FloatArray) -> float:
    """Return the score that maximises r**2 / Pr[f(x) = 1] over all pages of the pair."""
    everything = np.concatenate([positive, other])
    lines = np.unique(positive)
    recall = np.array([(positive >= line).mean() for line in lines])
    said = np.array([(everything >= line).mean() for line in lines])
    return float(lines[(recall**2 / said).argmax()])


def with_stop_words(text: str) -> dict[str, int]:
    """Return the terms of *text* and its English stop words, as they stand."""
    stops = Counter(word for word in _WORD.findall(text.lower()) if word in STOP_WORDS["en"])
    return dict(Counter(count_terms(text)) + stops)


def table(result: Mapping[str, Any]) -> str:
    """Return the result as text, published F1 beside ours."""
    values, inputs = result["figures"], result["inputs"]
    size = {name.removeprefix("split."): value for name, value in values.items() if name.startswith("split.")}
    labelled = f"{size['labelled']} labelled, {size['unlabelled']} unlabelled (hiding {size['hidden']})"
    validation = f"validation {size['validation_positive']} / {size['validation_other']}"
    test = f"test {size['test_positive']} / {size['test_other']}"
    lines = [
        f"{inputs['file']}: {inputs['topic']}, {labelled}",
        f"{validation}, {test}, means over {inputs['splits']} splits",
        f"{'classifier':<31} {'F1':>5} {'sd':>5} {'P':>5} {'R':>5} {'own':>5} {'published':>9} {'s':>5}",
    ]
    for key in (name.removesuffix(".f1") for name in values if name.endswith(".f1")):
        published = values.get(f"{key}.published")
        columns = ("f1", "f1_sd", "precision", "recall", "own_f1")
        figures = " ".join(f"{values[f'{key}.{figure}']:5.3f}" for figure in columns)
        said = "-" if published is None else format(published, ".2f")
        lines.append(f"{key:<31} {figures} {said:>9} {values[f'{key}.seconds']:5.1f}")
    return "\n".join(lines)


def _read(file: Path) -> dict[str, list[str]]:
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("reading Parquet files needs pyarrow: pip install 'scrapy-replica[lab]'") from error
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
