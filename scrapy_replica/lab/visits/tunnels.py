"""How far apart relevant pages lie on the paths of a crawl, and what a page's ancestors say of it.

What Bergmark, Lagoze & Sbityakov 2002 (told in Orlandi 2007, 1.3.4) asked of a crawl of half a million pages, asked of
a labelled one. The paths are those of a breadth-first visit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np

from scrapy_replica.lab.archives.collection import Documents, read_parquet
from scrapy_replica.lab.archives.direct import opened
from scrapy_replica.lab.visits import relevant_graph
from scrapy_replica.numeric import BoolArray, IntArray

WITHIN = (1, 2, 3, 5, 10)
KINDS = {True: "relevant", False: "other"}


def evaluate(file: Path, topic: str, plot: Path | None = None) -> dict[str, float]:
    """Return the figures of the pages with the label *topic* in *file*, a Parquet table or the folder of an archive.

    ``tunnels.relevant``, relevant pages reached; ``.behind``, those with another one before them on their path;
    ``.within_1`` ... ``_10``, share of these that lie so many links behind it, ``.mean``, ``.longest``;
    ``children.<parent>.<grandparent>``, share of relevant pages among those with such ancestors, and
    ``children.pages.<parent>.<grandparent>``, how many these are. A share of no pages is NaN. With *plot* those of
    :func:`relevant_graph.figures` as well, and the graph is drawn there.
    """
    documents = opened(file) if file.is_dir() else read_parquet(file, lambda _: {})
    order, parents = breadth_first_paths(documents)
    found = figures(order, parents, documents.relevant(topic))
    if plot is not None:
        graph = relevant_graph.groups(documents, order, topic)
        relevant_graph.plot(graph, f"{topic}: {graph.relevant.sum():,} pages in {len(graph.relevant):,} groups", plot)
        found |= relevant_graph.figures(graph)
    return found


def breadth_first_paths(documents: Documents) -> tuple[IntArray, IntArray]:
    """Return the pages reached, in order, and the page that each page of the collection was found on, -1 for none."""
    parents = np.full(len(documents), -1, dtype=np.int64)
    is_found = np.zeros(len(documents), dtype=bool)
    order = list(dict.fromkeys(documents.seeds.tolist()))
    is_found[order] = True
    for page in order:
        targets = documents.targets(page)
        new = targets[~is_found[targets]]
        is_found[new], parents[new] = True, page
        order.extend(new.tolist())
    return np.array(order, dtype=np.int64), parents


def figures(order: IntArray, parents: IntArray, relevant: BoolArray) -> dict[str, float]:
    """Return the figures of :func:`evaluate`; an ancestor before the seeds is no ancestor."""
    since = np.zeros(len(parents), dtype=np.int64)
    """Links from the last relevant page before it, 0 where there is none."""
    for page in order[parents[order] >= 0].tolist():
        parent = parents[page]
        since[page] = 1 if relevant[parent] else since[parent] + (since[parent] > 0)
    reached = order[relevant[order]]
    lengths = since[reached][since[reached] > 0]
    found = {"tunnels.relevant": float(len(reached)), "tunnels.behind": float(len(lengths))}
    found |= {f"tunnels.within_{most}": _mean(lengths <= most) for most in WITHIN}
    found |= {"tunnels.mean": _mean(lengths), "tunnels.longest": float(lengths.max(initial=0))}
    has_both = order[(parents[order] >= 0) & (parents[parents[order]] >= 0)]
    before = relevant[parents[has_both]], relevant[parents[parents[has_both]]]
    for parent, grandparent in product(KINDS, KINDS):
        pages = has_both[(before[0] == parent) & (before[1] == grandparent)]
        name = f"{KINDS[parent]}.{KINDS[grandparent]}"
        found |= {f"children.{name}": _mean(relevant[pages]), f"children.pages.{name}": float(len(pages))}
    return found


def _mean(values: IntArray | BoolArray) -> float:
    return float(values.mean()) if len(values) else math.nan


def table(found: Mapping[str, float]) -> str:
    """Return the figures as text."""
    shares = "  ".join(f"{most}: {_told(found[f'tunnels.within_{most}'])}" for most in WITHIN)
    lines = [
        f"{found['tunnels.relevant']:,.0f} relevant pages reached, {found['tunnels.behind']:,.0f} with another before",
        f"links from that one, share of at most  {shares}",
        f"mean {_told(found['tunnels.mean'])}, longest {found['tunnels.longest']:.0f}",
        "",
        f"{'share of relevant pages':<24} {'grandparent relevant':>20} {'other':>8}",
    ]
    for parent in KINDS.values():
        relevant, other = (_told(found[f"children.{parent}.{kind}"]) for kind in KINDS.values())
        lines.append(f"{'parent ' + parent:<24} {relevant:>20} {other:>8}")
    if "groups" in found:
        lines += ["", f"{found['groups']:,.0f} groups with such pages in {found['groups.parts']:,.0f} parts"]
        share = found["groups.relevant_in_largest"]
        lines += [f"the largest part has {found['groups.largest']:,.0f}, and {share:.0%} of the pages"]
    return "\n".join(lines)


def _told(figure: float) -> str:
    return "-" if math.isnan(figure) else f"{figure:.3f}"
