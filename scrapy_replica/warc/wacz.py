"""WACZ 1.1.1: WARC files, their index and the pages of a crawl as one ZIP file, which replayweb.page and pywb open.

Specification: https://specs.webrecorder.net/wacz/1.1.1/
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from io import SEEK_END, TextIOWrapper
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

PAGES = {"format": "json-pages-1.0", "id": "pages", "title": "Pages"}
"""The line that the list of pages begins with."""

INDEXED = "response,revisit"
"""Kinds of records that can be shown."""

_CHUNK_BYTES = 1 << 20


def import_cdxj_indexer() -> Any:
    """The module ``cdxj_indexer.main``; ModuleNotFoundError says which extra brings it."""
    try:
        import cdxj_indexer.main  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("WACZ files need cdxj-indexer: pip install 'scrapy-replica[wacz]'") from error
    return cdxj_indexer.main


Pages = Iterable[Mapping[str, str]]
"""``url``, ``ts`` (ISO 8601) and ``title`` of each."""


def write_wacz(file: IO[bytes], warcs: Sequence[Path], pages: Pages, about: Mapping[str, str]) -> int:
    """Write *warcs* and the list of *pages* to *file*; return how many pages it names.

    :param pages: what its viewer begins with.
    :param about: ``title`` and ``software``.
    :raises ValueError: one of the files is no WARC file.
    """
    with zipfile.ZipFile(file, "w") as archive:
        package = _Package(archive)
        with TemporaryFile() as lines, TemporaryFile() as blocks:
            _index(warcs, lines, blocks)
            package.add("indexes/index.idx", lines)
            package.add("indexes/index.cdx.gz", blocks, is_packed=True)
        with TemporaryFile() as listed:
            count = _list(pages, listed)
            package.add("pages/pages.jsonl", listed)
        for warc in warcs:
            with warc.open("rb") as source:
                package.add(f"archive/{warc.name}", source, is_packed=True)
        package.close(about)
    return count


def _index(warcs: Sequence[Path], lines: IO[bytes], blocks: IO[bytes]) -> None:
    """Write the index of *warcs*, sorted and in compressed *blocks*, and where each begins in *lines*."""
    main = import_cdxj_indexer()
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415  (an extra)

    text = TextIOWrapper(lines, "utf-8", newline="\n", write_through=True)
    files = [str(warc) for warc in warcs]
    packed = {"compress": blocks, "data_out_name": "index.cdx.gz"}
    indexer = main.CDXJIndexer(text, files, sort=True, records=INDEXED, **packed)
    try:
        indexer.process_all()
    except ArchiveLoadFailed as error:
        raise ValueError(f"{indexer.curr_filename}: it is damaged, or no WARC file: {error}") from None
    text.detach()


def _list(pages: Pages, file: IO[bytes]) -> int:
    file.write(f"{json.dumps(PAGES)}\n".encode())
    count = 0
    for count, page in enumerate(pages, 1):
        file.write(f"{json.dumps({'id': str(count), **page})}\n".encode())
    return count


class _Package:
    """The files of a package, and what ``datapackage.json`` says of them."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._resources: list[dict[str, object]] = []

    def add(self, path: str, source: IO[bytes], *, is_packed: bool = False) -> None:
        """Add all of *source*; one that *is_packed* is stored as it is, so that a viewer may read parts of it."""
        info, hashed = _info(path, is_packed=is_packed), hashlib.sha256()
        # Known beforehand, it leaves the local header without an extra field, which replayweb.page stumbles over.
        info.file_size = source.seek(0, SEEK_END)
        source.seek(0)
        with self._archive.open(info, "w") as target:
            while data := source.read(_CHUNK_BYTES):
                hashed.update(data)
                target.write(data)
        what = {"name": path.rpartition("/")[2], "path": path, "hash": f"sha256:{hashed.hexdigest()}"}
        self._resources.append({**what, "bytes": source.tell()})

    def close(self, about: Mapping[str, str]) -> None:
        """Write what the package is, and the digest of that."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        head = {"profile": "data-package", "wacz_version": "1.1.1", **about, "created": now}
        described = json.dumps({**head, "resources": self._resources}, indent=2).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(described).hexdigest()}"}
        self._archive.writestr(_info("datapackage.json"), described)
        self._archive.writestr(_info("datapackage-digest.json"), json.dumps(digest, indent=2))


def _info(path: str, *, is_packed: bool = False) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path, datetime.now(timezone.utc).timetuple()[:6])
    info.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
    return info
