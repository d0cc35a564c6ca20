"""``scrapy replica explain``: what is known about a URL or host, and why it was or was not fetched."""

from __future__ import annotations

import json
import sqlite3
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import database_path
from scrapy_replica.crawldb.sqlite.schema import DEMOTED, STATE_NAMES

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings


class ExplainCommand(Command):
    """Reads the crawl database of a finished or running crawl."""

    name = "explain"
    help = "tell what is known about a URL or host, and why it was or was not fetched"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", metavar="URL", help="a URL, or a host as printed by hosts")
        parser.add_argument("--job", metavar="DIR", required=True, help="folder of the crawl (its JOBDIR)")
        parser.add_argument("--json", action="store_true", help="print what is known as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        path = database_path(opts.job)
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            db.row_factory = sqlite3.Row
            known = explain_url(db, opts.what) if "://" in opts.what else explain_host(db, opts.what)
        db.close()
        if known is None:
            sys.stderr.write(f"{opts.what}: nothing is known; no page of the crawl links there\n")
            return 1
        sys.stdout.write(json.dumps(known, indent=2) + "\n" if opts.json else in_words(known))
        return 0


def explain_url(db: sqlite3.Connection, url: str) -> dict[str, Any] | None:
    """Return what *db* knows of *url*; ``None`` if nothing."""
    url = Request(url).url.partition("#")[0]
    row = db.execute("SELECT * FROM urls WHERE url = ? ORDER BY id LIMIT 1", (url,)).fetchone()
    if row is None:
        return None
    known: dict[str, Any] = {"url": url, "state": STATE_NAMES[row["state"]], "depth": row["depth"]}
    is_demoted = row["score"] < -DEMOTED / 2
    known["score"] = row["score"] + DEMOTED if is_demoted else row["score"]
    known["demoted"] = is_demoted
    known["found on"] = _url_of(db, row["parent"])
    page = db.execute("SELECT * FROM pages WHERE url = ?", (row["id"],)).fetchone()
    if page is not None:
        for column in ("status", "error", "title", "words", "relevance", "novelty"):
            if page[column] is not None:
                known[column] = page[column]
        known["fetched at"] = _time(page["fetched_at"])
        if page["twin"] is not None:
            known["repeats"] = _url_of(db, page["twin"])
    known["decisions"] = [_decision(d) for d in db.execute("SELECT * FROM decisions WHERE url = ?", (row["id"],))]
    return known


def explain_host(db: sqlite3.Connection, host: str) -> dict[str, Any] | None:
    """Return what *db* knows of *host*; ``None`` if nothing."""
    row = db.execute("SELECT * FROM hosts WHERE name = ?", (host.lower(),)).fetchone()
    if row is None:
        return None
    known: dict[str, Any] = {"host": row["name"], "ip": row["ip"]}
    for state, count in db.execute("SELECT state, COUNT(*) FROM urls WHERE host = ? GROUP BY state", (row["id"],)):
        known[f"urls {STATE_NAMES[state]}"] = count
    of_host = "JOIN urls ON urls.id = {0}.url WHERE urls.host = ?"
    for novelty, count in db.execute(
        f"SELECT novelty, COUNT(*) FROM pages {of_host.format('pages')} AND novelty IS NOT NULL GROUP BY 1",
        (row["id"],),
    ):
        known[f"pages {novelty}"] = count
    known |= _verdict_on(db, row["name"])
    known["decisions"] = [
        f"{count} URLs: {action} ({reason})"
        for action, reason, count in db.execute(
            f"SELECT action, reason, COUNT(*) FROM decisions {of_host.format('decisions')}"
            " GROUP BY 1, 2 ORDER BY 3 DESC",
            (row["id"],),
        )
    ]
    return known


def _verdict_on(db: sqlite3.Connection, host: str) -> dict[str, Any]:
    """Return the last verdict on *host*, and the hosts that are copies of it."""
    known: dict[str, Any] = {}
    row = db.execute("SELECT * FROM verdicts WHERE copy = ? ORDER BY id DESC LIMIT 1", (host,)).fetchone()
    if row is not None:
        known["verdict"] = "replica" if row["ended"] is None else f"replica, {row['ended']} since"
        known |= {"keeper": row["keeper"], "score": round(row["score"], 4), "since": _time(row["at"])}
        known["by"] = "hand" if row["expires_at"] is None else "judge"
        known["aligned pages"] = row["n_aligned"]
        known["place"] = f"/{row['copy_prefix']} = /{row['keeper_prefix']}"
        known["evidence"] = json.loads(row["evidence"])
    copies = db.execute("SELECT copy FROM verdicts WHERE keeper = ? AND ended IS NULL ORDER BY id", (host,)).fetchall()
    if copies:
        known["replicas"] = [copy for (copy,) in copies]
    return known


def _url_of(db: sqlite3.Connection, url_id: int | None) -> str | None:
    row = db.execute("SELECT url FROM urls WHERE id = ?", (url_id,)).fetchone()
    return row[0] if row else None


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _decision(row: sqlite3.Row) -> str:
    evidence = ", ".join(f"{key} {value}" for key, value in json.loads(row["evidence"]).items())
    text = f"{_time(row['at'])} {row['action']} because of {row['reason']} ({evidence})"
    if row["action"] != row["wanted"]:
        text += f"; the evidence asked for {row['wanted']}"
    if row["is_sampled"]:
        text += "; fetched as a sample"
    if row["outcome"]:
        text += f"; it turned out {row['outcome']}"
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
