"""A DUST rule: where it holds, what it changes, and on which evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scrapy_replica.urls.context import Condition, Fact, is_true
from scrapy_replica.urls.pattern import UrlPattern, argument_name, parse

WILDCARD = re.compile(r"\{(\d+)\}")
_WILD_VALUE = "([^/?&=;#]+)"  # a wildcard never swallows a delimiter, so it never stands for two keys
_DELIMITERS = "/?&=;"


class Step(NamedTuple):
    """One step of a transformation.

    ==============  ==================================================================================
    ``drop``        remove the arguments called ``key``; with a ``value``, only if they carry that value
    ``set``         give the argument ``key`` this ``value``, at its place or, if absent, at the end
    ``replace``     replace the token run ``key`` in path and query, once, by ``value``; ``{0}`` stands for a value
    ``template``    path and query of the shape ``key`` become ``value``; ``{0}``, ``{1}`` copy a token
    ``only``        remove every argument whose name is not in the comma-separated list ``key``
    ``subpath``     remove the path component number ``key``, from 0
    ``unslash``     remove slashes at the end of the path, but not its first
    ``lower``       write the path in small letters
    ==============  ==================================================================================
    """

    kind: str
    key: str
    value: str | None = None


Change = Callable[[UrlPattern], "UrlPattern | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Rewrites URLs of one host (or of all) that answer its context. ``str`` is a line for people."""

    host: str
    """Host it was learnt on; ``.example.org``: this domain and those below it; empty: any host."""
    context: tuple[Condition, ...]
    transformation: tuple[Step, ...]
    support: int = 0
    """Groups of URLs with one image whose pages are one, each from another cluster."""
    error: float = 0.0
    """Share of the groups with one image that mix different pages, 0..1."""
    learnt_from: str = ""
    """Learner or origin, for example ``rewrite``, ``clean-param``, ``prior``."""
    examples: tuple[tuple[str, str], ...] = ()
    """A few URLs with their images."""
    keeps_order: bool = False
    """The order of arguments has a meaning on this host: they are not sorted."""
    traits: tuple[int, ...] = ()
    """What it has in common with rules of other hosts (``judge.TRAITS``)."""

    @property
    def is_gate(self) -> bool:
        """Whether it makes one URL of all that it changes: they lead to a login, say, whatever they ask for."""
        steps = self.transformation
        return len(steps) == 1 and steps[0].kind == "template" and not WILDCARD.search(steps[0].value or "")

    @property
    def leaves_out_any(self) -> bool:
        """Whether it leaves out a part of the path whatever that is."""
        steps = [step for step in self.transformation if step.kind in {"replace", "template"}]
        return any(set(WILDCARD.findall(step.key)) - set(WILDCARD.findall(step.value or "")) for step in steps)

    @property
    def key(self) -> str:
        """What the rule does, without its evidence: equal for equal rules."""
        return json.dumps([self.host, self.context, self.transformation])

    def holds(self, url: UrlPattern) -> bool:
        """Tell whether *url* answers the context; the host is the rule book's concern."""
        return all(is_true(condition.fact, url) is condition.holds for condition in self.context)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "host": self.host,
            "context": [[*condition.fact, condition.holds] for condition in self.context],
            "transformation": [list(step) for step in self.transformation],
            "support": self.support,
            "error": self.error,
            "learntFrom": self.learnt_from,
            "examples": [list(example) for example in self.examples],
            "keepsOrder": self.keeps_order,
            "traits": list(self.traits),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rule:
        """Read what ``to_dict`` wrote; ValueError with the reason for anything else."""
        try:
            rule = cls(
                host=str(data["host"]),
                context=tuple(Condition(Fact(k, t, v), bool(h)) for k, t, v, h in data["context"]),
                transformation=tuple(Step(*step) for step in data["transformation"]),
                support=int(data.get("support", 0)),
                error=float(data.get("error", 0.0)),
                learnt_from=str(data.get("learntFrom", "")),
                examples=tuple((str(url), str(image)) for url, image in data.get("examples", ())),
                keeps_order=bool(data.get("keepsOrder", False)),
                traits=tuple(int(trait) for trait in data.get("traits", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a DUST rule: {data!r} ({error})") from error
        for step in rule.transformation:
            if step.kind not in _CHANGES:
                raise ValueError(f"not a DUST rule: unknown step {step.kind!r}")
        compiled(rule.transformation)
        return rule

    def anywhere(self) -> Rule:
        """Return the rule for every host, to be carried over as a prior."""
        return replace(self, host="", examples=())


_ARGUMENT = re.compile(r"(?:^|[?&;/])([^=&;/?]+)=")


def share_argument(one: Rule, other: Rule) -> bool:
    """Tell whether two rules say something about one argument, or, where neither has any, do the same."""
    names = _argument_names(one), _argument_names(other)
    is_shared = any(_touches(other, name) for name in names[0]) or any(_touches(one, name) for name in names[1])
    return is_shared or one.transformation == other.transformation


def repeats(rule: Rule, wrong: Rule) -> bool:
    """Tell whether *rule* changes all arguments that *wrong* does, or, where that changes none, does the same.

    One of several arguments that *wrong* takes names the page: what leaves that alone may be right.
    """
    names = _argument_names(wrong)
    return all(_touches(rule, name) for name in names) if names else rule.transformation == wrong.transformation


def _argument_names(rule: Rule) -> set[str]:
    return {name for step in rule.transformation for name in _names_in(step)}


def _names_in(step: Step) -> list[str]:
    if step.kind in {"drop", "set"}:
        return [step.key]
    return _ARGUMENT.findall(step.key) if step.kind in {"replace", "template"} else []


def _touches(rule: Rule, name: str) -> bool:
    steps = rule.transformation
    return any(name in _names_in(s) or (s.kind == "only" and name not in s.key.split(",")) for s in steps)


def triggers(transformation: tuple[Step, ...]) -> tuple[str, ...]:
    """Return argument names of which one must be there for the change to apply; empty: any URL may."""
    with_value = [step.key for step in transformation if step.kind == "drop" and step.value is not None]
    if with_value:
        return (with_value[0],)
    if transformation and all(step.kind == "drop" for step in transformation):
        return tuple(step.key for step in transformation)
    return ()


def compiled(transformation: tuple[Step, ...]) -> Change:
    """Return the function that changes a URL, or answers None where the transformation does not apply.

    Every step must apply, but of several ``drop`` without a value one is enough.
    """
    loose = tuple(step for step in transformation if step.kind == "drop" and step.value is None)
    changes = [_CHANGES[step.kind](step) for step in transformation if step not in loose]
    if loose:
        changes.append(_drop_any(frozenset(step.key for step in loose)))
    if len(changes) == 1:
        return changes[0]
    return lambda url: _chained(changes, url)


def _chained(changes: list[Change], url: UrlPattern) -> UrlPattern | None:
    changed: UrlPattern | None = url
    for change in changes:
        if changed is None:
            return None
        changed = change(changed)
    return changed


def _drop_any(names: frozenset[str]) -> Change:
    def change(url: UrlPattern) -> UrlPattern | None:
        arguments = url.arguments or ()
        kept = tuple([argument for argument in arguments if argument.partition("=")[0] not in names])
        return None if len(kept) == len(arguments) else url.with_arguments(kept)

    return change


def _drop_value(step: Step) -> Change:
    exact = {f"{step.key}={step.value}", step.key} if step.value == "" else {f"{step.key}={step.value}"}

    def change(url: UrlPattern) -> UrlPattern | None:
        arguments = url.arguments or ()
        kept = tuple([argument for argument in arguments if argument not in exact])
        return None if len(kept) == len(arguments) else url.with_arguments(kept)

    return change


def _set_value(step: Step) -> Change:
    wanted = f"{step.key}={step.value}"

    def change(url: UrlPattern) -> UrlPattern | None:
        arguments = url.arguments or ()
        if wanted in arguments:
            return None
        if all(argument_name(argument) != step.key for argument in arguments):
            return url.with_arguments((*arguments, wanted))
        return url.with_arguments(tuple(wanted if argument_name(a) == step.key else a for a in arguments))

    return change


def _only(step: Step) -> Change:
    names = frozenset(step.key.split(","))

    def change(url: UrlPattern) -> UrlPattern | None:
        arguments = url.arguments or ()
        kept = tuple(argument for argument in arguments if argument_name(argument) in names)
        return None if len(kept) == len(arguments) else url.with_arguments(kept)

    return change


def _subpath(step: Step) -> Change:
    place = int(step.key)

    def change(url: UrlPattern) -> UrlPattern | None:
        components = url.components
        if not url.path.startswith("/") or place >= len(components):
            return None
        return url._replace(path="/" + "/".join(components[:place] + components[place + 1 :]))

    return change


def _unslash(_step: Step) -> Change:
    def change(url: UrlPattern) -> UrlPattern | None:
        path = url.path.rstrip("/") or "/"
        return url._replace(path=path) if len(path) < len(url.path) else None

    return change


def _lower(_step: Step) -> Change:
    def change(url: UrlPattern) -> UrlPattern | None:
        path = url.path.lower()
        return url._replace(path=path) if path != url.path else None

    return change


def _replace_run(step: Step) -> Change:
    source, target = step.key, step.value or ""
    if WILDCARD.search(source):
        return _replace_any_run(re.compile(template_expression(source)), target)

    def change(url: UrlPattern) -> UrlPattern | None:
        local = url.local
        place = local.find(source)
        while place >= 0:
            if _is_run(local, place, place + len(source)):
                return relocated(url, local[:place] + target + local[place + len(source) :])
            place = local.find(source, place + 1)
        return None

    return change


def _replace_any_run(source: re.Pattern[str], target: str) -> Change:
    def change(url: UrlPattern) -> UrlPattern | None:
        local = url.local
        for found in source.finditer(local):
            if _is_run(local, *found.span()):
                return relocated(url, local[: found.start()] + target + local[found.end() :])
        return None

    return change


def _is_run(local: str, start: int, end: int) -> bool:
    """Tell whether a run of tokens begins at *start* and ends at *end*."""
    starts = start == 0 or local[start] in _DELIMITERS or local[start - 1] in _DELIMITERS
    ends = end == len(local) or local[end] in _DELIMITERS or local[end - 1] in _DELIMITERS
    return starts and ends and end > start


def _template(step: Step) -> Change:
    target = step.value or ""
    source = re.compile(template_expression(step.key))

    def change(url: UrlPattern) -> UrlPattern | None:
        found = source.fullmatch(url.local)
        if found is None:
            return None
        return relocated(url, WILDCARD.sub(lambda place: found.group(int(place.group(1)) + 1), target))

    return change


def template_expression(template: str) -> str:
    """Return the regular expression of *template*; ``{0}``, ``{1}``, .. stand there once each, in this order."""
    literals = WILDCARD.split(template)[::2]
    return _WILD_VALUE.join(re.escape(literal) for literal in literals)


def relocated(url: UrlPattern, local: str) -> UrlPattern | None:
    """Return *url* with another path and query; ``None`` where *local* is none, and would change the host."""
    if not local.startswith("/"):
        return None
    moved = parse(local)
    return moved._replace(head=url.head, fragment=url.fragment)


_CHANGES: dict[str, Callable[[Step], Change]] = {
    "drop": lambda step: _drop_any(frozenset({step.key})) if step.value is None else _drop_value(step),
    "set": _set_value,
    "only": _only,
    "subpath": _subpath,
    "unslash": _unslash,
    "lower": _lower,
    "replace": _replace_run,
    "template": _template,
}
