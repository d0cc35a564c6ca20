"""Text that a machine made up: Markov chains over the project's own documentation, as mazes for crawlers print it."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

DOCS = Path(__file__).parents[1] / "docs"
"""Prose that somebody wrote, in every checkout."""


@cache
def paragraphs() -> dict[str, list[str]]:
    """Name of each page of the documentation -> its paragraphs of prose."""
    found = {}
    for file in sorted(DOCS.glob("*.rst")):
        parts = re.split(r"\n\s*\n", file.read_text(encoding="utf-8"))
        found[file.stem] = [part for part in parts if len(part.split()) > 25 and "   " not in part]
    return found


@cache
def _chain() -> dict[str, list[str]]:
    """Word -> those that follow it somewhere."""
    followers = defaultdict(list)
    words = [word for parts in paragraphs().values() for part in parts for word in part.split()]
    for word, follower in pairwise(words):
        followers[word].append(follower)
    return dict(followers)


def babble(seed: object, words: int = 300) -> str:
    """Return so many *words* of a Markov chain of order 1."""
    random, followers = Random(str(seed)), _chain()
    said = [random.choice(list(followers))]
    while len(said) < words:
        said.append(random.choice(followers.get(said[-1]) or ["so"]))
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
