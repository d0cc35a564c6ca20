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
MOST = 1 << 28
"""Bytes of a file that is read, unpacked: that of a million terms has a tenth of them."""
BYTES_OF_TEXT = 100
"""What a text counts for."""


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
    """Return what :func:`pack` was given. Raises ``ValueError`` where it would take more than :data:`MOST` bytes."""
    parts: dict[str, Any] = {}
    with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
        if sum(entry.file_size for entry in arrays.zip.infolist()) > MOST:
            raise ValueError(f"an NPZ file of more than {MOST} bytes")
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

    A part is an array, a list of texts, what JSON can hold, or a mapping of parts. Parts must not change until all
    pieces were taken; they are let go one by one.
    """
    piece: dict[str, Any] = {}
    room = PIECE
    for name, chunk, size in _chunks(state):
        if name in piece or size > room:
            yield _piece(piece)
            piece, room = {}, PIECE
        piece[name] = chunk
        room -= size
    yield _piece(piece)


def _chunks(state: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any, int]]:
    """Yield (name, part or some of it, bytes or so), taking them from *state*."""
    for name in list(state):
        part = state.pop(name)
        if isinstance(part, dict):
            yield from _chunks(part, f"{prefix}{name}/")
        elif isinstance(part, (np.ndarray, list)):
            size = part.nbytes if isinstance(part, np.ndarray) else BYTES_OF_TEXT * len(part)
            rows = max(1, PIECE * len(part) // max(1, size))
            for start in range(0, max(1, len(part)), rows):
                chunk = part[start : start + rows]
                yield prefix + name, chunk, size * len(chunk) // max(1, len(part))
        else:
            yield prefix + name, part, BYTES_OF_TEXT


def _piece(parts: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **_arrays(parts))
    # Level 1: a third of the bytes at a tenth of the time of the usual level.
    return zlib.compress(buffer.getvalue(), 1)


def from_pieces(pieces: Iterable[bytes]) -> dict[str, Any]:
    """Return what :func:`in_pieces` was given."""
    found: dict[str, list[Any]] = {}
    for piece in pieces:
        for name, chunk in unpack(_inflated(piece)).items():
            found.setdefault(name, []).append(chunk)
    state: dict[str, Any] = {}
    for path in list(found):
        *folders, name = path.split("/")
        place = state
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = _joined(found.pop(path))
    return state


def _inflated(piece: bytes) -> bytes:
    inflating = zlib.decompressobj()
    data = inflating.decompress(piece, MOST)
    if not inflating.eof:
        raise ValueError(f"a piece that is cut off, or of more than {MOST} bytes")
    return data


def _joined(chunks: list[Any]) -> Any:
    if isinstance(chunks[0], np.ndarray):
        return np.concatenate(chunks)
    if isinstance(chunks[0], list):
        return [text for chunk in chunks for text in chunk]
    return chunks[0]
