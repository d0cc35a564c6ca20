"""How a crawl goes, in one sentence that begins with what to do about it, and what it came to, in one line."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_replica.crawldb.status import Status, Tested
from scrapy_replica.decision import Mode
from scrapy_replica.words.terminal import counted, percent

FEWEST = 20
"""Fetches before which nothing is said of shares."""
MOST_ERRORS, LEAST_NEW = 0.5, 0.1
"""Share of fetches that went wrong above which, and share of pages that are new below which, someone should look."""

MOST_WRONG = 0.05
"""Share of wrong tests, sure to 95 %, above which someone should look."""

MANY_REPEATS = 0.2
"""Share of pages that repeat others above which it is said that nothing saves them."""


def headline(status: Status) -> str:
    """Return the sentence; empty while nothing was fetched."""
    if not status.total.fetches:
        return ""
    worry, found = _worry(status), [*_found(status)]
    if not worry and not found:
        return "Begun: no page so far."
    return f"{'Look here' if worry else 'Going well'}: {', '.join([*worry, *found])}."


def _worry(status: Status) -> list[str]:
    total, tested = status.total, status.all_tested
    if total.fetches < FEWEST:
        return []
    found = []
    if total.errors > MOST_ERRORS * total.fetches:
        found.append(f"{percent(total.errors / total.fetches)} of the fetches brought no page")
    if tested.rate is not None and tested.rate[1] > MOST_WRONG:
        found.append(f"{tested.false_drops:,} of {tested.samples:,} tests of what is saved were wrong")
    if total.pages >= FEWEST and status.has_topic and not total.relevant:
        found.append("no page is on the topic")
    if total.pages >= FEWEST and total.novel < LEAST_NEW * total.pages:
        found.append("next to nothing is new")
    return found


def _found(status: Status) -> Iterator[str]:
    total, claims, coverage = status.total, status.claims, status.coverage
    if total.pages:
        yield f"{percent(total.novel / total.pages)} of {counted(total.pages, 'page')} new"
        if status.has_topic:
            yield f"{percent(total.relevant / total.pages)} on the topic"
        is_unexplained = not claims.mirrors + claims.learnt_rules and status.n_saved < total.duplicates
        if total.pages >= FEWEST and total.duplicates > MANY_REPEATS * total.pages and is_unexplained:
            yield f"{percent(total.duplicates / total.pages)} repeat others, no mirror or rule found for them"
    yield from _claims(status)
    if coverage.share is not None and coverage.waiting:
        yield f"about {percent(coverage.share[0])} of what is within reach found"


def _claims(status: Status) -> Iterator[str]:
    """Yield what saves fetches, what of it was given by hand, and what testing it showed."""
    claims = status.claims
    found = (claims.mirrors, "mirror"), (claims.learnt_rules, "rule")
    given = (claims.blocked_by_hand, "blocked host"), (claims.rules_by_hand, "rule")
    for kinds, how in ((found, "found"), (given, "by hand")):
        if told := " and ".join(counted(n, what) for n, what in kinds if n):
            yield f"{told} {how}"
    if status.all_tested.samples:
        yield tests_in_words(status.all_tested)


def tests_in_words(tested: Tested) -> str:
    """Return how many tests of what is saved were made, and how many of them were wrong."""
    wrong = tested.false_drops
    return f"{counted(tested.samples, 'test')}, {f'{wrong:,} wrong' if wrong else 'none wrong'}"


def told_savings(status: Status) -> str:
    """Return how many requests were saved, and of how many: ``4,060 of 5,040 requests saved (81 %)``."""
    whole = counted(status.n_saved + status.total.fetches, "request")
    return f"{status.n_saved:,} of {whole} saved ({percent(status.saved_share)})"


def summary(status: Status, mode: Mode) -> str:
    """Return what the crawl saved, in one line."""
    if mode is Mode.OBSERVE:
        return f"{counted(status.total.fetches, 'URL')} fetched; REPLICA_MODE is observe, so nothing is saved"
    return ", ".join([f"at least {told_savings(status)}", *_claims(status)])
