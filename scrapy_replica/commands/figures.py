"""The figures of a crawl in words, for a person; ``--json`` has them by name."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_replica.decision import Action, Reason
from scrapy_replica.words import ACTIONS, REASONS, width_of

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
}
"""Names of figures -> words."""

DECISION = "decision."

TOLD_AS_ZERO = frozenset({"pages", "lost_urls", "unreadable"})
"""Figures that say something where they are 0; that nothing was lost says something where there were samples."""


def as_text(figures: Mapping[str, float]) -> str:
    """Return *figures* as lines of name and number; what is 0 and says nothing is left out."""
    told = TOLD_AS_ZERO | ({"false_drop_rate"} if figures.get("samples") else set())
    shown = {_name(name): value for name, value in figures.items() if value or name in told}
    width = max(map(width_of, shown), default=0)
    return "".join(f"{name:<{width}}  {_number(value):>12}\n" for name, value in shown.items())


def _name(name: str) -> str:
    if name.startswith(DECISION):
        reason, _, action = name.removeprefix(DECISION).rpartition(".")
        done = "fetched all the same" if action == Action.FETCH.value else ACTIONS[Action(action)]
        return f"{REASONS[Reason(reason)]}: {done}"
    return NAMES.get(name, name.replace("_", " "))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
