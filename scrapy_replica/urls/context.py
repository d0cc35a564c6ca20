"""Where a rule holds: conditions on the keys and values of a URL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scrapy_replica.urls.pattern import UrlPattern, argument_name, token_class

_MAX_VALUE_CHARS = 80


class Fact(NamedTuple):
    """One thing that is true of a URL.

    ``key`` is ``depth``, ``ext``, ``p0``, ``p1``, ``p2``, ``p-1``, ``p-2``, ``args`` (all argument names) or
    ``q:name``; ``test`` is ``=``, ``has``, ``head`` (what stands before the first ``/`` or ``:``) or ``class`` (see
    ``token_class``).
    """

    key: str
    test: str
    value: str


class Condition(NamedTuple):
    """A fact that must be true (``holds``) or must not be."""

    fact: Fact
    holds: bool = True


def facts(url: UrlPattern) -> Iterator[Fact]:
    """Yield every fact about *url* that a context may name."""
    components = url.components
    count = len(components)
    yield Fact("depth", "=", str(count))
    yield Fact("ext", "=", url.extension)
    for place in (0, 1, 2, -1, -2):
        if -count <= place < count:
            yield from _facts_of_value(f"p{place}", components[place])
    names = []
    seen: set[str] = set()
    for argument in url.arguments or ():
        name, _, value = argument.partition("=")
        names.append(name)
        if name in seen:
            continue
        seen.add(name)
        yield Fact(f"q:{name}", "has", "")
        yield from _facts_of_value(f"q:{name}", value)
    yield Fact("args", "=", _names_as_one(names))


def _facts_of_value(key: str, value: str) -> Iterator[Fact]:
    if len(value) <= _MAX_VALUE_CHARS:
        yield Fact(key, "=", value)
    for head in heads(value):
        yield Fact(key, "head", head)
    yield Fact(key, "class", token_class(value))


def heads(value: str) -> list[str]:
    """Return what stands before the first ``/`` and before the first ``:`` of *value*, those included."""
    found = {value[: place + 1] for place in (value.find("/"), value.find(":")) if place > 0}
    return sorted(head for head in found if len(head) <= _MAX_VALUE_CHARS)


def _names_as_one(names: list[str]) -> str:
    return "&".join(sorted(set(names)))


def is_true(fact: Fact, url: UrlPattern) -> bool:
    """Tell whether *fact* is among the ``facts`` of *url*, without making them all."""
    key, test, wanted = fact
    value = value_of(key, url)
    if value is None:
        return False
    if test == "=":
        return value == wanted
    if test == "has":
        return True
    if test == "head":
        return wanted in heads(value)
    return token_class(value) == wanted


def value_of(key: str, url: UrlPattern) -> str | None:
    """Return the value under *key*, None where the URL has none."""
    if key.startswith("q:"):
        return url.value(key[2:])
    if key == "args":
        return _names_as_one([argument_name(argument) for argument in url.arguments or ()])
    if key == "ext":
        return url.extension
    components = url.components
    if key == "depth":
        return str(len(components))
    place = int(key[1:])
    return components[place] if -len(components) <= place < len(components) else None
