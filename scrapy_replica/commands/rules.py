"""``scrapy replica rules``: the DUST rules of a crawl, read, exported, imported and switched off."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.claim import ENDED, Standing
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import add_job_argument, is_running, name_of, ordering, reading
from scrapy_replica.commands.orders import order
from scrapy_replica.crawldb.orders import DISABLE_RULE, RULE
from scrapy_replica.urls.interchange import GIVEN, dumps, rules_at
from scrapy_replica.urls.rule import Rule
from scrapy_replica.words.phrases import STANDINGS, rule_standing
from scrapy_replica.words.rules import rule as in_words
from scrapy_replica.words.terminal import counted, wrapped
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import RuleView
    from scrapy_replica.crawldb.rules import RuleRow

MOST_ORDERS = 1_000
"""Orders given last among which those are looked for that the crawl has not seen yet."""


class RulesCommand(Command):
    """One sub-command for each thing to do; a running crawl obeys within a second."""

    name = "rules"
    help = "list, export, import or disable the rules that tell which URLs are one page"
    group = "steer"
    examples = (
        "scrapy replica rules list --job job",
        "scrapy replica rules disable 3 --job job",
        "scrapy replica rules export --job job > rules.json",
        "scrapy replica rules import rules.json --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        listing = actions.add_parser("list", help="the rules, their record and what they saved")
        add_job_argument(listing)
        listing.add_argument("--json", action="store_true", help="print them as JSON")
        listing.set_defaults(act=list_rules)
        export = actions.add_parser("export", help="the rules in force as duplicate-url-discarder JSON, to the output")
        add_job_argument(export)
        export.set_defaults(act=export_rules)
        imports = actions.add_parser(
            "import", help="put the rules of a file in force, of mine or duplicate-url-discarder"
        )
        add_job_argument(imports)
        imports.add_argument("file", metavar="FILE")
        imports.set_defaults(act=import_rules)
        disable = actions.add_parser("disable", help="switch a rule off for good; its URLs come back")
        add_job_argument(disable)
        disable.add_argument("id", metavar="ID", type=int, help="number of the rule in the list")
        disable.set_defaults(act=disable_rule)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        opts.act(opts)
        return 0


def list_rules(opts: argparse.Namespace) -> None:
    """Print every rule, those in force first."""
    with reading(opts.job) as job:
        views, saved = job.rules(), job.saved_by_rules()
        orders = [order for order in job.orders(MOST_ORDERS) if order.is_open and order.kind == DISABLE_RULE]
    ending = {order.what.get("id") for order in orders}
    views.sort(key=lambda view: view.row.state != Standing.IN_FORCE)
    rules = [_described(view, is_ending=view.row.id in ending) for view in views]
    if opts.json:
        in_force = sum(view.row.state == Standing.IN_FORCE for view in views)
        figures = {"rules": len(views), "in_force": in_force, "urls_saved": saved}
        sys.stdout.write(json.dumps({"figures": figures, "rules": rules}) + "\n")
        return
    lines = [line for rule in rules for line in _lines(rule)]
    sys.stdout.write("\n".join(lines or ["no rule was proposed so far"]) + "\n")


def _described(view: RuleView, *, is_ending: bool) -> dict[str, Any]:
    row, saved, is_repeated = view
    more = " until the crawl goes on" if is_ending else ", with others that do all of it" if is_repeated else ""
    state = rule_standing(row.state, row.wrong) + more
    pairs = f"{counted(row.right, 'pair')} right, {row.wrong or 'none'} wrong"
    told = f"{state}; {_origin(row)}; {pairs}; {counted(saved, 'URL')} not fetched"
    record = {"state": row.state, "right": row.right, "wrong": row.wrong, "saved": saved, "manual": row.is_manual}
    return {"id": row.id, "text": in_words(row.rule), "in words": told, **record, "rule": row.rule}


def _lines(rule: Mapping[str, Any]) -> Iterator[str]:
    yield f"{rule['id']:>4}  {wrapped(rule['text'], 6).lstrip()}"
    yield wrapped(rule["in words"], 6)
    for url, image in rule["rule"]["examples"][:1]:
        yield wrapped(f"for example {redacted(cleaned(url, 2_000))} is {redacted(cleaned(image, 2_000))}", 6, 8)


def _origin(row: RuleRow) -> str:
    if row.is_manual:
        return "given by hand"
    if row.rule["learntFrom"] == GIVEN:
        return "from the file of REPLICA_RULES"
    return "a guess from other sites" if str(row.rule["learntFrom"]).startswith("prior") else "learnt in this crawl"


def export_rules(opts: argparse.Namespace) -> None:
    """Print the rules in force that the other format has words for."""
    with reading(opts.job) as job:
        exported = dumps(Rule.from_dict(row.rule) for row, *_ in job.rules() if row.state == Standing.IN_FORCE)
    sys.stdout.write(exported.text + "\n")
    for rule in exported.left_out:
        sys.stderr.write(f"left out, duplicate-url-discarder has no words for it: {in_words(rule.to_dict())}\n")


def import_rules(opts: argparse.Namespace) -> None:
    """Enter the rules of a file, but for those that are known."""
    rules = rules_at(Path(opts.file))
    with reading(opts.job) as job:
        known = {Rule.from_dict(row.rule).key for row, *_ in job.rules()}
    new = [rule for rule in rules if rule.key not in known]
    with ordering(opts.job) as give:
        for rule in new:
            give(RULE, {"rule": rule.to_dict()})
    when = "within a second" if is_running(opts.job) else "when the crawl is next run"
    known_ones = counted(len(rules) - len(new), "rule")
    sys.stdout.write(f"{counted(len(new), 'rule')} put in force {when}; known already: {known_ones}\n")


def disable_rule(opts: argparse.Namespace) -> None:
    with reading(opts.job) as job:
        states = {row.id: row.state for row, *_ in job.rules()}
    if opts.id not in states:
        raise ValueError(f"there is no rule {opts.id}; see scrapy replica rules list --job {name_of(opts.job)}")
    if states[opts.id] in ENDED:
        raise ValueError(f"rule {opts.id} acts no more: it is {STANDINGS[states[opts.id]]}")
    order(opts.job, DISABLE_RULE, {"id": opts.id}, f"rule {opts.id} is switched off, and what it saved comes back")
