"""Main text of a page, noise removed: content extraction via text density (CETD).

Sun, Song, Liao: DOM based content extraction via text density, SIGIR 2011.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from scrapy_replica.pages.text_tree import TextTree, read_text_tree

if TYPE_CHECKING:
    from lxml import etree
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]


def main_text(root: etree._Element) -> str:
    """Return the main text of the page parsed as *root*: a line per block, white space folded, empty if there is none.

    Linear in the size of the page; the tree is not changed.
    """
    tree = read_text_tree(root)
    return tree.text(content_entries(tree))


def composite_text_densities(tree: TextTree) -> FloatArray:
    """Return the composite text density of every entry of *tree*, shape (n,), all >= 0 (equation 3 of the paper).

    ``C/T * log_base((C/LC) * (T/LT))`` with ``base = ln((C/nLC) * LC + (LC_body/C_body) * C + e)``; a denominator that
    is 0, the logarithm of the base included, is taken as 1, and so is the number of tags below a leaf.
    """
    chars = np.array(tree.chars, dtype=np.float64)
    link_chars = np.array(tree.link_chars, dtype=np.float64)
    tags = np.array(tree.ends, dtype=np.float64) - np.arange(1, len(tree.ends) + 1)
    tags = np.maximum(tags, 1)
    link_tags = np.maximum(np.array(tree.link_tags, dtype=np.float64), 1)
    body_link_share = link_chars[0] / max(chars[0], 1)
    base = np.log(chars / np.maximum(chars - link_chars, 1) * link_chars + body_link_share * chars + math.e)
    log_base = np.log(base)
    log_base[log_base == 0] = 1
    # An entry without text has density 0 whatever its logarithm, so the argument may be taken as 1.
    argument = np.maximum(chars / np.maximum(link_chars, 1) * (tags / link_tags), 1)
    densities: FloatArray = chars / tags * np.log(argument) / log_base
    return densities


def density_sums(tree: TextTree, densities: FloatArray) -> FloatArray:
    """Return the sum of the *densities* of each entry's children, shape (n,) (equation 4)."""
    parents = np.array(tree.parents[1:], dtype=np.intp)
    return np.bincount(parents, weights=densities[1:], minlength=len(densities)).astype(np.float64)


def content_entries(tree: TextTree) -> list[int]:
    """Return the entries that are content, ascending; a subtree counts whole.

    The threshold is the smallest density on the path from the entry with the largest density sum up to the body;
    every entry that reaches it hands over its descendant, or itself, with the largest density sum.
    """
    if not tree.chars[0]:
        return []
    densities = composite_text_densities(tree)
    sums = density_sums(tree, densities)
    threshold = densities[0]
    entry = int(np.argmax(sums))
    while entry > 0:
        threshold = min(threshold, densities[entry])
        entry = tree.parents[entry]
    best = _largest_below(tree.parents, sums.tolist())
    return sorted({best[passing] for passing in np.flatnonzero(densities >= threshold).tolist()})


def _largest_below(parents: list[int], sums: list[float]) -> list[int]:
    """Return, for every entry, the entry of its subtree with the largest sum, the first in document order if several."""
    best = list(range(len(parents)))
    for entry in range(len(parents) - 1, 0, -1):
        parent = parents[entry]
        candidate, rival = best[entry], best[parent]
        # Later siblings came first, so the earlier one wins a tie; the parent itself stands before both.
        if sums[candidate] > sums[rival] or (sums[candidate] == sums[rival] and rival != parent):
            best[parent] = candidate
    return best
