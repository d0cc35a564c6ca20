"""What is mined: job folders, Parquet, CDX, CDXJ and WARC files, brought into one form in parallel processes."""

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_replica.mining import cdx, jobs, parquet, warcs
from scrapy_replica.mining.rows import PageWriter

DATABASE = "replica.sqlite"
"""File by which a job is known."""

SUFFIXES = (".warc", ".warc.gz", ".cdx", ".cdx.gz", ".cdxj", ".cdxj.gz", ".parquet")
"""Files that are taken of a folder."""

POLL_SECONDS = 0.3


class InputKind(str, Enum):
    """What an input is."""

    JOB = "job"
    PARQUET = "Parquet"
    CDX = "CDX"
    WARC = "WARC"


class Source(NamedTuple):
    """One input."""

    path: Path
    kind: InputKind

    @property
    def stamp(self) -> str:
        """A name that is another one when the file has changed."""
        files = [self.path]
        if self.kind is InputKind.JOB:  # what was written last is in the log; whoever reads makes an empty one
            files = [file for name in (DATABASE, f"{DATABASE}-wal") if _has_bytes(file := self.path / name)]
        stats = [(file, file.stat()) for file in files]
        states = [(str(file.resolve()), stat.st_size, stat.st_mtime_ns) for file, stat in stats]
        return hashlib.sha256(repr(states).encode()).hexdigest()[:16]


def _has_bytes(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


class Openers(NamedTuple):
    """How inputs are read that other rooms know; all of it can be pickled."""

    job: jobs.Reading
    page_of: Callable[[], warcs.PageOf]


@dataclass
class Inputs:
    """All inputs in one form."""

    pages: list[Path] = field(default_factory=list)
    links: list[Path] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Kind of record -> how many there were."""
    rules: list[tuple[Mapping[str, Any], bool]] = field(default_factory=list)
    """Rules that acted in the jobs, and whether they act."""


def sources_of(names: Iterable[str]) -> list[Source]:
    """Return the inputs that *names* stand for: files, job folders, and folders of files.

    :raises ValueError: one is not there, is empty, or nothing that can be mined.
    """
    found = [source for name in names for source in _sources(Path(name))]
    return list(dict.fromkeys(found))


def _sources(path: Path) -> Iterator[Source]:
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        yield Source(path, _kind(path))
    elif (path / DATABASE).is_file():
        yield Source(path, InputKind.JOB)
    else:
        files = sorted(file for file in path.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file())
        if not files:
            raise ValueError(f"{path} is no job, and there is no {', '.join(SUFFIXES[:-1:2])} or .parquet file in it")
        for file in files:
            yield Source(file, _kind(file))


def _kind(path: Path) -> InputKind:
    """Return what a file is by how it begins."""
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty: give a file that has records")
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return InputKind.PARQUET
    if path.suffix == ".parquet":
        raise ValueError(f"{path} is a broken Parquet file (it does not begin like one): write it again")
    if head[:2] == cdx.GZIP:
        try:
            with gzip.open(path) as unpacked:
                head = unpacked.read(4)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            head = b"WARC" if ".warc" in path.suffixes else b""
    if head == b"WARC" or ".warc" in path.suffixes:
        return InputKind.WARC
    return InputKind.CDX


def collect(sources: Sequence[Source], folder: Path, openers: Openers) -> Inputs:
    """Bring *sources* into one form, as files in *folder*; what is there of an earlier run is taken as it is.

    It shows progress. Of several one is read on each processor.

    :raises ValueError: an input is broken.
    :raises OSError: a file cannot be read or written.
    """
    inputs, open_ones = Inputs(), []
    for source in sources:
        if source.kind is InputKind.PARQUET and parquet.is_ours(source.path):
            inputs.pages.append(source.path)
            inputs.counts["pages"] += parquet.pages_in(source.path)
        elif not (folder / f"{source.stamp}.json").is_file():
            open_ones.append(source)
    convert = partial(_convert, folder=folder, openers=openers)
    with _progress(len(open_ones)) as (tell, done):
        if len(open_ones) == 1:
            convert(open_ones[0], tell)
            done(1)
        elif open_ones:
            _in_parallel(convert, open_ones, tell, done)
    for source in sources:
        told = folder / f"{source.stamp}.json"
        if told.is_file():
            _take(inputs, told)
    return inputs


def _take(inputs: Inputs, told: Path) -> None:
    facts = json.loads(told.read_text(encoding="utf-8"))
    inputs.pages.append(told.with_suffix(".pages.parquet"))
    inputs.links.append(told.with_suffix(".links.parquet"))
    inputs.counts.update(facts["counts"])
    inputs.rules += [(rule, is_acting) for rule, is_acting in facts["rules"]]


def _convert(source: Source, tell: Callable[[int], None], folder: Path, openers: Openers) -> None:
    rules: list[Any] = []
    base = folder / source.stamp
    with PageWriter(base) as out:
        if source.kind is InputKind.JOB:
            counts, rules = jobs.convert(source.path, out, tell, openers.job)
        elif source.kind is InputKind.WARC:
            counts = warcs.convert(source.path, out, tell, openers.page_of)
        elif source.kind is InputKind.CDX:
            counts = cdx.convert(source.path, out, tell)
        else:
            counts = parquet.convert(source.path, out, tell)
    if counts["cut off"]:
        sys.stderr.write(f"{source.path} is cut off; what comes before is used\n")
    facts = base.with_suffix(".json.partial")
    facts.write_text(json.dumps({"counts": {k: n for k, n in counts.items() if n}, "rules": rules}), encoding="utf-8")
    facts.replace(base.with_suffix(".json"))


# Parallel processes

_shared: Any = None
"""In a worker: records read since the parent looked, or less than 0 where all is to stop."""


class _StopError(Exception):
    pass


def _begin(shared: Any) -> None:
    global _shared  # noqa: PLW0603 -- a worker process is told once
    _shared = shared


def _tell_parent(count: int) -> None:
    with _shared.get_lock():
        if _shared.value < 0:
            raise _StopError
        _shared.value += count


def _work(convert: Callable[[Source, Callable[[int], None]], None], source: Source) -> None:
    convert(source, _tell_parent)


def _in_parallel(
    convert: Callable[[Source, Callable[[int], None]], None],
    sources: Sequence[Source],
    tell: Callable[[int], None],
    done: Callable[[int], None],
) -> None:
    context = multiprocessing.get_context("spawn")
    shared = context.Value("q", 0)
    largest_first = sorted(sources, key=lambda source: -source.path.stat().st_size)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(sources)), context, _begin, (shared,)) as pool:
        try:
            # Processes begin here, and one that begins takes over what a signal does: Ctrl-C is the parent's alone.
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                waiting = {pool.submit(_work, convert, source) for source in largest_first}
            finally:
                signal.signal(signal.SIGINT, before)
            while waiting:
                ready, waiting = wait(waiting, POLL_SECONDS, FIRST_COMPLETED)
                with shared.get_lock():
                    count, shared.value = shared.value, 0
                tell(count)
                for one in ready:
                    one.result()
                done(len(ready))
        except BrokenProcessPool:
            raise OSError("a process that read the inputs was killed, for want of memory as a rule") from None
        except BaseException:
            with shared.get_lock():
                shared.value = -1
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _progress(n_inputs: int) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """Yield what is told of records read and inputs finished; it shows both where standard error is a terminal."""
    from tqdm import tqdm  # noqa: PLC0415 -- an extra

    bar: Any
    with tqdm(desc=f"reading, 0 of {n_inputs}", unit=" records", leave=False, disable=None) as bar:
        finished = 0

        def done(count: int) -> None:
            nonlocal finished
            if count:
                finished += count
                bar.set_description(f"reading, {finished} of {n_inputs}")

        yield bar.update, done
