"""What the add-on knows, in sentences: decisions, verdicts and coverage with their evidence.

Everything is text without markup: a page that shows it escapes it. What comes from crawled pages is cleaned here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from scrapy_replica.claim import Claim, Kind, Standing, Why
from scrapy_replica.coverage import Coverage
from scrapy_replica.decision import Action, Outcome, Reason
from scrapy_replica.records import LED, Doubt, Verdict
from scrapy_replica.words.terminal import amount, counted, percent, score, share
from scrapy_replica.words.text import cleaned, shortened

MAX_PREFIX = 60
"""Columns of a path, or of a site with its path, that are shown."""


# Decisions

ACTIONS = {
    Action.FETCH: "fetched",
    Action.DEMOTE: "waits behind the others",
    Action.DROP: "not fetched",
    Action.REWRITE: "another URL is fetched in its place",
}
"""What is done with a URL."""


REASONS = {
    Reason.MANUAL_ALIAS: "alias from a file",
    Reason.MANUAL_BLOCK: "host blocked by hand",
    Reason.REPLICA_HOST: "host is a copy of another",
    Reason.DUST_RULE: "another URL of a known page",
    Reason.OTHER_SCHEME: "same page by http and https",
    Reason.OTHER_NAME: "a page says this URL is its own",
    Reason.PERMALINK: "leads back to the page it is on",
    Reason.EXACT_DUPLICATE_LINKS: "link of a repeated page",
    Reason.NEAR_DUPLICATE_LINKS: "link of a nearly repeated page",
    Reason.COLLECTED_LINKS: "link of a page that the collection has",
    Reason.PATH_BUDGET: "limit of pages below its path",
    Reason.TRAP_BUDGET: "leads to nothing new",
    Reason.HOST_PAGES: "enough pages of its host",
    Reason.OUT_OF_SCOPE: "place out of scope",
    Reason.EXCLUDED: "pattern excluded by hand",
}
"""Why, in a few words, as the heading of a table."""


OUTCOMES = {
    Outcome.SAME: "rightly so: it is the page that stands in its place, or brings nothing new",
    Outcome.OTHER: "wrongly so: it is a page of its own",
    Outcome.UNKNOWN: "it has too little text to tell whether that was right",
    Outcome.FAILED: "it brought no page",
    Outcome.UNREAD: "there was no page of it, or none that was read to hold it against",
}
"""What fetching a sample showed."""


TRAPS = {
    "calendar": "it is another date of a calendar, and the last dates brought nothing new",
    "growing-path": "its path grows from page to page, and the last pages brought nothing new",
    "repeating-segments": "its path repeats itself, and such pages brought nothing new",
    "facets": "it combines arguments that were all asked for, and such pages brought nothing new",
    "revisions": "it is another view or version of a wiki page, and such pages brought nothing new",
    "exact-repetition": "page after page where it lies has the same text",
    "made-up-text": "a machine made up the text of the pages where it lies",
    "labyrinth": "only links that are hidden or nofollow lead to where it lies, and from there to more of it",
    "no-news": "few pages where it lies brought anything new",
}
"""Kinds of traps."""


TRAP_NAMES = {
    "calendar": "calendar",
    "growing-path": "paths that grow",
    "repeating-segments": "paths that repeat themselves",
    "facets": "combined arguments",
    "revisions": "views of wiki pages",
    "exact-repetition": "pages of one text",
    "made-up-text": "pages with text that a machine made up",
    "labyrinth": "pages behind links that are hidden or nofollow",
    "no-news": "pages with little that is new",
}
"""Kinds of traps, as names."""


OUTSIDE = {
    "other-host": "it is on none of the seeds' hosts or domains",
    "not-included": "no pattern of REPLICA_INCLUDE matches it",
    "excluded": "a pattern of REPLICA_EXCLUDE matches it",
    "language": "it is, or was found on, a page in another language",
    "depth": "it is too many links from the seeds",
}
"""Why a URL does not belong to the crawl."""


def decided(
    action: Action,
    wanted: Action,
    reason: Reason,
    evidence: Mapping[str, Any],
    *,
    is_sampled: bool = False,
    outcome: str | None = None,
) -> str:
    """Return what was decided about a URL and why, and what a fetch showed, in one line."""
    if wanted is Action.FETCH:
        return f"comes back: {_restored(evidence)}"
    done = ACTIONS[action]
    if is_sampled:
        done = "fetched as a sample, to test what would save it"
    elif action is Action.FETCH:
        done = f"fetched, since nothing is saved in observe mode (otherwise: {ACTIONS[wanted]})"
    elif action is not wanted and action is Action.DEMOTE:
        done = f"{ACTIONS[action]}, for it is a guess (in drop mode: {ACTIONS[wanted]})"
    told = f"{done}: {because(reason, evidence)}"
    return f"{told}; {OUTCOMES[Outcome(outcome)]}" if outcome else told


def because(reason: Reason, evidence: Mapping[str, Any]) -> str:
    """Return why a URL is not fetched, or later, with the evidence of a decision, as a clause."""
    told = _cleaned(evidence)
    if reason in {Reason.MANUAL_BLOCK, Reason.REPLICA_HOST} and "canonical" in told:
        sure = f" (score {score(told['score'])})" if "score" in told and reason is Reason.REPLICA_HOST else ""
        by_hand = ", as a person said" if reason is Reason.MANUAL_BLOCK else ""
        return f"its host is a copy of {told['canonical']}{sure}{by_hand}{_there(told)}"
    if reason is Reason.MANUAL_ALIAS and "host" in told:
        return f"REPLICA_ALIASES names another host for {told['host']}{_there(told)}"
    if reason is Reason.DUST_RULE and "rules" in told:
        rules = " and ".join(map(str, told["rules"]))
        stands = "was fetched or waits" if told.get("fetched") else "is to be fetched for all such URLs"
        return f"rule {rules} takes it for the page at {told.get('representative')}, which {stands}"
    if "repeats" in told and "page" in told:
        text = "nearly the text" if reason is Reason.NEAR_DUPLICATE_LINKS else "the text"
        other = f"; there the same link is {told['counterpart']}" if told.get("counterpart") else ""
        return f"it was found on {told['page']}, which has {text} of {told['repeats']}{other}"
    if reason is Reason.COLLECTED_LINKS and "page" in told:
        return f"it was found on {told['page']}, which the collection of REPLICA_KNOWN has"
    if reason is Reason.TRAP_BUDGET and told.get("kind") in TRAPS:
        below = f" (below {told['prefix']})" if told.get("prefix") else ""
        return TRAPS[str(told["kind"])] + below
    if reason is Reason.PATH_BUDGET and "prefix" in told:
        return f"as many new pages as REPLICA_PATH_BUDGET allows were fetched of {told['prefix']}"
    if reason is Reason.HOST_PAGES and "host" in told:
        return f"as many pages as REPLICA_HOST_PAGES allows were fetched of {told['host']}"
    if reason is Reason.OUT_OF_SCOPE and told.get("why") in OUTSIDE:
        via = f"; {told['redirected from']} redirects to it" if told.get("redirected from") else ""
        return f"out of scope: {OUTSIDE[str(told['why'])]}{via}"
    if reason is Reason.EXCLUDED and "pattern" in told:
        return f"a person excluded {told['pattern']}"
    return REASONS[reason]


def _there(told: Mapping[str, Any]) -> str:
    return f"; its page there is {told['url']}" if told.get("url") else ""


def _cleaned(evidence: Mapping[str, Any]) -> dict[str, Any]:
    return {what: cleaned(told, 2_000) if isinstance(told, str) else told for what, told in evidence.items()}


def _restored(evidence: Mapping[str, Any]) -> str:
    """Return why a URL that was suppressed is to be fetched after all."""
    if "restored" not in evidence:
        return "what suppressed it holds no more"
    why, what = Why(evidence["restored"]), cleaned(str(evidence.get("what") or ""), 2_000)
    if why in {Why.REFUTED, Why.ENDED}:
        return _ended(why, Claim.read(what), evidence)
    if why is Why.REPEATS:
        shown = f"repeats {what}" if what else "has too little text to tell"
        return f"the page that was fetched in its place {shown}"
    return {
        Why.GONE: f"{what or 'the page'}, which stood for it, brought no page",
        Why.LEFT_OUT: f"{what}, which stood for it, is out of scope, or some of what it leads to",
        Why.ITEM: "the page that it was found on gave an item that no page gave before",
        Why.ORPHANED: "a process that is gone left nothing in its place",
    }[why]


def _ended(why: Why, ended: Claim, evidence: Mapping[str, Any]) -> str:
    if ended.kind is Kind.RULE and evidence.get("wrong"):
        examples = "".join(f"; {cleaned(str(example), 400)}" for example in evidence.get("for example", ()))
        return f"{claim(ended)} was wrong for {counted(evidence['wrong'], 'pair')} of {evidence['pairs']}{examples}"
    if why is Why.REFUTED and ended.kind is Kind.MIRROR:
        return f"samples showed that {ended.subject} is no copy of {ended.of} after all"
    if why is Why.REFUTED and ended.kind is not Kind.RULE:
        return f"samples showed that pages were lost by what suppressed it ({claim(ended)})"
    if ended.kind is Kind.MIRROR:
        return f"{ended.subject} is no longer blocked"
    return f"{claim(ended)} holds no more; it is decided anew"


_CLAIMS = {
    Kind.MIRROR: "{0} is a copy of {1}",
    Kind.UNSHARED: "only {0}, a copy of {1}, links to it",
    Kind.FETCHED: "{0}, a copy of {1}, had brought it before",
    Kind.RULE: "rule {0}",
    Kind.RULES: "rules {0} together",
    Kind.SCHEME: "pages of {0} are the same by http and https",
    Kind.NAME: "what pages of {0} name as their other URLs is",
    Kind.PERMALINK: "links of {0} lead back to the page that they are on: {1}",
    Kind.LINKS: "links to {1} on pages that repeat those of {0}",
    Kind.FULL: "enough pages of its host",
    Kind.SCOPE: "place out of scope",
    Kind.EXCLUDED: "pattern excluded by hand ({0})",
}


def claim(one: Claim) -> str:
    """Return a claim in words: ``a.example is a copy of b.example``, ``rule 12``, ``... on a.example``."""
    told = cleaned(one.subject, 400), cleaned(one.of, 400)
    if one.kind is Kind.TRAP:
        return f"{TRAP_NAMES.get(one.of, told[1])} on {told[0]}"
    if one.kind is Kind.BUDGET:
        return f"{REASONS[Reason(one.of)]} ({told[0]})"
    return _CLAIMS[one.kind].format(*told)


# Verdicts

_ROUNDED = 1e-4
"""Features are kept with four digits."""


DOUBTS = {
    Doubt.SCORE: "the judge is not sure enough yet",
    Doubt.UNSHARED: "much of what is known of either host is not known on the other",
    Doubt.UNTRIED: "the host that would be kept was asked for too few pages of the other one yet",
    Doubt.CONFLICT: "this would join hosts that were found to be two sites",
    Doubt.ITEMS: "the spider begins on both, and its items of both do not agree on three pages yet",
}
"""What keeps two hosts from a verdict, as a clause."""


def evidence_of(verdict: Verdict) -> list[str]:
    """Return what a verdict rests on, one clause for each witness: ``pages in equal places that agree: 17 of 18``."""
    told, pages = verdict.evidence, verdict.n_aligned
    lines = [
        _pages(told, "sm10", pages, 0.3, "pages in equal places that agree"),
        _pages(told, "teq", pages, 0.3, "with equal titles"),
        _pages(told, "lsame", pages, 0.7, "in one language"),
        _pages(told, "tnum", pages, 0.0, "whose titles differ in a number only") if told.get("tnum") else "",
    ]
    if "bj50" in told:
        lines.append(f"text in common on the median page: {percent(_unshrunk(told['bj50'], pages, 0.3))}")
    if "cknown" in told:
        lines.append(f"known paths that both have: {percent(min(told['cknown'], 1.0))}")
    if "vmark" in told:
        lines.append("their names carry " + ("different versions" if told["vmark"] else "the same version"))
    if told.get("hreflang"):
        lines.append("one calls the other its translation")
    if LED in told:
        lines.append(f"URLs that lead to their own places there: {told[LED]:.0f}")
    return [line for line in lines if line]


def _pages(told: Mapping[str, float], name: str, pages: int, prior: float, what: str) -> str:
    """Return a share of the compared pages as a count of those that say something about it; else in percent."""
    if name not in told:
        return ""
    for telling in range(pages, pages // 2, -1):
        agreeing = _unshrunk(told[name], telling, prior) * telling
        if abs(agreeing - round(agreeing)) < _ROUNDED * (telling + 1):
            return f"{what}: {share(round(agreeing), telling)}"
    return f"{what}: {percent(_unshrunk(told[name], pages, prior))}"


def _unshrunk(value: float, pages: int, prior: float) -> float:
    """Return the share that was shrunk to *prior* as if by one more page (``sites.features``), 0..1."""
    return min(max((value * (pages + 1) - prior) / pages, 0.0), 1.0) if pages else value


def site_names(verdict: Verdict) -> tuple[str, str]:
    """Return copy and canonical host, each with the path below which the site lies there: ``b.example/docs``."""
    sites = (verdict.copy, verdict.copy_prefix), (verdict.canonical, verdict.canonical_prefix)
    copy, canonical = (cleaned(f"{host}/{prefix}" if prefix else host) for host, prefix in sites)
    return copy, canonical


def place_of(verdict: Verdict) -> str:
    """Return where the site of a verdict lies: ``b.example/docs/ is a.example/``; empty if on all of both hosts."""
    if verdict.copy_prefix == verdict.canonical_prefix:
        return f"below /{shortened(verdict.copy_prefix, MAX_PREFIX)}" if verdict.copy_prefix else ""
    sites = (verdict.copy, verdict.copy_prefix), (verdict.canonical, verdict.canonical_prefix)
    copy, canonical = (shortened(f"{host}/{prefix}/" if prefix else f"{host}/", MAX_PREFIX) for host, prefix in sites)
    return f"{copy} is {canonical}"


# Coverage


def coverage(told: Coverage, *, has_topic: bool = False) -> str:
    """Return how much of what is within reach was found; empty where nothing is known or nothing waits."""
    if told.share is None or told.left is None or not told.waiting:
        return ""
    share, least = (100 * one for one in told.share)
    about, most = told.left
    what = "contents on the topic" if has_topic else "contents"
    return (
        f"Found {share:.0f} % (at least {int(least)}) of the {what} within reach: of {counted(told.waiting, 'URL')} "
        f"that wait, {about:,.0f} ({most:,} at most) would bring another one"
    )


def passed(number: int, counts: Mapping[str, int], *, is_over: bool) -> str:
    """Return what came of asking for the pages of a job again; empty where none was.

    *counts* has what came of it by the names of the statistics ``replica/revisit/NAME``.
    """
    n = Counter(counts)
    if not n["due"]:
        return ""
    unsent = f" ({amount(n['bytes_saved'])} not sent)" if n["not_modified"] else ""
    state = "is complete" if is_over else "is under way"
    return (
        f"Pass {number} over the job {state}: {counted(n['due'], 'URL')} to be asked for again, {n['not_due']:,} left "
        f"alone. {n['not_modified']:,} not modified{unsent}, {n['unchanged']:,} sent and as they were, "
        f"{n['changed']:,} changed, {n['gone']:,} gone, {n['failed']:,} failed."
    )


# Rules

STANDINGS = {
    Standing.CANDIDATE: "being proved",
    Standing.IN_FORCE: "in force",
    Standing.SUSPENDED: "ended by its age",
    Standing.REFUTED: "refuted",
    Standing.DISABLED: "switched off by hand",
}
"""How a claim stands."""


def rule_standing(state: Standing, wrong: int) -> str:
    """Return how a rule stands of which *wrong* pairs were wrong."""
    is_told = state is not Standing.REFUTED or wrong
    return STANDINGS[state] if is_told else "ended, for its tests told nothing or led elsewhere"
