"""Made-up sites for tests of the replica judge: pages of random words, seeded by site and path."""

from __future__ import annotations

import random

import mmh3

from scrapy_replica.pages.facts import facts_of
from scrapy_replica.pages.simhash import simhash_of, token_hashes
from scrapy_replica.records import Link, Page

LEXICON = ["".join(random.Random(i).choices("abcdefghijklmnoprstuvwyz", k=2 + i % 7)) for i in range(4000)]
ENGLISH = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "for",
    "it",
    "as",
    "with",
    "was",
    "on",
    "are",
    "by",
    "this",
    "be",
    "from",
    "or",
    "which",
    "you",
    "not",
    "have",
]
GERMAN = [
    "der",
    "die",
    "das",
    "und",
    "ist",
    "nicht",
    "ein",
    "eine",
    "mit",
    "von",
    "den",
    "dem",
    "zu",
    "auf",
    "für",
    "sich",
    "auch",
    "im",
    "werden",
    "wird",
]


def text_of(seed, n_words=150, words=ENGLISH):
    rng = random.Random(seed)
    return " ".join(rng.choice(words) if rng.random() < 0.4 else rng.choice(LEXICON) for _ in range(n_words))


def edited(text, share, seed=0):
    rng = random.Random(seed)
    return " ".join(rng.choice(LEXICON) if rng.random() < share else word for word in text.split())


def page(host, path, text, title=None, links=(), **marks):
    words = len(text.split())
    return Page(
        url=f"http://{host}{path}",
        host=host,
        title=title if title is not None else path,
        text=text,
        words=words,
        signature=mmh3.hash_bytes(text) if text else None,
        simhash=simhash_of(token_hashes(text)) if words else None,
        facts=facts_of(text),
        links=tuple(Link(link) for link in links),
        **marks,
    )


def site(host, name, n=12, prefix="", edit=0.0, title="", words=ENGLISH, **marks):
    """The *n* pages of the work *name* as *host* serves it, each linking to all others."""
    paths = [f"{prefix}/", *(f"{prefix}/chapter-{number}.html" for number in range(1, n))]
    return [
        page(
            host,
            path,
            edited(text_of(f"{name}{number}", words=words), edit, seed=f"{host}{number}"),
            title=f"Chapter {number} of {name}{title}",
            links=[f"http://{host}{other}" for other in paths],
            **marks,
        )
        for number, path in enumerate(paths)
    ]
