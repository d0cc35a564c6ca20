"""``scrapy replica explain``: what is known about a URL or host, and why it was or was not fetched."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_replica.address import host_of, redacted
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import reading
from scrapy_replica.crawl.links.recipe import made_again
from scrapy_replica.crawl.scope import kept_scope
from scrapy_replica.crawldb.contract import URGENT
from scrapy_replica.urls.scope import Outside

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import DecisionView, PageView, Reader, VerdictView


PARTS = {
    "relevance": "relevance of the page that links to it",
    "words": "relevance of its own words",
    "link_words": "what links with its words led to",
    "nearness": "nearness of that page to the topic",
    "bias": "what every link begins with",
    "parent": "relevance of the best page that links to it",
    "mean_parent": "mean relevance of the pages that do",
    "in_links": "logarithm of their number",
    "directory": "what its directory led to",
    "host": "what its host led to",
    "anchor": "what links with its text led to",
    "children": "what links of that page led to",
    "neighbours": "what links beside it led to",
    "words_x_parent": "its words times that page",
    "directory_x_parent": "its directory times that page",
    "children_x_parent": "the links of that page times that page",
    "is_new": "how little its directory was tried",
    "hub": "what pages with the words of that page led to",
}
"""Parts of scores in words."""


class ExplainCommand(Command):
    """Reads the crawl database of a finished or running crawl."""

    name = "explain"
    help = "tell what is known of a URL or host, and why it was or was not fetched"
    group = "see"
    examples = (
        "scrapy replica explain https://example.org/page.html --job job",
        "scrapy replica explain example.org/page.html --job job",
        "scrapy replica explain example.org --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", metavar="URL", help="a URL, or a host as printed by hosts")
        parser.add_argument("--job", metavar="DIR", required=True, help="folder of the crawl (its JOBDIR)")
        parser.add_argument("--json", action="store_true", help="print what is known as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        with reading(opts.job) as job:
            if "://" in opts.what:
                known = explain_url(job, opts.what)
                known = known and known | explain_score(job, known)
            else:
                known = explain_host(job, opts.what)
            known = known or explain_scope(job, opts.what)
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


def explain_scope(job: Reader, what: str) -> dict[str, Any] | None:
    """Return why *what*, a URL or host that *job* has no row of, does not belong to the crawl; ``None`` if it does.

    Links out of scope are counted, and not kept.
    """
    scope = kept_scope(job)
    url = Request(what).url.partition("#")[0] if "://" in what else f"http://{what}/"
    outside = scope.outside(url, host_of(url)) if scope is not None else None
    if scope is None or outside is None or (outside is not Outside.OTHER_HOST and url != what):
        return None
    hosts = sorted(scope.hosts)
    seeds = ", ".join(hosts[:SHOWN]) + (f" and {len(hosts) - SHOWN:,} more" if len(hosts) > SHOWN else "")
    return {"url": url, "state": "out of scope", "because": OUTSIDE[outside], "hosts of the seeds": seeds or None}


OUTSIDE = {
    Outside.OTHER_HOST: "the crawl stays near its seeds (--scope), and this host is elsewhere",
    Outside.NOT_INCLUDED: "no --include pattern matches it",
    Outside.EXCLUDED: "an --exclude pattern matches it",
}
"""Why a URL does not belong to the crawl, in words."""

SHOWN = 5
"""Hosts of seeds that are named."""


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


def explain_score(job: Reader, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the strategy says of the URL of *known* now: distance, and what its score is made of."""
    strategy, url = made_again(job), known["url"]
    if strategy is None:
        return {}
    found_on = job.url(known["found on"]) if known["found on"] else None
    relevance = (found_on.page.relevance if found_on and found_on.page else None) or 0.0
    account = strategy.account(url, known["score"], relevance) if known["score"] != "urgent" else None
    told = {} if (distance := strategy.distance(url)) is None else {"distance": distance._asdict()}
    if account is None:
        return told
    parts = [part._asdict() | {"share": part.value * part.weight} for part in account.parts]
    page = account.page or known["found on"]
    if not told and page and (distance := strategy.distance(page)) is not None:
        told = {"distance of that page": distance._asdict()}
    return {"score now": sum(part["share"] for part in parts), "judged by": page, **told, "score parts": parts}


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


def _links(distance: Mapping[str, Any]) -> str:
    """Return a distance in words."""
    far, estimated, known = distance["far"], distance["estimated"], distance["known"]
    now = "no way known yet" if known >= far else f"{known} as known by now"
    if estimated is None:
        return f"not estimated so early, {now}"
    return f"{estimated}{'' if estimated < far else ' or more'} links as estimated, {now}"


def _score(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a score is made of as lines, the largest shares first."""
    lines = ["score parts: value x weight"]
    for part in sorted(parts, key=lambda part: -abs(part["share"])):
        name = PARTS.get(part["name"], part["name"])
        lines.append(f"  {name:<46} {part['value']:7.3f} x {part['weight']:6.3f} = {part['share']:7.3f}")
    return lines


def _words(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.3g}" for name, number in value.items()) or None
    return ", ".join(value) if isinstance(value, list) else value


def in_words(known: dict[str, Any]) -> str:
    """Return *known* as lines for a person."""
    lines = []
    for key, value in known.items():
        if key == "score parts":
            lines += _score(value)
        elif key.startswith("distance"):
            lines.append(f"{key}: {_links(value)}")
        elif key != "decisions" and value is not None:
            lines.append(f"{key}: {_words(value)}")
    if "decisions" not in known:
        return "\n".join(lines) + "\n"
    decisions = known["decisions"]
    lines.append("decisions:" if decisions else "decisions: none, nothing spoke against it")
    return "\n".join([*lines, *(f"  {decision}" for decision in decisions)]) + "\n"
