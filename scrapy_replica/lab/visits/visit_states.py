"""State against observation against true distance over a visit (Orlandi 2007, pp. 71-72, figure 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.strategies.hmm import HmmStatic
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.visits.omniscient import Transposed
from scrapy_replica.lab.visits.visit import Limits, visit
from scrapy_replica.lab.visits.visit_curves import PLOTTED_POINTS, pyplot
from scrapy_replica.lab.visits.visit_draws import draw
from scrapy_replica.lab.visits.visit_variants import Variant, new
from scrapy_replica.lab.visits.visits import read
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.records import Link, Page

DIFFERENCES = {
    "state - distance": ("state", "distance"),
    "observation - distance": ("observation", "distance"),
    "observation - state": ("observation", "state"),
}
"""The three panels of the figure."""


def states(
    collection: Documents, relevant: BoolArray, relevance: FloatArray, variant: Variant, limits: Limits
) -> dict[str, IntArray]:
    """Visit *collection*; return ``state``, ``observation`` and true ``distance`` of each page visited, shape (t,).

    State and observation are those of the moment of the visit, once the models had learnt something. The distance is
    that of the whole graph to the nearest page of the topic, d where it is d or more, as the document labels every
    node.
    """
    strategy = new(variant, 0, LinkWords(lambda _: 0.0, lambda _: {}))
    if not isinstance(strategy, HmmStatic):
        raise ValueError(f"{variant.strategy} estimates no states: choose hmm-static, hmm-dynamic or hmm-second-order")
    far = strategy.max_distance
    distances = Transposed(collection).distances(relevant, np.ones(len(collection), dtype=bool), far)
    distances[distances < 0] = far
    watched = _Watched(strategy, distances)
    visit(collection, watched, relevance, limits)
    columns = np.array(watched.rows, dtype=np.int64).reshape(-1, 3).T
    return dict(zip(("state", "observation", "distance"), columns, strict=True))


class _Watched(Strategy):
    """A strategy, and what it says of each page when it is visited."""

    name: ClassVar[str] = "watched"
    reads_links: ClassVar[bool] = False

    def __init__(self, strategy: HmmStatic, distances: NDArray[np.int32]) -> None:
        self._strategy, self._distances = strategy, distances
        self.rows: list[tuple[int, int, int]] = []

    def visited(self, page: Page, relevance: float) -> None:
        self._strategy.visited(page, relevance)
        pages = self._strategy.graph.pages
        row = pages.row(self._strategy.graph.page)
        if estimate := int(pages["estimate"][row]):
            self.rows.append((estimate - 1, int(pages["observation"][row]), int(self._distances[int(page.url)])))

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        return self._strategy.scores(page, links)


def figures(found: Mapping[str, IntArray]) -> dict[str, float]:
    """Return mean, mean absolute value and correlation of the differences, over the visit and over its quarters."""
    result: dict[str, float] = {}
    for name, (a, b) in DIFFERENCES.items():
        difference = (found[a] - found[b]).astype(np.float64)
        key = name.replace(" - ", "_")
        result[f"{key}.mean"] = float(difference.mean()) if len(difference) else 0.0
        for quarter, part in enumerate(np.array_split(np.abs(difference), 4), 1):
            result[f"{key}.error_{quarter}"] = float(part.mean()) if len(part) else 0.0
        varies = len(difference) > 1 and found[a].std() > 0 and found[b].std() > 0
        result[f"{key}.correlation"] = float(np.corrcoef(found[a], found[b])[0, 1]) if varies else 0.0
    return result


def smoothed(values: FloatArray, points: int = PLOTTED_POINTS) -> FloatArray:
    """Return means of *points* equal parts of the visit. The document draws a spline through the points; a mean of
    parts says the same and does not swing beyond them.
    """
    return np.array([part.mean() for part in np.array_split(values, min(points, len(values)))])


def plot(found: Mapping[str, IntArray], title: str, file: Path) -> None:
    """Draw the three differences over the visit, smoothed. Needs matplotlib (extra ``report``)."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained", sharey=True)
    for axes, (name, (a, b)) in zip(panels, DIFFERENCES.items(), strict=True):
        difference = (found[a] - found[b]).astype(np.float64)
        means, errors = smoothed(difference), smoothed(np.abs(difference))
        at = np.linspace(0, len(difference), len(means))
        axes.axhline(0, color="0.6", linewidth=1)
        axes.plot(at, means, label="mean difference", linewidth=1.6)
        axes.plot(at, errors, label="mean absolute difference", linewidth=1.6, linestyle="--")
        axes.set(title=name, xlabel="pages visited since the models were first trained", xlim=(0, len(difference)))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("links")
    panels[0].legend(fontsize=9)
    figure.suptitle(title)
    figure.savefig(file, dpi=100)
    plt.close(figure)


def evaluate(
    file: Path, topic: str, variants: Sequence[Variant], draws: int, labelled: int, background: int, limits: Limits
) -> dict[str, Any]:
    """Return ``figures``, means over the draws with ``.sd`` of the correlations, and the columns ``found``: strategy ->
    those of :func:`states` in the first draw.
    """
    collection = read(file)
    relevant = collection.relevant(topic)
    rows: dict[str, list[dict[str, float]]] = {variant.name: [] for variant in variants}
    found: dict[str, dict[str, IntArray]] = {}
    for seed in range(draws):
        drawn = draw(collection, relevant, seed, labelled, background)
        relevance = drawn.topic.of_all_pages()
        for variant in variants:
            columns = states(collection, relevant, relevance, variant, limits)
            found.setdefault(variant.name, columns)
            rows[variant.name].append(figures(columns))
    told: dict[str, float] = {}
    for name, each in rows.items():
        for key in each[0]:
            values = [row[key] for row in each]
            told[f"{name}.{key}"] = float(np.mean(values))
            if key.endswith("correlation"):
                told[f"{name}.{key}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"figures": told, "found": found}


def table(result: Mapping[str, Any]) -> str:
    """Return the figures as text: how far the two lie apart in each quarter of the visit, and how they correlate."""
    values = result["figures"]
    quarters = " ".join(f"{f'{quarter}/4':>5}" for quarter in range(1, 5))
    lines = ["mean absolute difference by quarters of the visit, in links"]
    for strategy in result["found"]:
        lines.append(f"{strategy:<24} {'mean':>6} {quarters} {'corr.':>6} {'sd':>6}")
        for name in DIFFERENCES:
            key = f"{strategy}.{name.replace(' - ', '_')}"
            errors = " ".join(f"{values[f'{key}.error_{quarter}']:5.2f}" for quarter in range(1, 5))
            spread = values[f"{key}.correlation_sd"]
            correlation = values[f"{key}.correlation"]
            lines.append(f"  {name:<22} {values[f'{key}.mean']:6.2f} {errors} {correlation:6.3f} {spread:6.3f}")
    return "\n".join(lines)
