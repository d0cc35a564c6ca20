"""Whether the file of a job is sound, as far as a few seconds tell."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

STEPS = 100_000
"""Steps of SQLite between two looks at the clock."""


def quick_check(path: Path, seconds: float) -> tuple[str | None, bool]:
    """Read the file at *path* for at most so many *seconds*, while a crawl may have it open.

    Returns what is wrong with it in SQLite's words, ``None`` if nothing was found, and whether all of it was read.
    """
    end = time.monotonic() + seconds
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as db:
            db.set_progress_handler(lambda: time.monotonic() > end, STEPS)
            found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        return (None, False) if "interrupted" in str(error) else (str(error), True)
    except sqlite3.DatabaseError as error:
        return str(error), True
    return None if found == "ok" else found, True
