"""The crawl database of a job: what it knows of pages, and what became of its rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_replica.claim import ENDED, Standing
from scrapy_replica.mining.rows import MinedRow, PageWriter
from scrapy_replica.sites.evidence import path_of

if TYPE_CHECKING:
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

BATCH = 10_000
"""Rows read at once; between two batches a crawl beside may clear its log."""

KEPT = ENDED | {Standing.IN_FORCE}
"""States of rules that acted at some time."""

Reading = Callable[[str], "AbstractContextManager[SqliteReader]"]
"""Opens a job to be read."""


def convert(
    job: Path, out: PageWriter, tell: Callable[[int], None], reading: Reading
) -> tuple[Counter[str], list[Any]]:
    """Write the URLs of a job; return how many pages there were, and its rules that acted: [rule, whether it does].

    :param tell: told how many URLs were read since.
    :raises ValueError: it cannot be read.
    """
    counts: Counter[str] = Counter()
    after = 0
    while True:
        with reading(str(job)) as reader:
            rows = reader.tables.traces(after, BATCH)
        if not rows:
            break
        for row in rows:
            values = row._asdict()
            del values["id"]
            page = MinedRow(path=path_of(row.url), **values)
            if page.fetched:
                counts["pages" if page.status == HTTPStatus.OK else "not status 200"] += 1
                out.page(page)
            else:
                out.url(page)
        after = rows[-1].id
        tell(len(rows))
    with reading(str(job)) as reader:
        for link in reader.tables.host_links():
            out.link(link.target, link.source)
        rules = [
            [view.row.rule, view.row.state == Standing.IN_FORCE] for view in reader.rules() if view.row.state in KEPT
        ]
    return counts, rules
