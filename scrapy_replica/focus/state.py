"""Saved state: named arrays and texts as NPZ, never pickle; that of a strategy in many small pieces."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

PIECE = 1 << 19
"""Bytes of an array, about, that one piece holds: 3 to 8 ms to make."""
TEXTS = 4_000
"""Texts of a list that one piece holds."""


def pack(parts: Mapping[str, Any]) -> bytes:
    """Return NPZ bytes; a part is an array, bytes, or what JSON can hold."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **_arrays(parts))
    return buffer.getvalue()


def _arrays(parts: Mapping[str, Any]) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            arrays[f"a:{name}"] = part
        elif isinstance(part, bytes):
            arrays[f"b:{name}"] = np.frombuffer(part, dtype=np.uint8)
        else:
            text = json.dumps(part, ensure_ascii=False).encode("utf-8", "surrogatepass")
            arrays[f"j:{name}"] = np.frombuffer(text, dtype=np.uint8)
    return arrays


def unpack(state: bytes) -> dict[str, Any]:
    """Return what :func:`pack` was given."""
    parts: dict[str, Any] = {}
    with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
        for key in arrays.files:
            kind, name = key.split(":", 1)
            value = arrays[key]
            if kind == "b":
                value = value.tobytes()
            elif kind == "j":
                value = json.loads(value.tobytes().decode("utf-8", "surrogatepass"))
            parts[name] = value
    return parts


def in_pieces(state: dict[str, Any]) -> Iterator[bytes]:
    """Yield *state* in pieces of at most some hundred kB, each made when it is asked for.

    A part is an array, a list of texts, what JSON can hold, or a mapping of parts. *state* must not be changed until
    all pieces were taken; its parts are let go one by one.
    """
    small: dict[str, Any] = {}
    large = dict(_flat(state))
    state.clear()
    for name in list(large):
        if not isinstance(large[name], (np.ndarray, list)):
            small[name] = large.pop(name)
    yield _piece({"small": small})
    for name in list(large):
        part = large.pop(name)
        rows = TEXTS if isinstance(part, list) else max(1, PIECE * len(part) // max(1, part.nbytes))
        for start in range(0, max(1, len(part)), rows):
            yield _piece({name: part[start : start + rows]})


def _piece(parts: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **_arrays(parts))
    # Level 1: a third of the bytes at a tenth of the time of the usual level.
    return zlib.compress(buffer.getvalue(), 1)


def _flat(state: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, part in state.items():
        if isinstance(part, Mapping):
            yield from _flat(part, f"{prefix}{name}/")
        else:
            yield prefix + name, part


def from_pieces(pieces: Iterable[bytes]) -> dict[str, Any]:
    """Return what :func:`in_pieces` was given."""
    found: dict[str, Any] = {}
    for piece in pieces:
        ((name, part),) = unpack(zlib.decompress(piece)).items()
        if name == "small":
            found.update(part)
        else:
            found.setdefault(name, []).append(part)
    state: dict[str, Any] = {}
    for path, part in found.items():
        *folders, name = path.split("/")
        place = state
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = _joined(part)
    return state


def _joined(part: Any) -> Any:
    if not isinstance(part, list):
        return part
    if isinstance(part[0], np.ndarray):
        return np.concatenate(part)
    return [text for texts in part for text in texts]
