"""Writes a web into a folder: its pages as a direct archive or as WARC, and what is true of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scrapy_replica.lab.generation.truth import PAGES, write_hosts, write_pages
from scrapy_replica.lab.generation.warc import write_warc
from scrapy_replica.lab.generation.web import Chunk, Web

ARCHIVE, WARC, WHOLE = "archive", "web.warc.gz", "web.json"
MOST_PAGES = 100_000_000
"""The plan takes about 150 bytes of memory a page."""


def build(
    pages: int,
    seed: int,
    folder: Path,
    *,
    as_warc: bool,
    shown: Callable[[Iterable[Chunk]], Iterable[Chunk]] = iter,
) -> Web:
    """Write a web of *pages* pages into *folder*, which must be new or empty; *shown* sees the chunks pass by.

    Raises ``ValueError`` for what cannot be made, ``OSError`` where the disk is full: then *folder* holds a part.
    """
    if not 1 <= pages <= MOST_PAGES:
        raise ValueError(f"--pages is {pages}: it must be 1 to {MOST_PAGES:,}")
    if seed < 0:
        raise ValueError(f"--seed is {seed}: it must not be below 0")
    _must_be_new(folder)
    web = Web(pages, seed)
    folder.mkdir(parents=True, exist_ok=True)
    with _whole(folder), _ended(write_pages(web, folder / PAGES, shown(web.chunks()))) as chunks:
        if as_warc:
            write_warc(web, folder / WARC, chunks)
        else:
            _write_archive(web, folder / ARCHIVE, chunks)
        write_hosts(web, folder)
        told = {"pages": pages, "seed": seed, "hosts": len(web.plan.original), "topics": sorted(web.labels)}
        (folder / WHOLE).write_text(json.dumps(told) + "\n", encoding="utf-8")
    return web


def _write_archive(web: Web, folder: Path, chunks: Iterable[Chunk]) -> None:
    from scrapy_replica.lab.generation.archive import write_archive  # noqa: PLC0415 - needs an extra

    write_archive(web, folder, chunks)


def _must_be_new(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out: {folder} is a file; name a new folder")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if (folder / PAGES).exists() and not (folder / WHOLE).exists():
        raise ValueError(f"--out: {folder} holds part of a web whose making was cut short: delete it, or name another")
    raise ValueError(f"--out: {folder} is not empty; name a new folder")


@contextmanager
def _ended(chunks: Generator[Chunk, None, None]) -> Iterator[Iterable[Chunk]]:
    """Close the table that the chunks pass by, also where the disk has no room for its end."""
    try:
        yield chunks
    finally:
        with suppress(OSError):
            chunks.close()


@contextmanager
def _whole(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}: {folder} holds part of a web, delete it") from error
