"""A folder of simulated visits: what is finished is kept, what was interrupted goes on."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_replica.lab.visits import checkpoint
from scrapy_replica.lab.visits.visit import Visit
from scrapy_replica.numeric import FloatArray, IntArray

if sys.platform != "win32":
    import fcntl

MINUTES = 5.0
"""Between two checkpoints: one of 10 million pages takes some seconds."""
TOLD_PAGES = 1_000
"""Pages between two looks at the clock."""
_STATUS, _PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Kept:
    """A visit that is over."""

    order: IntArray
    """Page numbers."""
    cpu_seconds: float
    peak_bytes: float
    """Most memory that the process held meanwhile, mapped files included; NaN where the system does not say it."""


class VisitJob:
    """The visits of one collection and topic in *folder*, with a checkpoint every so many *minutes*."""

    def __init__(self, folder: Path, inputs: Mapping[str, Any], minutes: float = MINUTES) -> None:
        """Raises ``ValueError`` where *folder* holds visits with other *inputs*, what JSON can hold."""
        self.folder, self._minutes = folder, minutes
        folder.mkdir(parents=True, exist_ok=True)
        file, wanted = folder / "visits.json", json.loads(json.dumps(inputs))
        if not file.exists():
            _write(file, json.dumps(wanted, indent=1).encode())
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            raise ValueError(f"{file} is damaged: delete {folder}, or name another folder") from None
        other = [name for name in wanted if told.get(name) != wanted[name]]
        if other:
            raise ValueError(f"{folder} holds visits with another {', '.join(other)}: name another folder or delete it")

    def array(self, name: str, made: Callable[[], FloatArray]) -> FloatArray:
        """Return what is kept as *name*; what is *made* the first time."""
        file = self.folder / f"{name}.npy"
        if not file.exists():
            column = io.BytesIO()
            np.save(column, made())
            _write(file, column.getbuffer())
        try:
            found: FloatArray = np.load(file, allow_pickle=False)
        except (ValueError, EOFError):
            raise ValueError(f"{file} is damaged: delete it, and it is made again") from None
        return found

    def run(self, name: str, begin: Callable[[], Visit], end: Callable[[Visit], None] | None = None) -> Kept:
        """Return the visit kept as *name*; if there is none *begin* it, or go on with it, and call *end*."""
        told = self.folder / f"{name}.json"
        if not told.exists():
            with _alone(self.folder / f"{name}.lock"):
                if not told.exists():  # another process may have made it meanwhile
                    self._visit(name, begin(), end)
        order = self.array(f"{name}.order", lambda: np.zeros(0))
        try:
            return Kept(order.astype(np.int64), **json.loads(told.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise ValueError(f"{told} is damaged: delete it, and its visit is made again") from None

    def _visit(self, name: str, visit: Visit, end: Callable[[Visit], None] | None) -> None:
        from tqdm import tqdm  # noqa: PLC0415 - an extra

        file, spent, peak = self.folder / f"{name}.checkpoint", 0.0, 0.0
        if file.exists():
            told = checkpoint.load(visit, file)
            spent, peak = told["cpu_seconds"], told["peak_bytes"]
        forget_peak()
        start, began = time.process_time() - spent, time.monotonic()
        saved, first = began, visit.pages
        bar: Any
        with tqdm(total=visit.most, initial=visit.pages, desc=name, unit=" pages", leave=False, disable=None) as bar:
            while visit.goes_on:
                for _ in range(TOLD_PAGES):
                    if not visit.goes_on:
                        break
                    visit.step()
                bar.update(visit.pages - bar.n)
                if time.monotonic() - saved >= 60.0 * self._minutes and visit.goes_on:
                    seconds = time.process_time() - start
                    peak = max(peak, peak_bytes())
                    checkpoint.save(visit, file, cpu_seconds=seconds, peak_bytes=peak)
                    saved = time.monotonic()
                    if bar.disable:  # not a terminal: a line in the log
                        _tell(name, visit, (visit.pages - first) / (saved - began))
        if end:
            end(visit)
        kept = {"cpu_seconds": time.process_time() - start, "peak_bytes": max(peak, peak_bytes())}
        (self.folder / f"{name}.order.npy").unlink(missing_ok=True)
        self.array(f"{name}.order", lambda: visit.order.astype(np.int32))
        _write(self.folder / f"{name}.json", json.dumps(kept).encode())
        file.unlink(missing_ok=True)


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    with file.open("wb") as held:
        if sys.platform != "win32":
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                told = f"another process makes {file.stem} in {file.parent}"
                raise ValueError(f"{told}: wait until it ends, or name another folder") from None
        yield
    file.unlink(missing_ok=True)


def _tell(name: str, visit: Visit, rate: float) -> None:
    left = timedelta(seconds=round((visit.most - visit.pages) / rate))
    sys.stderr.write(f"{name}: {visit.pages:,} of {visit.most:,} pages, {rate:,.0f} pages a second, {left} left\n")
    sys.stderr.flush()


def _write(file: Path, data: bytes | memoryview) -> None:
    partial = file.with_name(f"{file.name}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OSError(f"{file} cannot be written ({error.strerror}): make room, run the same command again") from None


def forget_peak() -> None:
    """Let :func:`peak_bytes` begin anew, where the system can."""
    with suppress(OSError):
        _PEAK.write_text("5", encoding="ascii")


def peak_bytes() -> float:
    """Return the most memory that the process held since :func:`forget_peak`, NaN where the system does not say it."""
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return float("nan")
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), float("nan"))
