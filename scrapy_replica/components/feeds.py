"""Where items go: written before their pages are done, and added to when a job goes on."""

from __future__ import annotations

import csv
import json
import logging
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from scrapy.extensions.feedexport import FeedExporter
from w3lib.url import file_uri_to_path

from scrapy_replica.config import ConfigError
from scrapy_replica.crawldb.contract import StoreError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

LINES = frozenset({"jsonl", "jsonlines", "jl"})
ADDED_TO = LINES | {"csv"}
"""Formats in which more items can be written behind those of another run."""

REPLACED = {"s3": "boto3", "gs": "google-cloud-storage"}
"""Stores that have no way to add to a file, and what each needs."""


class OutputError(StoreError):
    """What the crawl brought cannot be written: one line that names the place and says what to do."""


def refusal(uri: str, options: Mapping[str, Any], *, is_resumed: bool) -> str | None:
    """Return why the feed *uri* would lose or spoil the items of an earlier run; ``None`` if it would not.

    *is_resumed*: the job goes on, and does not bring those items again.
    """
    if "%(" in uri:  # each run has a name of its own
        return None
    if urlsplit(uri).scheme in REPLACED:
        lost = "each run of a job replaces what the one before wrote: put %(time)s into its name"
        return f"{uri}: {lost}" if is_resumed else None
    path = _file(uri)
    if path is None or not path.is_file() or not path.stat().st_size:
        return None
    if options.get("overwrite"):
        kept = (
            "it holds items that the job brought before and would not bring again: add to it (-o), or take another file"
        )
        return f"{uri}: {kept}" if is_resumed else None
    if options["format"] in ADDED_TO:
        return None
    return f"{uri}: nothing can be added to a {options['format']} file: take another file, or one that ends in .jsonl"


def missing_package(uri: str) -> str | None:
    """Return why nothing can be stored at *uri* as things are installed; ``None`` if it can."""
    package = REPLACED.get(urlsplit(uri).scheme)
    try:
        if package is not None:
            version(package)
    except PackageNotFoundError:
        return f"{uri}: it needs: pip install {package}"
    return None


def other_fields(uri: str, options: Mapping[str, Any], fields: Collection[str], choice: Collection[str]) -> str | None:
    """Return why items with *fields* cannot be added to the feed *uri*, whose items have others; ``None`` if they can.

    What cannot be read, as a feed that Scrapy packs, has no fields that anybody knows of. Fields that are not of
    the *choice* are those of a project's pipelines, which will add them again.
    """
    path = _file(uri)
    if "%(" in uri or options.get("overwrite") or path is None or not path.is_file():
        return None
    try:
        known = _fields_of(path, options) & {*choice}
    except (OSError, ValueError, csv.Error):
        return None
    if not known or known == set(fields):
        return None
    return (
        f"{uri}: its items have the fields {','.join(sorted(known))}, and these would have "
        f"{','.join(sorted(fields))}: give the same --fields, or another file"
    )


LOOKED_AT = 100
"""Items of a file that tell which fields it has: one that could not be observed has its URL alone."""


def _fields_of(path: Path, options: Mapping[str, Any]) -> set[str]:
    """Return the fields of the items in *path*; empty where there is none, or nothing but URLs."""
    with path.open(encoding=options.get("encoding") or "utf-8-sig", newline="") as file:
        if options["format"] == "csv":
            return set(next(csv.reader(file), ()))
        known: set[str] = set()
        for line in islice(file, LOOKED_AT) if options["format"] in LINES else ():
            with suppress(ValueError):  # a kill cut it off
                item = json.loads(line)
                known.update(item if isinstance(item, dict) else ())
    return set() if known == {"url"} else known


def _file(uri: str) -> Path | None:
    """Return the file of this machine that *uri* names; ``None`` if it is elsewhere."""
    scheme = urlsplit(uri).scheme
    if len(scheme) > 1:  # one letter is a drive
        return Path(file_uri_to_path(uri)) if scheme == "file" else None
    return Path(uri)


class Feeds:
    """The files that Scrapy exports items to.

    Invariant: an item is out of the process before its page is done. Items stay in memory until a buffer is full; a
    process that is killed would lose them.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._exporter = crawler.get_extension(FeedExporter)

    def flush(self) -> None:
        """Hand the items so far to the system, which keeps them if the process is killed.

        :raises OutputError: they cannot be written.
        """
        for slot in self._exporter.slots if self._exporter is not None else ():
            if slot.file is None or slot.file.closed:
                continue
            try:
                slot.file.flush()
            except OSError as error:
                raise OutputError(
                    f"the feed {slot.uri} cannot be written to ({error.strerror}): free some space; "
                    "the same command goes on with a job"
                ) from None

    def resume(self, *, is_resumed: bool) -> None:
        """Prepare files that hold items of an earlier run: what a kill cut off goes, no second header comes.

        *is_resumed*: as in :func:`refusal`.
        """
        for uri, options in self._exporter.feeds.items() if self._exporter is not None else ():
            path = _file(uri)
            if (why := refusal(uri, options, is_resumed=is_resumed)) is not None:
                logger.warning("The feed %s", why)
            elif (
                path is not None
                and path.is_file()
                and options["format"] in ADDED_TO
                and "postprocessing" not in options
            ):
                _mend(path, options["format"])
                if options["format"] == "csv" and path.stat().st_size:
                    _go_on_with_columns(path, options)


def claimed_feeds(feeds: Iterable[object]) -> list[BinaryIO]:
    """Keep other processes of the crawl from writing to the same *feeds*, keys of the setting, while this one lives.

    :raises ConfigError: one does, and two would write into each other's lines.
    """
    paths = [None if "%(" in uri else _file(uri) for uri in map(str, feeds)]
    return [claimed(path) for path in paths if path is not None]


def claimed(path: Path) -> BinaryIO:
    """Open the file at *path* so that no other process that asks for it gets it, until it is closed.

    :raises ConfigError: another one has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("ab")
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise ConfigError(f"{path}: another process writes to it; give each process a file of its own") from None
    return file


def _mend(path: Path, format_: str) -> None:
    """Take away what a kill left of the last item of *path*; its page was not done and comes again."""
    read = end = 0
    is_quoted, line = False, b""
    with path.open("rb+") as file:
        for line in file:
            read += len(line)
            is_quoted ^= format_ == "csv" and line.count(b'"') % 2 == 1
            if line.endswith(b"\n") and not is_quoted:
                end = read
        if end == read:
            return
        if format_ in LINES and _is_json(line):
            file.write(b"\n")
            return
        logger.warning("%s: its last item was cut off and is taken away; its page is fetched again", path)
        file.truncate(end)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _go_on_with_columns(path: Path, options: dict[str, Any]) -> None:
    """Have rows written under the header that *path* has."""
    kwargs = options["item_export_kwargs"]
    with path.open(encoding=options["encoding"] or "utf-8", newline="") as file:
        header = next(csv.reader(file, delimiter=kwargs.get("delimiter", ",")))
    options["fields"] = options["fields"] or header
    options["item_export_kwargs"] = {**kwargs, "include_headers_line": False}
