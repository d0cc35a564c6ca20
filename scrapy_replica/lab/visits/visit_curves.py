"""Curves of simulated visits: relevant pages found, F1 and Pref as the visit goes on."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scrapy_replica.lab.visits.figures import Figures

PLOTTED_POINTS = 200
BOUNDS: Mapping[str, Mapping[str, Any]] = {
    "omniscient": {"color": "black", "linestyle": "--", "linewidth": 1.5},
    "breadth-first": {"color": "0.45", "linestyle": "-.", "linewidth": 1.5},
    "random": {"color": "0.65", "linestyle": ":", "linewidth": 1.5},
}
"""What the other strategies lie between, in black and grey."""


class Curve(NamedTuple):
    """A visit at ``PLOTTED_POINTS`` + 1 places, the first before it."""

    pages: list[int]
    """Pages visited, t."""
    found: list[float]
    """B(t), relevant pages among them."""
    f1: list[float]
    """F1(t) = 2 B(t) / (t + \\|R\\|) (Orlandi 2007, p. 64)."""
    pref: list[float]
    """Pref of the first t pages as if the visit ended there. Reading: the document draws Pref over the visit (p. 73)
    and does not say what it is divided by then; so every point can be read as the value at the end is."""


def curve(measured: Figures) -> Curve:
    """Return the curve of a visit; all 0 but Pref where there is nothing to find."""
    places = np.linspace(0, len(measured.found), PLOTTED_POINTS + 1).round().astype(int)
    columns = (np.append(0, measured.found), np.append(0.0, measured.f1), np.append(1.0, measured.pref_so_far))
    found, f1, pref = (column[places].astype(float).tolist() for column in columns)
    return Curve(places.tolist(), found, f1, pref)


def write(result: Mapping[str, Any], file: Path) -> None:
    """Write the curves of ``visits.evaluate`` as CSV, or as JSON where *file* ends so."""
    rows = [
        {"strategy": name, "draw": number, "pages": t, "found": found, "f1": f1, "pref": pref}
        for name, curves in result["curves"].items()
        for number, each in enumerate(curves)
        for t, found, f1, pref in zip(*each, strict=True)
    ]
    with file.open("w", encoding="utf-8", newline="") as out:
        if file.suffix == ".json":
            json.dump(rows, out)
        else:
            writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def plot(result: Mapping[str, Any], file: Path) -> None:
    """Draw what was found, F1 and Pref over the visit: mean line and min-max band a strategy.

    Needs matplotlib (extra ``report``).
    """
    plt = pyplot()
    figure, panels = plt.subplots(1, 3, figsize=(15, 5.6), layout="constrained")
    values, inputs = result["figures"], result["inputs"]
    names = sorted(result["curves"], key=lambda name: -values[f"{name}.pref"])
    titles = ("relevant pages found, B(t)", "F1(t)", "Pref(t)")
    for axes, field, title in zip(panels, ("found", "f1", "pref"), titles, strict=True):
        for name in names:
            _draw(axes, name, result["curves"][name], field, f"{name}  {values[f'{name}.pref']:.4f}")
        axes.set(title=title, xlabel="pages visited", xlim=(0, inputs["visited"]))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.tick_params(axis="x", labelsize=8)
        axes.yaxis.set_major_formatter("{x:,.0f}" if field == "found" else "{x:g}")
        axes.grid(alpha=0.3)
    for axes in panels[:2]:
        axes.set_ylim(bottom=0)
    panels[2].set_ylim(top=1.005)
    panels[0].legend(loc="lower right", title="Pref at the end", fontsize=8)
    figure.suptitle(
        f"{inputs['file']}: {inputs['topic']}, {inputs['relevant']:,} relevant of {inputs['pages']:,} pages; "
        f"{inputs['draws']} draw(s) (line: mean, band: smallest to largest)"
    )
    figure.savefig(file, dpi=100)
    plt.close(figure)


def _draw(axes: Any, name: str, curves: Sequence[Curve], field: str, label: str) -> None:
    rows = np.array([getattr(each, field) for each in curves])
    at = np.array([each.pages for each in curves]).mean(axis=0)
    (line,) = axes.plot(at, rows.mean(axis=0), label=label, **BOUNDS.get(name, {"linewidth": 1.8}))
    axes.fill_between(at, rows.min(axis=0), rows.max(axis=0), color=line.get_color(), alpha=0.12, linewidth=0)


def pyplot() -> Any:
    """Return ``matplotlib.pyplot`` for files. Raises ``ImportError`` that says what to install."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'scrapy-replica[report]'") from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    return plt
