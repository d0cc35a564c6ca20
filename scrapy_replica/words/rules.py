"""DUST rules in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapy_replica.address import shown_local, shown_value
from scrapy_replica.words.text import cleaned

_STEPS = {
    "drop": "without the argument {key}",
    "set": "with the argument {key}={value}",
    "replace": "with {value} in place of {key}",
    "template": "with {value} for {key}",
    "only": "with the arguments {key} only",
    "subpath": "without part {key} of the path",
    "unslash": "without slashes at the end",
    "lower": "with the path in small letters",
}


_CLASSES = {"digits": "a number", "hex": "a hexadecimal number", "word": "letters only", "mixed": "letters and digits"}


_KEYS = {"depth": "the depth of the path", "ext": "the extension", "args": "the names of the arguments"}


def rule(record: Mapping[str, Any]) -> str:
    """Return what a DUST rule (its JSON form) says, in one line.

    ``on a.example the page is the same without the argument sid, where part 1 of the path is shop``
    """
    host = cleaned(str(record["host"]))
    where = f"on {host}" if host and not host.startswith(".") else f"below {host[1:]}" if host else "on any host"
    kind, key, *target = record["transformation"][0]
    if kind == "template" and "{" not in "".join(target):
        return f"{where} all of {cleaned(shown_local(key))} lead to {cleaned(shown_local(*target))}"
    steps = ", ".join(_step(*step) for step in record["transformation"])
    context = " and ".join(_condition(*condition) for condition in record["context"])
    return f"{where} the page is the same {steps}" + (f", where {context}" if context else "")


def _step(kind: str, key: str, value: str | None = None) -> str:
    if kind in {"drop", "set"} and value:
        value = shown_value(key, value)
    if kind in {"replace", "template"}:
        key, value = shown_local(key), shown_local(value or "")
    if kind == "drop" and value is not None:
        key = f"{key}={value}"
    if kind == "subpath":
        key = str(int(key) + 1)
    if kind == "replace" and not value:
        return f"without {cleaned(key)}"
    return _STEPS.get(kind, kind).format(key=cleaned(key) or "(nothing)", value=cleaned(value or "") or "(nothing)")


def _condition(key: str, test: str, value: str, holds: object) -> str:
    name = _KEYS.get(key, "")
    if key.startswith("q:"):
        name, value = f"argument {key[2:]}", shown_value(key[2:], value)
    if not name:
        place = int(key[1:])
        name = f"part {place + 1} of the path" if place >= 0 else ("the last part", "the last part but one")[-1 - place]
    name, value = cleaned(name), cleaned(value) or "empty"
    if test == "has":
        return f"there is {'an' if holds else 'no'} {name}"
    verbs = ("begins with", "does not begin with") if test == "head" else ("is", "is not")
    return f"{name} {verbs[not holds]} {_CLASSES.get(value, value) if test == 'class' else value}"
