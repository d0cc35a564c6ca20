"""A small job that is kept as a file, and what makes it: ``python tests/kept_job.py`` after VERSION was raised."""

from __future__ import annotations

import asyncio
import gzip
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from web import REPLICA, crawl, page, redirect

from scrapy_replica import TopicSpider
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.schema import VERSION

KEPT = Path(__file__).with_name("jobs") / f"version-{VERSION}.sqlite.gz"
SITE = "http://a.example"
PAGES = {
    f"{SITE}/": page(["/1", "/2", "/3", "/moved", "/gone"], seed=0, title="Seed"),
    **{f"{SITE}/{n}": page([f"/{n}/{k}" for k in range(3)], seed=n) for n in (1, 2, 3)},
    **{f"{SITE}/{n}/{k}": page(seed=(n, k)) for n in (1, 2, 3) for k in range(2)},
    **{f"{SITE}/{n}/2": page(seed="copy") for n in (1, 2, 3)},
    f"{SITE}/moved": redirect("/1"),
}
SETTINGS = {**REPLICA, "ROBOTSTXT_OBEY": False}


def unpacked(folder: Path) -> Path:
    """Unpack the kept job into *folder*; return it."""
    folder.mkdir(exist_ok=True)
    (folder / FILE_NAME).write_bytes(gzip.decompress(KEPT.read_bytes()))
    return folder


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {**SETTINGS, "JOBDIR": folder, "CLOSESPIDER_PAGECOUNT": 6, "CONCURRENT_REQUESTS": 1}
        asyncio.run(crawl(TopicSpider, PAGES, settings, seeds=f"{SITE}/"))
        path = Path(folder) / FILE_NAME
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA journal_mode = DELETE")
            file.execute("PRAGMA page_size = 1024")
            file.execute("VACUUM")
        KEPT.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    main()
