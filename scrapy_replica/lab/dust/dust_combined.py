"""Replica hosts and DUST rules together: what each removes of the duplicate URLs of one collection.

After table 3 of Carvalho et al. 2017, *Website replica detection with distant supervision*. Intra-host duplicates are
the URLs beyond the first of every cluster of a host, inter-host duplicates the URLs of the smaller host of a replica
pair whose text stands on another host, too. Hosts are judged by what was learnt without their family, rules are learnt
on one half of the URLs and judged on the other. Unlike in the paper, a wrong removal does not count as a reduction.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy_replica.lab.dust.dust import EPSILONS, Part, book_of, part_of, read, removals
from scrapy_replica.lab.dust.dust_splits import Row, family, halves
from scrapy_replica.lab.replicas.replica_methods import METHODS
from scrapy_replica.lab.replicas.replica_pairs import load
from scrapy_replica.lab.replicas.replicas import dropped, duplicate_urls, out_of_fold

FPRS = (0.0, 0.001, 0.005)
WAYS = {"together": ("judge", "combined"), "published": ("pu_nu", "dasgupta_2008")}
"""Ours, and what the paper took: who judges hosts, and who learns rules."""
TRUTH = "truth"
"""In the place of a rate or an error: everything that is to be removed, and nothing else."""


class Removed(NamedTuple):
    """URLs that are removed."""

    right: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()


def evaluate(path: str | Path, folder: Path) -> dict[str, float]:
    """Return the figures of the URLs of *path* and the hosts of *folder* as one collection.

    ``together.duplicates``, ``.intra``, ``.inter`` and ``.both`` count what is to be removed;
    ``together.<e>.fpr_<f>.intra_only``, ``.inter_only``, ``.both``, ``.wrong`` and ``.rr`` (reduction ratio) what is,
    ``e`` being ``e0``, ``e10``, ``none`` (no rules) or ``truth``, ``f`` the share of false pairs or ``truth``. The same
    with ``published`` in place of ``together``, see :data:`WAYS`.

    :raises ValueError: the file or the folder is not of that kind.
    """
    for name in ("pages.csv", "truth.csv", "hosts.csv", "warc"):
        if not (folder / name).exists():
            raise ValueError(f"--combined {folder}: no {name}; a folder like that of lab replicas is wanted")
    own = read(folder / "pages.csv")
    collection = list({row.url: row for row in (*own, *read(path))}.values())
    parts = [part_of(half) for half in halves(collection, family)]
    truth = frozenset(url for part in parts for url in part.kinds)
    table, pages = load(folder)
    weights = duplicate_urls(pages)
    figures: dict[str, float] = {}
    for way, (method, learner) in WAYS.items():
        intra = {"none": Removed(), TRUTH: Removed(truth)}
        intra |= {suffix: removed_by_rules(learner, epsilon, parts) for suffix, epsilon in EPSILONS.items()}
        scores, _ = out_of_fold(METHODS[method], table)
        copies = {TRUTH: dropped(table, table.is_replica.astype(float), 0.0, weights)}
        copies |= {f"{fpr:g}": dropped(table, scores, fpr, weights) for fpr in FPRS}
        figures |= figures_of(intra, {rate: removed_by_hosts(hosts, own) for rate, hosts in copies.items()}, way)
    return figures


def removed_by_rules(learner: str, epsilon: float, parts: Sequence[Part]) -> Removed:
    """Return what the *learner* removes: learnt on one part, applied to the other, in both directions."""
    right: set[str] = set()
    wrong: set[str] = set()
    for learnt_from, judged in (parts, parts[::-1]):
        book = book_of(learner, epsilon, learnt_from.rows)
        for row, first in removals(lambda url, book=book: book.canonical(url)[0], judged.rows):  # type: ignore[misc]
            (right if first.cluster == row.cluster else wrong).add(row.url)
    return Removed(frozenset(right), frozenset(wrong))


def removed_by_hosts(copies: Mapping[str, bool], rows: Iterable[Row]) -> Removed:
    """Return what goes with the hosts *copies* (-> whether they are copies): of a copy the URLs whose text stands on
    another host, too, and of any other host all that it has.
    """
    hosts_of: defaultdict[str, set[str]] = defaultdict(set)
    listed = list(rows)
    for row in listed:
        hosts_of[row.text].add(row.host)
    gone = [row for row in listed if row.host in copies]
    right = frozenset(row.url for row in gone if copies[row.host] and len(hosts_of[row.text]) > 1)
    return Removed(right, frozenset(row.url for row in gone if not copies[row.host]))


def figures_of(intra: Mapping[str, Removed], inter: Mapping[str, Removed], way: str = "together") -> dict[str, float]:
    """Return the figures of every pair of an *intra* and an *inter*; see :func:`evaluate`."""
    duplicates = intra[TRUTH].right | inter[TRUTH].right
    figures: dict[str, float] = {
        f"{way}.duplicates": len(duplicates),
        f"{way}.intra": len(intra[TRUTH].right),
        f"{way}.inter": len(inter[TRUTH].right),
        f"{way}.both": len(intra[TRUTH].right & inter[TRUTH].right),
    }
    for error, by_rule in intra.items():
        for rate, by_host in inter.items():
            right = by_rule.right | by_host.right
            figures |= {
                f"{way}.{error}.fpr_{rate}.intra_only": len(by_rule.right - by_host.right),
                f"{way}.{error}.fpr_{rate}.inter_only": len(by_host.right - by_rule.right),
                f"{way}.{error}.fpr_{rate}.both": len(by_rule.right & by_host.right),
                f"{way}.{error}.fpr_{rate}.wrong": len((by_rule.wrong | by_host.wrong) - right),
                f"{way}.{error}.fpr_{rate}.rr": len(right) / len(duplicates) if duplicates else math.nan,
            }
    return figures
