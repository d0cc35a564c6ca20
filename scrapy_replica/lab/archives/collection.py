"""A read-only collection for repeatable visits: web graph, anchors, term counts and labels of a crawl that is over.

Reads the Parquet files of labelled crawls: columns ``url``, ``text``, ``outlinks`` (row numbers), ``anchors`` (beside
``outlinks``), one column of label lists (``topics``, ``categories`` or ``tags``) and the schema metadata ``seeds``.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import mmh3
import numpy as np

from scrapy_replica.address import host_of
from scrapy_replica.lab.archives.batch import Batch, CountArray, Int32Array
from scrapy_replica.numeric import BoolArray, IntArray
from scrapy_replica.records import Link, Page

TermCounter = Callable[[str], Mapping[str, int]]

LABEL_COLUMNS = ("topics", "categories", "tags")
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class Documents(Protocol):
    """What a visit reads of a collection: pages 0..n-1, in memory (:class:`Collection`) or on the disk."""

    urls: Sequence[str]
    seeds: IntArray
    labels: Mapping[str, IntArray]
    """Label -> page numbers."""
    vocabulary: Sequence[str]
    """Term id -> stem; 0 is the term of most pages."""
    host_names: Sequence[str]
    host_numbers: Int32Array
    """Shape (n,): places in ``host_names``."""

    def number(self, url: str) -> int | None:
        """Return the number of the page with this *url*, ``None`` if there is none."""

    def title(self, page: int) -> str: ...

    def term_ids(self, page: int) -> Int32Array:
        """Return the terms of one page, sorted."""

    def term_counts(self, page: int) -> CountArray:
        """Return how often each of :meth:`term_ids` occurs."""

    def targets(self, page: int) -> Int32Array:
        """Return the page numbers that *page* links to, in document order, each once, without itself."""

    def anchors(self, page: int) -> Sequence[str]:
        """Return the anchor texts of :meth:`targets`."""

    def batches(self) -> Iterator[Batch]:
        """Read all pages in order, by columns."""

    def __len__(self) -> int:
        return len(self.host_numbers)

    @property
    def hosts(self) -> list[str]:
        return [self.host_names[number] for number in self.host_numbers.tolist()]

    def terms(self, page: int) -> dict[str, int]:
        """Return stem -> count of one page."""
        words = map(self.vocabulary.__getitem__, self.term_ids(page).tolist())
        return dict(zip(words, self.term_counts(page).tolist(), strict=True))

    def links(self, page: int) -> list[int]:
        """Return :meth:`targets` as a list."""
        found: list[int] = self.targets(page).tolist()
        return found

    def page(self, page: int) -> Page:
        """Return one page as the crawl would have seen it; its links are those of :meth:`targets`."""
        url, terms = self.urls[page], self.terms(page)
        found = zip(self.links(page), self.anchors(page), strict=True)
        links = tuple(Link(self.urls[target], anchor, place) for place, (target, anchor) in enumerate(found))
        return Page(url, host_of(url), self.title(page) or None, terms=terms, words=sum(terms.values()), links=links)

    def graph(self) -> tuple[IntArray, Int32Array]:
        """Return the links of all pages in rows: where each page's begin, shape (n + 1,), and the targets."""
        lengths, targets = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
        for batch in self.batches():
            lengths.append(np.diff(batch.link_start))
            targets.append(batch.targets)
        return np.cumsum(np.concatenate(lengths)), np.concatenate(targets)

    def relevant(self, topic: str) -> BoolArray:
        """Return which pages belong to *topic*, shape (n,).

        *topic* is a label, or a word of labels spelt in camel case: ``mail`` joins ``CategoryMail`` and
        ``CategoryViewMail``. Raises ``ValueError`` naming the largest labels if nothing matches.
        """
        names = self.labels_of(topic)
        mask = np.zeros(len(self), dtype=bool)
        for name in names:
            mask[self.labels[name]] = True
        return mask

    def labels_of(self, topic: str) -> list[str]:
        """Return the labels that *topic* names, see :meth:`relevant`."""
        if topic in self.labels:
            return [topic]
        wanted = topic.lower()
        names = [name for name in self.labels if wanted in {word.lower() for word in _WORD.findall(name)}]
        if not names:
            largest = sorted(self.labels, key=lambda name: -len(self.labels[name]))[:10]
            raise ValueError(f"no page carries the topic {topic!r}; the largest labels are {', '.join(largest)}")
        return names

    def reachable(self) -> BoolArray:
        """Return which pages a visit from the seeds can reach, shape (n,)."""
        mask = np.zeros(len(self), dtype=bool)
        mask[self.seeds] = True
        border = [int(seed) for seed in self.seeds]
        while border:
            border = [target for page in border for target in self.links(page) if not mask[target]]
            mask[border] = True
            border = list(dict.fromkeys(border))
        return mask


@dataclass(frozen=True)
class Collection(Documents):
    """Documents in memory; about 12 bytes a link and 6 bytes a term."""

    columns: Batch
    seeds: IntArray
    labels: Mapping[str, IntArray]
    vocabulary: Sequence[str]
    anchor_texts: Sequence[str]
    host_names: Sequence[str]
    host_numbers: Int32Array

    @cached_property
    def urls(self) -> Sequence[str]:  # type: ignore[override]
        return self.columns.urls

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {url: number for number, url in reversed(list(enumerate(self.urls)))}

    def number(self, url: str) -> int | None:
        return self._numbers.get(url)

    def title(self, page: int) -> str:
        return self.columns.titles[page] if self.columns.titles is not None else ""

    def term_ids(self, page: int) -> Int32Array:
        start = self.columns.term_start
        return self.columns.term_ids[start[page] : start[page + 1]]

    def term_counts(self, page: int) -> CountArray:
        start = self.columns.term_start
        return self.columns.term_counts[start[page] : start[page + 1]]

    def targets(self, page: int) -> Int32Array:
        start = self.columns.link_start
        return self.columns.targets[start[page] : start[page + 1]]

    def anchors(self, page: int) -> Sequence[str]:
        columns, start = self.columns, self.columns.link_start
        if columns.anchors is None:
            return [""] * int(start[page + 1] - start[page])
        return [self.anchor_texts[place] for place in columns.anchors[start[page] : start[page + 1]].tolist()]

    def batches(self) -> Iterator[Batch]:
        yield self.columns


def build(
    pages: Iterable[tuple[str, str, Mapping[str, int]]],
    links: Iterable[Sequence[tuple[int, str]]],
    seeds: Sequence[int],
    labels: Mapping[str, Sequence[int]],
) -> Collection:
    """Build a collection from (URL, title, term counts) and from (target, anchor text) rows, both in page order."""
    urls, titles, term_start, term_ids, term_counts = [], [], [0], array("i"), array("q")
    numbers: dict[str, int] = {}
    for url, title, terms in pages:
        urls.append(url)
        titles.append(title)
        term_ids.extend(numbers.setdefault(term, len(numbers)) for term in terms)
        term_counts.extend(terms.values())
        term_start.append(len(term_ids))
    ids = np.array(term_ids)
    by_frequency = np.argsort(-np.bincount(ids, minlength=len(numbers)), kind="stable")
    ranks = np.empty(len(numbers), np.int32)
    ranks[by_frequency] = np.arange(len(numbers))
    texts, hosts = {"": 0}, dict[str, int]()
    rows = [list(row) for row in links]
    columns = Batch(
        urls,
        np.array(term_start, dtype=np.int64),
        ranks[ids],
        np.array(term_counts),
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([target for row in rows for target, _ in row], dtype=np.int32),
        np.array([texts.setdefault(text, len(texts)) for row in rows for _, text in row], dtype=np.int32),
        titles,
    )
    named = np.append(columns.targets, np.array(seeds, dtype=np.int64))
    wrong = named[(named < 0) | (named >= len(urls))]
    if len(wrong):
        raise ValueError(f"a link or seed is page {wrong[0]}: there are {len(urls)} pages, numbered from 0")
    words = list(numbers)
    return Collection(
        columns.tidied(),
        np.array(seeds, dtype=np.int64),
        {name: np.array(rows_, dtype=np.int64) for name, rows_ in labels.items()},
        [words[number] for number in by_frequency.tolist()],
        list(texts),
        host_numbers=np.array([hosts.setdefault(host_of(url), len(hosts)) for url in urls], dtype=np.int32),
        host_names=list(hosts),
    )


def read_parquet(path: Path, count_terms: TermCounter, cache: Path | None = None) -> Collection:
    """Read a labelled crawl.

    *count_terms* maps text to stem counts; with a folder *cache* the counts are kept there, under a name that changes
    with the file's size and date. Needs pyarrow (extra ``test``). Raises ``ValueError`` if a column is missing.
    """
    table = parquet().read_table(path)
    columns = set(table.schema.names)
    missing = {"url", "text", "outlinks", "anchors"} - columns
    label_column = next((name for name in LABEL_COLUMNS if name in columns), None)
    if missing or label_column is None:
        wanted = ", ".join(sorted(missing) or ["one of " + "/".join(LABEL_COLUMNS)])
        raise ValueError(f"{path} is not a labelled crawl: it lacks {wanted}")
    seeds = json.loads((table.schema.metadata or {}).get(b"seeds", b"[0]"))
    counts = counted_texts(path, table, count_terms, cache)
    labels: dict[str, list[int]] = {}
    for page, names in enumerate(table.column(label_column).to_pylist()):
        for name in [names] if isinstance(names, str) else names or ():
            labels.setdefault(name, []).append(page)
    outlinks, anchors = table.column("outlinks").to_pylist(), table.column("anchors").to_pylist()
    urls = table.column("url").to_pylist()
    _check(path, urls, outlinks, anchors)
    links = (
        list(zip(targets or (), (text or "" for text in texts or ()), strict=True))
        for targets, texts in zip(outlinks, anchors, strict=True)
    )
    titles = table.column("title").to_pylist() if "title" in columns else [""] * len(urls)
    return build(zip(urls, titles, counts, strict=True), links, seeds, labels)


def _check(path: Path, urls: list[Any], outlinks: list[Any], anchors: list[Any]) -> None:
    for row, (url, targets, texts) in enumerate(zip(urls, outlinks, anchors, strict=True)):
        if not isinstance(url, str):
            raise ValueError(f"{path}: row {row} has no url")
        if len(targets or ()) != len(texts or ()):
            raise ValueError(f"{path}: row {row} has {len(targets or ())} outlinks and {len(texts or ())} anchors")
        if not all(isinstance(target, int) for target in targets or ()):
            raise ValueError(f"{path}: row {row} has outlinks that are no row numbers")


def parquet() -> Any:
    """Return ``pyarrow.parquet``. Raises ``ImportError`` that says what to install."""
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("reading Parquet collections needs pyarrow: pip install 'scrapy-replica[lab]'") from error


def counted_texts(path: Path, table: Any, count_terms: TermCounter, cache: Path | None) -> Iterable[Mapping[str, int]]:
    """Return the term counts of title and text of each row; see :func:`read_parquet`."""
    texts = table.column("text").to_pylist()
    titles = table.column("title").to_pylist() if "title" in table.schema.names else [""] * len(texts)
    whole = (f"{title or ''} {text or ''}" for title, text in zip(titles, texts, strict=True))
    if cache is None:
        return (Counter(count_terms(text)) for text in whole)
    stat = path.stat()
    # A tokeniser that counts the first pages differently gets its own file.
    sample = json.dumps([dict(count_terms(text or "")) for text in texts[:20]], sort_keys=True).encode()
    kept = cache / f"{path.stem}-{stat.st_size}-{stat.st_mtime_ns}-{mmh3.hash_bytes(sample).hex()[:12]}.jsonl"
    if not kept.exists():
        partial = kept.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(dict(count_terms(text)), ensure_ascii=False) + "\n" for text in whole)
        partial.replace(kept)
    with kept.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
