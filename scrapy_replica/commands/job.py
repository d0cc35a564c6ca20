"""The crawl database of a job, as commands open it: the only place that knows where it lies."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from scrapy_replica.crawldb.reader import Orders, Reader, Salvaged
from scrapy_replica.crawldb.sqlite.check import quick_check
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.lock import is_locked
from scrapy_replica.crawldb.sqlite.reader import open_orders, open_reader
from scrapy_replica.crawldb.sqlite.salvage import salvage


def database_path(job: str) -> Path:
    """Return the crawl database in the folder *job*.

    :raises ValueError: there is none.
    """
    path = Path(job) / FILE_NAME
    if not path.is_file():
        raise ValueError(f"there is no {path}; name the JOBDIR of a crawl")
    return path


def is_begun(job: str) -> bool:
    """Tell whether the folder *job* holds a crawl, with which another one would go on."""
    return (Path(job) / FILE_NAME).is_file()


def reading(job: str) -> AbstractContextManager[Reader]:
    """Open the job in the folder *job* to read it, whether its crawl runs or not.

    :raises ValueError: there is none, or it cannot be read.
    """
    return open_reader(database_path(job))


def ordering(job: str) -> AbstractContextManager[Orders]:
    """Open the job in the folder *job* to give orders, whether its crawl runs or not.

    :raises ValueError: there is none, or it cannot be written.
    """
    return open_orders(database_path(job))


def is_running(job: str) -> bool:
    """Tell whether a crawl has the job in the folder *job* open."""
    return is_locked(Path(job))


def checking(job: str, seconds: float) -> tuple[str | None, bool]:
    """Read the file of the job in the folder *job* for so many *seconds*; return what is wrong, and if all was read."""
    return quick_check(database_path(job), seconds)


def has_begun(job: str) -> bool:
    """Tell whether a crawl has begun in the folder *job*."""
    found = _trace_of(Path(job) / FILE_NAME)
    return found is not None and found[1] > 0


def trace(job: str) -> object:
    """Return something that is another thing when the job in the folder *job* has changed; it costs next to nothing."""
    return [_trace_of(Path(job) / name) for name in (FILE_NAME, f"{FILE_NAME}-wal")], is_running(job)


def _trace_of(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None  # not there yet, or not any more
    return stat.st_mtime_ns, stat.st_size


def salvaging(job: str, folder: str) -> Salvaged:
    """Read what can be read of the damaged job in the folder *job* into a new one in *folder*.

    :raises ValueError: there is none, nothing can be read of it, or *folder* has a job.
    :raises OSError: a file cannot be read or written.
    """
    return salvage(database_path(job), Path(folder))
