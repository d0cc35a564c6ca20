"""What an archive takes, part by part, beside the codes of Orlandi (2007) and the entropy of its numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from scrapy_replica.lab.archives.batch import Batch, joined
from scrapy_replica.lab.archives.direct import block, codes
from scrapy_replica.lab.archives.direct.archive import DirectArchive
from scrapy_replica.numeric import IntArray

PUBLISHED = 268
"""Bytes a page of Orlandi (2007): 25 GiB for 10^8 pages with URL map and term map, without graph (p. 42)."""

SKIP = 32
"""Documents between two skips (p. 31)."""

MOST_PAGES = 100_000
"""Pages, in blocks from all over the archive, that columns and codes are computed of."""

PARTS: dict[str, str | tuple[str, ...]] = {
    "terms, counts, links": "pages",
    "URLs": "urls.st",
    "numbers of URLs": "urls.numbers",
    "vocabulary": "vocabulary",
    "hosts, labels, seeds": ("hosts", "labels", "archive"),
    "anchor texts": "anchor",
    "titles": "titles",
}
"""Part -> how the names of its files begin."""

BESIDE = ("anchor texts", "titles")
"""Parts that Orlandi's archives have not."""


class Column(NamedTuple):
    """One column in bytes a page: packed alone, in Orlandi's code, and the entropy of its numbers."""

    ours: float
    code: float
    entropy: float
    code_name: str


class Columns(NamedTuple):
    """The columns of an archive and the laws of its numbers."""

    sizes: dict[str, Column]
    bound: float
    """Bytes a page that theorem 1 allows terms with their counts and lengths."""
    exponents: dict[str, float]
    """Of the power laws of ``terms`` (occurrences by rank), ``gaps`` and ``lengths`` (occurrences in a document)."""
    lengths: IntArray
    """Occurrences in each document that has any."""


def parts(archive: DirectArchive) -> dict[str, float]:
    """Return the bytes a page that each part takes on the disk."""
    found = dict.fromkeys(PARTS, 0)
    for file in archive.folder.iterdir():
        for part, begins in PARTS.items():
            found[part] += file.stat().st_size * file.name.startswith(begins)
    return {part: size / max(1, len(archive)) for part, size in found.items()}


def columns(archive: DirectArchive, progress: Callable[[list[int]], Iterable[int]] = iter) -> Columns:
    """Return what single columns take. Raises ``ValueError`` if no page has a term."""
    stride = max(1, len(archive) // MOST_PAGES)
    ours, batches, numbers = Counter[str](), list[Batch](), list[IntArray]()
    for place in progress(list(range(0, archive.blocks, stride))):
        batch, first = archive.batch(place), place * block.PAGES
        ours.update({name: len(block.pack(raw)) for name, raw in block.columns(batch, first).items()})
        batches.append(batch)
        numbers.append(np.arange(first, first + len(batch)))
    pages = joined(batches) if batches else None
    if pages is None or not len(pages.term_ids):
        raise ValueError(f"{archive.folder}: no page has a term, so there is nothing to code")
    coded = _coded(pages, np.concatenate(numbers))
    sizes = {
        name: Column(ours[name] / len(pages), bits / 8 / len(pages), least / 8 / len(pages), code)
        for name, (code, bits, least) in coded.items()
    }
    return Columns(sizes, *_laws(pages, len(archive.vocabulary)))


def _coded(pages: Batch, numbers: IntArray) -> dict[str, tuple[str, float, float]]:
    """Return column -> name of Orlandi's code, bits in it, entropy (p. 41)."""
    n_terms, gaps, counts = np.diff(pages.term_start), _gaps(pages), pages.term_counts.astype(np.int64)
    lengths, terms, of_counts = codes.zeta(n_terms + 1, 3), codes.zeta(gaps, 2), codes.gamma(counts)
    document = lengths + _row_sums(pages.term_start, terms + of_counts)
    jumps = np.add.reduceat(document, np.arange(0, len(document), SKIP))
    # Numbers without gaps take one bit of Golomb's code each, and their skips are all of one length.
    skips = (
        len(jumps) * int(codes.golomb(np.array([SKIP]), codes.golomb_parameter(1 / SKIP))[0])
        + codes.zeta(jumps, 3).sum()
    )
    steps = block.folded(block.steps(pages.link_start, pages.targets, numbers))
    return {
        "terms": ("zeta_2 of gaps", terms.sum(), codes.entropy(gaps)),
        "counts": ("gamma", of_counts.sum(), codes.entropy(counts)),
        "links": ("zeta_3 of gaps", successors(pages, numbers).sum(), codes.entropy(steps)),
        "lengths": ("zeta_3, Golomb", lengths.sum() + len(pages) + skips, codes.entropy(n_terms)),
    }


def successors(pages: Batch, numbers: IntArray) -> IntArray:
    """Return the bits of each page's links as WebGraph codes those of a page that copies no other's.

    Out-degree in gamma, sorted targets as gaps in zeta_3, the first against the page's own number. *numbers*: those of
    the pages. The order of the links is lost.
    """
    rows = np.repeat(np.arange(len(pages)), np.diff(pages.link_start))
    by_target = np.lexsort((pages.targets, rows))
    gaps = block.steps(pages.link_start, pages.targets[by_target], numbers)
    begins = pages.link_start[:-1][np.diff(pages.link_start) > 0]
    gaps[begins] = block.folded(gaps[begins]) + 1
    return codes.gamma(np.diff(pages.link_start) + 1) + _row_sums(pages.link_start, codes.zeta(gaps, 3))


def _laws(pages: Batch, n_terms: int) -> tuple[float, dict[str, float], IntArray]:
    gaps, counts = _gaps(pages), pages.term_counts.astype(np.int64)
    lengths = _row_sums(pages.term_start, counts)
    lengths = lengths[lengths > 0]
    values, times = np.unique(gaps, return_counts=True)
    exponents = {
        "terms": codes.exponent(pages.term_ids.astype(np.int64) + 1, counts, n_terms),
        "gaps": codes.exponent(values, times, n_terms),
        "lengths": codes.exponent(lengths, np.ones_like(lengths), int(lengths.max())),
    }
    finite = [exponents[name] if math.isfinite(exponents[name]) else 0.0 for name in ("lengths", "terms")]
    bound = codes.archive_bound(lengths, int(lengths.max()), finite[0], n_terms, finite[1])
    return bound / 8 / len(pages), exponents, lengths


def _gaps(pages: Batch) -> IntArray:
    """Steps from term to term, from 1; the first of a page from before term 0."""
    return block.steps(pages.term_start, pages.term_ids, np.full(len(pages), -1))


def _row_sums(start: IntArray, column: IntArray) -> IntArray:
    return np.diff(np.concatenate([[0], np.cumsum(column)])[start])
