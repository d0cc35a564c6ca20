"""The lock of a job: one crawl at a time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from scrapy_replica.crawldb.contract import StoreError

LOCK_NAME = "replica.lock"

LOOK_SECONDS = 0.1
"""What a crawl that begins waits for those who look whether one has the job."""


class JobLock:
    """Held while the job is open, and given up with the process, however it ends.

    A SQLite file in an exclusive transaction: the lock that every platform with SQLite has.

    :raises StoreError: another crawl has the job, or its folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK_NAME
        try:
            self._sqlite = sqlite3.connect(path, isolation_level=None, timeout=LOOK_SECONDS)
            self._sqlite.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise StoreError(
                    f"another crawl has the job {folder} open: wait for its end, or give another JOBDIR"
                ) from None
            raise StoreError(f"the job {folder} cannot be written ({error}): give another JOBDIR") from None

    def release(self) -> None:
        self._sqlite.close()


def is_locked(folder: Path) -> bool:
    """Tell whether a crawl has the job in *folder* open."""
    path = folder / LOCK_NAME
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as lock:
            lock.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.Error as error:
        return "locked" in str(error)
    return False
