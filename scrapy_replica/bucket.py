"""Folders in object stores: S3, Google Cloud Storage and whatever else fsspec has a file system for."""

from __future__ import annotations

import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy_replica.address import without_user

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_url(place: object) -> bool:
    """Tell whether *place* is the URL of a store, ``s3://bucket/x``, rather than a path."""
    return "://" in str(place)


class Bucket:
    """The folder at a URL, to which whole files are copied.

    Nobody sees half a file: stores show an object when all of it is there. (A ``file://`` folder shows it growing.)

    :raises ModuleNotFoundError: fsspec, or the package that it needs for this store, is missing.
    :raises ValueError: it has no file system for the URL.
    """

    def __init__(self, url: str) -> None:
        self.url = without_user(url)
        try:
            import fsspec  # noqa: PLC0415  (an extra)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{self.url} needs fsspec: pip install 'scrapy-replica[bucket]'") from error
        try:
            self._store, root = fsspec.url_to_fs(url)
        except ImportError as error:  # as "Install s3fs to access S3"
            raise ModuleNotFoundError(f"{self.url}: {error}") from error
        self._root = root.rstrip("/")

    def check(self) -> None:
        """Write a file of no bytes and delete it.

        :raises OSError: nothing can be written there.
        """
        path = self._path(f".scrapy-replica-{secrets.token_hex(4)}")
        with self._reaching():
            self._store.pipe_file(path, b"")
        with suppress(Exception):  # where it may write and not delete, one is left
            self._store.rm_file(path)

    def names(self) -> set[str]:
        """Return the names of the files in it.

        :raises OSError: it cannot be reached.
        """
        with self._reaching():
            try:
                found = self._store.ls(self._root, detail=False)
            except FileNotFoundError:  # a folder of which nothing was written is none
                return set()
        return {path.rpartition("/")[2] for path in found}

    def put(self, file: Path, name: str) -> None:
        """Copy *file* there, in place of what is called *name*.

        :raises OSError: it is not there by now.
        """
        with self._reaching():
            self._store.put_file(str(file), self._path(name))

    @contextmanager
    def fetched(self, suffix: str) -> Iterator[Path]:
        """Copy the files whose names end in *suffix* here, to a folder that lasts as long as the block.

        :raises OSError: they cannot be read.
        """
        with TemporaryDirectory() as folder:
            for name in sorted(self.names()):
                if name.endswith(suffix):
                    with self._reaching():
                        self._store.get_file(self._path(name), str(Path(folder, name)))
            yield Path(folder)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Turn what a store raises, which may be anything, into OSError."""
        try:
            yield
        except Exception as error:
            why = " ".join(str(error).split())[:300] or type(error).__name__
            raise OSError(f"{self.url} cannot be reached ({why})") from error
