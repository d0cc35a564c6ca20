"""What a crawl has learnt, as a file that another crawl can begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from scrapy_replica.focus.state import from_pieces, in_pieces, pack, unpack

KIND = "scrapy-replica model"
VERSION = 4
"""Number of this form, and of the features of the strategies; a file of another number is refused."""


class OtherModelError(ValueError):
    """The model was learnt in another way than is asked for: one line that says in which."""


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
    except Exception:  # noqa: BLE001 - of bytes that are no such file anything may come
        kind, version, parts = None, None, {}
    if kind != KIND:
        raise ValueError("it is no model that 'scrapy replica export JOB model' wrote, or it is damaged")
    if version != VERSION:
        raise ValueError(f"it is a model of version {version}, and this one reads {VERSION}: write it again")
    try:
        pieces = [parts["piece 0"], *(parts[f"piece {number}"] for number in range(1, parts["pieces"]))]
        learnt = Learnt(parts["relevance"], from_pieces(pieces))
        _check(learnt.strategy)
        return learnt
    except Exception:  # noqa: BLE001 - the same
        raise ValueError("it is damaged") from None


def _check(part: Any) -> None:
    """Raise where numbers of *part* are none."""
    if isinstance(part, Mapping):
        for each in part.values():
            _check(each)
    elif isinstance(part, np.ndarray | float) and not np.isfinite(part).all():
        raise ValueError("numbers that are none")
