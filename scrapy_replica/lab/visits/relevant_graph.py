"""How the relevant pages of a collection hang together, drawn as Orlandi (2007) draws it (figure 6.4, pp. 66 and 70).

A node is a group of pages of which no two lie more than three links apart, each page in one group; drawn are the groups
with a relevant page, the darker the more they have, joined where a page of one links to a page of the other.

*Readings.* How groups come about is not told: here one is two pages that are joined by a link and all that either of
them is joined to, of those in no group yet, in the order in which a breadth-first visit reaches them. Links count
either way. Shades follow the logarithm, since some groups have hundreds.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.visits.visit_curves import pyplot
from scrapy_replica.numeric import FloatArray, IntArray

ROUNDS = 150
"""Steps of the springs that lay out a part of the graph."""


class Groups(NamedTuple):
    """Groups with a relevant page, numbered from 0."""

    relevant: IntArray
    """Relevant pages of each, shape (n,)."""
    joined: IntArray
    """Pairs of groups with a link between them, the smaller number first, shape (pairs, 2)."""


def groups(documents: Documents, order: IntArray, topic: str) -> Groups:
    """Return the groups of the pages in *order*, see above, that have a page with the label *topic*."""
    ends = both_ways(documents)
    number = numbered(ends, order, len(documents))
    of_group = np.bincount(number[documents.relevant(topic) & (number >= 0)], minlength=int(number.max()) + 1)
    kept = np.flatnonzero(of_group)
    place = np.full(len(of_group) + 1, -1)
    place[kept] = np.arange(len(kept))
    pairs = np.sort(place[number[ends]], axis=1)
    return Groups(of_group[kept], np.unique(pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] != pairs[:, 1])], axis=0))


def numbered(ends: IntArray, order: IntArray, n_pages: int) -> IntArray:
    """Return the group of each page, -1 of one that is not in *order*; *ends*: links both ways, shape (2 links, 2)."""
    begins = np.searchsorted(ends[:, 0], np.arange(n_pages + 1)).tolist()
    number = np.full(n_pages, -1)
    is_reached = np.zeros(n_pages, dtype=bool)
    is_reached[order] = True

    def free(page: int) -> IntArray:
        linked = ends[begins[page] : begins[page + 1], 1]
        return np.asarray(linked[is_reached[linked] & (number[linked] < 0)])

    count = 0
    for page in order.tolist():
        if number[page] < 0:
            number[page] = count
            others = free(page)
            number[others] = count
            if len(others):
                number[free(int(others[0]))] = count
            count += 1
    return number


def both_ways(documents: Documents) -> IntArray:
    """Return the links both ways, by the first page, shape (2 links, 2)."""
    start, targets = documents.graph()
    sources = np.repeat(np.arange(len(documents)), np.diff(start))
    ends = np.concatenate([np.column_stack([sources, targets]), np.column_stack([targets, sources])])
    return np.asarray(ends[np.argsort(ends[:, 0], kind="stable")])


def parts(found: Groups) -> list[IntArray]:
    """Return the connected parts of the graph, the largest first."""
    label = np.arange(len(found.relevant))
    while len(found.joined):
        least = label.copy()
        for ends in (found.joined, found.joined[:, ::-1]):
            np.minimum.at(least, ends[:, 0], label[ends[:, 1]])
        if (least == label).all():
            break
        label = least
    each = (np.flatnonzero(label == one) for one in np.unique(label))
    return sorted(each, key=lambda part: (-len(part), int(part[0])))


def figures(found: Groups) -> dict[str, float]:
    """Return how many groups, links between them and connected parts there are, and what the largest part holds."""
    largest = parts(found)[0]
    return {
        "groups": float(len(found.relevant)),
        "groups.joined": float(len(found.joined)),
        "groups.parts": float(len(parts(found))),
        "groups.alone": float(sum(len(part) == 1 for part in parts(found))),
        "groups.largest": float(len(largest)),
        "groups.relevant_in_largest": float(found.relevant[largest].sum() / found.relevant.sum()),
    }


def plot(found: Groups, title: str, file: Path) -> None:
    """Draw the graph into *file*. Needs matplotlib (extra ``report``)."""
    plt = pyplot()
    places = _placed(found)
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for a, b in found.joined.tolist():
        axes.plot(*places[[a, b]].T, color="0.6", linewidth=0.6, zorder=1)
    counts = np.log10(found.relevant)
    drawn = axes.scatter(*places.T, c=counts, cmap="Blues", vmin=-0.3, s=22, edgecolors="0.3", linewidths=0.5, zorder=2)
    bar = figure.colorbar(drawn, shrink=0.6, label="relevant pages of a group")
    ticks = range(int(counts.max()) + 1)
    bar.set_ticks(list(ticks), labels=[f"{10**tick:,}" for tick in ticks])
    axes.set(title=title, aspect="equal")
    axes.axis("off")
    figure.savefig(file, dpi=80)
    plt.close(figure)


def _placed(found: Groups) -> FloatArray:
    """Return a place for each group, shape (n, 2): the parts beside each other, in rows."""
    places: FloatArray = np.zeros((len(found.relevant), 2))
    each = [(part, _sprung(part, found.joined)) for part in parts(found)]
    width = 1.2 * np.sqrt(sum(float(np.prod(np.ptp(own, axis=0) + 2)) for _, own in each))
    x = y = height = 0.0
    for part, own in each:
        size = np.ptp(own, axis=0) + 2
        if x and x + size[0] > width:
            x, y, height = 0.0, y - height, 0.0
        places[part] = own - [own[:, 0].min(), own[:, 1].max()] + [x, y]
        x, height = x + size[0], max(height, size[1])
    return places


def _sprung(part: IntArray, joined: IntArray) -> FloatArray:
    """Return places for the groups of a *part*: those that are joined draw each other, all repel each other."""
    at = np.full(int(part.max()) + 1, -1)
    at[part] = np.arange(len(part))
    own = at[joined[np.isin(joined[:, 0], part)]]
    places: FloatArray = np.random.default_rng(0).normal(size=(len(part), 2)) * np.sqrt(len(part))
    for heat in np.linspace(1, 0.02, ROUNDS if len(part) > 1 else 0) * np.sqrt(len(part)):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 0.01)
        force = (apart / distance[..., None] ** 2).sum(axis=1)
        pull = places[own[:, 0]] - places[own[:, 1]]
        pull *= np.sqrt((pull**2).sum(axis=1, keepdims=True))
        np.subtract.at(force, own[:, 0], pull)
        np.add.at(force, own[:, 1], pull)
        length = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 0.01)
        places += force / length * np.minimum(length, heat)
    return places
