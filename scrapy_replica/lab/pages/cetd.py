"""CETD with the density sum as two sources define it, beside the sum that the crawl uses (``pages.noise``).

Sun, Song, Liao 2011 (*DOM based content extraction via text density*, SIGIR, equation 4) sum the composite densities of
an element's children. Lutz 2013 (*Descoberta de ruido em paginas da web oculta*, p. 37) prints that equation and says
in words that the densities of all *descendants* are summed. Neither counts the text between the children.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_replica.pages.noise import composite_text_densities, count, dense_entries, density_sums
from scrapy_replica.pages.text_tree import TextTree, read_text_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml import etree

    from scrapy_replica.numeric import FloatArray

    Sums = Callable[[TextTree, FloatArray], FloatArray]


def descendant_sums(tree: TextTree, densities: FloatArray) -> FloatArray:
    """Return the sum of the *densities* of each entry's descendants, shape (n,), the entry itself not counted."""
    below = np.concatenate([[0], np.cumsum(densities)])
    sums: FloatArray = below[tree.ends] - below[1:]
    return sums


def children_text(root: etree._Element) -> str:
    """Return the main text by the sum over children (Sun, Song, Liao 2011)."""
    return _text(root, density_sums)


def descendants_text(root: etree._Element) -> str:
    """Return the main text by the sum over descendants (Lutz 2013, p. 37): all that the page shows.

    *Reading*: the rest of the algorithm is the paper's. No element has a larger sum than the body, of which all others
    are descendants: so the threshold is the body's density, the body reaches it, and hands over itself. With the sum
    as printed nothing is noise, and the figures of table 4.1 there cannot come from it.
    """
    return _text(root, descendant_sums)


def _text(root: etree._Element, sums: Sums) -> str:
    tree = read_text_tree(root)
    counts = count(tree)
    if not counts.chars[0]:
        return ""
    densities = composite_text_densities(counts)
    return tree.text(dense_entries(tree, densities, sums(tree, densities)))
