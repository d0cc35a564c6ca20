"""What describes a block of text: its shape, its neighbours, the elements around it, and how often its like occurs."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from scrapy_replica.pages.blocks import N_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.numeric import Float32Array, FloatArray, IntArray
    from scrapy_replica.pages.blocks import Blocks


GOOD_WORDS = 10
"""A run of at least that many words, less than a third of them in links, is running text."""
_LEVELS = 4
N_KINDS = 3
"""Levels on which blocks are compared with those of the same tag and class."""
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
N_FEATURES = 130


class Columns:
    """The arrays of a page that features are made of; ``n`` runs, ``m`` nodes, everything float32 but the indices."""

    def __init__(self, blocks: Blocks) -> None:
        self.words, self.link_words = blocks.words.astype(np.float32), blocks.link_words.astype(np.float32)
        self.run_nodes, self.parents = blocks.run_nodes, blocks.parents
        self.depths = blocks.depths.astype(np.float32)
        self.starts, self.ends = blocks.run_starts, blocks.run_ends
        self.node_tags = (blocks.tag_ends - blocks.tag_starts + 1).astype(np.float32)
        self.signatures = blocks.signatures
        self.good = np.where((self.words >= GOOD_WORDS) & (self.link_words * 3 < self.words), self.words, 0)
        self.counts = sums_before(np.array([self.words, self.link_words, self.good]))
        self.node_words, self.node_links, self.node_good = self.below(self.counts)
        around = [self.run_nodes]
        for _ in range(_LEVELS - 1):
            around.append(self.parents[around[-1]])
        self.around = np.array(around)
        """The node of each run and those above it, shape (4, n)."""
        kinds = self.signatures[self.around[:N_KINDS]]
        self.kinds = (kinds + np.arange(N_KINDS)[:, None] * (int(self.signatures.max()) + 1)).ravel()
        """Equal where nodes of one level have the same tag and class, shape (3 n,)."""
        self.kind_words = self.by_kind(self.words)

    def below(self, sums: FloatArray) -> Float32Array:
        """Sum over the subtree of every node, shape (..., m), what :func:`sums_before` has summed over runs."""
        return (sums[..., self.ends] - sums[..., self.starts]).astype(np.float32)

    def by_kind(self, values: Float32Array) -> FloatArray:
        """Sum the *values* of runs, shape (n,), over the nodes of each of the :attr:`kinds`."""
        return np.bincount(self.kinds, weights=np.concatenate([values] * N_KINDS)).astype(np.float64)


def sums_before(values: Float32Array) -> FloatArray:
    """Return the sums of *values*, shape (..., n), before each run and at the end, shape (..., n + 1)."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    values.cumsum(axis=-1, out=sums[..., 1:])
    return sums


def windowed(sums: FloatArray, reaches: Sequence[int]) -> Float32Array:
    """Return the sums within each of *reaches* runs on either side, of sums (..., n + 1) as shape (..., r, n)."""
    n = sums.shape[-1] - 1
    places, steps = np.arange(n), np.array(reaches)[:, None]
    after, before = np.minimum(places + (steps + 1), n), np.maximum(places - steps, 0)
    return (sums[..., after] - sums[..., before]).astype(np.float32)


def features(blocks: Blocks, columns: Columns) -> Float32Array:
    """Return one row per feature and one column per run, shape (f, n), in a fixed order."""
    rows = np.empty((N_FEATURES, len(columns.words)), np.float32)
    _shape(blocks, columns, rows[:13])
    _neighbours(columns, rows[7], rows[13:29])
    _page(columns, rows[29:39])
    _around(columns, rows[39:72])
    _hints(blocks, columns, rows[72:103])
    _core(columns, rows[103:115])
    _repetition(columns, rows[115:])
    return rows


def _shape(blocks: Blocks, columns: Columns, rows: Float32Array) -> None:
    words = columns.words
    texts = blocks.texts
    n = len(texts)
    whole = "\n".join(texts)
    ends = np.fromiter(map(_END_CLASSES.get, map(itemgetter(-1), texts), repeat(0)), np.float32, n)
    kinds = np.array([_TAG_CLASSES.get(tag, 0) for tag in blocks.tags])
    tag_class = kinds[columns.signatures[columns.run_nodes]]
    rows[0] = words
    rows[1] = blocks.chars / words
    rows[2] = columns.link_words / words
    rows[3] = blocks.links
    rows[4] = blocks.run_tags / words
    rows[5] = ends
    rows[6] = np.fromiter(map(_start_class, map(itemgetter(0), texts)), np.float32, n)
    rows[7] = (tag_class == 1) + 2 * (tag_class == 4)
    rows[8] = tag_class
    rows[9] = ends == 1
    rows[10:12] = 0
    for row, mark in _MARKS:
        if mark in whole:  # most pages have few of them
            rows[row] += np.fromiter(map(str.count, texts, repeat(mark)), np.float32, n)
    rows[10] /= words
    rows[12] = words - columns.link_words


_MARKS = ((9, ". "), (9, "? "), (10, ","), (11, "|"), (11, "»"), (11, "©"), (11, ">"))
_END_CLASSES = {".": 1, "!": 1, "?": 1, '"': 1, "”": 1, "。": 1, ":": 2, ",": 3, ")": 4, ">": 5, "»": 5, "|": 5, "…": 6}


@lru_cache(maxsize=4096)
def _start_class(character: str) -> int:
    if character.isupper():
        return 1
    if character.islower():
        return 2
    return 3 if character.isdigit() else 0


def _neighbours(columns: Columns, kind: Float32Array, rows: Float32Array) -> None:
    n = len(columns.words)
    padded = np.zeros((3, n + 4), np.float32)  # nothing stands beyond the page
    padded[:, 2:-2] = columns.words, columns.link_words / columns.words, kind
    for row, start in ((0, 0), (2, 1), (4, 3), (6, 4)):
        rows[row : row + 2] = padded[:2, start : start + n]
    rows[8], rows[9] = padded[2, 1:-3], padded[2, 3:-1]
    words, links, good = windowed(columns.counts, _REACHES)
    rows[10::2] = (words - links) / _REACHED
    rows[11::2] = good / words


_REACHES = (3, 8, 20)
_REACHED = 2 * np.array(_REACHES, np.float32)[:, None] + 1


def _page(columns: Columns, rows: Float32Array) -> None:
    n = len(columns.words)
    words, links, good = columns.counts[:, -1]
    rows[0] = np.arange(n)
    rows[1] = np.arange(n, 0, -1)
    rows[2] = columns.counts[0, :-1] / words
    rows[3] = columns.counts[2, :-1] / max(good, 1)
    rows[4] = (good - columns.counts[2, 1:]) / max(good, 1)
    rows[5:] = np.array([words, n, links / words, good / words, columns.words.max()])[:, None]


def _around(columns: Columns, rows: Float32Array) -> None:
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
    rows[0] = columns.depths[columns.run_nodes]
    by_level(rows[1:])[:] = per_node[:, columns.around]


def by_level(rows: Float32Array, levels: int = _LEVELS) -> Float32Array:
    """Return *rows*, ordered by level and then by what they say, as a view of shape (what, levels, n)."""
    return rows.reshape(levels, -1, rows.shape[-1]).swapaxes(0, 1)


def _hints(blocks: Blocks, columns: Columns, rows: Float32Array) -> None:
    """0: nowhere above; 1: far above; 2: within three levels; 3: the block itself."""
    own = blocks.hints[columns.around[:3]]
    inherited = blocks.inherited_hints[columns.run_nodes]
    masks = np.array([own[0], own[0] | own[1] | own[2], inherited]).astype("<u4")
    bits = np.unpackbits(masks.view(np.uint8).reshape(3, -1, 4), axis=2, bitorder="little")
    rows[:] = bits.sum(axis=0, dtype=np.uint8).T[:N_BITS]


def _core(columns: Columns, rows: Float32Array) -> None:
    """How far a run stands from the smallest node with half, and with four fifths, of the page's running text."""
    source = columns.node_good if columns.node_good[0] else columns.node_words
    densities = (columns.node_words - columns.node_links) / columns.node_tags
    sums = np.bincount(columns.parents[1:], weights=densities[1:], minlength=len(densities))
    # The holders of more than half are one path, the last is the deepest.
    half, most = (int(np.flatnonzero(source >= share * source[0])[-1]) for share in (0.5, 0.8))
    _meeting(columns, [half, most, int(sums.argmax())], rows)


def _meeting(columns: Columns, nodes: list[int], rows: Float32Array) -> None:
    """For each of *nodes* four rows: the levels from it up to where each run's path meets its own, the share of the
    page's text there, the levels from there down to the run, and how many runs lie between.
    """
    place = np.arange(len(columns.words))
    paths = _paths(columns.parents, nodes)
    starts, ends = columns.starts[paths][..., None], columns.ends[paths][..., None]
    # Up a path starts fall and ends rise: the nodes of it that do not hold a run are its first ones.
    steps = ((starts > place) | (ends <= place)).sum(axis=1)
    shares = np.zeros((len(nodes), paths.shape[1] + 1), np.float32)
    shares[:, :-1] = columns.node_words[paths] / max(columns.node_words[0], 1)
    views = by_level(rows, len(nodes))
    views[0] = steps
    views[1] = shares[np.arange(len(nodes))[:, None], steps]
    views[2] = columns.depths[columns.run_nodes] - columns.depths[nodes][:, None] + steps
    views[3] = np.minimum(place - starts[:, 0], 0) + np.maximum(place - ends[:, 0] + 1, 0)


def _paths(parents: IntArray, nodes: list[int]) -> IntArray:
    """The nodes from each of *nodes* up to the root, the root repeated behind the end of shorter paths."""
    paths = []
    for node in nodes:
        paths.append([node])
        while paths[-1][-1] and len(paths[-1]) < _MAX_PATH:
            paths[-1].append(int(parents[paths[-1][-1]]))
    longest = max(map(len, paths))
    return np.array([path + [0] * (longest - len(path)) for path in paths], np.intp)


_MAX_PATH = 64


def _repetition(columns: Columns, rows: Float32Array) -> None:
    nodes = columns.around[:N_KINDS]
    # Siblings of equal tag and class: one key per (parent, signature).
    keys = columns.parents * (int(columns.signatures.max()) + 1) + columns.signatures
    ordered = np.sort(keys)
    siblings = ordered.searchsorted(keys, "right") - ordered.searchsorted(keys)
    views = by_level(rows, N_KINDS)
    views[0] = np.bincount(columns.signatures)[columns.signatures[nodes]]
    views[1] = siblings[nodes]
    flat = columns.kinds
    runs = np.bincount(flat)
    safe = np.maximum(columns.kind_words, 1)
    for view, values in (
        (views[2], columns.kind_words / np.maximum(runs, 1)),
        (views[3], columns.by_kind(columns.link_words) / safe),
        (views[4], columns.by_kind(columns.good) / safe),
    ):
        view[:] = values[flat].reshape(N_KINDS, -1)
