"""Files that commands write: all of one, or nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """Yield what takes the place of *file*, or of what it links to, when the span ends; if it raises, nothing does.

    :raises ValueError: it cannot be written, or something else than a file is there.
    """
    whole = file.resolve()
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


def write(file: Path, data: bytes) -> None:
    """Write *data* to *file*, or to where it links, all or nothing.

    :raises ValueError: it cannot be written, or something else than a file is there.
    """
    with replacing(file) as output:
        output.write(data)
