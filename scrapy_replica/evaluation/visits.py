"""Which strategy finds the topic first: simulated visits of a labelled crawl, the same examples for every strategy."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.links import LinkWords, finite
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.strategies import make
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.pages.terms import terms as count_terms
from scrapy_replica.rehearsal.collection import Documents, read_parquet
from scrapy_replica.rehearsal.figures import Figures, figures
from scrapy_replica.rehearsal.omniscient import omniscient_order
from scrapy_replica.rehearsal.visit import NO_LIMITS, Limits, learning_visit, visit

STRATEGIES = (
    "breadth-first",
    "random",
    "best-first",
    "best-first-anchors",
    "hmm-static",
    "hmm-dynamic",
    "link-aware",
    "omniscient",
)
DRAWS = 5
LABELLED = 50
"""Examples of the topic; at most half of all its pages."""
BACKGROUND = 3_000
"""Unlabelled pages; at most half of the collection. 0: the shipped term statistics and the pages of the visit."""
SHARES = (5, 10, 25, 50)
PLOTTED_POINTS = 200
BOUNDS: Mapping[str, Mapping[str, Any]] = {
    "omniscient": {"color": "black", "linestyle": "--", "linewidth": 1.5},
    "breadth-first": {"color": "0.45", "linestyle": "-.", "linewidth": 1.5},
    "random": {"color": "0.65", "linestyle": ":", "linewidth": 1.5},
}
"""What the other strategies lie between, in black and grey."""


@dataclass(frozen=True)
class Draw:
    """Examples and unlabelled pages of one draw, and what the model that learnt from them says of every page."""

    labelled: BoolArray
    topic: TopicAlone
    relevance: FloatArray | None
    """Of every page; ``None`` where nothing unlabelled was given: then it is learnt as the visit goes on."""


@dataclass(frozen=True)
class Outcome:
    """One visit of one strategy in one draw."""

    figures: Figures
    cpu_seconds: float


class TopicAlone:
    """A topic given by examples, learnt against *background* and the pages of the visit; see ``Learner``."""

    def __init__(self, collection: Documents, examples: Sequence[int], background: Background) -> None:
        self._collection, self._background = collection, background
        self._positives = [collection.terms(page) for page in examples]
        self.strategy, self.seed = "", 0
        self.learn(())

    def learn(self, pages: Sequence[int]) -> None:
        """Make the model again with these *pages* as unlabelled ones."""
        self._model = Relevance()
        self._model.fit(self._positives, self._background.with_documents(map(self._collection.terms, pages)))
        self.words = LinkWords(self._model.relevance, count_terms)

    def new_strategy(self) -> Strategy:
        """Return a new strategy of the name and seed that were set."""
        return make(self.strategy, self.seed, self.words)

    def relevance(self, page: int) -> float:
        """Return what the model says by now of a page, 0..1."""
        return finite(self._model.relevance(self._collection.terms(page)))


def draw(collection: Documents, relevant: BoolArray, seed: int, labelled: int, background: int) -> Draw:
    """Draw the examples among the relevant pages and the background among all others, labels unseen.

    With a *background* of 0 there are the shipped term statistics alone, as for a user who gives examples and no more.
    Raises ``ValueError`` if the topic has fewer than two pages: one is an example, one must be left to be found.
    """
    chance = np.random.default_rng(seed)
    positive = np.flatnonzero(relevant)
    if len(positive) < 2:
        raise ValueError(f"the topic has {len(positive)} page(s); at least two are needed, one of them to be found")
    examples = chance.choice(positive, min(labelled, len(positive) // 2), replace=False)
    rest = np.setdiff1d(np.arange(len(collection)), examples)
    sample = chance.choice(rest, min(background, len(rest) // 2), replace=False)
    mask = np.zeros(len(collection), dtype=bool)
    mask[examples] = True
    if not background:
        return Draw(mask, TopicAlone(collection, examples.tolist(), Background.shipped()), None)
    topic = TopicAlone(collection, examples.tolist(), Background.from_documents(map(collection.terms, sample.tolist())))
    return Draw(mask, topic, np.array([topic.relevance(page) for page in range(len(collection))]))


def run(collection: Documents, relevant: BoolArray, drawn: Draw, name: str, seed: int, limits: Limits) -> Outcome:
    """Run one strategy; the labelled pages are visited like all others but count neither way."""
    start = time.process_time()
    topic = drawn.topic
    topic.strategy, topic.seed = name, seed
    if name == "omniscient":
        order = omniscient_order(collection, relevant & ~drawn.labelled, limits)
    elif drawn.relevance is not None:
        order = visit(collection, topic.new_strategy(), drawn.relevance, limits)
    else:
        topic.learn(())
        order = learning_visit(collection, topic, limits)
    return Outcome(figures(order, relevant, drawn.labelled), time.process_time() - start)


def evaluate(
    file: Path,
    topic: str,
    strategies: Sequence[str] = STRATEGIES,
    draws: int = DRAWS,
    labelled: int = LABELLED,
    background: int = BACKGROUND,
    limits: Limits = NO_LIMITS,
    cache: Path | None = None,
) -> dict[str, Any]:
    """Visit the collection in *file* with every strategy, *draws* times, and return figures, inputs and curves.

    ``figures``: ``<strategy>.pref`` (mean over draws), ``.pref_min``, ``.pref_max``, ``.pref_sd`` (of one draw),
    ``.found_at_5`` ...
    ``_50`` (share of the relevant pages after that percentage of the visit), ``.f1_area``, ``.harvest`` (of the first
    tenth), ``.seconds`` (processor time of a visit), and for each pair ``<a>.over.<b>.pref`` with ``.p``, the exact
    sign-flip test over the paired draws. ``curves``: strategy -> one row a draw, for :func:`plot`.
    """
    for name in set(strategies) - {"omniscient"}:
        make(name, 0, LinkWords(lambda _: 0.0, count_terms))
    collection = read_parquet(file, count_terms, cache)
    relevant = collection.relevant(topic)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in strategies}
    for seed in range(draws):
        drawn = draw(collection, relevant, seed, labelled, background)
        for name in strategies:
            outcomes[name].append(run(collection, relevant, drawn, name, seed, limits))
    pages = len(next(iter(outcomes.values()))[0].figures.found)
    return {
        "figures": _figures(outcomes),
        "inputs": {
            "file": file.name,
            "topic": topic,
            "labels": collection.labels_of(topic),
            "pages": len(collection),
            "visited": pages,
            "relevant": int(relevant.sum()),
            "labelled": min(labelled, int(relevant.sum()) // 2),
            "background": background,
            "draws": draws,
            "per_host": limits.per_host,
            "per_domain": limits.per_domain,
        },
        "curves": {name: [_curve(outcome.figures) for outcome in rows] for name, rows in outcomes.items()},
    }


def _figures(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, float]:
    result: dict[str, float] = {}
    prefs = {name: np.array([row.figures.pref for row in rows]) for name, rows in outcomes.items()}
    for name, rows in outcomes.items():
        pref = prefs[name]
        result[f"{name}.pref"] = float(pref.mean())
        result[f"{name}.pref_min"] = float(pref.min())
        result[f"{name}.pref_max"] = float(pref.max())
        result[f"{name}.pref_sd"] = float(pref.std(ddof=1)) if len(pref) > 1 else 0.0
        for share in SHARES:
            result[f"{name}.found_at_{share}"] = _mean(row.figures.found_at(share / 100) for row in rows)
        result[f"{name}.f1_area"] = _mean(row.figures.f1_area for row in rows)
        result[f"{name}.harvest"] = _mean(_early_harvest(row.figures) for row in rows)
        result[f"{name}.seconds"] = _mean(row.cpu_seconds for row in rows)
    for a, b in combinations(outcomes, 2):
        result[f"{a}.over.{b}.pref"] = float((prefs[a] - prefs[b]).mean())
        result[f"{a}.over.{b}.p"] = sign_flip_p(prefs[a] - prefs[b])
    return result


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def _early_harvest(measured: Figures) -> float:
    harvest = measured.harvest
    return float(harvest[max(0, len(harvest) // 10 - 1)]) if len(harvest) else 0.0


def sign_flip_p(differences: FloatArray) -> float:
    """Return the two-sided p of the mean of paired differences under all 2^n changes of sign (n <= 16 exactly).

    Beyond 16 draws the first 16 are used. Five draws cannot give less than .06.
    """
    differences = differences[:16]
    if not len(differences):
        return 1.0
    signs = np.array(list(product((1.0, -1.0), repeat=len(differences))))
    means = np.abs(signs @ differences)
    return float((means >= abs(differences.sum()) - 1e-12).mean())


def _curve(measured: Figures) -> list[float]:
    found = measured.found
    if not len(found) or not found[-1]:
        return [0.0] * (PLOTTED_POINTS + 1)
    places = np.linspace(0, len(found), PLOTTED_POINTS + 1).round().astype(int)
    shares: list[float] = (np.concatenate([[0], found])[places] / found[-1]).tolist()
    return shares


def table(result: Mapping[str, Any]) -> str:
    """Return the result as text, the best Pref first."""
    values, inputs = result["figures"], result["inputs"]
    names = sorted(result["curves"], key=lambda name: -values[f"{name}.pref"])
    caps = "".join(f", at most {inputs[f'per_{of}']} a {of}" for of in ("host", "domain") if inputs[f"per_{of}"])
    head = (
        f"{inputs['file']}, topic {inputs['topic']} ({inputs['relevant']} pages), {inputs['visited']} pages visited"
        f"{caps}, {inputs['labelled']} examples, {inputs['background']} unlabelled, {inputs['draws']} draws"
    )
    shares = " ".join(f"{share:>4} %" for share in SHARES)
    lines = [head, f"{'strategy':<20} {'Pref':>6} {'sd':>6} {'min':>6} {'max':>6} {shares} {'F1':>6} {'s':>5}"]
    columns = ("pref", "pref_sd", "pref_min", "pref_max", *(f"found_at_{share}" for share in SHARES), "f1_area")
    for name in names:
        row = " ".join(f"{values[f'{name}.{column}']:6.3f}" for column in columns)
        lines.append(f"{name:<20} {row} {values[f'{name}.seconds']:5.1f}")
    return "\n".join(lines)


def plot(result: Mapping[str, Any], file: Path) -> None:
    """Draw the share of relevant pages found over the share of the visit: mean line and min-max band a strategy.

    Needs matplotlib (extra ``report``).
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'scrapy-replica[report]'") from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    figure, axes = plt.subplots(figsize=(10, 6.5), layout="constrained")
    at = np.linspace(0, 100, PLOTTED_POINTS + 1)
    values = result["figures"]
    for name in sorted(result["curves"], key=lambda name: -values[f"{name}.pref"]):
        rows = 100 * np.array(result["curves"][name])
        style = BOUNDS.get(name, {"linewidth": 2.0})
        (line,) = axes.plot(at, rows.mean(axis=0), label=f"{name}  {values[f'{name}.pref']:.3f}", **style)
        axes.fill_between(at, rows.min(axis=0), rows.max(axis=0), color=line.get_color(), alpha=0.12, linewidth=0)
    inputs = result["inputs"]
    axes.set(
        xlabel=f"pages visited, % of {inputs['visited']:,}",
        ylabel="relevant pages found, %",
        title=f"{inputs['file']}: {inputs['topic']}, {inputs['relevant']:,} relevant pages; {inputs['draws']} draws "
        "(line: mean, band: smallest to largest)",
        xlim=(0, 100),
        ylim=(0, 101),
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", title="Pref")
    figure.savefig(file, dpi=120)
    plt.close(figure)
