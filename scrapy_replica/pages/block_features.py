"""What describes a block of text: its shape, its neighbours, the elements around it, and how often its like occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_replica.pages.blocks import N_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_replica.numeric import Float32Array
    from scrapy_replica.pages.blocks import Blocks


GOOD_WORDS = 10
"""A run of at least that many words, less than a third of them in links, is running text."""
_LEVELS = 4
_TAG_CLASSES = {
    **dict.fromkeys(["p"], 1),
    **dict.fromkeys(["h1", "h2", "h3"], 2),
    **dict.fromkeys(["h4", "h5", "h6"], 3),
    **dict.fromkeys(["li"], 4),
    **dict.fromkeys(["td", "th"], 5),
    **dict.fromkeys(["dt", "dd"], 6),
    **dict.fromkeys(["pre", "blockquote"], 7),
    **dict.fromkeys(["button", "legend", "option", "fieldset"], 8),
    **dict.fromkeys(["section", "article", "main"], 9),
    **dict.fromkeys(["figcaption", "caption", "figure"], 10),
}
_PLACES = np.arange(N_BITS, dtype=np.int64)


class Columns:
    """The arrays of a page that features are made of; ``n`` runs, ``m`` nodes, everything float32 but the indices."""

    def __init__(self, blocks: Blocks) -> None:
        self.words = np.array(blocks.words, np.float32)
        self.link_words = np.array(blocks.link_words, np.float32)
        self.run_nodes = np.array(blocks.run_nodes, np.intp)
        self.parents = np.array(blocks.parents, np.intp)
        self.depths = np.array(blocks.depths, np.float32)
        self.starts = np.array(blocks.run_starts, np.intp)
        self.ends = np.array(blocks.run_ends, np.intp)
        self.node_tags = np.array(blocks.tag_ends, np.float32) - np.array(blocks.tag_starts, np.float32) + 1
        self.signatures = np.array(blocks.signatures, np.intp)
        self.good = np.where((self.words >= GOOD_WORDS) & (self.link_words * 3 < self.words), self.words, 0)
        self.node_words = self.below(self.words)
        self.node_links = self.below(self.link_words)
        self.node_good = self.below(self.good)
        first = self.run_nodes
        self.around = [first]
        for _ in range(_LEVELS - 1):
            self.around.append(self.parents[self.around[-1]])

    def below(self, values: Float32Array) -> Float32Array:
        """Sum the *values* of runs, shape (n,), over the subtree of every node, shape (m,)."""
        sums = np.zeros(len(values) + 1, np.float64)
        np.cumsum(values, out=sums[1:])
        return (sums[self.ends] - sums[self.starts]).astype(np.float32)


def shifted(values: Float32Array, places: int) -> Float32Array:
    """Return the *values*, shape (n,), of the run *places* later (earlier if negative); 0 beyond the page."""
    out = np.zeros_like(values)
    if abs(places) < len(values):
        if places > 0:
            out[:-places] = values[places:]
        else:
            out[-places:] = values[:places]
    return out


def windowed(values: Float32Array, reach: int) -> Float32Array:
    """Return the sum of *values* within *reach* runs on either side, shape (n,)."""
    n = len(values)
    sums = np.zeros(n + 1, np.float64)
    np.cumsum(values, out=sums[1:])
    places = np.arange(n)
    return (sums[np.minimum(places + reach + 1, n)] - sums[np.maximum(places - reach, 0)]).astype(np.float32)


def features(blocks: Blocks, columns: Columns) -> Float32Array:
    """Return one row per feature and one column per run, shape (f, n), in a fixed order."""
    rows = _shape(blocks, columns)
    rows += _neighbours(columns, rows[7])
    rows += _page(columns)
    rows += _around(columns)
    rows += _hints(blocks, columns)
    rows += _core(columns)
    rows += _repetition(columns)
    return np.array(rows, dtype=np.float32)


def _shape(blocks: Blocks, columns: Columns) -> list[Float32Array]:
    texts = blocks.texts
    words = columns.words
    chars = np.array([len(text) for text in texts], np.float32)
    ends = np.array([_END_CLASSES.get(text[-1], 0) for text in texts], np.float32)
    starts = np.array([_start_class(text[0]) for text in texts], np.float32)
    stops = np.array([text.count(". ") + text.count("? ") for text in texts], np.float32)
    commas = np.array([text.count(",") for text in texts], np.float32)
    odd = np.array(
        [text.count("|") + text.count("»") + text.count("©") + text.count(">") for text in texts], np.float32
    )
    tag_class = np.array([_TAG_CLASSES.get(tag, 0) for tag in blocks.tags], np.float32)[columns.run_nodes]
    links = np.array(blocks.links, np.float32)
    return [
        words,
        chars / words,
        columns.link_words / words,
        links,
        (np.array(blocks.run_tags, np.float32) / words).astype(np.float32),
        ends,
        starts,
        (tag_class == 1).astype(np.float32) + 2 * (tag_class == 4),
        tag_class,
        stops + (ends == 1),
        commas / words,
        odd,
        words - columns.link_words,
    ]


_END_CLASSES = {".": 1, "!": 1, "?": 1, '"': 1, "”": 1, "。": 1, ":": 2, ",": 3, ")": 4, ">": 5, "»": 5, "|": 5, "…": 6}


def _start_class(character: str) -> int:
    if character.isupper():
        return 1
    if character.islower():
        return 2
    return 3 if character.isdigit() else 0


def _neighbours(columns: Columns, kind: Float32Array) -> list[Float32Array]:
    plain = columns.words - columns.link_words
    share = columns.link_words / columns.words
    rows = []
    for places in (-2, -1, 1, 2):
        rows += [shifted(columns.words, places), shifted(share, places)]
    rows += [shifted(kind, -1), shifted(kind, 1)]
    for reach in (3, 8, 20):
        total = windowed(columns.words, reach)
        rows += [windowed(plain, reach) / np.float32(2 * reach + 1), windowed(columns.good, reach) / total]
    return rows


def _page(columns: Columns) -> list[Float32Array]:
    n = len(columns.words)
    words = columns.words.sum()
    before = np.cumsum(columns.words) - columns.words
    good = np.float32(max(float(columns.good.sum()), 1.0))
    good_before = np.cumsum(columns.good) - columns.good
    page = [words, n, columns.link_words.sum() / words, columns.good.sum() / words, columns.words.max()]
    return [
        np.arange(n, dtype=np.float32),
        np.arange(n, 0, -1, dtype=np.float32),
        (before / words).astype(np.float32),
        (good_before / good).astype(np.float32),
        ((good - good_before - columns.good) / good).astype(np.float32),
        *(np.full(n, value, np.float32) for value in page),
    ]


def _around(columns: Columns) -> list[Float32Array]:
    words, links, good = columns.node_words, columns.node_links, columns.node_good
    safe = np.maximum(words, 1)
    runs = (columns.ends - columns.starts).astype(np.float32)
    per_node = np.array(
        [
            words,
            words / safe[0],
            links / safe,
            good / safe,
            good / max(good[0], 1),
            words / columns.node_tags,
            safe / np.maximum(runs, 1),
            runs,
        ]
    )
    rows = [columns.depths[columns.run_nodes]]
    for nodes in columns.around:
        rows += list(per_node[:, nodes])
    return rows


def _hints(blocks: Blocks, columns: Columns) -> list[Float32Array]:
    own = np.array(blocks.hints, np.int64)
    near = own[columns.around[0]] | own[columns.around[1]] | own[columns.around[2]]
    anywhere = np.array(blocks.inherited_hints, np.int64)[columns.run_nodes]
    first = ((own[columns.run_nodes] >> _PLACES[:, None]) & 1).astype(np.float32)
    close = ((near >> _PLACES[:, None]) & 1).astype(np.float32)
    far = ((anywhere >> _PLACES[:, None]) & 1).astype(np.float32)
    # 0: nowhere above; 1: far above; 2: within three levels; 3: the block itself.
    return list(first + close + far)


def _core(columns: Columns) -> list[Float32Array]:
    """How far a run stands from the smallest node with half, and with four fifths, of the page's running text."""
    rows: list[Float32Array] = []
    n = len(columns.words)
    source = columns.node_good if columns.node_good[0] else columns.node_words
    for share in (0.5, 0.8):
        holders = np.flatnonzero(source >= share * source[0])
        core = int(holders[-1])  # the holders of more than half are one path, the last is the deepest
        rows += _meeting(columns, core, n)
    densities = (columns.node_words - columns.node_links) / columns.node_tags
    sums = np.bincount(columns.parents[1:], weights=densities[1:], minlength=len(densities)) if n else densities
    return rows + _meeting(columns, int(np.argmax(sums)), n)


def _meeting(columns: Columns, node: int, n: int) -> list[Float32Array]:
    """The levels from *node* up to where each run's path meets its own, and the share of the page's text there."""
    path = [node]
    while path[-1]:
        path.append(int(columns.parents[path[-1]]))
    path = path[:64]
    steps = np.full(n, len(path), np.float32)
    shares = np.zeros(n, np.float32)
    for step in range(len(path) - 1, -1, -1):
        inside = slice(columns.starts[path[step]], columns.ends[path[step]])
        steps[inside] = step
        shares[inside] = columns.node_words[path[step]] / max(columns.node_words[0], 1)
    down = columns.depths[columns.run_nodes] - columns.depths[node] + steps
    place = np.arange(n, dtype=np.float32)
    start, end = columns.starts[node], columns.ends[node]
    offset = np.where(place < start, place - start, np.where(place >= end, place - end + 1, 0)).astype(np.float32)
    return [steps, shares, down, offset]


def same_kind(columns: Columns, values: Float32Array, weights: Float32Array, nodes: NDArray[np.intp]) -> Float32Array:
    """Return the weighted mean of *values* over the runs whose *nodes* have the same tag and class, shape (n,)."""
    kinds = columns.signatures[nodes]
    totals = np.bincount(kinds, weights=weights)
    means = np.bincount(kinds, weights=values * weights) / np.maximum(totals, 1e-6)
    return means[kinds].astype(np.float32)


def _repetition(columns: Columns) -> list[Float32Array]:
    share = columns.link_words / columns.words
    ones = np.ones_like(columns.words)
    on_page = np.bincount(columns.signatures)[columns.signatures].astype(np.float32)
    # Siblings of equal tag and class: one key per (parent, signature).
    keys = columns.parents * (int(columns.signatures.max()) + 1) + columns.signatures
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    siblings = counts[inverse].astype(np.float32)
    rows = []
    for nodes in columns.around[:3]:
        rows += [
            on_page[nodes],
            siblings[nodes],
            same_kind(columns, columns.words, ones, nodes),
            same_kind(columns, share, columns.words, nodes),
            same_kind(columns, (columns.good > 0).astype(np.float32), columns.words, nodes),
        ]
    return rows
