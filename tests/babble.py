"""Text that a machine made up: Markov chains over prose that somebody wrote, as mazes for crawlers print it."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from random import Random

PROSE = Path(__file__).with_name("prose.json.gz")
"""Kept paragraphs of the documentation: each edit of the pages themselves drew other mazes, and tests failed by it."""


@cache
def paragraphs() -> dict[str, list[str]]:
    """Name of each page of the documentation -> its paragraphs of prose."""
    found: dict[str, list[str]] = json.loads(gzip.decompress(PROSE.read_bytes()))
    return found


@cache
def _chain(order: int) -> tuple[dict[tuple[str, ...], list[str]], list[tuple[str, ...]]]:
    """Words in a row -> those that follow them somewhere; and all such words in a row."""
    followers = defaultdict(list)
    words = [word for parts in paragraphs().values() for part in parts for word in part.split()]
    for place in range(len(words) - order):
        followers[tuple(words[place : place + order])].append(words[place + order])
    return dict(followers), list(followers)


def babble(seed: object, words: int = 300, order: int = 1) -> str:
    """Return so many *words* of a Markov chain."""
    random, (followers, begins) = Random(str(seed)), _chain(order)
    said = [*random.choice(begins)]
    while len(said) < words:
        said.append(random.choice(followers.get(tuple(said[-order:])) or random.choice(begins)))
    return " ".join(said)


def written(seed: object, sentences: int = 30) -> str:
    """Return text about a dozen things that come back in it, as a language model writes it."""
    random = Random(str(seed))
    syllables = ("ba", "ren", "tol", "mik", "sa", "dor", "vel", "nu", "kar", "lim")
    things = ["".join(random.choice(syllables) for _ in range(3)) for _ in range(40)]
    said = (
        f"The {random.choice(things)} of a {random.choice(things)} is what it was in the {random.choice(things)}, and"
        f" with {random.choice(things)} it has been as {random.choice(things)} as the others."
        for _ in range(sentences)
    )
    return " ".join(said)


def real_pages(words: int = 200) -> list[str]:
    """Return pages of prose of about so many *words*, each of one page of the documentation."""
    pages = []
    for parts in paragraphs().values():
        said: list[str] = []
        for part in parts:
            said.append(part)
            if sum(len(one.split()) for one in said) >= words:
                pages.append("\n".join(said))
                said = []
    return pages
