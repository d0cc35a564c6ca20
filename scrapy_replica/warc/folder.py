"""The WARC files of one job in a folder: compressed record by record, rotated, never half written for good."""

from __future__ import annotations

import gzip
import logging
import os
import re
import sys
import time
import zlib
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from scrapy_replica.warc import records

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from io import FileIO
    from pathlib import Path

    from scrapy_replica.bucket import Bucket

logger = logging.getLogger(__name__)

WARC = ".warc.gz"
OPEN = ".open"
"""Suffix of a file that is being written."""

LEVEL = 6
"""Of compression. A page of 41 kB takes 0.54 ms and 7.6 kB; with 9, 0.93 and 7.5; with 3, 0.27 and 8.5."""

GZIP = zlib.MAX_WBITS | 16

_CHUNK_BYTES = 1 << 20


class WarcFolder:
    """Writes WARC files that no other process, and no other run of the job, writes to.

    Invariant: a file ends with a whole record, but for what a kill cut off, which the next run of the job takes away.
    One thread at a time may use it, and another one :meth:`move` files meanwhile.

    :param prefix: what file names begin with; *job* tells one job's files from another's, below the same name, and
        *process* those of the processes that share a job.
    :param size: bytes after which the next file begins.
    :param about: what the first record of each file says.
    :param bucket: where files are moved that are whole; those that it did not take stay in *folder*.
    :raises OSError: the folder cannot be made or written to, or the bucket is away.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        job: str,
        size: int,
        about: Mapping[str, object],
        process: str = "",
        bucket: Bucket | None = None,
    ) -> None:
        self._folder, self._size, self._about = folder, size, about
        job = f"{re.sub(r'[^A-Za-z0-9_-]+', '-', prefix)[:40]}-{job}"
        self._stem = f"{job}-{process}" if process else job
        self._whole = f"{job}-*{WARC}"
        self._bucket, self._moved = bucket, set[str]()
        self._file: FileIO | None = None
        self._end = self._serial = 0
        self._path = folder
        folder.mkdir(parents=True, exist_ok=True)
        for left in sorted(folder.glob(f"{job}-*{OPEN}")):
            self._finish(left, is_shared=bool(process))
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "Permission denied", str(folder))
        if bucket is not None:
            bucket.check()
            self._moved = bucket.names()

    @staticmethod
    def _finish(left: Path, *, is_shared: bool) -> None:
        with _left_over(left, is_shared=is_shared) as is_left:
            if is_left:
                logger.warning(
                    "%s was being written when the crawl was killed: half a record at its end is taken away", left
                )
                finish(left, end_of_last_record(left))

    def has(self, name: str) -> bool:
        """Tell whether the file of that name is there, written, being written or moved to the bucket."""
        is_here = (self._folder / (name + OPEN)).exists() or (self._folder / name).exists()
        return is_here or name in self._moved

    def write(self, batch: Sequence[bytes]) -> str:
        """Append the records of *batch*; return the name of their file. By then they are on the disk.

        :raises OSError: they are not, and nothing of them is left in the file.
        """
        data = b"".join(gzip.compress(record, LEVEL, mtime=0) for record in batch)
        if self._file is None or self._end >= self._size:
            self.close()
            self._open()
        self._append(data)
        return self._path.name.removesuffix(OPEN)

    def close(self) -> None:
        """Give the file that is being written its name for good."""
        if self._file is not None:
            self._file.close()
            self._file = None
            finish(self._path, self._end)

    def left(self) -> list[Path]:
        """Return the files that are whole and not in the bucket, if there is one."""
        return sorted(self._folder.glob(self._whole)) if self._bucket is not None else []

    def move(self) -> None:
        """Move the files that are whole to the bucket, those as well that become so meanwhile."""
        while self._bucket is not None and (left := self.left()):
            for path in left:
                try:
                    self._bucket.put(path, path.name)
                except OSError as error:
                    if path.exists():  # else another process of the job moved it
                        logger.warning("%s; %s stays here until the next file is whole", error, path)
                    return
                self._moved.add(path.name)
                path.unlink(missing_ok=True)

    def _open(self) -> None:
        name = self._next_name()
        self._path, self._end = self._folder / (name + OPEN), 0
        self._file = self._path.open("xb", buffering=0)
        if sys.platform != "win32":
            fcntl.flock(self._file, fcntl.LOCK_EX)  # so that other processes of the job see that it is not left over
        _sync_folder(self._folder)
        self._append(gzip.compress(records.info(name, self._about), LEVEL, mtime=0))

    def _next_name(self) -> str:
        while True:
            self._serial += 1
            name = f"{self._stem}-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{self._serial:05}{WARC}"
            if not self.has(name):  # a run of the job may have been killed within this second
                return name

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise
        self._end += len(data)


@contextmanager
def _left_over(path: Path, *, is_shared: bool) -> Iterator[bool]:
    """Tell whether nobody writes the file at *path* any more, and let nobody else finish it meanwhile.

    Windows does not tell of files that processes share.
    """
    if not is_shared or sys.platform == "win32":
        yield not is_shared
        return
    with ExitStack() as stack:
        try:
            fcntl.flock(stack.enter_context(path.open("rb")), fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_left = path.exists()
        except (BlockingIOError, FileNotFoundError):  # it may be finished by now
            is_left = False
        yield is_left


def finish(path: Path, end: int | None) -> None:
    """Give a file its name for good, without what comes after *end*; one that holds no record is deleted."""
    if end == 0:
        path.unlink()
        return
    if end is None:
        logger.warning("%s is damaged in the middle: left as it is; what comes before can be read", path)
    elif end < path.stat().st_size:
        os.truncate(path, end)
    path.rename(path.with_name(path.name.removesuffix(OPEN)))
    _sync_folder(path.parent)


def end_of_last_record(path: Path) -> int | None:
    """Return the bytes up to the end of the last whole gzip member of *path*; ``None`` for a file that is damaged."""
    end, made = 0, 0
    member = zlib.decompressobj(GZIP)
    with path.open("rb") as file, suppress(zlib.error):
        while data := file.read(_CHUNK_BYTES):
            while data or made == _CHUNK_BYTES:
                made = len(member.decompress(data, _CHUNK_BYTES))
                data = member.unconsumed_tail
                if member.eof:
                    data, made = member.unused_data, 0
                    end = file.tell() - len(data)
                    member = zlib.decompressobj(GZIP)
        return end
    return None


def _sync_folder(folder: Path) -> None:
    """Have the names of the files in *folder* on the disk, where a system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
