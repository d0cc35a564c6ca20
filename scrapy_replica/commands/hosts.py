"""``scrapy replica hosts``: which hosts are one site, and which may be."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import add_job_argument, name_of, reading
from scrapy_replica.commands.orders import command_line
from scrapy_replica.crawldb.orders import BLOCK, DIFFERENT
from scrapy_replica.words.phrases import DOUBTS, evidence_of, place_of, site_names
from scrapy_replica.words.terminal import COLUMNS, counted, score, scores, wrapped
from scrapy_replica.words.text import cleaned, shortened

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import VerdictView
    from scrapy_replica.records import UncertainPair, Verdict


class HostsCommand(Command):
    """Lists the groups of hosts that are one site."""

    name = "hosts"
    help = "list the hosts that are copies of others, with the evidence and what was saved"
    examples = (
        "scrapy replica hosts job",
        "scrapy replica hosts job --undecided",
        "scrapy replica hosts job --export nutch > aliases.txt",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument(
            "--undecided", action="store_true", help="list the hosts that may be copies instead, for you to decide"
        )
        parser.add_argument("--json", action="store_true", help="print them as JSON")
        parser.add_argument(
            "--export",
            choices=sorted(EXPORTS),
            help="print as Nutch, HTTrack or Algolia read them the aliases that keep the path",
        )

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        if opts.undecided:
            if opts.export:
                raise ValueError("--undecided and --export: what is not decided is no alias; leave one out")
            show_pairs(opts.job, as_json=opts.json)
            return 0
        with reading(opts.job) as job:
            views = job.verdicts()
        if opts.export:
            sys.stdout.write(EXPORTS[opts.export](aliases(view.verdict for view in views)))
        elif opts.json:
            figures = {"verdicts": len(views), "urls_saved": sum(view.saved for view in views)}
            sys.stdout.write(json.dumps({"figures": figures, "verdicts": [*map(_as_object, views)]}) + "\n")
        else:
            sys.stdout.write(as_text(views))
        return 0


def _as_object(view: VerdictView) -> dict[str, Any]:
    verdict = view.verdict
    return {
        **verdict.told,
        "by": "hand" if verdict.is_manual else "judge",
        "aligned_pages": verdict.n_aligned,
        "pages": view.pages,
        "saved": view.saved,
        "evidence": dict(verdict.evidence),
        "evidence in words": evidence_of(verdict),
        "place": place_of(verdict),
    }


def as_text(views: Sequence[VerdictView]) -> str:
    """Return the groups, a block for each canonical host."""
    if not views:
        return "no host is known to be a copy of another\n"
    lines = []
    canonical_of = {view.verdict.copy: view.verdict.canonical for view in views}
    groups: dict[str, list[VerdictView]] = {}
    for view in views:
        kept = view.verdict.canonical
        while kept in canonical_of:
            kept = canonical_of[kept]
        groups.setdefault(kept, []).append(view)
    for kept, copies in groups.items():
        lines.append(f"{shortened(kept, COLUMNS - 8)} is kept")
        for view in copies:
            verdict = view.verdict
            of_whom = f", a copy of {verdict.canonical}" if verdict.canonical != kept else ""
            lines.append("  " + shortened(verdict.copy + of_whom, COLUMNS - 2))
            sure = "blocked by hand" if verdict.is_manual else f"score {score(verdict.score)}"
            told = [sure, f"{counted(view.saved, 'URL')} not fetched", place_of(verdict)]
            lines.append(wrapped("; ".join(filter(None, told)), 4))
            if witnesses := "; ".join(evidence_of(verdict)):
                lines.append(wrapped(witnesses, 4))
    return "\n".join(lines) + "\n"


def aliases(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """Return copy -> canonical host. An alias keeps the path, so copies whose site lies elsewhere are left out."""
    return {verdict.copy: verdict.canonical for verdict in verdicts if verdict.copy_prefix == verdict.canonical_prefix}


def nutch(names: Mapping[str, str]) -> str:
    """Return lines of Nutch's ``host-urlnormalizer.txt``, which ``REPLICA_ALIASES`` reads, too."""
    return "".join(f"{copy} {canonical}\n" for copy, canonical in names.items())


def httrack(names: Mapping[str, str]) -> str:
    """Return HTTrack's ``--host-alias`` options."""
    return "".join(f"--host-alias {copy}={canonical}\n" for copy, canonical in names.items())


def algolia(names: Mapping[str, str]) -> str:
    """Return the ``hostnameAliases`` of an Algolia crawler."""
    return json.dumps({"hostnameAliases": names}, indent=2) + "\n"


EXPORTS = {"algolia": algolia, "httrack": httrack, "nutch": nutch}


def show_pairs(job: str, *, as_json: bool) -> None:
    """Print the pairs of hosts that the judge is not sure about."""
    with reading(job) as reader:
        pairs = reader.uncertain_pairs()
    name = name_of(job)
    if as_json:
        found = [_as_json(pair, name) for pair in pairs]
        sys.stdout.write(json.dumps({"figures": {"pairs": len(pairs)}, "pairs": found}) + "\n")
    elif pairs:
        sys.stdout.write("\n".join(_as_text(pair, name) for pair in pairs))
    else:
        sys.stdout.write("no pair of hosts is uncertain by now\n")


def _as_text(pair: UncertainPair, job: str) -> str:
    verdict = pair.verdict
    copy, canonical = site_names(verdict)
    reached, wanted = scores(verdict.score, pair.wanted)
    why = f"score {reached}, a verdict takes {wanted}: {DOUBTS[pair.doubt]}"
    lines = [
        wrapped(f"Is {copy} the same site as {canonical}?"),
        wrapped(why, 2),
        *(wrapped(line, 2) for line in evidence_of(verdict)),
        *(wrapped(redacted(cleaned(" and ".join(pages.urls), 400)), 4) for pages in pair.pages[:1]),
        *(f"  {cleaned(line, 400)}" for line in _commands(pair, job).values()),
    ]
    return "\n".join(lines) + "\n"


def _commands(pair: UncertainPair, job: str) -> dict[str, str]:
    """Return the commands that say that the two are one site, or two."""
    verdict = pair.verdict
    prefixes = {"copy_prefix": verdict.copy_prefix, "canonical_prefix": verdict.canonical_prefix}
    return {
        "same": command_line(BLOCK, {"host": verdict.copy, "canonical": verdict.canonical} | prefixes, job),
        "different": command_line(DIFFERENT, {"host": verdict.copy, "other": verdict.canonical}, job),
    }


def _as_json(pair: UncertainPair, job: str) -> dict[str, Any]:
    verdict = pair.verdict
    return {
        **verdict.told,
        "wanted": round(pair.wanted, 4),
        "doubt": pair.doubt.value,
        "aligned_pages": verdict.n_aligned,
        "evidence": dict(verdict.evidence),
        "pages": [{"urls": [redacted(url) for url in pages.urls], "texts": pages.texts} for pages in pair.pages],
        "commands": _commands(pair, job),
    }
