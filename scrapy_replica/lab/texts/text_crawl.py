"""How well text classifiers find a topic in a labelled crawl: what they rank first, and a best-first visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_replica.focus.background import Background
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.strategies import make
from scrapy_replica.lab.texts.text import MODELS, RelevanceModel
from scrapy_replica.lab.visits import visits
from scrapy_replica.lab.visits.figures import figures
from scrapy_replica.lab.visits.visit import visit
from scrapy_replica.lab.visits.visit_draws import drawn_pages
from scrapy_replica.numeric import FloatArray

CRAWLED = tuple(name for name in MODELS if not name.startswith("1-dnf"))
"""1-DNF finds no strong negative among 3,000 pages against 50 examples."""
MEASURED = ("average_precision", "pref")


def evaluate(
    file: Path,
    topic: str,
    classifiers: Sequence[str] = CRAWLED,
    draws: int = visits.DRAWS,
    labelled: int = visits.LABELLED,
    background: int = visits.BACKGROUND,
) -> dict[str, Any]:
    """Learn *topic* of the labelled crawl in *file* with each classifier, *draws* times; return figures and inputs.

    ``figures``: ``<classifier>.average_precision`` over all pages but the examples, and ``.pref`` of a best-first visit
    that goes by its relevance: means over the draws, and ``_sd``, the standard deviation of one. Examples and
    unlabelled pages are those of ``lab visits``.
    """
    average_precision: Any = import_module("sklearn.metrics").average_precision_score
    collection = visits.read(file)
    relevant = collection.relevant(topic)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in classifiers}
    for seed in range(draws):
        examples, sample = drawn_pages(relevant, seed, labelled, background)
        pages = Background.from_documents(map(collection.terms, sample.tolist()))
        models = [MODELS[name]() for name in classifiers]
        for model in models:
            model.fit([collection.terms(page) for page in examples.tolist()], pages)
        is_example = np.isin(np.arange(len(collection)), examples)
        for name, scores in zip(classifiers, relevances(collection, models), strict=True):
            order = visit(collection, make("best-first"), scores)
            ranked = float(average_precision(relevant[~is_example], scores[~is_example]))
            found[name].append((ranked, figures(order, relevant, is_example).pref))
    values: dict[str, float] = {}
    for name, rows in found.items():
        for figure, column in zip(MEASURED, np.array(rows).T, strict=True):
            values[f"{name}.{figure}"] = float(column.mean())
            values[f"{name}.{figure}_sd"] = float(column.std(ddof=1)) if draws > 1 else 0.0
    inputs = {"file": file.name, "topic": topic, "relevant": int(relevant.sum()), "draws": draws}
    return {"figures": values, "inputs": inputs}


def relevances(collection: Documents, models: Sequence[RelevanceModel]) -> FloatArray:
    """Return what each model says of every page, shape (models, n); it shows progress."""
    from tqdm import trange  # noqa: PLC0415 - an extra

    rows = []
    for page in trange(len(collection), desc="relevance", unit=" pages", leave=False, disable=None):
        terms = collection.terms(page)
        rows.append([model.relevance(terms) for model in models])
    return np.nan_to_num(np.array(rows, dtype=np.float64).T)


def table(result: Mapping[str, Any]) -> str:
    """Return the result as text, the best Pref first."""
    values, inputs = result["figures"], result["inputs"]
    names = [name.removesuffix(".pref") for name in values if name.endswith(".pref")]
    lines = [
        f"{inputs['file']}, topic {inputs['topic']} ({inputs['relevant']} pages), {inputs['draws']} draws",
        f"{'classifier':<20} {'average precision':>17} {'sd':>6} {'Pref of best-first':>18} {'sd':>6}",
    ]
    for name in sorted(names, key=lambda name: -values[f"{name}.pref"]):
        ranked, pref = (f"{values[f'{name}.{figure}']:.3f}" for figure in MEASURED)
        ranked_sd, pref_sd = (f"{values[f'{name}.{figure}_sd']:6.3f}" for figure in MEASURED)
        lines.append(f"{name:<20} {ranked:>17} {ranked_sd} {pref:>18} {pref_sd}")
    return "\n".join(lines)
