"""``scrapy replica explain``: what is known about a URL or host, and why it was or was not fetched."""

from __future__ import annotations

import json
import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_replica.address import host_of, redacted
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.explain_text import in_words, scope_in_words
from scrapy_replica.commands.job import add_job_argument, reading
from scrapy_replica.commands.names import near
from scrapy_replica.components.fingerprinter import key_of_url
from scrapy_replica.config import ConfigError
from scrapy_replica.crawl.order.recipe import made_again, relevance_model
from scrapy_replica.crawl.scope import kept_scope
from scrapy_replica.crawldb.contract import RELEVANCE, URGENT, State
from scrapy_replica.focus.active_learning import shares
from scrapy_replica.urls.scope import Outside
from scrapy_replica.usage import uses_by_name
from scrapy_replica.words.phrases import decided, evidence_of, place_of
from scrapy_replica.words.rules import rule
from scrapy_replica.words.text import cleaned, shortened

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import DecisionView, PageView, UrlView, VerdictView
    from scrapy_replica.crawldb.revisits import History
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader


SCHEMES = ("https", "http")

SHOWN = 200
"""Characters of what a person asked for that an error repeats."""

_AUTHORITY = re.compile(r"^[A-Za-z][\w+.-]*://[^/?#]*")

MOST_HOPS = 5
"""Pages that stand for one another that are followed."""

MOST_WORDS = 8
"""Words that are told for the topic, and as many against it."""


class ExplainCommand(Command):
    """Reads the crawl database of a finished or running crawl."""

    name = "explain"
    help = "tell what is known of a URL or host, its forms, and why it was or was not fetched"
    examples = (
        "scrapy replica explain job https://example.org/page.html",
        "scrapy replica explain job example.org/page.html",
        "scrapy replica explain job example.org",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("what", metavar="URL", help="a URL, or a host as printed by hosts")
        parser.add_argument("--json", action="store_true", help="print what is known as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        what = opts.what.strip()
        with reading(opts.job) as job:
            known = explain_host(job, what) if "/" not in what else explain_any(job, what)
            known = known or (explain_any(job, f"{what}/") if "/" not in what else None)
            outside = explain_scope(job, what) if known is None else None
            hint = near(what.lower(), job.host_names()) if known is None and "/" not in what else ""
        if outside is not None:
            sys.stdout.write(redacted(json.dumps(outside, indent=2) + "\n" if opts.json else scope_in_words(outside)))
            if hint:
                sys.stderr.write(f"{hint.removeprefix('; ')}\n")
            return 0
        if known is None:
            shown = shortened(redacted(what), SHOWN)
            sys.stderr.write(f"nothing is known of {shown}: no page of the crawl links there{hint}\n")
            return 1
        sys.stdout.write(redacted(json.dumps(known, indent=2) + "\n" if opts.json else in_words(known)))
        return 0


def explain_any(job: SqliteReader, what: str) -> dict[str, Any] | None:
    """Return what *job* knows of a URL, or of one of a host and path; ``None`` if nothing.

    Where it is known with arguments alone, one of these is told.

    :raises ValueError: it is no URL.
    """
    meant = spellings(what)
    for url in chain(meant, filter(None, map(job.url_with_arguments, meant))):
        known = explain_url(job, url)
        if known is not None:
            told = {} if known["url"].endswith(what) else {"asked for": what}
            if job.meta(RELEVANCE) is None:
                known.pop("relevance", None)  # without a topic it says nothing
            return told | known | explain_words(job, known["url"]) | explain_score(job, known)
    return None


def spellings(what: str) -> list[str]:
    """Return the URLs that a person may mean: *what* to the letter, of the other scheme, with a slash more or less.

    :raises ValueError: it is no URL.
    """
    asked = [_url_of(what)] if "://" in what else [_url_of(f"{scheme}://{what}", what) for scheme in SCHEMES]
    found = dict.fromkeys(asked)
    for url in asked:
        host, rest = host_of(url), _AUTHORITY.sub("", url)
        other = rest if "?" in rest or rest == "/" else rest.removesuffix("/") if rest.endswith("/") else f"{rest}/"
        if host:
            found |= dict.fromkeys(f"{scheme}://{host}{end}" for end in (rest, other) for scheme in SCHEMES)
    return list(found)


def _url_of(text: str, what: str | None = None) -> str:
    """Return *text* as Scrapy writes the URLs of requests, without fragment; a person wrote *what*.

    :raises ValueError: it is none.
    """
    shown = shortened(repr(redacted(what or text)), SHOWN)
    try:
        url = Request(text).url.partition("#")[0]
    except ValueError as error:
        raise ValueError(f"{shown} is no URL ({cleaned(str(error))})") from None
    if not host_of(url) and not url.startswith("file:"):
        raise ValueError(f"{shown} is no URL: it names no host")
    return url


def explain_url(job: SqliteReader, url: str) -> dict[str, Any] | None:
    """Return what *job* knows of *url*, or of another way to write it; ``None`` if nothing."""
    found = _find(job, url)
    if found is None:
        return None
    told: dict[str, Any] = {
        "url": found.url,
        "state": found.state.value,
        "depth": found.depth,
        "priority": found.priority,
        "score": "urgent" if found.score == URGENT else found.score,
        "demoted": found.is_demoted,
        "found on": found.parent,
    }
    if found.page is not None:
        told |= _fetched(found.page)
    if found.history is not None:
        told |= _visited(found.history)
    if found.claims:
        told |= {"suppressed by": list(map(str, found.claims)), "rules": _rules(job, found.claims)}
    if instead := list(_instead(job, found)):
        told |= {"in its place": instead}
    return told | {"decisions": [_decision(decision) for decision in found.decisions]}


def _find(job: SqliteReader, url: str) -> UrlView | None:
    return job.url(url, key_of_url(url))


def _rules(job: SqliteReader, claims: Sequence[Claim]) -> dict[str, str]:
    rows = {claim: job.rule(int(claim.subject)) for claim in claims if claim.kind is Kind.RULE}
    return {str(claim): rule(row.rule) for claim, row in rows.items() if row is not None}


def _instead(job: SqliteReader, found: UrlView) -> Iterator[dict[str, Any]]:
    """Yield what is asked for in the place of a URL that is not fetched, and in the place of that."""
    seen = {found.url}
    while others := [url for url in _representatives(found) if url not in seen]:
        for url in others:
            seen.add(url)
            other = _find(job, url)
            state = {"state": other.state.value} if other is not None else {}
            yield {
                "url": url,
                **state,
                **(_fetched(other.page) if other is not None and other.page is not None else {}),
            }
        if other is None or len(seen) > MOST_HOPS:
            return
        found = other


def _representatives(found: UrlView) -> Sequence[str]:
    if found.representatives or found.state is not State.DROPPED or not found.decisions:
        return found.representatives
    told = found.decisions[-1].evidence
    return [url for what in ("url", "representative") if isinstance(url := told.get(what), str)][:1]


def explain_scope(job: SqliteReader, what: str) -> dict[str, Any] | None:
    """Return why *what*, a URL or host that *job* knows nothing of, does not belong to the crawl; ``None`` if it does.

    Links out of scope are counted, and not kept.
    """
    if (scope := kept_scope(job)) is None:
        return None
    url = _url_of(what if "://" in what else f"http://{what}")
    outside = scope.outside(url, host_of(url))
    if outside is None or ("/" not in what and outside is not Outside.OTHER_HOST):
        return None
    told = {"url": what, "state": "out of scope", "why": outside.value}
    return told | ({"hosts of the seeds": sorted(scope.hosts - {""})} if outside is Outside.OTHER_HOST else {})


def _fetched(page: PageView) -> dict[str, Any]:
    known = {
        "status": page.status,
        "error": page.error,
        "title": page.title,
        "words": page.words,
        "relevance": page.relevance,
        "novelty": page.novelty.value if page.novelty is not None else None,
        "fetched at": page.fetched_at,
        "repeats": page.twin,
        "uses": uses_by_name(page.statements) or None,
        "site says": [list(statement) for statement in page.statements] or None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _visited(history: History) -> dict[str, Any]:
    """Return what coming back showed; empty for what was fetched once."""
    told: dict[str, Any] = {}
    if history.visits > 1:
        told = {"visits": history.visits, "changes": history.changes, "last visit": history.checked_at}
    return told | ({"gone since": history.gone_at} if history.gone_at is not None else {})


def _decision(made: DecisionView) -> dict[str, Any]:
    words = decided(
        made.action, made.wanted, made.reason, made.evidence, is_sampled=made.is_sampled, outcome=made.outcome
    )
    return {
        "at": made.at,
        "action": made.action.value,
        "wanted": made.wanted.value,
        "reason": made.reason.value,
        "evidence": dict(made.evidence),
        "is_sampled": made.is_sampled,
        "outcome": made.outcome,
        "in words": words,
    }


def explain_words(job: SqliteReader, url: str) -> dict[str, Any]:
    """Return which words of the page at *url* speak for the topic and which against it, as far as they are kept."""
    said = job.texts.said_of(url)
    told: dict[str, Any] = {} if said is None else {"marked": said}
    terms = job.texts.terms_at(url) or job.visits.terms_of(url)
    if job.meta(RELEVANCE) is None or not terms:
        return told
    return told | {
        "topic words": [share._asdict() for share in shares(terms, relevance_model(job).relevance, MOST_WORDS)]
    }


def explain_score(job: SqliteReader, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the strategy says of the URL of *known* now: distance, and what its score is made of."""
    try:
        strategy, url = made_again(job), known["url"]
    except ConfigError as error:
        return {"no score": str(error)}
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
    log_odds = {
        part.name: [one._asdict() | {"share": one.value * one.weight} for one in odds]
        for part, odds in zip(account.parts, account.log_odds, strict=False)
    }
    made = {"score parts": parts, **({"log odds": log_odds} if log_odds else {})}
    return {"score now": sum(part["share"] for part in parts), "judged by": page, **told, **made}


def explain_host(job: SqliteReader, host: str) -> dict[str, Any] | None:
    """Return what *job* knows of *host*; ``None`` if nothing."""
    found = job.host(host.lower())
    if found is None:
        return None
    known: dict[str, Any] = {"host": found.host, "ip": found.ip}
    known |= {"urls": {state.value: count for state, count in found.urls.items()}}
    known |= {"pages": {novelty.value: count for novelty, count in found.pages.items()}}
    if found.verdict is not None:
        known |= _verdict(found.verdict)
    if found.copies:
        known["replicas"] = list(found.copies)
    known["decisions"] = [
        {"action": action.value, "reason": reason.value, "urls": count}
        for (action, reason), count in found.decisions.items()
    ]
    return known | _forms(job, host.lower())


def _forms(job: SqliteReader, host: str) -> dict[str, Any]:
    """Return the forms of the site at *host* and the terms that were sent to them; empty if it has none."""
    forms, query = job.forms.of_host(host), job.forms.terms(host)
    if not (forms or query):
        return {}
    told = [
        {
            "action": form.action,
            "method": form.method,
            "is_login": form.is_login,
            "fields": [field._asdict() for field in form.fields],
        }
        for form in forms
    ]
    return {"forms": told, "query": query}


def _verdict(view: VerdictView) -> dict[str, Any]:
    verdict = view.verdict
    return {
        "verdict": "replica" if view.is_in_force else f"replica, {view.standing.value} since",
        "canonical": verdict.canonical,
        "score": round(verdict.score, 4),
        "since": view.at,
        "by": "hand" if verdict.is_manual else "judge",
        "aligned pages": verdict.n_aligned,
        "place": place_of(verdict),
        "standing": view.standing.value,
        "evidence": dict(verdict.evidence),
        "evidence in words": evidence_of(verdict),
    }
