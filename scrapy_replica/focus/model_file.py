"""What a crawl has learnt, as a file that another crawl can begin with."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple
from zipfile import BadZipFile

from scrapy_replica.focus.state import from_pieces, in_pieces, pack, unpack

KIND = "scrapy-replica model"
VERSION = 1
"""Number of this form, and of the features of the strategies; a file of another number is refused."""
BROKEN = (ValueError, KeyError, TypeError, IndexError, EOFError, OSError, BadZipFile, zlib.error)
"""What reading bytes that are no such file may raise."""


class Learnt(NamedTuple):
    """What holds on other sites as well; no URL is part of it."""

    relevance: bytes
    """The relevance model, as it saves itself."""
    strategy: Mapping[str, Any]
    """What the strategy learnt (:meth:`~scrapy_replica.focus.strategy.Strategy.learnt`); consumed by :func:`dump`."""


def dump(learnt: Learnt) -> bytes:
    """Return the file, NPZ without pickled objects."""
    pieces = {f"piece {number}": piece for number, piece in enumerate(in_pieces(dict(learnt.strategy)))}
    return pack({"kind": KIND, "version": VERSION, "relevance": learnt.relevance, "pieces": len(pieces), **pieces})


def load(file: bytes) -> Learnt:
    """Return what :func:`dump` was given, in arrays of its own.

    Raises ``ValueError`` with one line where *file* is something else, damaged, or of another version.
    """
    try:
        parts = unpack(file)
        kind, version = parts["kind"], parts["version"]
    except BROKEN:
        kind, version, parts = None, None, {}
    if kind != KIND:
        raise ValueError("it is no model that 'scrapy replica model' wrote, or it is damaged")
    if version != VERSION:
        raise ValueError(f"it is a model of version {version}, and this one reads {VERSION}: write it again")
    try:
        pieces = [parts["piece 0"], *(parts[f"piece {number}"] for number in range(1, parts["pieces"]))]
        return Learnt(parts["relevance"], from_pieces(pieces))
    except BROKEN:
        raise ValueError("it is damaged") from None
