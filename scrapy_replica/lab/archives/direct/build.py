"""Builds direct archives of what was crawled: of captured pages, or of a collection in memory.

Stop words and terms of few pages are left out as by Orlandi (2007, p. 42): those in 12 % of the pages or more, and
those in fewer than 1,000 of 10^8 pages, in place of which there are 2 here, whatever the pages.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urljoin

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.archives.batch import Batch
from scrapy_replica.lab.archives.collection import Collection
from scrapy_replica.lab.archives.direct.writer import Writer, begun
from scrapy_replica.numeric import IntArray
from scrapy_replica.records import Page
from scrapy_replica.warc.archive import Record
from scrapy_replica.warc.archive_index import requested_form, url_key

MOST_SHARE = 0.12
"""Share of the pages from which on a term is left out (p. 42)."""

LEAST_PAGES = 2
"""Pages below which a term is left out."""

AT_ONCE = 512
"""Pages that are held in memory before they are written."""

REDIRECTS = 5
"""Redirects that are followed from a link to a page."""


class Kept(NamedTuple):
    """Which terms stay."""

    least_pages: int = LEAST_PAGES
    most_share: float = MOST_SHARE

    def ranks(self, frequencies: IntArray, pages: int) -> IntArray:
        """Return each term's rank by the pages that it is in, -1 for those left out."""
        is_rare, is_common = frequencies < self.least_pages, frequencies >= self.most_share * pages
        is_kept = ~is_rare & ~is_common if self.most_share < 1 else ~is_rare
        order = np.argsort(-frequencies, kind="stable")
        order = order[is_kept[order]]
        ranks = np.full(len(frequencies), -1, dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


def from_collection(collection: Collection, folder: Path, kept: Kept) -> None:
    """Write a collection in memory."""
    frequencies = np.bincount(collection.columns.term_ids, minlength=len(collection.vocabulary))
    ranks = kept.ranks(frequencies, len(collection))
    words = _ordered(collection.vocabulary, ranks)
    with Writer(folder, words, collection.anchor_texts) as writer:
        for first in range(0, len(collection), AT_ONCE):
            batch = collection.columns.part(first, min(first + AT_ONCE, len(collection)))
            writer.add(batch.with_terms(ranks[batch.term_ids]))
        writer.finish(collection.seeds.tolist(), collection.labels)


def _ordered(words: Sequence[str], ranks: IntArray) -> list[str]:
    kept = np.flatnonzero(ranks >= 0)
    return [words[number] for number in kept[np.argsort(ranks[kept])].tolist()]


@dataclass
class Told:
    """What there was beside the pages that were written."""

    duplicates: int = 0
    """Captures of a URL that was there already."""
    bad: int = 0
    """Captures that no page could be made of."""
    redirects: int = 0
    others: int = 0
    """Captures of other statuses."""
    terms: int = 0
    """Distinct ones, before some were left out."""


def from_captures(
    records: Iterable[Record],
    page_of: Callable[[Record], Page],
    folder: Path,
    labels: Mapping[str, Iterable[str]],
    seeds: Sequence[str],
    kept: Kept,
) -> Told:
    """Write captured pages in their order, of a URL the first; links that redirects lead on are followed.

    *labels*: label -> URLs; *seeds*: URLs, by default the first page. Two passes: the pages wait beside *folder* until
    the terms and the numbers of all are known; what is held in memory are all terms and anchor texts, once each, and
    about 100 bytes a page. Raises ``ValueError`` if there is no page, or a seed is none.
    """
    begun(folder)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as waiting:
        taken = _Taken(Path(waiting), page_of)
        for record in records:
            taken.take(record)
        taken.put_away()
        _write(taken, folder, labels, seeds, kept)
    return taken.told


def _write(taken: _Taken, folder: Path, labels: Mapping[str, Iterable[str]], seeds: Sequence[str], kept: Kept) -> None:
    pages = _Numbers(taken)
    if not len(pages):
        raise ValueError("no capture is a page with status 200")
    chosen = pages.of_urls(seeds) if seeds else np.zeros(1, np.int64)
    if (chosen < 0).any():
        raise ValueError(f"the seed {seeds[int(np.argmin(chosen))]} is no page of the captures")
    numbers = {label: pages.of_urls(urls) for label, urls in labels.items()}
    ranks = kept.ranks(np.array(taken.frequencies), len(pages))
    linked = np.zeros(len(taken.anchors), dtype=np.int64)
    for batch in taken.batches():
        is_within = pages.of_keys(batch.targets) >= 0
        linked += np.bincount(np.asarray(batch.anchors)[is_within], minlength=len(linked))
    places = np.where(linked > 0, np.cumsum(linked > 0) - 1, -1)
    with Writer(folder, _ordered(list(taken.terms), ranks), _ordered(list(taken.anchors), places)) as writer:
        for batch in taken.batches():
            within = batch.with_terms(ranks[batch.term_ids]).with_targets(pages.of_keys(batch.targets))
            writer.add(replace(within, anchors=places[np.asarray(within.anchors)]))
        writer.finish(chosen.tolist(), {label: found[found >= 0] for label, found in numbers.items()})


@lru_cache(maxsize=1 << 16)
def _key(url: str) -> int:
    return int(np.uint64(url_key(requested_form(url))).astype(np.int64))


class _Taken:
    """The first pass: pages as they come, written to files of columns whose targets are keys of URLs."""

    def __init__(self, folder: Path, page_of: Callable[[Record], Page]) -> None:
        self.told, self.redirects, self.keys = Told(), dict[int, int](), array("q")
        self.terms, self.frequencies, self.anchors = dict[str, int](), array("q"), dict[str, int]()
        self._folder, self._page_of, self._seen, self._files = folder, page_of, set[int](), 0
        self._pages: list[Page] = []

    def take(self, record: Record) -> None:
        key = _key(record.url)
        if 300 <= record.status < 400:
            self._redirect(record, key)
        elif record.status != HTTPStatus.OK:
            self.told.others += 1
        elif key in self._seen:
            self.told.duplicates += 1
        else:
            self._take_page(record, key)

    def _redirect(self, record: Record, key: int) -> None:
        self.told.redirects += 1
        location = next((value for name, value in record.headers if name.lower() == b"location"), None)
        if location is not None:
            with suppress(ValueError):
                self.redirects.setdefault(key, _key(urljoin(record.url, location.decode("utf-8", "replace"))))

    def _take_page(self, record: Record, key: int) -> None:
        try:
            page = self._page_of(record)
        except Exception:  # noqa: BLE001 -- crawled bytes: whatever they bring about, the next page has its turn
            self.told.bad += 1
            return
        self._seen.add(key)
        self.keys.append(key)
        self._pages.append(page)
        if len(self._pages) == AT_ONCE:
            self.put_away()

    def put_away(self) -> None:
        """Write the pages that wait."""
        pages, self._pages = self._pages, []
        ids, counts, targets, anchors = array("q"), array("q"), array("q"), array("q")
        for page in pages:
            ids.extend(self.terms.setdefault(term, len(self.terms)) for term in page.terms)
            counts.extend(page.terms.values())
            targets.extend(_key(link.url) for link in page.links)
            anchors.extend(self.anchors.setdefault(link.text, len(self.anchors)) for link in page.links)
        self.frequencies.extend([0] * (len(self.terms) - len(self.frequencies)))
        for term in ids:
            self.frequencies[term] += 1
        self.told.terms = len(self.terms)
        np.savez(
            self._folder / f"{self._files}.npz",
            urls=_text([page.url.partition("#")[0] for page in pages]),
            titles=_text([page.title or "" for page in pages]),
            starts=np.cumsum([[0, 0], *((len(page.terms), len(page.links)) for page in pages)], axis=0),
            numbers=np.concatenate([ids, counts, targets, anchors]),
        )
        self._files += 1

    def batches(self) -> Iterator[Batch]:
        for number in range(self._files):
            with np.load(self._folder / f"{number}.npz") as columns:
                term_start, link_start = columns["starts"].T
                terms, links = int(term_start[-1]), int(link_start[-1])
                ids, counts, rest = np.split(columns["numbers"].astype(np.int64), [terms, 2 * terms])
                urls, titles = (columns[name].tobytes().decode("utf-8", "surrogatepass") for name in ("urls", "titles"))
            if len(term_start) > 1:
                yield Batch(
                    urls.split("\0"),
                    term_start,
                    ids,
                    counts,
                    link_start,
                    rest[:links],
                    rest[links:],
                    titles.split("\0"),
                )


def _text(strings: list[str]) -> NDArray[np.uint8]:
    joined = "\0".join(text.replace("\0", " ") for text in strings)
    return np.frombuffer(joined.encode("utf-8", "surrogatepass"), np.uint8)


class _Numbers:
    """Page numbers by the keys of URLs, redirects followed."""

    def __init__(self, taken: _Taken) -> None:
        self._keys, self._pages = np.array(taken.keys, dtype=np.int64), np.argsort(taken.keys)
        self._keys = self._keys[self._pages]
        self._from = np.array(sorted(taken.redirects), dtype=np.int64)
        self._to = np.array([taken.redirects[key] for key in self._from.tolist()], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def of_urls(self, urls: Iterable[str]) -> IntArray:
        return self.of_keys(np.array([_key(url) for url in urls], dtype=np.int64))

    def of_keys(self, keys: IntArray) -> IntArray:
        """Return the number of each page, -1 where there is none."""
        for _ in range(REDIRECTS):
            hops = _places(self._from, keys)
            leads_on = (hops >= 0) & (_places(self._keys, keys) < 0)
            keys = keys.copy()
            keys[leads_on] = self._to[hops[leads_on]]
        places = _places(self._keys, keys)
        found = np.full(len(keys), -1, dtype=np.int64)
        found[places >= 0] = self._pages[places[places >= 0]]
        return found


def _places(ordered: IntArray, keys: IntArray) -> IntArray:
    """Return where each key stands, -1 where it is missing."""
    at = np.searchsorted(ordered, keys)
    at[at == len(ordered)] = -1
    return np.where((at >= 0) & (ordered[at] == keys), at, -1) if len(ordered) else at
