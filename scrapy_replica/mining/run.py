"""A whole run: inputs, tables, judgement. What is done is on the disk, and the same run goes on from there."""

from __future__ import annotations

import errno
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_replica.mining import dust, expressions
from scrapy_replica.mining.collection import CollectionTables
from scrapy_replica.mining.engine import Engine, check_engine, open_engine
from scrapy_replica.mining.evidence import HostRows
from scrapy_replica.mining.inputs import Openers, Source, collect
from scrapy_replica.mining.judgement import Judged, PairRow, judged
from scrapy_replica.mining.rows import read
from scrapy_replica.mining.schema import LINKS
from scrapy_replica.sites.judge import Judge
from scrapy_replica.urls.rule import Rule

if TYPE_CHECKING:
    from scrapy_replica.mining.inputs import Inputs

Item = TypeVar("Item")

FORMAT = 1
"""Number of the layout of the work folder."""


@dataclass
class Mined:
    """What a collection came to."""

    judged: Judged
    rules: list[Rule]
    clusters: list[Path]
    """Parquet files with the columns of :data:`~scrapy_replica.mining.schema.CLUSTERS`, in order."""
    figures: dict[str, float] = field(default_factory=dict)


class WorkFolder:
    """The folder of a run that is not over.

    :raises ValueError: *out* holds what another run wrote.
    """

    def __init__(self, out: Path, sources: Sequence[Source], engine: str) -> None:
        self.folder = out / "work"
        plan = {
            "format": FORMAT,
            "engine": engine,
            "inputs": [[str(source.path.absolute()), source.stamp] for source in sources],
        }
        told = self.folder / "plan.json"
        if told.is_file():
            if json.loads(told.read_text(encoding="utf-8")) != plan:
                raise ValueError(f"{self.folder} is of a run over other inputs or by another engine: delete {out}")
        elif out.exists() and any(out.iterdir()):
            raise ValueError(f"{out} is not empty: name a new folder with --out, or delete it")
        else:
            self.folder.mkdir(parents=True)
            told.write_text(json.dumps(plan), encoding="utf-8")

    def has(self, *tables: str) -> bool:
        """Tell whether these tables are made."""
        return all((self.folder / name).is_dir() for name in tables)

    def files(self, table: str) -> list[Path]:
        return sorted((self.folder / table).glob("*.parquet"))

    def make(self, table: str, write: Callable[[Path], None]) -> None:
        """Let *write* make a table in a folder, unless it is there."""
        if not self.has(table):
            partial = self.folder / f"{table}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            write(partial)
            partial.replace(self.folder / table)


class Show:
    """Progress and times of the steps."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure a step; what a run that was interrupted spent on it before is not known."""
        began = time.monotonic()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - began, 3)

    def progress(self, items: Iterable[Item], told: str) -> Iterable[Item]:
        """Yield *items*, and show how many where standard error is a terminal."""
        from tqdm import tqdm  # noqa: PLC0415 -- an extra

        return tqdm(items, told, leave=False, disable=None)


def mine(sources: Sequence[Source], out: Path, engine: str, openers: Openers, judge: Judge) -> Mined:
    """Mine *sources*; the outputs are for the caller to write, who then calls :func:`end`.

    :param engine: ``duckdb``, or the master of Spark.
    :raises ValueError: an input is broken, or *out* is of another run.
    :raises OSError: a file cannot be read or written.
    :raises ImportError: an extra is missing.
    """
    check_engine(engine)
    is_new = not out.exists()
    work, show = WorkFolder(out, sources, engine), Show()
    try:
        with show.step("inputs"):
            inputs = collect(sources, work.folder, openers)
        if not inputs.pages or not inputs.counts["pages"]:
            raise ValueError(f"there is no page in the inputs: {counts_in_words(inputs.counts)}")
    except ValueError:  # no run over other inputs could go on from there
        shutil.rmtree(work.folder)
        if is_new:
            out.rmdir()
        raise
    _make_tables(work, engine, inputs, show)
    with show.step("verdicts"):
        found = _judged(work, judge, show)
    with show.step("rules"):
        rules = _rules(work, inputs, show)
    result = Mined(found, rules, work.files("clusters"))
    result.figures = _figures(result, inputs) | {f"seconds.{name}": value for name, value in show.seconds.items()}
    return result


@contextmanager
def going_on(out: Path) -> Iterator[None]:
    """Say in one line that the disk is full, whoever finds it out, and what to do.

    :raises ValueError: it is.
    """
    try:
        yield
    except Exception as error:
        is_full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error)
        if not is_full:
            raise
        raise ValueError(f"{out}: the disk is full; make room, and the same command goes on where it was") from None


def end(out: Path) -> None:
    """Delete the work folder of a run whose outputs are written."""
    shutil.rmtree(out / "work", ignore_errors=True)


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Return how many records of each kind there were."""
    told = [f"{count:,} {kind}" for kind, count in counts.items() if count and kind != "pages"]
    return ", ".join(told) or "they are empty"


def _make_tables(work: WorkFolder, engine_name: str, inputs: Inputs, show: Show) -> None:
    if work.has(*expressions.TABLES):
        return
    with open_engine(engine_name, work.folder / "engine") as engine:
        collection = CollectionTables(engine, inputs.pages, inputs.links)
        for name, expression in expressions.TABLES.items():
            with show.step(name):
                work.make(name, partial(_write, engine, expression, collection))


def _write(
    engine: Engine, expression: Callable[[CollectionTables], Any], collection: CollectionTables, path: Path
) -> None:
    engine.write(expression(collection), path)


def _judged(work: WorkFolder, judge: Judge, show: Show) -> Judged:
    pairs, weak = (map(PairRow._make, read(work.files(name), PairRow._fields)) for name in ("pairs", "weak"))
    readers: dict[str, list[str]] = {}
    for host, domain in read(work.files("readers"), LINKS):
        readers.setdefault(host, []).append(domain)
    rows = HostRows(work.files("rows"), work.folder / "rows.arrow")
    return judged(
        show.progress(pairs, "looking through pairs of hosts"),
        weak,
        rows,
        readers,
        judge=judge,
        progress=lambda items: show.progress(items, "judging pairs of hosts"),
    )


def _rules(work: WorkFolder, inputs: Inputs, show: Show) -> list[Rule]:
    rows = show.progress(read(work.files("urls"), dust.ClusterRow._fields), "learning rules from URLs")
    return dust.merged(dust.rules_of(dust.ClusterRow._make(row) for row in rows), inputs.rules)


def _figures(mined: Mined, inputs: Inputs) -> dict[str, Any]:
    found, groups = mined.judged, mined.judged.groups
    clusters = list(read(mined.clusters, ["cluster"]))
    return {
        **{kind.replace(" ", "_"): count for kind, count in inputs.counts.items() if count},
        "pairs_judged": found.n_judged,
        "pairs_without_promise": found.n_unpromising,
        "verdicts": len(found.verdicts),
        "verdicts_sure": len(found.sure),
        "uncertain_pairs": len(found.uncertain),
        "groups": len(groups),
        "hosts_in_groups": sum(map(len, groups.values())),
        "aliases": len(found.aliases),
        "rules": len(mined.rules),
        "clusters": len(set(clusters)),
        "urls_in_clusters": len(clusters),
        "threshold": found.judge.threshold,
    }
