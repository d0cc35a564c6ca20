"""Files that commands write: all of one, or nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from scrapy_replica.bucket import Bucket, is_url


@contextlib.contextmanager
def replacing(file: str | Path) -> Iterator[BinaryIO]:
    """Yield what takes the place of *file*, or of what it links to, when the span ends; if it raises, nothing does.

    :param file: a path, or the URL of a store (:mod:`scrapy_replica.bucket`).
    :raises ValueError: it cannot be written, or something else than a file is there.
    :raises OSError: the store is away.
    """
    if is_url(file):
        folder, _, name = str(file).rpartition("/")
        bucket = Bucket(f"{folder}/")
        bucket.check()  # before hours of work
        with NamedTemporaryFile() as output:
            yield output  # type: ignore[misc]
            output.flush()
            bucket.put(Path(output.name), name)
        return
    whole = Path(file).resolve()
    if whole.exists() and not whole.is_file():
        raise ValueError(f"{file}: nothing can be written there, for it is no file; give another name")
    partial = whole.with_name(f"{whole.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as output:
            yield output
        partial.replace(whole)
    except OSError as error:
        raise ValueError(f"{file}: cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def write(file: str | Path, data: bytes) -> None:
    """Write *data* to *file*, or to where it links, all or nothing.

    :raises ValueError: it cannot be written, or something else than a file is there.
    :raises OSError: the store is away.
    """
    with replacing(file) as output:
        output.write(data)
