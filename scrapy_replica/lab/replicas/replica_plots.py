"""Curves and shape of a collection as pictures (PNG, SVG), and the numbers behind them (CSV)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_replica.lab.replicas.replica_curves import RATES, Ranking
from scrapy_replica.lab.replicas.replica_shape import Rows, Shape

_FEW = 0.05
"""False-positive rate up to which the ROC curve is drawn, as published; all of it where there are few others."""
_MANY = 500
_SHOWN_HOSTS = 200
"""Hosts in the picture of duplicates within and between, as published."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "dup-clusters": ("urls", "dup_clusters"),
    "dup-clusters-of-hosts": ("rank", "dup_clusters"),
    "duplicates-of-hosts": ("within", "between", "urls"),
    "host-sizes": ("urls", "replicated_hosts", "other_hosts"),
    "replica-cases": ("cases", "share_of_hosts"),
    "similarity-dup-clusters": ("similarity", "pairs", "replicas_among_them", "replicas_above"),
    "similarity-paths": ("similarity", "pairs", "replicas_among_them", "replicas_above"),
}
"""Name of a file of the shape -> its columns."""


def draw(ranking: Ranking, shape: Shape, folder: Path) -> dict[str, float]:
    """Write ``curves`` and ``shape`` as PNG and SVG and all numbers as CSV into *folder*; return the shape's figures.

    :param folder: as :func:`prepared` has made it.
    """
    plt = prepared(folder)
    _draw_curves(plt, ranking, folder / "curves")
    _write(
        folder / "curves.csv",
        ("method", "threshold", "false_positive_rate", "recall", "precision"),
        ((name, *row) for name in ranking.scores for row in ranking.curve(name).tolist()),
    )
    reductions = ((name, *row) for name in ranking.scores for row in ranking.reductions(name))
    _write(folder / "reductions.csv", ("method", "false_positive_rate", "reduction_ratio"), reductions)
    rows = rows_of(shape)
    _draw_shape(plt, rows, folder / "shape")
    for name, columns in COLUMNS.items():
        _write(folder / f"{name}.csv", columns, rows[name])
    return shape.figures()


def rows_of(shape: Shape) -> dict[str, Rows]:
    """Return the rows of each file of :data:`COLUMNS`."""
    return {
        "dup-clusters": shape.cluster_sizes(),
        "dup-clusters-of-hosts": shape.clusters_of_hosts(),
        "duplicates-of-hosts": shape.duplicates_of_hosts(),
        "host-sizes": shape.host_sizes(),
        "replica-cases": shape.replica_cases(),
        "similarity-dup-clusters": shape.similarities(1),
        "similarity-paths": shape.similarities(0),
    }


def draw_fixed(ranking: Ranking, folder: Path) -> None:
    """Write ``curves-fixed``: ROC and reductions by methods with one threshold (Carvalho 2014, figures 4.7, 4.8)."""
    plt = prepared(folder)
    figure, (roc, all_rates, few_rates) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    _draw_roc(roc, ranking)
    _draw_reductions(all_rates, ranking, np.linspace(0, 1, 51).tolist())
    _draw_reductions(few_rates, ranking, RATES)
    figure.legend(*roc.get_legend_handles_labels(), loc="outside center right")
    _finish(plt, figure, folder / "curves-fixed")


def _draw_curves(plt: Any, ranking: Ranking, file: Path) -> None:
    figure, (roc, precision, reduction) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    _draw_roc(roc, ranking)
    for place, name in enumerate(ranking.scores):
        _, _, recall, exact = ranking.curve(name).T
        precision.plot([0, *recall], [exact[0], *exact], drawstyle="steps-pre", **_style(place))
    precision.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02), title="Precision over recall")
    _draw_reductions(reduction, ranking, RATES)
    figure.legend(*roc.get_legend_handles_labels(), loc="outside center right")
    _finish(plt, figure, file)


def _draw_roc(axes: Any, ranking: Ranking) -> None:
    for place, name in enumerate(ranking.scores):
        _, fpr, recall, _ = ranking.curve(name).T
        axes.plot([0, *fpr], [0, *recall], label=name, drawstyle="steps-post", **_style(place))
    is_long = (~ranking.is_replica).sum() >= _MANY
    axes.set(
        xlabel="false-positive rate", ylabel="recall", xlim=(0, _FEW if is_long else 1), ylim=(0, 1.02), title="ROC"
    )


def _draw_reductions(axes: Any, ranking: Ranking, rates: Sequence[float]) -> None:
    for place, name in enumerate(ranking.scores):
        axes.plot(*zip(*ranking.reductions(name, rates), strict=True), drawstyle="steps-post", **_style(place))
    axes.set(xlabel="false-positive rate", ylabel="reduction ratio", xlim=(0, rates[-1]), ylim=(0, None))
    axes.set_title("Duplicate URLs removed")


def _style(place: int) -> dict[str, Any]:
    return {"color": f"C{place}", "zorder": 10 - place}


def _draw_shape(plt: Any, rows: Mapping[str, Rows], file: Path) -> None:
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
    sizes, hosts, within, of_hosts, cases, similarity = axes.flat
    sizes.loglog(*_columns(rows["dup-clusters"], 2), ".", label="dup-clusters")
    sizes.set(xlabel="URLs of a dup-cluster", ylabel="dup-clusters", title="Sizes of dup-clusters")
    hosts.loglog(*_columns(rows["dup-clusters-of-hosts"], 2), ".")
    hosts.set(xlabel="host, by rank", ylabel="dup-clusters that it is in", title="Dup-clusters of hosts")
    _draw_within(within, rows["duplicates-of-hosts"])
    urls, replicated, others = _columns(rows["host-sizes"], 3)
    of_hosts.hist([urls, urls], _edges(urls), weights=[replicated, others], label=["replicated", "others"])
    of_hosts.set(xscale="log", xlabel="URLs of a host", ylabel="hosts", title="Sizes of hosts")
    of_hosts.legend(fontsize="small")
    cases.plot(*_columns(rows["replica-cases"], 2), ".-")
    cases.set(xlabel="x", ylabel="share of hosts", ylim=(0, None), title="Hosts in at least x replica pairs")
    for name, style in (("dup-clusters", "-"), ("paths", "--")):
        x, pairs, among, _ = _columns(rows[f"similarity-{name}"], 4)
        similarity.plot(x, pairs, style, color="C0", label=f"pairs above x, {name}")
        similarity.plot(x, among, style, color="C1", label=f"replicas among them, {name}")
    similarity.set(xlabel="Jaccard coefficient x", ylabel="share", ylim=(0, 1.02), title="Likeness and replicas")
    similarity.legend(fontsize="x-small", loc="best")
    _finish(plt, figure, file)


def _draw_within(axes: Any, rows: Rows) -> None:
    step = max(1, len(rows) // _SHOWN_HOSTS)
    within, between, urls = _columns(rows[::step][:_SHOWN_HOSTS], 3)
    axes.scatter(within, between, [2 + number**0.8 for number in urls], alpha=0.4)
    # hosts without the one or the other are most of them
    axes.set(xscale="symlog", yscale="symlog", xlim=(-0.5, None), ylim=(-0.5, None))
    axes.set(
        xlabel="duplicate URLs within the host", ylabel="duplicate URLs between hosts", title="Kinds of duplicates"
    )


def _edges(urls: Sequence[float]) -> list[float]:
    """Return the powers of two around *urls*."""
    top = int(max(urls, default=1)).bit_length()
    return [2.0**power for power in range(top + 1)]


def _columns(rows: Rows, n: int) -> list[tuple[float, ...]]:
    return list(zip(*rows, strict=True)) or [()] * n


def _write(file: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([columns, *rows])


def _finish(plt: Any, figure: Any, file: Path) -> None:
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() != "linear":
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter("")
    for ending in ("png", "svg"):
        figure.savefig(file.with_suffix(f".{ending}"), dpi=80)
    plt.close(figure)


def prepared(folder: Path) -> Any:
    """Make *folder*, and return what draws into it, so that neither is missed after the work.

    :raises ImportError: matplotlib is missing (extra ``report``).
    :raises OSError: the folder cannot be made.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'scrapy-replica[report]'") from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    folder.mkdir(parents=True, exist_ok=True)
    return plt
