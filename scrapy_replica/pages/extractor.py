"""Main text of a page by learning: a small model judges blocks, a second look sees the first scores around each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_replica.pages.block_features import Columns, by_level, features, sums_before, windowed
from scrapy_replica.pages.blocks import Blocks, read_blocks
from scrapy_replica.pages.trees import BlendedModel, clipped, signed_logarithms

if TYPE_CHECKING:
    from lxml import etree
    from numpy.typing import NDArray

    from scrapy_replica.numeric import Float32Array


ARTICLE_LOG_ODDS = -0.75
"""Added on pages that declare themselves one article: teasers and comments around it look like the text that listings,
forums and old pages are made of. On sets not learned from it brings .9 of 100 in word F1 to news and costs .5 on pages
of all kinds; on halves of sets learned from, 1.2 to 1.8 to news and costs less than .1."""
OTHER_LOG_ODDS = 0.4
"""Added on pages that declare themselves anything else (website, product, profile): their main text is lists and cards
as well. On halves of sets learned from it brings such pages .8 of 100 in word F1 (.75: .2; on a set of pages of all
kinds not learned from, .75 is better)."""
N_SECOND = 34
_REACHES = (2, 5, 15)
MODEL_FILE = Path(__file__).with_name("extractor.npz")


@dataclass(frozen=True, slots=True)
class Extractor:
    """Two small models; the second may be missing."""

    first: BlendedModel
    second: BlendedModel | None = None

    def probabilities(self, blocks: Blocks) -> Float32Array:
        """Return the expected share of main text of every run of *blocks*, which has at least one, shape (n,)."""
        columns = Columns(blocks)
        rows = features(blocks, columns)
        logarithms = signed_logarithms(rows)
        log_odds = self.first.log_odds(rows, logarithms)
        if self.second is not None:
            seen = second_look(columns, probability(log_odds))
            both = np.concatenate([logarithms, signed_logarithms(seen)])
            log_odds = self.second.log_odds(np.concatenate([rows, seen]), both)
        return probability(log_odds + declared_log_odds(blocks.declared))


def declared_log_odds(declared: str) -> float:
    """Return what is added to the log odds of all runs of a page that says of itself that it is *declared*."""
    if not declared:
        return 0.0
    return ARTICLE_LOG_ODDS if "article" in declared else OTHER_LOG_ODDS


@cache
def shipped() -> Extractor:
    """Return the extractor that comes with the package, read once."""
    with np.load(MODEL_FILE, allow_pickle=False) as arrays:
        return Extractor(BlendedModel.from_arrays(arrays, "first_"), BlendedModel.from_arrays(arrays, "second_"))


class Texts(NamedTuple):
    """The text that a page shows: a line per block, white space folded."""

    main: str
    """Empty if there is none."""
    around: str = ""
    """All other text, sidebars and footers, but for blocks of links: menus and pagers differ from page to page."""
    is_whole: bool = True
    """Whether no part of the page was left out for its size."""


def texts(root: etree._Element, extractor: Extractor | None = None) -> Texts:
    """Return the main text of the page parsed as *root*, and the text around it.

    Linear in the size of the page; the tree is not changed.
    """
    blocks = read_blocks(root)
    if not blocks.texts:
        return Texts("", is_whole=blocks.is_whole)
    kept = kept_runs(blocks, extractor or shipped()).tolist()
    main = (text for text, is_main in zip(blocks.texts, kept, strict=True) if is_main)
    is_told = (blocks.link_words < blocks.words).tolist()
    around = (text for text, is_main, told in zip(blocks.texts, kept, is_told, strict=True) if told and not is_main)
    return Texts("\n".join(main), "\n".join(around), blocks.is_whole)


def whole_text(root: etree._Element) -> Texts:
    """Return all text that the page parsed as *root* shows, as its main text."""
    blocks = read_blocks(root)
    return Texts("\n".join(blocks.texts), is_whole=blocks.is_whole)


def kept_runs(blocks: Blocks, extractor: Extractor) -> NDArray[np.bool_]:
    """Return which runs of *blocks* are main text, shape (n,); at least one."""
    if len(blocks.texts) == 1:
        return np.ones(1, dtype=bool)
    scores = extractor.probabilities(blocks)
    kept = np.zeros(len(scores), dtype=bool)
    kept[best_cut(scores, blocks.words.astype(np.float32))] = True
    return kept


def best_cut(scores: Float32Array, words: Float32Array) -> NDArray[np.intp]:
    """Return the runs, best first, whose keeping maximises the expected F1 over words.

    Of every prefix of the runs by score: ``2 sum(p w) / (sum of kept w + sum of all p w)``. Each page gets its own
    threshold, and no page comes out empty.
    """
    if not len(scores):
        return np.zeros(0, dtype=np.intp)
    order = (-scores).argsort(kind="stable")
    ordered = words[order]
    hits = (scores[order] * ordered).cumsum()
    expected = 2 * hits / (ordered.cumsum() + hits[-1])
    return order[: int(expected.argmax()) + 1]


def probability(log_odds: Float32Array) -> Float32Array:
    return (1 / (1 + np.exp(-clipped(log_odds, 30)))).astype(np.float32)


def second_look(columns: Columns, scores: Float32Array) -> Float32Array:
    """Return what the first *scores*, shape (n,), say around every run, shape (f, n)."""
    n, words = len(scores), columns.words
    hits = scores * words
    sums = sums_before(hits)
    total = max(float(sums[-1]), 1e-6)
    below = columns.below(sums)
    rows = np.empty((N_SECOND, n), np.float32)
    rows[0] = scores
    padded = np.zeros(n + 6, np.float32)
    padded[3:-3] = scores
    for row, start in enumerate((0, 1, 2, 4, 5, 6), 1):
        rows[row] = padded[start : start + n]
    rows[7:10] = windowed(sums, _REACHES) / windowed(columns.counts[0], _REACHES)
    expected_f1 = 2 * below / (columns.node_words + total)
    per_node = np.array([below / np.maximum(columns.node_words, 1), below / total, expected_f1])
    by_level(rows[10:22])[:] = per_node[:, columns.around]
    means = columns.by_kind(hits) / np.maximum(columns.kind_words, 1e-6)
    rows[22:25] = means[columns.kinds].reshape(-1, n)
    _cut_place(scores, words, rows[25:30])
    best = int(expected_f1.argmax())
    rows[30] = 0
    rows[30, columns.starts[best] : columns.ends[best]] = 1
    rows[31:] = np.array([expected_f1[best], total / columns.counts[0, -1], scores.max()])[:, None]
    return rows


def _cut_place(scores: Float32Array, words: Float32Array, rows: Float32Array) -> None:
    """Where the first scores alone would cut: the distance to that score, and to the first and last run kept."""
    kept = best_cut(scores, words)
    place = np.arange(len(scores))
    inside = np.zeros_like(scores)
    inside[kept] = 1
    rows[0] = scores - scores[kept[-1]]
    rows[1] = place - kept.min()
    rows[2] = kept.max() - place
    rows[3:] = windowed(sums_before(inside), (2, 10))
