"""WARC files: pages with all that a crawl knows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timezone
from http import HTTPStatus
from pathlib import Path

from scrapy_replica.address import host_of
from scrapy_replica.mining.rows import MinedRow, PageWriter
from scrapy_replica.records import Page
from scrapy_replica.sites.evidence import mark_of, path_of
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.warc.archive import Archive, Record

PageOf = Callable[[Record], Page]
"""Makes the page of a capture; whatever it raises, the capture is a bad one."""


def convert(
    path: Path, out: PageWriter, tell: Callable[[int], None], make_page_of: Callable[[], PageOf]
) -> Counter[str]:
    """Write the pages of a WARC file; return how many there were.

    :param tell: told how many of its captures were read since.
    :param make_page_of: called once, in the process that reads the file.
    :raises ValueError: it is no WARC file.
    """
    counts: Counter[str] = Counter()
    archive, page_of = Archive([path]), make_page_of()
    for record in archive.records():
        tell(1)
        try:
            page = page_of(record) if record.status == HTTPStatus.OK else None
        except Exception:  # noqa: BLE001 -- crawled bytes: whatever they bring about, the next page has its turn
            counts["bad records"] += 1
            continue
        counts["not status 200" if page is None else "pages"] += 1
        out.page(row_of(record, page))
        if page is not None:
            _tell_links(page, out)
    counts["without a payload"] += len(archive) - counts.total()
    return counts


def row_of(record: Record, page: Page | None) -> MinedRow:
    """Return the row of a capture and its page, if it is one."""
    url = record.url.partition("#")[0]
    date = record.date.replace(tzinfo=record.date.tzinfo or timezone.utc).timestamp() if record.date else None
    row = MinedRow(url, host_of(url), path_of(url), record.ip, status=record.status, at=date)
    if page is None:
        return row
    simhash = page.simhash
    return row._replace(
        signature=page.signature,
        simhash=None if simhash is None else simhash - (1 << 64) if simhash >= 1 << 63 else simhash,
        words=page.words,
        title=page.title,
        mark=mark_of(page).pack(),
        neighbours=Neighbours.of(page).to_json(),
    )


def _tell_links(page: Page, out: PageWriter) -> None:
    for link in page.links:
        if host := host_of(link.url):
            out.url(MinedRow(link.url, host, path_of(link.url), fetched=False))
            if host != page.host:
                out.link(host, page.host)
