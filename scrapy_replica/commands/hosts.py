"""``scrapy replica hosts``, ``block`` and ``allow``: verdicts on hosts, read and given by hand."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import without_port
from scrapy_replica.commands.command import Command, add_job_argument
from scrapy_replica.commands.job import reading
from scrapy_replica.commands.order import known_host, order
from scrapy_replica.crawldb.orders import ALLOW, BLOCK, DIFFERENT
from scrapy_replica.words import COLUMNS, counted, evidence_of, place_of, score, shortened, wrapped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.sqlite.reader import SqliteReader


class HostsCommand(Command):
    """Lists the groups of hosts that are one site."""

    name = "hosts"
    help = "list the hosts that are copies of others, with the evidence and what was saved"
    group = "see"
    examples = (
        "scrapy replica hosts --job job",
        "scrapy replica hosts --job job --export nutch > aliases.txt",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
        parser.add_argument(
            "--export",
            choices=sorted(EXPORTS),
            help="print as Nutch, HTTrack or Algolia read them the aliases that keep the path",
        )

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        with reading(opts.job) as job:
            verdicts = verdicts_of(job)
        if opts.export:
            sys.stdout.write(EXPORTS[opts.export](verdicts))
        elif opts.json:
            saved = sum(v["saved"] for v in verdicts)
            figures = {"verdicts": len(verdicts), "urls_saved": saved}
            sys.stdout.write(json.dumps({"figures": figures, "verdicts": verdicts}) + "\n")
        else:
            sys.stdout.write(as_text(verdicts))
        return 0


class BlockCommand(Command):
    """Blocks a host by hand; a running crawl obeys within a second."""

    name = "block"
    help = "fetch no more of MIRROR, a copy of HOST"
    group = "steer"
    examples = ("scrapy replica block mirror.example.org --as www.example.org --job job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "mirror", metavar="MIRROR", help="the copy, as printed by hosts; HOST/PATH where its site lies below a path"
        )
        parser.add_argument("--as", dest="keeper", metavar="HOST", required=True, help="what is kept, likewise")
        add_job_argument(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        (mirror, _, copy_prefix), (keeper, _, keeper_prefix) = (
            named.strip().partition("/") for named in (opts.mirror, opts.keeper)
        )
        what = checked_block(mirror, keeper, copy_prefix, keeper_prefix)
        for host in (what["host"], what["keeper"]):
            known_host(opts.job, host)
        return order(opts.job, BLOCK, what, f"{opts.mirror} is blocked as a copy of {opts.keeper}")


def checked_block(mirror: str, keeper: str, copy_prefix: str, keeper_prefix: str) -> dict[str, str]:
    """Return what an order says that blocks *mirror* as a copy of *keeper*; the site lies below these paths.

    :raises ValueError: these are no hosts, or one.
    """
    what = {"host": host_name(mirror), "keeper": host_name(keeper)}
    if what["host"] == what["keeper"]:
        raise ValueError(f"{what['host']} cannot be a copy of itself")
    prefixes = {"copy_prefix": copy_prefix.strip("/"), "keeper_prefix": keeper_prefix.strip("/")}
    return what | {name: prefix for name, prefix in prefixes.items() if prefix}


class AllowCommand(Command):
    """Takes a verdict back by hand, for good; a running crawl obeys within a second."""

    name = "allow"
    help = "never take HOST for a copy; what was not fetched of it comes back"
    group = "steer"
    examples = ("scrapy replica allow mirror.example.org --job job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", metavar="HOST", help="a host, as printed by hosts")
        parser.add_argument("--beside", metavar="OTHER", help="say only that HOST and OTHER are two sites")
        add_job_argument(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        host = known_host(opts.job, host_name(opts.host))
        if opts.beside is None:
            told = f"{host} is never taken for a copy, and what was not fetched of it for that comes back"
            return order(opts.job, ALLOW, {"host": host}, told)
        other = known_host(opts.job, host_name(opts.beside))
        if host == other:
            raise ValueError(f"{host} is one site with itself")
        told = f"{host} and {other} are two sites, and what was not fetched of one for the other comes back"
        return order(opts.job, DIFFERENT, {"host": host, "other": other}, told)


def host_name(text: str) -> str:
    """Return *text* as a host: its name, and the port where it is not the scheme's own.

    :raises ValueError: it is none.
    """
    host = text.strip().lower()
    name, port = without_port(host)
    if not name or any(character in host for character in "/ @?#") or (port and not port[1:].isdecimal()):
        raise ValueError(f"{text!r} is no host name; give it without scheme and path")
    return host


def verdicts_of(job: SqliteReader) -> list[dict[str, Any]]:
    """Return the verdicts that hold, one dict each."""
    return [
        {
            "copy": verdict.copy,
            "keeper": verdict.keeper,
            "copy_prefix": verdict.copy_prefix,
            "keeper_prefix": verdict.keeper_prefix,
            "score": round(verdict.score, 4),
            "by": "hand" if is_manual else "judge",
            "aligned_pages": verdict.n_aligned,
            "pages": pages,
            "saved": saved,
            "evidence": dict(verdict.evidence),
            "evidence in words": evidence_of(verdict),
            "place": place_of(verdict),
        }
        for verdict, _, is_manual, _, saved, pages in job.verdicts()
    ]


def as_text(verdicts: list[dict[str, Any]]) -> str:
    """Return the groups, a block for each kept host."""
    if not verdicts:
        return "no host is known to be a copy of another\n"
    lines = []
    keeper_of = {verdict["copy"]: verdict["keeper"] for verdict in verdicts}
    groups: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        kept = verdict["keeper"]
        while kept in keeper_of:
            kept = keeper_of[kept]
        groups.setdefault(kept, []).append(verdict)
    for kept, copies in groups.items():
        lines.append(f"{shortened(kept, COLUMNS - 8)} is kept")
        for verdict in copies:
            of_whom = f", a copy of {verdict['keeper']}" if verdict["keeper"] != kept else ""
            lines.append("  " + shortened(verdict["copy"] + of_whom, COLUMNS - 2))
            lines.append(wrapped("; ".join(_told(verdict)), 4))
            if witnesses := "; ".join(verdict["evidence in words"]):
                lines.append(wrapped(witnesses, 4))
    return "\n".join(lines) + "\n"


def _told(verdict: dict[str, Any]) -> Iterator[str]:
    yield "blocked by hand" if verdict["by"] == "hand" else f"score {score(verdict['score'])}"
    yield f"{counted(verdict['saved'], 'URL')} not fetched"
    if verdict["place"]:
        yield verdict["place"]


def aliases(verdicts: list[dict[str, Any]]) -> dict[str, str]:
    """Return copy -> kept host. An alias keeps the path, so copies whose site lies elsewhere are left out."""
    return {v["copy"]: v["keeper"] for v in verdicts if v["copy_prefix"] == v["keeper_prefix"]}


def nutch(verdicts: list[dict[str, Any]]) -> str:
    """Return lines of Nutch's ``host-urlnormalizer.txt``, which ``REPLICA_ALIASES`` reads, too."""
    return "".join(f"{copy} {keeper}\n" for copy, keeper in aliases(verdicts).items())


def httrack(verdicts: list[dict[str, Any]]) -> str:
    """Return HTTrack's ``--host-alias`` options."""
    return "".join(f"--host-alias {copy}={keeper}\n" for copy, keeper in aliases(verdicts).items())


def algolia(verdicts: list[dict[str, Any]]) -> str:
    """Return the ``hostnameAliases`` of an Algolia crawler."""
    return json.dumps({"hostnameAliases": aliases(verdicts)}, indent=2) + "\n"


EXPORTS = {"algolia": algolia, "httrack": httrack, "nutch": nutch}
