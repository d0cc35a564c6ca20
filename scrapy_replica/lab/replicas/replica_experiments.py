"""The published experiments on one collection: tables, times and plots of ``lab replicas``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrapy_replica.config import Config
from scrapy_replica.lab.measures import precision_recall_f1
from scrapy_replica.lab.replicas.em_in_order import Told, times
from scrapy_replica.lab.replicas.replica_cases import Cases, made_cases, our_cases, published_cases
from scrapy_replica.lab.replicas.replica_curves import Ranking
from scrapy_replica.lab.replicas.replica_links import NAMES as LINKS
from scrapy_replica.lab.replicas.replica_methods import METHODS, THRESHOLDS, judge_scores, linked_scores
from scrapy_replica.lab.replicas.replica_pairs import PairTable, load, load_web
from scrapy_replica.lab.replicas.replica_plots import draw, draw_fixed
from scrapy_replica.lab.replicas.replica_shape import Shape
from scrapy_replica.lab.replicas.replica_tables import fixed_scores, method_scores, spread, tables
from scrapy_replica.lab.replicas.replica_tables_text import text_of, times_text
from scrapy_replica.lab.replicas.replica_web import make_web
from scrapy_replica.lab.replicas.replicas import duplicate_urls, out_of_fold
from scrapy_replica.numeric import FloatArray
from scrapy_replica.records import Noise
from scrapy_replica.sites.evidence import path_of
from scrapy_replica.sites.judge import THRESHOLD

DRAWN = ("judge", "bound", "pu_nu", "pu", "nu", "bsvm", "published", "normpaths")
"""Methods of the curves where there are texts to judge."""
SIZES = (1000, 10_000, 100_000, 1_000_000)
"""Pairs that EM is timed on."""


class Part(NamedTuple):
    """Figures and the same as text."""

    figures: dict[str, float]
    text: str
    title: str = ""


@dataclass(frozen=True)
class Experiment:
    """One collection.

    Attributes:
        cases: ``ours`` and ``published``: the pairs with these features.
        shape: Its pages and replicas.
        weights: Host -> its duplicate URLs.
        table: Everything about each pair, unless the web is made up.
    """

    cases: Mapping[str, Cases]
    shape: Shape
    weights: Mapping[str, int]
    table: PairTable | None = None


def of_made(n_hosts: int, seed: int) -> Experiment:
    """Return a made-up web: the shape of the published experiment, its features and no texts."""
    web = make_web(n_hosts, seed)
    sites: dict[int, list[str]] = {}
    for host, site in sorted(web.site.items()):
        sites.setdefault(site, []).append(host)
    replicas = frozenset(pair for hosts in sites.values() for pair in combinations(hosts, 2))
    shape = Shape(web.pages, replicas)
    return Experiment({"published": made_cases(web, seed)}, shape, _weights(shape))


def of_pages(path: Path, hosts: Path | None, noise: Noise = Config.noise) -> Experiment:
    """Return a folder of WARC files with ``truth.csv``, or a web with a table of its *hosts*.

    :raises ValueError: no two of its hosts are one site.
    """
    table, pages = load(path, noise) if hosts is None else load_web(path, hosts, noise)
    if not table.is_replica.any():
        raise ValueError(f"{path} has no two hosts that are one site: there is nothing to find")
    cases = {"ours": our_cases(table), "published": published_cases(table)}
    replicas = frozenset(pair for pair, is_replica in zip(table.hosts, table.is_replica, strict=True) if is_replica)
    shape = Shape(
        {host: [(path_of(page.url), page.signature) for page in found] for host, found in pages.items()}, replicas
    )
    return Experiment(cases, shape, duplicate_urls(pages), table)


def _weights(shape: Shape) -> dict[str, int]:
    found = dict.fromkeys(shape.pages, 0)
    for hosts in shape.hosts_of.values():
        for host, n_urls in hosts.items():
            found[host] += n_urls
    return found


def tables_of(experiment: Experiment, told: Told) -> dict[str, Part]:
    """Return the published tables for each kind of features, and the judge with connectivity beside."""
    parts = {}
    for name, cases in experiment.cases.items():
        if not (cases.obvious == 1).any():
            parts[name] = Part(
                {}, "left out: no pair is an obvious replica, and EM has nothing to begin with", name.upper()
            )
            continue
        told(f"tables, {name} features")
        figures = tables(cases, told)
        own = [feature for feature in cases.names if feature not in LINKS]
        tested, replicas = int(cases.is_tested.sum()), int((cases.is_tested & cases.is_replica).sum())
        positive, negative = (int((cases.obvious == mark).sum()) for mark in (1, -1))
        title = (
            f"{name.upper()}: {', '.join(own)}\n{tested:,} pairs, {replicas:,} of them replicas; "
            f"{positive:,} obvious replicas, {negative:,} obvious others"
        )
        parts[name] = Part(figures, text_of(figures, own), title)
    if experiment.table is not None:
        told("the judge with connectivity")
        parts["judge"] = _judge_with_links(experiment.table, our_cases(experiment.table))
    return parts


def tables_of_made(n_hosts: int, seeds: range, told: Told) -> Part:
    """Return the published tables of several made-up webs: means, and standard deviations from web to web."""
    found = []
    for seed in seeds:
        told(f"web {seed}")
        cases = of_made(n_hosts, seed).cases["published"]
        found.append(tables(cases, told))
    figures: dict[str, float] = {}
    for name in found[0]:
        values = [of_web[name] for of_web in found]
        if name.endswith(".auc"):
            figures[f"{name}_sd"] = float(np.std(values, ddof=1))
        if not name.endswith("_sd"):
            figures[name] = float(np.mean(values))
    title = f"PUBLISHED: means of {len(seeds)} made-up webs of {n_hosts:,} hosts; sd: from web to web"
    return Part(figures, text_of(figures, cases.names), title)


def _ranking(cases: Cases, scores: Mapping[str, FloatArray], weights: Mapping[str, int]) -> Ranking:
    tested = cases.is_tested
    hosts = [pair for pair, is_tested in zip(cases.hosts, tested, strict=True) if is_tested]
    return Ranking(hosts, cases.is_replica[tested], {name: found[tested] for name, found in scores.items()}, weights)


def _judge_with_links(table: PairTable, cases: Cases) -> Part:
    figures: dict[str, float] = {}
    lines = [f"{'':<20}{'AUC':>8}{'sd':>8}{'F1':>8}"]
    sets = {"judge": (), **{f"and {name}": (name,) for name in LINKS}, "and all three": LINKS}
    for told, names in sets.items():
        scores, called = out_of_fold(linked_scores(names) if names else judge_scores, table, threshold=THRESHOLD)
        found = spread(cases, scores) | {"f1": precision_recall_f1(called, table.is_replica)[2]}
        figures |= {f"{'_'.join(names) or 'alone'}.{key}": value for key, value in found.items()}
        lines.append(f"{told:<20}" + "".join(f"{value:>8.4f}" for value in found.values()))
    return Part(figures, "\n".join(lines), "JUDGE: what a crawl uses, with connectivity as further features")


def times_of(experiment: Experiment, told: Told) -> Part:
    """Return what EM costs on the published features, at each of ``SIZES`` that there are pairs for."""
    cases = experiment.cases["published"]
    intervals = cases.intervals(np.ones(len(cases.hosts), dtype=bool))
    numbers = [size for size in SIZES if size <= len(cases.hosts)] or [len(cases.hosts)]
    figures = times(intervals.sizes, intervals.codes(cases.values), cases.obvious, numbers, told)
    return Part(figures, times_text(figures, numbers))


def plots_of(experiment: Experiment, folder: Path, told: Told) -> Part:
    """Draw curves and shape into *folder*."""
    told("curves")
    table = experiment.table
    if table is None:
        (cases,) = experiment.cases.values()
        scores = method_scores(cases)
    else:
        cases = our_cases(table)
        scores = {name: out_of_fold(METHODS[name], table, threshold=THRESHOLDS.get(name))[0] for name in DRAWN}
    told("plots")
    figures = draw(_ranking(cases, scores, experiment.weights), experiment.shape, folder)
    if (cases.obvious == 1).any():
        draw_fixed(_ranking(cases, fixed_scores(cases), experiment.weights), folder)
    width = max(map(len, figures))
    lines = (
        f"{name.removeprefix('shape.').replace('_', ' '):<{width}}{value:>12,.4g}" for name, value in figures.items()
    )
    return Part(
        figures,
        "\n".join(
            [*lines, f"curves.png, curves-fixed.png, shape.png, their SVG and the numbers as CSV are in {folder}"]
        ),
    )
