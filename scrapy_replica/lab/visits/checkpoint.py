"""Checkpoints of a simulated visit: one file that is replaced as a whole, so that a visit that was killed goes on."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_replica.lab.visits.visit import Visit

_COLUMNS = ("order", "found", "codes")


def save(visit: Visit, file: Path, **told: Any) -> None:
    """Write the state of *visit*, and what else is *told* of it (what JSON can hold), in place of *file*.

    16 bytes a page found, besides the state of the strategy. Raises ``OSError`` where there is no room: the checkpoint
    before stands.
    """
    partial = file.with_name(f"{file.name}.partial")
    try:
        with partial.open("wb") as out:
            with zipfile.ZipFile(out, "w") as pieces:
                pieces.writestr("told.json", json.dumps(told))
                state = visit.state()
                for name in _COLUMNS:
                    with pieces.open(f"{name}.npy", "w", force_zip64=True) as column:
                        np.lib.format.write_array(column, state[name], allow_pickle=False)
                for number, piece in enumerate(visit.strategy.save()):
                    pieces.writestr(f"strategy/{number:06}", piece)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        what = error.strerror or error
        raise OSError(
            f"{file} cannot be written ({what}): make room, run the same command again, it goes on"
        ) from error


def load(visit: Visit, file: Path) -> dict[str, Any]:
    """Give a fresh *visit* the state in *file*; return what else was told of it.

    Raises ``ValueError`` if the file is damaged or is that of another visit.
    """
    try:
        with zipfile.ZipFile(file) as pieces:
            told: dict[str, Any] = json.loads(pieces.read("told.json"))
            names = sorted(name for name in pieces.namelist() if name.startswith("strategy/"))
            visit.strategy.load([pieces.read(name) for name in names])
            columns = {}
            for name in _COLUMNS:
                with pieces.open(f"{name}.npy") as column:
                    columns[name] = np.lib.format.read_array(column, allow_pickle=False)
        visit.restore(columns)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, IndexError, ValueError) as error:
        raise ValueError(f"{file} is damaged, or of another visit: delete it, and its visit begins anew") from error
    return told
