"""Rules in files: our own and duplicate-url-discarder's JSON, ``Clean-param`` lines, the shipped priors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_replica.urls.context import Condition, Fact
from scrapy_replica.urls.rule import WILDCARD, Rule, Step
from scrapy_replica.words.text import cleaned, unreadable

IMPORTED = "duplicate-url-discarder"
GIVEN = "given"
"""What a rule was learnt from that a crawl began with."""


class Exported(NamedTuple):
    """What could be said in the other format, and what could not."""

    text: str
    left_out: tuple[Rule, ...]


def dumps(rules: Iterable[Rule]) -> Exported:
    """Write *rules* as duplicate-url-discarder JSON; those that it has no words for are returned.

    It knows neither values nor contexts: only rules that remove arguments (or all but some) by name, a path component
    by place, or slashes at the end, on the whole host or below its first path component.
    """
    written, left_out = [], []
    for rule in rules:
        entry = _entry(rule)
        if entry is None:
            left_out.append(rule)
        else:
            written.append(entry)
    return Exported(json.dumps(written, ensure_ascii=False, sort_keys=True, indent=2), tuple(left_out))


def _entry(rule: Rule) -> dict[str, Any] | None:
    pattern = _pattern(rule)
    kinds = {step.kind for step in rule.transformation}
    if pattern is None or len(kinds) != 1 or any(step.value is not None for step in rule.transformation):
        return None
    names = [step.key for step in rule.transformation]
    entry: dict[str, Any] = {"order": 0, "urlPattern": {"include": [pattern] if pattern else []}}
    kind = kinds.pop()
    if kind == "drop":
        return entry | {"processor": "queryRemoval", "args": names}
    if kind == "only" and len(names) == 1:
        return entry | {"processor": "queryRemovalExcept", "args": names[0].split(",")}
    if kind == "subpath":
        return entry | {"processor": "subpathRemoval", "args": [int(name) for name in names]}
    return entry | {"processor": "normalizer"} if kind == "unslash" else None


def _pattern(rule: Rule) -> str | None:
    host = rule.host.removeprefix(".")
    if not rule.context:
        return host
    (fact, holds), *more = rule.context
    if more or not holds or not host or fact.key != "p0" or fact.test != "=" or not fact.value:
        return None
    return f"{host}/{fact.value}/"


def loads(text: str) -> list[Rule]:
    """Read rules, ours or duplicate-url-discarder's, these in the order of ``order``; ValueError names what is wrong.

    Of ``normalizer`` only the slash at the end is taken: another host name is a matter of host aliases.
    """
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("it holds no list of rules, as duplicate-url-discarder writes them")
    rules: list[Rule] = []
    for entry in sorted(entries, key=lambda entry: int(entry.get("order", 0))):
        rules += [Rule.from_dict(entry)] if "transformation" in entry else _rules(entry)
    return rules


def rules_at(path: Path) -> list[Rule]:
    """Return the rules of a file; see :func:`loads`.

    :raises ValueError: it cannot be read, or holds something else: one line that names the file.
    """
    try:
        return loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {path}: {unreadable(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None


def _rules(entry: Mapping[str, Any]) -> list[Rule]:
    try:
        pattern, processor = entry["urlPattern"], str(entry["processor"])
        includes = pattern.get("include") or [""]
    except (KeyError, AttributeError) as error:
        raise ValueError(f"not a rule of duplicate-url-discarder: {cleaned(repr(entry))}") from error
    if pattern.get("exclude"):
        raise ValueError(f"rules with exclude patterns are not understood: {cleaned(repr(entry))}")
    steps = _steps(processor, tuple(entry.get("args") or ()))
    found = []
    for include in includes:
        domain, _, path = str(include).partition("/")
        components = [component for component in path.split("/") if component]
        context = tuple(Condition(Fact(f"p{place}", "=", name)) for place, name in enumerate(components[:3]))
        found.append(Rule(f".{domain.lower()}" if domain else "", context, steps, learnt_from=IMPORTED))
    return found


def _steps(processor: str, args: tuple[Any, ...]) -> tuple[Step, ...]:
    if processor == "queryRemoval":
        return tuple(Step("drop", str(name)) for name in args)
    if processor == "queryRemovalExcept":
        return (Step("only", ",".join(map(str, args))),)
    if processor == "subpathRemoval":
        return tuple(Step("subpath", str(int(place))) for place in sorted(args, reverse=True))
    if processor == "normalizer":
        return (Step("unslash", ""),)
    raise ValueError(f"no processor named {processor!r}")


def clean_param(host: str, value: str) -> Rule | None:
    """Return the rule of a robots.txt line ``Clean-param: a&b /path``; None for an empty one.

    Only a literal first path component is kept of the path prefix; a finer one is taken as part of it.
    """
    names, _, path = value.strip().partition(" ")
    steps = tuple(Step("drop", name) for name in names.split("&") if name)
    component = path.strip().lstrip("/").partition("/")[0]
    context = (Condition(Fact("p0", "=", component)),) if component and not set(component) & set("*$?") else ()
    return Rule(host.lower(), context, steps, learnt_from="clean-param") if steps else None


@lru_cache(1)
def priors() -> tuple[Rule, ...]:
    """Return the shipped guesses: names of session ids, trackers and the like. None may act on a host unconfirmed."""
    data = json.loads(files("scrapy_replica.urls").joinpath("priors.json").read_text(encoding="utf-8"))
    return tuple(
        Rule("", (), (_guess(name),), learnt_from=f"prior {kind}")
        for kind, names in sorted(data.items())
        for name in names
    )


def _guess(name: str) -> Step:
    """Return what leaves out the argument *name* or, where *name* has a ``{0}`` for its value, that part of a path."""
    return Step("replace", name, "") if WILDCARD.search(name) else Step("drop", name)
