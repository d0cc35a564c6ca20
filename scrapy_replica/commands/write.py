"""Files that commands write: all of one, or nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write(file: Path, data: bytes) -> None:
    """Write *data* to *file*, or to where it links, all or nothing.

    :raises ValueError: it cannot be written, or something else than a file is there.
    """
    whole = file.resolve()
    if whole.exists() and not whole.is_file():
        raise ValueError(f"{file}: nothing can be written there, for it is no file; give another name")
    partial = whole.with_name(f"{whole.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(whole)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise ValueError(f"{file}: cannot be written: {error.strerror}") from None
