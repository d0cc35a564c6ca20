"""The engines that run the expressions: DuckDB in this process, or Spark.

An expression is kept (:meth:`Engine.keep`) where others build on it: engines forget what they computed, and what lies
on the disk needs no memory.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import ibis.backends.duckdb  # else it would be missed, if it is, when a table is written

if TYPE_CHECKING:
    from ibis.expr.types import IntegerValue, Table, Value

MEMORY_SHARE = 0.5
"""Share of the machine's memory that an engine may take; beyond, it spills to the disk."""
MAX_MEMORY = 16 << 30
"""Bytes of memory, however large the machine."""
MIN_JAVA = 17
"""What Spark 4 runs on."""
ANSWER_SECONDS = 10
"""How long a master of Spark is waited for."""
_SPARK = re.compile(r"spark://[^\s/]+:\d+|local(\[(\d+|\*)\])?|yarn|k8s://\S+")


class Engine(ABC):
    """Runs Ibis expressions.

    Args:
        folder: Where it spills and keeps what others build on; on a cluster, one that all its machines see.
    """

    key: Callable[[Value], IntegerValue]
    """Hash of 63 bits or more; another one in each engine, so that nothing may depend on its order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._reads = 0
        folder.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def write(self, expression: Table, path: Path) -> None:
        """Write the rows of *expression* into the folder *path*: Parquet files whose names are in order."""

    @abstractmethod
    def read(self, files: Sequence[Path]) -> Table:
        """Return the rows of Parquet *files*, or folders of them; a column that some lack is null there."""

    @abstractmethod
    def number(self, expression: Any) -> int:
        """Return the value of an *expression* that is one integer; 0 for null."""

    @abstractmethod
    def close(self) -> None:
        """End it, and delete what it kept."""

    def keep(self, name: str, expression: Table) -> Table:
        """Return the rows of *expression*, computed once, in no order."""
        path = self.folder / f"{name}.kept"
        shutil.rmtree(path, ignore_errors=True)
        self.write(expression, path)
        return self.read([path])

    def drop(self, name: str) -> None:
        shutil.rmtree(self.folder / f"{name}.kept", ignore_errors=True)

    def _forget(self) -> None:
        for path in self.folder.glob("*.kept"):
            shutil.rmtree(path, ignore_errors=True)


class DuckDB(Engine):
    """DuckDB in this process: as many threads as processors, memory bounded, the rest on the disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        spill = folder / "spill"
        self.connection = ibis.duckdb.connect(
            memory_limit=f"{_memory() >> 20}MiB",
            temp_directory=str(spill),
            threads=os.cpu_count() or 1,
            preserve_insertion_order=False,  # kept tables have no order, and what has one says so
        )
        self.connection.raw_sql("CREATE MACRO hash64(x) AS CAST(hash(x) >> 1 AS BIGINT)")  # hash() is unsigned
        self.key = _function("hash64")

    def write(self, expression: Table, path: Path) -> None:
        path.mkdir(parents=True)
        query = self.connection.compile(expression)
        self.connection.raw_sql(f"COPY ({query}) TO {_quoted(path / 'part-0.parquet')} (FORMAT parquet)")

    def read(self, files: Sequence[Path]) -> Table:
        names = ", ".join(_quoted(file / "*.parquet" if file.is_dir() else file) for file in files)
        self._reads += 1
        view = f"files_{self._reads}"
        self.connection.raw_sql(f"CREATE VIEW {view} AS FROM read_parquet([{names}], union_by_name = true)")
        return self.connection.table(view)

    def number(self, expression: Any) -> int:
        [row] = self.connection.raw_sql(self.connection.compile(expression)).fetchall()
        return int(row[0] or 0)

    def close(self) -> None:
        self.connection.disconnect()
        self._forget()
        shutil.rmtree(self.folder / "spill", ignore_errors=True)


class Spark(Engine):
    """A Spark session of its own, which ends with it."""

    def __init__(self, folder: Path, master: str) -> None:
        super().__init__(folder)
        session = _session(master, folder)
        self.connection: Any = ibis.pyspark.connect(session)
        self._session = session
        self.key = _function("xxhash64")

    def write(self, expression: Table, path: Path) -> None:
        self._session.sql(self.connection.compile(expression)).write.parquet(path.absolute().as_uri())

    def read(self, files: Sequence[Path]) -> Table:
        frame = self._session.read.option("mergeSchema", "true").parquet(*(file.absolute().as_uri() for file in files))
        self._reads += 1
        view = f"files_{self._reads}"
        frame.createTempView(view)
        table: Table = self.connection.table(view)
        return table

    def number(self, expression: Any) -> int:
        [row] = self._session.sql(self.connection.compile(expression.as_table())).collect()
        return int(row[0] or 0)

    def close(self) -> None:
        self._session.stop()
        self._forget()


@contextmanager
def open_engine(name: str, folder: Path) -> Iterator[Engine]:
    """Open the engine called *name*: ``duckdb``, or the master of Spark as ``spark://host:port`` or ``local[2]``.

    :raises ValueError: there is no such engine, or Spark cannot begin.
    :raises ImportError: what it needs is not installed.
    """
    engine = DuckDB(folder) if name == "duckdb" else Spark(folder, _master(name))
    try:
        yield engine
    finally:
        engine.close()


def check_engine(name: str) -> None:
    """Make sure that there is an engine called *name*, before anything is written for it.

    :raises ValueError: there is none, no Java for it, or no master answers.
    :raises ImportError: what it needs is not installed.
    """
    if name != "duckdb":
        _spark(_master(name))
        check_java()
        if name.startswith("spark://"):
            _check_answer(name)


def _master(name: str) -> str:
    if not _SPARK.fullmatch(name):
        raise ValueError(f"there is no engine {name!r}: it is duckdb, or Spark as spark://HOST:PORT or local[2]")
    return name


def _check_answer(master: str) -> None:
    """Make sure that a machine of *master* answers: Spark would try for a minute, and end in lines of Java."""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        with suppress(OSError, OverflowError, UnicodeError):  # the latter of ports and names that cannot be
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
            return
    raise ValueError(f"no master of Spark answers at {master}")


def _spark(master: str) -> Any:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(f"--engine {master} needs {error.name}: pip install 'scrapy-replica[spark]'") from error
    return SparkSession


def _session(master: str, folder: Path) -> Any:
    """Return a new session of Spark."""
    builder = _spark(master).builder.master(master).appName("scrapy-replica mine")
    for key, value in {
        "spark.driver.memory": f"{_memory() >> 20}m",
        "spark.local.dir": str(folder),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.ansi.enabled": "false",  # what lies beyond the end of a list is null, as in DuckDB
        "spark.sql.session.timeZone": "UTC",
        **(
            {"spark.sql.shuffle.partitions": "16"} if master.startswith("local") else {}
        ),  # 200 small tasks take minutes
    }.items():
        builder = builder.config(key, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pyspark about pandas
            session = builder.getOrCreate()
    except Exception as error:  # whatever Java says
        why = " ".join(str(error).splitlines()[:2])  # the second one has the cause
        raise ValueError(f"Spark does not begin at {master}: {why}") from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def check_java() -> None:
    """Make sure that there is a Java that Spark runs on.

    :raises ValueError: there is none, or an older one.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else "java"
    try:
        told = subprocess.run(  # noqa: S603 - the Java of whoever calls
            [command, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except OSError as error:
        raise ValueError(f"Spark needs Java {MIN_JAVA} or newer, and there is no {command}") from error
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version is None or int(version[1]) < MIN_JAVA:
        found = f"is Java {version[1]}" if version else "tells no version"
        raise ValueError(f"Spark needs Java {MIN_JAVA} or newer; {command} {found}: set JAVA_HOME to a newer one")


def _memory() -> int:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(int(machine * MEMORY_SHARE), MAX_MEMORY)


def _function(name: str) -> Callable[[Value], IntegerValue]:
    """Return the engine's own function of any value that is called *name* and gives 64 bits."""

    def hashed(value: Any) -> int: ...  # type: ignore[empty-body]

    hashed.__annotations__ = {"return": int}  # Ibis would read the others as types of columns
    function: Callable[[Value], IntegerValue] = ibis.udf.scalar.builtin(hashed, name=name)
    return function


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
