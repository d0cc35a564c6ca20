"""The statistics of a collection, real or generated, by which the one is held against the other."""

from __future__ import annotations

from dataclasses import dataclass

import mmh3
import numpy as np

from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.arrays import ragged
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

RANKS = (1, 10, 100, 1_000, 10_000)
SHARED = 0.2
"""A link that more than this share of a host's pages have belongs to its navigation."""
STEPS = 6
LEAST_RELEVANT = 30
TOPICS = 6
"""Largest topics of at most a tenth of the pages that figures are the mean of."""


@dataclass
class _Columns:
    """All links and what is counted of the terms, read in one pass."""

    source: IntArray
    target: IntArray
    distinct: IntArray
    words: IntArray
    once: int
    frequency: IntArray
    duplicates: int
    directory: IntArray
    """Of each page, numbered as they come."""


def statistics(documents: Documents) -> dict[str, float]:
    """Return the figures of *documents*: shares are 0..1, exponents those of discrete power laws."""
    columns = _read(documents)
    return {
        **_of_hosts(documents, columns.directory),
        **_of_links(documents, columns),
        **_of_terms(len(documents), columns),
        **_of_topics(documents, columns),
    }


def exponent(values: IntArray, least: int) -> float:
    """Return the exponent of a discrete power law of the *values* from *least* on (Clauset 2009, eq. 3.7)."""
    tail = values[values >= least]
    return float(1 + len(tail) / np.log(tail / (least - 0.5)).sum()) if len(tail) else float("nan")


def _read(documents: Documents) -> _Columns:
    first, once, n = 0, 0, len(documents)
    sources, targets, distinct, words = [], [], [], []
    numbers, directory = dict[str, int](), np.zeros(n, np.int64)
    frequency, texts = np.zeros(len(documents.vocabulary), np.int64), np.zeros(n, np.uint64)
    for batch in documents.batches():
        sources.append(np.repeat(np.arange(first, first + len(batch)), np.diff(batch.link_start)))
        targets.append(batch.targets.astype(np.int64))
        distinct.append(np.diff(batch.term_start))
        sums = np.concatenate([[0], np.cumsum(batch.term_counts.astype(np.int64))])
        words.append(np.diff(sums[batch.term_start]))
        once += int((batch.term_counts == 1).sum())
        names = (url.partition("?")[0].rpartition("/")[0] for url in batch.urls)
        directory[first : first + len(batch)] = [numbers.setdefault(name, len(numbers)) for name in names]
        frequency += np.bincount(batch.term_ids, minlength=len(frequency))
        for row, (start, stop) in enumerate(
            zip(batch.term_start[:-1].tolist(), batch.term_start[1:].tolist(), strict=True)
        ):
            text = batch.term_ids[start:stop].tobytes() + batch.term_counts[start:stop].tobytes()
            texts[first + row] = mmh3.hash64(text, signed=False)[0]
        first += len(batch)
    links = np.concatenate(sources), np.concatenate(targets)
    duplicates = n - len(np.unique(texts))
    return _Columns(*links, np.concatenate(distinct), np.concatenate(words), once, frequency, duplicates, directory)


def _of_hosts(documents: Documents, directory: IntArray) -> dict[str, float]:
    pages = np.bincount(documents.host_numbers)
    sizes = np.bincount(directory)
    return {
        "pages": len(documents),
        "hosts": len(pages),
        "host.exponent": exponent(pages, 10),
        "host.largest": float(pages.max() / len(documents)),
        "directory.pages": float(sizes.mean()),
        "directory.exponent": exponent(sizes, 5),
    }


def _of_links(documents: Documents, columns: _Columns) -> dict[str, float]:
    n, source, target = len(documents), columns.source, columns.target
    host, directory = documents.host_numbers, columns.directory
    out, into = np.bincount(source, minlength=n), np.bincount(target, minlength=n)
    links = max(1, len(source))
    within = host[source] == host[target]
    # How many pages of the source's host have the same link.
    _, place, times = np.unique(host[source].astype(np.int64) * n + target, return_inverse=True, return_counts=True)
    of_host = np.bincount(host)[host[source]]
    back = np.isin(target * n + source, source * n + target).sum()
    return {
        "links.mean": float(out.mean()),
        **{f"links.p{share}": float(np.percentile(out, share)) for share in (50, 90, 99)},
        "links.none": float((out == 0).mean()),
        "links.exponent": exponent(out, 20),
        "links_to.p99": float(np.percentile(into, 99)),
        "links_to.exponent": exponent(into, 10),
        "links.in_host": float(within.sum() / links),
        "links.in_directory": float((directory[source] == directory[target]).sum() / links),
        "links.navigation": float((times[place] > SHARED * of_host).sum() / links),
        "links.back": float(back / links),
        "reached": float((distances(n, source, target, np.isin(np.arange(n), documents.seeds), n) >= 0).mean()),
    }


def _of_terms(n: int, columns: _Columns) -> dict[str, float]:
    shares = -np.sort(-columns.frequency) / n
    return {
        "terms.mean": float(columns.distinct.mean()),
        "terms.p50": float(np.median(columns.distinct)),
        "words.mean": float(columns.words.mean()),
        "terms.once": float(columns.once / max(1, columns.distinct.sum())),
        **{f"terms.rank_{rank}": float(shares[rank - 1]) for rank in RANKS if rank <= len(shares)},
        "terms.in_one_page": float((columns.frequency == 1).sum() / max(1, (columns.frequency > 0).sum())),
        "duplicates": columns.duplicates / n,
    }


def _of_topics(documents: Documents, columns: _Columns) -> dict[str, float]:
    """The mean over topics of how relevant pages lie to each other."""
    n = len(documents)
    sizes = {name: len(pages) for name, pages in documents.labels.items() if LEAST_RELEVANT <= len(pages) <= n / 10}
    chosen = sorted(sizes, key=lambda name: -sizes[name])[:TOPICS]
    rows = [_of_topic(documents, columns, documents.relevant(name)) for name in chosen]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]} if rows else {}


def _of_topic(documents: Documents, columns: _Columns, relevant: BoolArray) -> dict[str, float]:
    source, target, n = columns.source, columns.target, len(documents)
    directory = columns.directory
    sizes, found = np.bincount(directory), np.bincount(directory[relevant])
    full = found > 0.5 * sizes[: len(found)]
    distance = distances(n, target, source, relevant, STEPS)
    profile: FloatArray = np.bincount(distance[distance >= 0], minlength=STEPS + 1) / n
    from_relevant, to_relevant = relevant[source], relevant[target]
    return {
        "topic.share": float(relevant.mean()),
        "topic.after_relevant": float(to_relevant[from_relevant].mean()) if from_relevant.any() else 0.0,
        "topic.after_other": float(to_relevant[~from_relevant].mean()) if (~from_relevant).any() else 0.0,
        "topic.in_full_directories": float(found[full].sum() / relevant.sum()),
        **{f"topic.distance_{steps}": float(profile[steps]) for steps in range(1, STEPS + 1)},
    }


def distances(n: int, source: IntArray, target: IntArray, begin: BoolArray, most: int) -> IntArray:
    """Return the links from the nearest of *begin* to each page, at most *most*; -1 beyond."""
    by_source = np.argsort(source, kind="stable")
    ends, target = np.searchsorted(source[by_source], np.arange(n + 1)), target[by_source]
    distance = np.where(begin, 0, -1)
    border = np.flatnonzero(begin)
    for step in range(1, most + 1):
        found = np.unique(target[ragged(ends[border], ends[border + 1] - ends[border])])
        border = found[distance[found] < 0]
        if not len(border):
            break
        distance[border] = step
    return distance
