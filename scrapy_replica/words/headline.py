"""How a crawl goes, in one sentence that begins with what to do about it, and what it came to, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scrapy_replica.coverage import Coverage
from scrapy_replica.decision import Mode
from scrapy_replica.words.terminal import counted, percent

FEWEST = 20
"""Fetches before which nothing is said of shares."""
MOST_ERRORS, LEAST_NEW = 0.5, 0.1
"""Share of fetches that went wrong above which, and share of pages that are new below which, someone should look."""

MANY_REPEATS = 0.2
"""Share of pages that repeat others above which it is said that nothing saves them."""


class Facts(NamedTuple):
    """What the sentences are made of."""

    fetches: int
    pages: int
    new: int
    repeats: int
    """Pages that have the text of another one, exactly or nearly."""
    on_topic: int | None
    """``None`` without a topic."""
    errors: int
    saved: int
    """Requests, at least."""
    mirrors: int
    """Hosts that are blocked as copies, for what was found."""
    rules: int
    """In force, and learnt."""
    blocked_by_hand: int
    rules_by_hand: int
    tests: int
    """Of what is saved."""
    wrong: int
    wrongly: float
    """Lower end of the 95 % interval of the share of wrong tests."""
    coverage: Coverage


def headline(facts: Facts) -> str:
    """Return the sentence; empty while nothing was fetched."""
    if not facts.fetches:
        return ""
    worry, found = _worry(facts), [*_found(facts)]
    if not worry and not found:
        return "Begun: no page so far."
    return f"{'Look here' if worry else 'Going well'}: {', '.join([*worry, *found])}."


def _worry(facts: Facts) -> list[str]:
    if facts.fetches < FEWEST:
        return []
    found = []
    if facts.errors > MOST_ERRORS * facts.fetches:
        found.append(f"{percent(facts.errors / facts.fetches)} of the fetches brought no page")
    if facts.wrongly > 0.05:
        found.append(f"{facts.wrong:,} of {facts.tests:,} tests of what is saved were wrong")
    if facts.pages >= FEWEST and facts.on_topic == 0:
        found.append("no page is on the topic")
    if facts.pages >= FEWEST and facts.new < LEAST_NEW * facts.pages:
        found.append("next to nothing is new")
    return found


def _found(facts: Facts) -> Iterator[str]:
    if facts.pages:
        yield f"{percent(facts.new / facts.pages)} of {counted(facts.pages, 'page')} new"
        if facts.on_topic is not None:
            yield f"{percent(facts.on_topic / facts.pages)} on the topic"
        is_unexplained = not facts.mirrors + facts.rules and facts.saved < facts.repeats
        if facts.pages >= FEWEST and facts.repeats > MANY_REPEATS * facts.pages and is_unexplained:
            yield f"{percent(facts.repeats / facts.pages)} repeat others, no mirror or rule found for them"
    yield from _claims(facts)
    if facts.coverage.share is not None and facts.coverage.waiting:
        yield f"about {percent(facts.coverage.share[0])} of what is within reach found"


def _claims(facts: Facts) -> Iterator[str]:
    """Yield what saves fetches, what of it was given by hand, and what testing it showed."""
    found = (facts.mirrors, "mirror"), (facts.rules, "rule")
    given = (facts.blocked_by_hand, "blocked host"), (facts.rules_by_hand, "rule")
    for claims, how in ((found, "found"), (given, "by hand")):
        if told := " and ".join(counted(n, what) for n, what in claims if n):
            yield f"{told} {how}"
    if facts.tests:
        yield tests_in_words(facts)


def tests_in_words(facts: Facts) -> str:
    """Return how many tests of what is saved were made, and how many of them were wrong."""
    return f"{counted(facts.tests, 'test')}, {f'{facts.wrong:,} wrong' if facts.wrong else 'none wrong'}"


def summary(facts: Facts, mode: Mode) -> str:
    """Return what the crawl saved, in one line."""
    if mode is Mode.OBSERVE:
        return f"{counted(facts.fetches, 'URL')} fetched; REPLICA_MODE is observe, so nothing is saved"
    whole = facts.saved + facts.fetches
    share = percent(facts.saved / whole if whole else 0.0)
    return ", ".join([f"at least {facts.saved:,} of {counted(whole, 'request')} saved ({share})", *_claims(facts)])
