"""What is to be expected of a candidate rule: the lazy classifier over traits that rules of all hosts have in common.

Its examples are groups of URLs that rules made one, counted by the traits of the rule: of the labelled hosts that the
shipped model was trained on, and of the rules that this crawl proved or refuted.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from scrapy_replica.lazy.lac import LAC, Cube
from scrapy_replica.urls.interchange import priors
from scrapy_replica.urls.rule import WILDCARD, Rule, Step

Traits = tuple[int, ...]
TRAITS = ("kind", "name", "context", "images", "witnesses", "groups", "reach")
"""What changes; which kind of shipped guess names an argument of it; what its context is made of; the share of images
that were fetched themselves; different pages per group; groups; the share of the URLs it changes that are in groups.
The last four are unknown (0) of a rule that was not learnt from pages."""
SIZES = (8, 9, 5, 4, 4, 6, 5)
FORMAT = 1
SHIPPED = Path(__file__).with_name("judge.json")
WEIGHT = 2
"""Groups of its own that weigh as much as what is known of rules like it: with 4 or 8 the order is worse on each host
that was left out."""
_NAMES = ("", "campaign", "login", "print", "referrer", "reply", "session", "sort")
_SHARE_OF_IMAGES, _WITNESSES, _GROUPS, _REACH = (0.1, 0.9), (0.5, 0.9), (4, 9, 19, 49), (0.1, 0.3, 0.7)


class Seen(NamedTuple):
    """What a rule does to the URLs that it was learnt from."""

    groups: int
    """Groups of URLs with one image."""
    clean: int
    clusters: int
    """Different pages among the clean groups."""
    images: int
    """Groups whose image was fetched itself."""
    grouped: int
    """URLs changed that are in groups."""
    changed: int


def traits_of(rule: Rule, seen: Seen | None = None) -> Traits:
    """Return the numbers of the *rule*'s traits, in the order of :data:`TRAITS`."""
    known = (_kind(rule.transformation), _name(rule.transformation), _context(rule))
    if seen is None:
        return (*known, 0, 0, 0, 0)
    return (
        *known,
        1 + bisect_left(_SHARE_OF_IMAGES, seen.images / max(seen.groups, 1)),
        1 + bisect_left(_WITNESSES, seen.clusters / max(seen.clean, 1)),
        1 + bisect_left(_GROUPS, seen.groups),
        1 + bisect_left(_REACH, seen.grouped / max(seen.changed, 1)),
    )


def _kind(steps: Sequence[Step]) -> int:
    kinds = {step.kind for step in steps}
    if "set" in kinds:
        return 4
    if kinds == {"drop"}:
        return 3 if any(step.value is not None for step in steps) else 1 + (len(steps) > 1)
    if any(step.kind == "template" or WILDCARD.search(step.key) for step in steps):
        return 7
    return 5 if kinds == {"replace"} and all({"?", "&", "="} & set(step.key) for step in steps) else 6


def _name(steps: Sequence[Step]) -> int:
    named = [_guesses().get(step.key, "") for step in steps if step.kind in {"drop", "set"}]
    return 1 + _NAMES.index(next(filter(None, named), ""))


@lru_cache(1)
def _guesses() -> dict[str, str]:
    """Return argument name -> kind of the shipped guess over it."""
    return {rule.transformation[0].key: rule.learnt_from.removeprefix("prior ") for rule in priors()}


def _context(rule: Rule) -> int:
    return 1 + sum(1 if holds else 2 for holds in {condition.holds for condition in rule.context})


class RuleJudge:
    """Says which share of wrong groups is to be expected of a rule with such traits."""

    def __init__(self, cube: Cube) -> None:
        if cube.sizes != SIZES:
            raise ValueError(f"a judge of rules with traits of sizes {cube.sizes}; this version has {SIZES}")
        self.lac = LAC(cube)

    def prior(self, traits: Traits) -> float:
        """Return the share of wrong groups among rules like it, 0..1; .5 if there is none."""
        return self.lac.alpha_one(traits)

    def expected(self, traits: Traits, wrong: float, groups: float) -> float:
        """Return the share of wrong groups to expect where of *groups* of its own *wrong* ones are wrong, 0..1."""
        return (wrong + WEIGHT * self.prior(traits)) / (groups + WEIGHT)

    def save(self, path: Path) -> None:
        data = {"format": FORMAT, "traits": list(TRAITS), **self.lac.cube.to_dict()}
        path.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="ascii")

    @classmethod
    def load(cls, path: Path = SHIPPED) -> RuleJudge:
        """Return the judge stored at *path*, by default the shipped one.

        :raises ValueError: it was written by another version.
        """
        data: Mapping[str, object] = json.loads(path.read_text(encoding="ascii"))
        if data.get("format") != FORMAT or data.get("traits") != list(TRAITS):
            raise ValueError(
                f"{path}: a judge of rules of format {data.get('format')!r} and traits {data.get('traits')!r}; "
                f"this version reads format {FORMAT} with {list(TRAITS)}: train it again"
            )
        return cls(Cube.from_dict(dict(data)))


@lru_cache(1)
def shipped() -> RuleJudge:
    return RuleJudge.load()
