"""``scrapy replica forms``: the forms of each site and its domain query."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.commands.command import Command, add_job_argument
from scrapy_replica.commands.job import reading
from scrapy_replica.words import cleaned, counted, wrapped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

SHOWN_VALUES = 5
MAX_VALUE = 60
"""Values of a field that are shown, and characters of each."""


class FormsCommand(Command):
    """Reads the crawl database of a finished or running crawl."""

    name = "forms"
    help = "list the forms of each site, their labels, and the terms that were sent to them"
    group = "see"
    examples = (
        "scrapy replica forms --job job",
        "scrapy replica forms www.example.org --job job --json",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", metavar="HOST", nargs="?", help="of this host only")
        add_job_argument(parser)
        parser.add_argument("--json", action="store_true", help="print the sites as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        with reading(opts.job) as job:
            sites = sites_of(job, opts.host)
        if opts.json:
            figures = {"sites": len(sites), "forms": sum(len(site["forms"]) for site in sites)}
            sys.stdout.write(json.dumps({"figures": figures, "sites": sites}) + "\n")
        else:
            sys.stdout.write("\n".join(map(in_words, sites)) or "no form is known\n")
        return 0


def sites_of(job: SqliteReader, host: str | None = None) -> list[dict[str, Any]]:
    """Return the sites that have a form, or the one at *host*, one dict each."""
    return [
        {
            "host": site.host,
            "forms": [
                {
                    "action": form.action,
                    "method": form.method,
                    "is_login": form.is_login,
                    "fields": [field._asdict() for field in form.fields],
                }
                for form in site.forms
            ],
            "query": list(site.query),
        }
        for site in job.sites(host.lower() if host is not None else None)
    ]


def in_words(site: dict[str, Any]) -> str:
    """Return *site* as lines for a person."""
    lines = [cleaned(site["host"])]
    for form in site["forms"]:
        login = " (a login)" if form["is_login"] else ""
        lines.append(wrapped(f"{form['method']} {redacted(cleaned(form['action'], 2_000))}{login}", 2, 6))
        lines += [_field(field) for field in form["fields"]]
    if site["query"]:
        lines.append(wrapped(f"terms sent to it: {cleaned(' '.join(site['query']), 2_000)}", 2, 4))
    return "\n".join(lines) + "\n"


def _field(field: Mapping[str, Any]) -> str:
    name, label = cleaned(field["name"]), cleaned(field["label"])
    told = f"{name} ({label})" if label else name
    values = [cleaned(value, MAX_VALUE) or "(empty)" for value in field["values"][:SHOWN_VALUES]]
    more = len(field["values"]) - len(values)
    if more > 0:
        values.append(f"and {counted(more, 'other')}")
    return wrapped(f"{told}: {', '.join(values)}" if values else told, 4, 6)
