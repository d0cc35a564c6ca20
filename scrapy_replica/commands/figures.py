"""The figures of a crawl in words, for a person; ``--json`` has them by name."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_replica.decision import Action, Reason
from scrapy_replica.words.phrases import ACTIONS, REASONS
from scrapy_replica.words.text import width_of

NAMES = {
    "novel": "new",
    "novel_pages": "new",
    "near_duplicates": "near duplicates",
    "near_duplicate_pages": "near duplicates",
    "exact_duplicates": "exact duplicates",
    "exact_duplicate_pages": "exact duplicates",
    "unknown_pages": "of too little text to tell",
    "relevant": "on the topic",
    "relevant_pages": "on the topic",
    "relevant_distinct": "on the topic, each text once",
    "relevant_at_5": "on the topic after 5 % of the pages",
    "relevant_at_10": "on the topic after 10 % of the pages",
    "relevant_at_25": "on the topic after 25 % of the pages",
    "relevant_at_50": "on the topic after 50 % of the pages",
    "harvest": "share of pages on the topic",
    "traps": "pages in traps",
    "wall_s": "seconds",
    "cpu_ms_per_page": "processor time a page, ms",
    "max_rss_mb": "most memory, MB",
    "all_pages": "pages of all processes so far",
    "processes": "processes",
    "samples": "samples of what was saved, settled",
    "false_drop_rate": "share of what was saved that was lost",
    "false_drop_rate_low": "  at least (95 %)",
    "false_drop_rate_high": "  at most (95 %)",
    "urls_waiting": "URLs that wait",
    "urls_being_fetched": "URLs that were being fetched",
    "urls_done": "URLs that were fetched",
    "urls_dropped": "URLs that are not fetched",
    "lost_urls": "URLs that there were and that are lost",
    "fetched_again": "URLs that are fetched again, for their links",
    "restored": "URLs that come back, for what stood for them",
    "unreadable": "pages and records that make no sense",
    "bad_records": "records that could not be read",
    "not_status_200": "fetches that brought no page",
    "not_HTML": "captures that are no HTML",
    "without_a_payload": "captures without a payload",
    "cut_off": "files that are cut off",
    "pairs_judged": "pairs of hosts that were judged",
    "pairs_without_promise": "pairs of hosts without a text in common",
    "verdicts": "hosts that are copies of others",
    "verdicts_sure": "  which a running crawl would have blocked",
    "uncertain_pairs": "pairs of hosts that may be copies",
    "groups": "sites of several hosts",
    "hosts_in_groups": "hosts of these sites",
    "aliases": "hosts that are other names of hosts",
    "rules": "rules that tell which URLs are one page",
    "clusters": "texts that stand at several URLs",
    "urls_in_clusters": "URLs of these texts",
    "threshold": "score that a verdict takes",
    "scope.other-host": "links out of scope: on other hosts",
    "scope.not-included": "links out of scope: not among what is included",
    "scope.excluded": "links out of scope: excluded by a pattern",
    "scope.language": "links out of scope: of another language",
    "scope.depth": "links out of scope: too many links from the seeds",
    "revisit.due": "URLs of earlier crawls that are asked for again",
    "revisit.not_due": "URLs that are left alone, for they hardly change",
    "revisit.not_modified": "pages not modified (304)",
    "revisit.bytes_saved": "bytes that were not sent for that",
    "revisit.unchanged": "pages that were sent and say what they said",
    "revisit.items_again": "items that came before, and are left out",
    "revisit.changed": "pages that say something else",
    "revisit.gone": "URLs that have no page any more",
    "revisit.failed": "URLs that had a page and brought an error",
    "revisit.tested": "pages asked once more, to test what was answered",
    "revisit.hosts_doubted": "hosts that said wrongly that nothing changed",
    "revisit.taken_back": "pages of these that are asked for again",
}
"""Names of figures -> words."""

OF_A_PASS = {"pages": "pages that are new or changed"}
"""The same, of a crawl that asked for pages again; those that are as they were have figures of their own."""

DECISION = "decision."

ORDER = {name: place for place, name in enumerate(NAMES) if name.startswith("revisit.")}
"""What came of asking again stands together, its sum first, behind the other figures."""

TOLD_AS_ZERO = frozenset({"pages", "lost_urls", "tests_of_claims", "unreadable"})
"""Figures that say something where they are 0; that nothing was lost says something where there were samples."""


def as_text(figures: Mapping[str, float]) -> str:
    """Return *figures* as lines of name and number; what is 0 and says nothing is left out."""
    told = TOLD_AS_ZERO | ({"false_drop_rate"} if figures.get("samples") else set())
    names = NAMES | (OF_A_PASS if "revisit.due" in figures else {})
    order = sorted(figures, key=lambda name: ORDER.get(name, -1))
    shown = {_name(name, names): figures[name] for name in order if figures[name] or name in told}
    width = max(map(width_of, shown), default=0)
    return "".join(f"{name:<{width}}  {_number(value):>12}\n" for name, value in shown.items())


def _name(name: str, names: Mapping[str, str]) -> str:
    if name.startswith(DECISION):
        reason, _, action = name.removeprefix(DECISION).rpartition(".")
        done = "it came back, or was fetched as a test" if action == Action.FETCH.value else ACTIONS[Action(action)]
        return f"{REASONS[Reason(reason)]}: {done}"
    return names.get(name, name.replace("_", " "))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
