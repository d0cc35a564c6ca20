"""The crawl database of a job, as commands open it: the only place that knows where it lies.

A job is named by the folder of its crawl, or by the address in Redis that its processes share.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.crawldb.reader import Process, Salvaged
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.sqlite.damaged import quick_check
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.lock import is_locked
from scrapy_replica.crawldb.sqlite.reader import open_orders, open_reader
from scrapy_replica.crawldb.sqlite.salvage import salvage

if TYPE_CHECKING:
    import argparse

    from scrapy_replica.crawldb.orders import Give
    from scrapy_replica.crawldb.redis.reader import Follower
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

SCHEMES = ("redis://", "rediss://", "unix://")
"""Beginnings of addresses."""


JOB = "the crawl: its JOBDIR or the file in it, or its address in Redis; --job JOB is the same"


def add_job_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the job that a command is about, before its other arguments: ``JOB``, or ``--job JOB`` anywhere."""
    parser.add_argument("job", metavar="JOB", type=folder_of, help=JOB)


def folder_of(job: str) -> str:
    """Return the folder of a job of which the file may be given."""
    path = Path(job)
    return str(path.parent) if path.name == FILE_NAME else job


def is_shared(job: str) -> bool:
    return str(job).startswith(SCHEMES)


def name_of(job: str) -> str:
    """Return *job* as it may be shown: an address without its password.

    :raises ValueError: it is an address that makes no sense.
    """
    return str(Address.parse(job)) if is_shared(job) else job


@cache
def _follower(job: str) -> Follower:
    """Return what reads the job at an address; looking once more reads only what is new."""
    from scrapy_replica.crawldb.redis.reader import Follower  # noqa: PLC0415 - an extra

    return Follower(Address.parse(job))


def database_path(job: str) -> Path:
    """Return the crawl database in the folder *job*.

    :raises ValueError: there is none.
    """
    path = Path(job) / FILE_NAME
    if not path.is_file():
        raise ValueError(f"there is no {path}; name the JOBDIR of a crawl")
    return path


def is_begun(job: str) -> bool:
    """Tell whether *job* holds a crawl, with which another one would go on."""
    return _follower(job).is_begun if is_shared(job) else (Path(job) / FILE_NAME).is_file()


def has_begun(job: str) -> bool:
    """Tell whether anything stands in *job* by now: of a crawl that begins there is a file first."""
    if is_shared(job):
        return _follower(job).is_begun
    found = _trace_of(Path(job) / FILE_NAME)
    return found is not None and found[1] > 0


def reading(job: str) -> AbstractContextManager[SqliteReader]:
    """Open *job* to read it, whether its crawl runs or not.

    :raises ValueError: there is none, or it cannot be read.
    """
    return _follower(job).reading() if is_shared(job) else open_reader(database_path(job))


def ordering(job: str) -> AbstractContextManager[Give]:
    """Open *job* to give orders, whether its crawl runs or not.

    :raises ValueError: there is none, or it cannot be written.
    """
    return _follower(job).ordering() if is_shared(job) else open_orders(database_path(job))


def is_running(job: str) -> bool:
    """Tell whether a crawl has *job* open."""
    return bool(processes(job)) if is_shared(job) else is_locked(Path(job))


def processes(job: str) -> list[Process]:
    """Return the processes that share *job*; none of a job in a folder, which one process has at most."""
    return list(_follower(job).processes()) if is_shared(job) else []


def checking(job: str, seconds: float) -> tuple[str | None, bool]:
    """Read the file of the job in the folder *job* for so many *seconds*; return what is wrong, and if all was read."""
    return quick_check(database_path(job), seconds)


def trace(job: str) -> object:
    """Return something that is another thing when *job* has changed; it costs next to nothing."""
    if is_shared(job):
        return _follower(job).trace()
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
    for place in (job, folder):
        if is_shared(place):
            raise ValueError(f"{name_of(place)} is in Redis, and salvage mends files: see Redis about its own")
    return salvage(database_path(job), Path(folder))
