"""The best N pairwise rules: precision and recall as more and more of them are put in force.

After Agarwal et al. 2009 (*URL normalization for de-duplication of web pages*, CIKM) and Koppula et al. 2010 (*Learning
URL patterns for webpage de-duplication*, WSDM), as Carvalho 2014, p. 16 reports them: the most precise 9 % of the rules
removed 42 % of the duplicates, at a precision of 80 % and more each, and later 56 % of the rules were enough.

Rules come from pairs of URLs of one cluster, their contexts from a decision tree, on one half of the family split; they
are judged on the other, in both directions. *Reading*: precision for the order is that on the half learnt from, and of
equal ones that with the larger support goes first. Nothing is chosen: every rule with an error of 20 % or less is in
the list, so one that repeats another counts as a rule.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy_replica.lab.dust.dust_judge import Hosts
from scrapy_replica.urls.learners.selection import Proposal, Selection

SHARES = (0.01, 0.05, 0.09, 0.25, 0.56, 1.0)
"""Shares of the rules that figures are told of: 9 and 56 % are the published ones."""


class Point(NamedTuple):
    """The best *rules* rules in force, on the halves that they were not learnt from."""

    rules: int
    right: int
    wrong: int
    precision: float
    """Of the removals; 1 without any."""
    recall: float
    """Of the removable URLs."""
    rule_precision: float
    """Share of clean groups of the last rule alone where it was learnt."""


def curve(hosts: Hosts, removable: int) -> list[Point]:
    """Return a point for each N from 1 on; *removable* URLs are there to remove on all halves."""
    found = []
    for half in (half for halves in hosts.halves.values() for half in halves):
        judged = Selection(half.judged)
        found += [(candidate.proposal, judged) for candidate in half.candidates]
    found.sort(key=lambda entry: _order(entry[0]))
    points: list[Point] = []
    right = wrong = 0
    for place, (proposal, judged) in enumerate(found, 1):
        trial = judged.try_out(proposal)
        judged.accept(trial)
        right, wrong = right + trial.right, wrong + trial.wrong
        precision = right / (right + wrong) if right + wrong else 1.0
        points.append(Point(place, right, wrong, precision, right / max(removable, 1), 1 - proposal.rule.error))
    return points


def _order(proposal: Proposal) -> tuple[float, int, str]:
    return proposal.rule.error, -proposal.rule.support, proposal.rule.key


def figures_of(points: Sequence[Point]) -> dict[str, float]:
    """Return ``top.<share>.rules``, ``.precision`` and so on of the best rules at each of :data:`SHARES`."""
    figures: dict[str, float] = {}
    for share in SHARES if points else ():
        point = points[max(round(share * len(points)), 1) - 1]
        figures |= {f"top.{share:g}.{name}": value for name, value in point._asdict().items()}
    return figures


def write(points: Sequence[Point], folder: Path) -> None:
    """Write the curve into *folder* as ``top_n.csv``, ``top_n.png`` and ``top_n.svg``.

    Needs matplotlib (extra ``report``).

    :raises OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "top_n.csv").open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(Point._fields)
        table.writerows([value if isinstance(value, int) else f"{value:.6f}" for value in point] for point in points)
    _plot(points, folder)


def _plot(points: Sequence[Point], folder: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    figure, axes = plt.subplots(figsize=(9, 5.5), layout="constrained")
    numbers = [point.rules for point in points]
    axes.plot(numbers, [100 * p.rule_precision for p in points], ":", label="the last rule alone, where it was learnt")
    axes.plot(numbers, [100 * p.precision for p in points], linewidth=2, label="precision of what all of them remove")
    axes.plot(numbers, [100 * p.recall for p in points], linewidth=2, label="recall: removable URLs that they remove")
    for share in (0.09, 0.56):
        axes.axvline(share * len(points), color="grey", linewidth=0.8)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(share * len(points), 5, f"{share:.0%} of the rules", fontsize=8, ha="center", bbox=box)
    axes.set(xlabel="the best N pairwise rules in force", ylabel="%", xlim=(1, max(len(points), 2)), ylim=(0, 106))
    axes.grid(alpha=0.3)
    axes.legend(loc="center right")
    for kind in ("png", "svg"):
        figure.savefig(folder / f"top_n.{kind}", dpi=120)
    plt.close(figure)
