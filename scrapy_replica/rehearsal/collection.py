"""A read-only collection for repeatable visits: web graph, anchors, term counts and labels of a crawl that is over.

Reads the Parquet files of labelled crawls: columns ``url``, ``text``, ``outlinks`` (row numbers), ``anchors`` (beside
``outlinks``), one column of label lists (``topics``, ``categories`` or ``tags``) and the schema metadata ``seeds``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
from numpy.typing import NDArray

from scrapy_replica.address import host_of
from scrapy_replica.numeric import BoolArray, IntArray
from scrapy_replica.records import Link, Page

TermCounter = Callable[[str], Mapping[str, int]]

LABEL_COLUMNS = ("topics", "categories", "tags")
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Collection:
    """Pages 0..n-1, their links and their term counts, in rows that lie one behind the other (CSR).

    The links of page *i* are ``targets[link_start[i]:link_start[i + 1]]`` in document order, its terms
    ``term_ids[term_start[i]:term_start[i + 1]]``; about 12 bytes a link (without anchor texts) and 6 bytes a term.
    """

    urls: Sequence[str]
    titles: Sequence[str]
    seeds: IntArray
    link_start: IntArray
    targets: NDArray[np.int32]
    anchors: Sequence[str]
    vocabulary: Sequence[str]
    term_start: IntArray
    term_ids: NDArray[np.int32]
    term_counts: NDArray[np.uint16]
    labels: Mapping[str, IntArray]
    """Label -> page numbers."""

    def __len__(self) -> int:
        return len(self.urls)

    @property
    def hosts(self) -> list[str]:
        return [host_of(url) for url in self.urls]

    def terms(self, page: int) -> dict[str, int]:
        """Return stem -> count of one page."""
        span = slice(self.term_start[page], self.term_start[page + 1])
        words = map(self.vocabulary.__getitem__, self.term_ids[span].tolist())
        return dict(zip(words, self.term_counts[span].tolist(), strict=True))

    def links(self, page: int) -> list[int]:
        """Return the page numbers that *page* links to, in document order, each once, without itself."""
        found = self.targets[self.link_start[page] : self.link_start[page + 1]].tolist()
        return [target for target in dict.fromkeys(found) if target != page]

    def page(self, page: int) -> Page:
        """Return one page as the crawl would have seen it; its links are those of :meth:`links`."""
        url = self.urls[page]
        start, stop = self.link_start[page], self.link_start[page + 1]
        first: dict[int, Link] = {}
        targets = self.targets[start:stop].tolist()
        for position, (target, anchor) in enumerate(zip(targets, self.anchors[start:stop], strict=True)):
            if target != page and target not in first:
                first[target] = Link(self.urls[target], anchor, position)
        terms = self.terms(page)
        host = host_of(url)
        title = self.titles[page] or None
        return Page(url, host, title, terms=terms, words=sum(terms.values()), links=tuple(first.values()))

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


def build(
    pages: Iterable[tuple[str, str, Mapping[str, int]]],
    links: Iterable[Sequence[tuple[int, str]]],
    seeds: Sequence[int],
    labels: Mapping[str, Sequence[int]],
) -> Collection:
    """Build a collection from (URL, title, term counts) and from (target, anchor text) rows, both in page order."""
    urls, titles, term_start, term_ids, term_counts = [], [], [0], [], []
    numbers: dict[str, int] = {}
    for url, title, terms in pages:
        urls.append(url)
        titles.append(title)
        term_ids.append(np.fromiter((numbers.setdefault(t, len(numbers)) for t in terms), np.int32, len(terms)))
        term_counts.append(np.minimum(np.fromiter(terms.values(), np.int64, len(terms)), 65535).astype(np.uint16))
        term_start.append(term_start[-1] + len(terms))
    rows = [list(row) for row in links]
    return Collection(
        urls,
        titles,
        np.array(seeds, dtype=np.int64),
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([target for row in rows for target, _ in row], dtype=np.int32),
        [anchor for row in rows for _, anchor in row],
        list(numbers),
        np.array(term_start, dtype=np.int64),
        np.concatenate(term_ids) if term_ids else np.zeros(0, np.int32),
        np.concatenate(term_counts) if term_counts else np.zeros(0, np.uint16),
        {name: np.array(rows_, dtype=np.int64) for name, rows_ in labels.items()},
    )


def read_parquet(path: Path, count_terms: TermCounter, cache: Path | None = None) -> Collection:
    """Read a labelled crawl.

    *count_terms* maps text to stem counts; with a folder *cache* the counts are kept there, under a name that changes
    with the file's size and date. Needs pyarrow (extra ``test``). Raises ``ValueError`` if a column is missing.
    """
    table = _read_table(path)
    columns = set(table.schema.names)
    missing = {"url", "text", "outlinks", "anchors"} - columns
    label_column = next((name for name in LABEL_COLUMNS if name in columns), None)
    if missing or label_column is None:
        wanted = ", ".join(sorted(missing) or ["one of " + "/".join(LABEL_COLUMNS)])
        raise ValueError(f"{path} is not a labelled crawl: it lacks {wanted}")
    seeds = json.loads((table.schema.metadata or {}).get(b"seeds", b"[0]"))
    counts = _counts(path, table, count_terms, cache)
    labels: dict[str, list[int]] = {}
    for page, names in enumerate(table.column(label_column).to_pylist()):
        for name in names or ():
            labels.setdefault(name, []).append(page)
    outlinks, anchors = table.column("outlinks").to_pylist(), table.column("anchors").to_pylist()
    links = (
        list(zip(targets or (), (text or "" for text in texts or ()), strict=True))
        for targets, texts in zip(outlinks, anchors, strict=True)
    )
    urls = table.column("url").to_pylist()
    titles = table.column("title").to_pylist() if "title" in columns else [""] * len(urls)
    return build(zip(urls, titles, counts, strict=True), links, seeds, labels)


def _read_table(path: Path) -> Any:
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("reading Parquet collections needs pyarrow: pip install scrapy-replica[eval]") from error
    return parquet.read_table(path)


def _counts(path: Path, table: Any, count_terms: TermCounter, cache: Path | None) -> Iterable[Mapping[str, int]]:
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
