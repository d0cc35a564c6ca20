"""``scrapy replica rules``: the DUST rules of a crawl, read, exported, imported and switched off."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import open_job
from scrapy_replica.crawldb.contract import ACTING, RuleRow
from scrapy_replica.crawldb.sqlite.rules import RuleTable
from scrapy_replica.decision import Reason
from scrapy_replica.urls.interchange import dumps, loads
from scrapy_replica.urls.rule import Rule

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.sqlite.connection import Connection

SAVED = (
    "SELECT COUNT(DISTINCT url) FROM decisions WHERE reason = ? AND action IN ('drop', 'rewrite')"
    " AND EXISTS (SELECT 1 FROM json_each(evidence, '$.rules') WHERE value = ?)"
)


class RulesCommand(Command):
    """One sub-command for each thing to do; a running crawl obeys within a second."""

    name = "rules"
    help = "list, export, import or disable the DUST rules of a crawl"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        listing = actions.add_parser("list", help="the rules, their record and what they saved")
        listing.add_argument("--json", action="store_true", help="print them as JSON")
        listing.set_defaults(act=list_rules)
        export = actions.add_parser("export", help="the rules in force as duplicate-url-discarder JSON, to the output")
        export.set_defaults(act=export_rules)
        imports = actions.add_parser("import", help="put the rules of a duplicate-url-discarder file in force")
        imports.add_argument("file", metavar="FILE")
        imports.set_defaults(act=import_rules)
        disable = actions.add_parser("disable", help="switch a rule off for good; its URLs come back")
        disable.add_argument("id", metavar="ID", type=int, help="number of the rule in the list")
        disable.set_defaults(act=disable_rule)
        for action in (listing, export, imports, disable):
            action.add_argument("--job", metavar="DIR", required=True, help="folder of the crawl (its JOBDIR)")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        job = open_job(opts.job)
        try:
            opts.act(opts, job)
        finally:
            job.close()
        return 0


def list_rules(opts: argparse.Namespace, job: Connection) -> None:
    """Print every rule, those in force first."""
    rows = sorted(RuleTable(job).rows(), key=lambda row: (row.state != ACTING, row.id))
    rules = [_described(row, job) for row in rows]
    if opts.json:
        in_force = sum(row.state == ACTING for row in rows)
        figures = {"rules": len(rows), "in_force": in_force, "urls_saved": _saved_by_all(job)}
        sys.stdout.write(json.dumps({"figures": figures, "rules": rules}) + "\n")
        return
    lines = [f"{rule['id']:>4}  {rule['text']}\n      {rule['in words']}" for rule in rules]
    sys.stdout.write("\n".join(lines or ["no rule was proposed so far"]) + "\n")


def _described(row: RuleRow, job: Connection) -> dict[str, object]:
    rule = Rule.from_dict(row.rule)
    saved = job.read(SAVED, (Reason.DUST_RULE.value, row.id)).fetchone()[0]
    origin = "given by hand" if row.is_manual else f"learnt by {rule.learnt_from}"
    example = f", e.g. {rule.examples[0][0]} is {rule.examples[0][1]}" if rule.examples else ""
    words = f"{row.state}, {origin}, {row.right} pairs right, {row.wrong} wrong, {saved} URLs saved{example}"
    record = {"state": row.state, "right": row.right, "wrong": row.wrong, "saved": saved, "manual": row.is_manual}
    return {"id": row.id, "text": str(rule), "in words": words, **record, "rule": row.rule}


def _saved_by_all(job: Connection) -> int:
    saved: int = job.read(
        "SELECT COUNT(DISTINCT url) FROM decisions WHERE reason = ? AND action IN ('drop', 'rewrite')",
        (Reason.DUST_RULE.value,),
    ).fetchone()[0]
    return saved


def export_rules(opts: argparse.Namespace, job: Connection) -> None:  # noqa: ARG001
    """Print the rules in force that the other format has words for."""
    exported = dumps(Rule.from_dict(row.rule) for row in RuleTable(job).rows() if row.state == ACTING)
    sys.stdout.write(exported.text + "\n")
    for rule in exported.left_out:
        sys.stderr.write(f"left out, duplicate-url-discarder has no words for it: {rule}\n")


def import_rules(opts: argparse.Namespace, job: Connection) -> None:
    """Enter the rules of a file, but for those that are known."""
    try:
        rules = loads(Path(opts.file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {opts.file}: {error}") from None
    table = RuleTable(job)
    known = {Rule.from_dict(row.rule).key for row in table.rows()}
    new = [rule for rule in rules if rule.key not in known]
    for rule in new:
        table.enter(rule.to_dict(), time.time(), is_manual=True)
    sys.stderr.write(f"{len(new)} rules put in force, {len(rules) - len(new)} were known\n")


def disable_rule(opts: argparse.Namespace, job: Connection) -> None:
    """Switch a rule off."""
    if not RuleTable(job).disable(opts.id):
        raise ValueError(f"there is no rule {opts.id}; see scrapy replica rules list --job {opts.job}")
