"""What the control page shows of a job, in words: plain JSON of bounded size, made from the reader's records.

The page shows every text as text, so nothing is escaped here; what comes from crawled pages is cleaned and cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.claim import Standing
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.orders import PAUSE, RESUME
from scrapy_replica.report import sections
from scrapy_replica.report.figures import figures as figures_of
from scrapy_replica.report.headline import headline, tests_in_words
from scrapy_replica.words.phrases import DOUBTS, evidence_of, place_of, site_names
from scrapy_replica.words.rules import rule
from scrapy_replica.words.terminal import counted, lasting, percent, score, scores
from scrapy_replica.words.text import cleaned, excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy_replica.crawldb.reader import RuleView, VerdictView
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader
    from scrapy_replica.crawldb.status import HostStatus, Status
    from scrapy_replica.records import PagePair, UncertainPair

MAX_HOSTS, MAX_PAIRS, MAX_COPIES, MAX_RULES, MAX_SHOWN_ORDERS = 30, 50, 200, 100, 50
"""Rows that are shown of each."""
MAX_ORDERS = 1000
"""Orders looked at to tell which hosts pause."""
MAX_CHARACTERS = 700
"""Characters shown of the text of a page."""

OWN = {"summary", "rules"}
"""Sections of the report that the page has in its own way."""


def figures(job: SqliteReader, status: Status, *, is_running: bool) -> dict[str, Any]:
    """Return the figures of the crawl, its *status*, and its hosts with most fetches."""
    total, urls = status.total, status.urls
    left = status.seconds_left
    saved, paused = status.n_saved, _paused(job)
    tiles = [
        ("pages", f"{total.pages:,}", f"of {total.fetches:,} fetches"),
        ("new", f"{total.novel:,}", _share_of(total.novel, total.pages)),
        ("duplicates", f"{total.duplicates:,}", _share_of(total.duplicates, total.pages)),
        ("on topic", f"{total.relevant:,}", _share_of(total.relevant, total.pages)) if status.has_topic else None,
        ("fetches saved", f"{saved:,}", f"{percent(status.saved_share)}; {_tests(status)}" if saved else ""),
        ("waiting", f"{urls.get(State.WAITING, 0):,}", f"{status.demoted:,} behind the others"),
        ("a second", f"{status.per_second:.1f}", f"{lasting(left)} left" if left else "") if is_running else None,
        ("errors", f"{total.errors:,}", _share_of(total.errors, total.fetches)),
    ]
    return {
        "headline": headline(status),
        "figures": [dict(zip(("name", "value", "note"), tile, strict=True)) for tile in tiles if tile is not None],
        "hosts": [_host(host, paused) for host in status.hosts[:MAX_HOSTS]],
        "n_hosts": status.n_hosts,
    }


def _share_of(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def _tests(status: Status) -> str:
    return tests_in_words(status.all_tested) if status.all_tested.samples else "not tested yet"


def _paused(job: SqliteReader) -> set[str]:
    """Return the hosts that a person let pause, as far as the last orders tell."""
    paused: set[str] = set()
    for order in reversed(job.orders(MAX_ORDERS)):
        if order.is_done and order.kind == PAUSE:
            paused.add(str(order.what.get("host")))
        elif order.is_done and order.kind == RESUME:
            paused.discard(str(order.what.get("host")))
    return paused


def _host(host: HostStatus, paused: set[str]) -> dict[str, Any]:
    counts = {"fetched": host.traffic.fetches, "waiting": host.waiting, "not fetched": host.dropped}
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return {"host": _name(host.host), "told": told, "is_paused": host.host in paused}


def report(job: SqliteReader, status: Status) -> dict[str, Any] | None:
    """Return titles and sections of the report as ``report.js`` takes them; ``None`` before the first fetch."""
    if not status.total.fetches:
        return None
    made = sections.update(figures_of(job, status))
    titles = {name: title for name, title, _ in sections.SECTIONS if name not in OWN}
    return {"titles": titles, "update": made | {"sections": {name: made["sections"][name] for name in titles}}}


def pairs(job: SqliteReader) -> list[dict[str, Any]]:
    """Return the pairs of hosts to decide, nearest to a verdict first."""
    return [_pair(pair) for pair in job.uncertain_pairs()[:MAX_PAIRS]]


def _pair(pair: UncertainPair) -> dict[str, Any]:
    verdict = pair.verdict
    reached, wanted = scores(verdict.score, pair.wanted)
    return {
        "copy": _name(verdict.copy),
        "canonical": _name(verdict.canonical),
        "copy_prefix": verdict.copy_prefix,
        "canonical_prefix": verdict.canonical_prefix,
        "names": site_names(verdict),
        "why": DOUBTS[pair.doubt],
        "scores": f"{reached} for one site, {1 - float(reached):.{len(reached) - 2}f} against it",
        "wanted": wanted,
        "evidence": evidence_of(verdict),
        "pages": [_pages(pages) for pages in pair.pages],
    }


def _pages(pages: PagePair) -> list[dict[str, Any]]:
    return [
        {
            **address(url),
            "title": cleaned(title or ""),
            "text": redacted(excerpt(text, MAX_CHARACTERS)),
        }
        for url, title, text in zip(*pages, strict=True)
    ]


def address(url: str) -> dict[str, Any]:
    """Return a URL as it is shown, and whether it may be a link: as it is shown it must lead there."""
    shown = redacted(cleaned(url, 2_000))
    return {"url": shown, "is_link": shown == url and url.startswith(("http://", "https://"))}


def copies(job: SqliteReader) -> list[dict[str, Any]]:
    """Return the verdicts that hold, last reached first."""
    return [_copy(view) for view in reversed(job.verdicts()[-MAX_COPIES:])]


def _copy(view: VerdictView) -> dict[str, Any]:
    verdict = view.verdict
    by = "by hand" if verdict.is_manual else f"score {score(verdict.score)}"
    return {
        "copy": _name(verdict.copy),
        "canonical": _name(verdict.canonical),
        "told": ", ".join(filter(None, [by, place_of(verdict)])),
        "evidence": [] if verdict.is_manual else evidence_of(verdict),
        "saved": f"{view.saved:,}",
    }


def rules(job: SqliteReader) -> list[dict[str, Any]]:
    """Return the rules in force, last proposed first, without those of which others do all."""
    in_force = [view for view in job.rules() if view.row.state == Standing.IN_FORCE and not view.is_repeated]
    return [_rule(view) for view in reversed(in_force[-MAX_RULES:])]


def _rule(view: RuleView) -> dict[str, Any]:
    row, saved, _ = view
    origin = "given by hand" if row.is_manual else f"right for {counted(row.right, 'pair')}, wrong for {row.wrong}"
    return {"id": row.id, "rule": rule(row.rule), "told": origin, "saved": f"{saved:,}"}


def orders(job: SqliteReader, command_of: Callable[[str, Mapping[str, Any]], str]) -> list[dict[str, Any]]:
    """Return what was told the crawl by hand, last told first, each with the command that does the same."""
    return [
        {
            "id": order.id,
            "at": order.at,
            "kind": order.kind,
            "what": _cleaned(order.what),
            "command": cleaned(command_of(order.kind, order.what), 2_000),
            "answer": cleaned(order.answer or ("done" if order.is_done else "")),
            "is_open": order.is_open,
        }
        for order in job.orders(MAX_SHOWN_ORDERS)
    ]


def _cleaned(what: Mapping[str, Any]) -> dict[str, str]:
    return {key: redacted(cleaned(str(value))) for key, value in what.items()}


def _name(host: str) -> str:
    return cleaned(host, 300)
