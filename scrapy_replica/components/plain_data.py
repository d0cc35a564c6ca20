"""Requests as plain data: what other processes can be handed, and what is made of what they wrote."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

IMMUTABLE = (str, int, float, bool, type(None))

DEFAULT_CLASS = f"{Request.__module__}.{Request.__name__}"


class UnsharedError(ValueError):
    """A request cannot be handed to another process: one line that names it and says what to do."""


class UnreadableError(ValueError):
    """What another process is said to have written about a request makes no sense."""


def is_json(value: object) -> bool:
    """Tell whether JSON gives *value* back as it is."""
    if type(value) is dict:
        return all(type(key) is str and is_json(one) for key, one in value.items())
    if type(value) is list:
        return all(map(is_json, value))
    return type(value) in IMMUTABLE


def more_than_data(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of *fields* JSON does not give back as it is, in words."""
    for name, value in fields.items():
        if isinstance(value, dict) and all(type(key) is str for key in value):
            yield from (f"{name}[{key!r}] {_kind(one)}" for key, one in value.items() if not is_json(one))
        elif not is_json(value):
            yield f"its {name} {_kind(value)}"


def _kind(value: object) -> str:
    is_box = isinstance(value, (dict, list))
    return "holds more than plain data" if is_box else f"is a {type(value).__name__}"


def checked(payload: bytes) -> dict[str, Any]:
    """Return what *payload* tells, which anybody may have written into the database.

    :raises UnreadableError: it makes no sense.
    """
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"it is no JSON ({error})") from None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name, {}), dict) for name in ("meta", "headers")):
        raise UnreadableError("it is no request")
    if not _is_request_class(fields.get("_class", DEFAULT_CLASS)):
        raise UnreadableError(f"{fields['_class']} is no class of requests of this process")
    return fields


def _is_request_class(name: object) -> bool:
    """Tell whether *name* is that of a class of requests which is there; nothing is imported."""
    module, _, own = str(name).rpartition(".")
    kind = getattr(sys.modules.get(module), own, None)
    return isinstance(kind, type) and issubclass(kind, Request)
