"""The crawl database of a job, as commands open it."""

from __future__ import annotations

from pathlib import Path

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import FILE_NAME


def database_path(job: str) -> Path:
    """Return the crawl database in the folder *job*.

    :raises ValueError: there is none.
    """
    path = Path(job) / FILE_NAME
    if not path.is_file():
        raise ValueError(f"--job: there is no {path}; name the JOBDIR of a crawl")
    return path


def open_job(job: str) -> Connection:
    """Open the crawl database in the folder *job*, which a crawl may be using."""
    return Connection(database_path(job))
