"""Saved state of strategies: named arrays and texts in one NPZ, never pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np


def pack(parts: Mapping[str, Any]) -> bytes:
    """Return NPZ bytes; a part is an array, bytes, or what JSON can hold."""
    arrays: dict[str, Any] = {}
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            arrays[f"a:{name}"] = part
        elif isinstance(part, bytes):
            arrays[f"b:{name}"] = np.frombuffer(part, dtype=np.uint8)
        else:
            text = json.dumps(part, ensure_ascii=False).encode("utf-8", "surrogatepass")
            arrays[f"j:{name}"] = np.frombuffer(text, dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


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
