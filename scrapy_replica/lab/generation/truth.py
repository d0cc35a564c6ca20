"""What is true of a generated web: labels, copies, other names, traps, by page and by host."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Generator, Iterable
from pathlib import Path

import numpy as np

from scrapy_replica.address import host_of
from scrapy_replica.lab.generation.plan import CALENDAR, FACET, KINDS
from scrapy_replica.lab.generation.web import Chunk, Web

PAGES, HOSTS, SEEDS = "pages.csv.gz", "hosts.csv", "seeds.txt"
PAGE_COLUMNS = ("url", "host", "page_key", "status", "role", "trap", "topics", "kind", "source")
"""``page_key`` is one for all copies and other names of a page, ``source`` the URL that a page is a copy of. Tables of
``rehearse --truth`` and of ``lab crawl --truth``."""


def write_pages(web: Web, file: Path, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
    """Write a row of each page of *chunks* as they pass by."""
    topics, plan = _topics(web), web.plan
    is_mirror = plan.original != np.arange(len(plan.original))
    with gzip.GzipFile(file, "xb", 2, mtime=0) as packed, io.TextIOWrapper(packed, "utf-8", newline="") as text:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(PAGE_COLUMNS)
        for chunk in chunks:
            span = slice(chunk.first, chunk.stop)
            sources, kinds = plan.source[span].tolist(), plan.kind[span].tolist()
            roles = is_mirror[plan.host_of(np.arange(chunk.first, chunk.stop))].tolist()
            named = topics[span].tolist()
            rows = zip(chunk.urls, range(chunk.first, chunk.stop), sources, kinds, roles, named, strict=True)
            for url, page, source, kind, is_copy, names in rows:
                role, trap = "mirror" if is_copy else "site", int(kind in (CALENDAR, FACET))
                of = chunk.urls[source - chunk.first] if source != page else ""
                table.writerow((url, host_of(url), source, 200, role, trap, names, KINDS[kind], of))
            yield chunk


def _topics(web: Web) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """The labels of each page, ``a|b`` for two."""
    found = np.full(len(web), "", dtype=object)
    for name, pages in web.labels.items():
        found[pages] = [f"{before}|{name}" if before else name for before in found[pages]]
    return found


def write_hosts(web: Web, folder: Path) -> None:
    """Write a row of each host, as ``lab crawl --hosts`` takes it, and the seed."""
    names = [host_of(web.addresses.host(host)) for host in range(len(web.plan.original))]
    with (folder / HOSTS).open("x", encoding="utf-8", newline="") as text:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(("host", "kind", "replica_of", "pages"))
        sizes = np.diff(web.plan.host_start).tolist()
        for host, (original, size) in enumerate(zip(web.plan.original.tolist(), sizes, strict=True)):
            is_mirror = original != host
            table.writerow((names[host], "mirror" if is_mirror else "site", names[original] if is_mirror else "", size))
    (folder / SEEDS).write_text(web.addresses.host(0) + "/\n", encoding="utf-8")
