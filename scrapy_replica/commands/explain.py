"""``scrapy replica explain``: what is known about a URL or host, and why it was or was not fetched."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_replica.address import redacted
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import reading
from scrapy_replica.crawldb.contract import URGENT

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import DecisionView, PageView, Reader, VerdictView


class ExplainCommand(Command):
    """Reads the crawl database of a finished or running crawl."""

    name = "explain"
    help = "tell what is known about a URL or host, and why it was or was not fetched"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", metavar="URL", help="a URL, or a host as printed by hosts")
        parser.add_argument("--job", metavar="DIR", required=True, help="folder of the crawl (its JOBDIR)")
        parser.add_argument("--json", action="store_true", help="print what is known as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        with reading(opts.job) as job:
            known = explain_url(job, opts.what) if "://" in opts.what else explain_host(job, opts.what)
        if known is None:
            sys.stderr.write(f"{redacted(opts.what)}: nothing is known; no page of the crawl links there\n")
            return 1
        sys.stdout.write(redacted(json.dumps(known, indent=2) + "\n" if opts.json else in_words(known)))
        return 0


def explain_url(job: Reader, url: str) -> dict[str, Any] | None:
    """Return what *job* knows of *url*; ``None`` if nothing."""
    found = job.url(Request(url).url.partition("#")[0])
    if found is None:
        return None
    known: dict[str, Any] = {
        "url": found.url,
        "state": found.state.value,
        "depth": found.depth,
        "priority": found.priority,
        "score": "urgent" if found.score == URGENT else found.score,
        "demoted": found.is_demoted,
        "found on": found.parent,
    }
    if found.page is not None:
        known |= _fetched(found.page)
    if found.saved_by:
        known |= {"saved by": list(found.saved_by), "in its place": list(found.stand_ins) or None}
    return known | {"decisions": [_decision(decision) for decision in found.decisions]}


def _fetched(page: PageView) -> dict[str, Any]:
    known = {
        "status": page.status,
        "error": page.error,
        "title": page.title,
        "words": page.words,
        "relevance": page.relevance,
        "novelty": page.novelty.value if page.novelty is not None else None,
        "fetched at": _time(page.fetched_at),
        "repeats": page.twin,
    }
    return {name: value for name, value in known.items() if value is not None}


def explain_host(job: Reader, host: str) -> dict[str, Any] | None:
    """Return what *job* knows of *host*; ``None`` if nothing."""
    found = job.host(host.lower())
    if found is None:
        return None
    known: dict[str, Any] = {"host": found.host, "ip": found.ip}
    known |= {f"urls {state.value}": count for state, count in found.urls.items()}
    known |= {f"pages {novelty.value}": count for novelty, count in found.pages.items()}
    if found.verdict is not None:
        known |= _verdict(found.verdict)
    if found.copies:
        known["replicas"] = list(found.copies)
    decisions = found.decisions.items()
    known["decisions"] = [f"{count} URLs: {action.value} ({reason.value})" for (action, reason), count in decisions]
    return known


def _verdict(view: VerdictView) -> dict[str, Any]:
    verdict = view.verdict
    return {
        "verdict": "replica" if view.ended is None else f"replica, {view.ended} since",
        "keeper": verdict.keeper,
        "score": round(verdict.score, 4),
        "since": _time(view.at),
        "by": "hand" if view.is_manual else "judge",
        "aligned pages": verdict.n_aligned,
        "place": f"/{verdict.copy_prefix} = /{verdict.keeper_prefix}",
        "evidence": dict(verdict.evidence),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _decision(made: DecisionView) -> str:
    evidence = ", ".join(f"{key} {value}" for key, value in made.evidence.items())
    text = f"{_time(made.at)} {made.action.value} because of {made.reason.value} ({evidence})"
    if made.action is not made.wanted:
        text += f"; the evidence asked for {made.wanted.value}"
    if made.is_sampled:
        text += "; fetched as a sample"
    if made.outcome:
        text += f"; it turned out {made.outcome}"
    return text


def _words(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.3g}" for name, number in value.items()) or None
    return ", ".join(value) if isinstance(value, list) else value


def in_words(known: dict[str, Any]) -> str:
    """Return *known* as lines for a person."""
    lines = [f"{key}: {_words(value)}" for key, value in known.items() if key != "decisions" and value is not None]
    decisions = known["decisions"]
    lines.append("decisions:" if decisions else "decisions: none, nothing spoke against it")
    return "\n".join([*lines, *(f"  {decision}" for decision in decisions)]) + "\n"
