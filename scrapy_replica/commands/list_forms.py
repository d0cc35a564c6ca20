"""``scrapy replica forms``: the forms of each site and its domain query."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import reading

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import Reader

SHOWN_VALUES = 5


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
        parser.add_argument("--job", metavar="DIR", required=True, help="folder of the crawl (its JOBDIR)")
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


def sites_of(job: Reader, host: str | None = None) -> list[dict[str, Any]]:
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
    lines = [site["host"]]
    for form in site["forms"]:
        lines.append(f"  {form['method']} {form['action']}" + ("  (a login)" if form["is_login"] else ""))
        for field in form["fields"]:
            values = ", ".join(field["values"][:SHOWN_VALUES]) + (", ..." if field["values"][SHOWN_VALUES:] else "")
            label = f"  {field['label']!r}" if field["label"] else ""
            lines.append(f"    {field['name']}{label}" + (f": {values}" if values else ""))
    if site["query"]:
        lines.append(f"  query: {' '.join(site['query'])}")
    return "\n".join(lines) + "\n"
