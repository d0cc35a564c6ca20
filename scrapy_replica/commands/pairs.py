"""``scrapy replica hosts --undecided``: the hosts of which a person is to say whether they are one site."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.commands.acts import command_line
from scrapy_replica.commands.job import name_of, reading
from scrapy_replica.crawldb.orders import BLOCK, DIFFERENT
from scrapy_replica.words.phrases import DOUBTS, evidence_of, site_names
from scrapy_replica.words.terminal import scores, wrapped
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from scrapy_replica.records import UncertainPair


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
        "copy": verdict.copy,
        "canonical": verdict.canonical,
        "copy_prefix": verdict.copy_prefix,
        "canonical_prefix": verdict.canonical_prefix,
        "score": round(verdict.score, 4),
        "wanted": round(pair.wanted, 4),
        "doubt": pair.doubt.value,
        "aligned_pages": verdict.n_aligned,
        "evidence": dict(verdict.evidence),
        "pages": [{"urls": [redacted(url) for url in pages.urls], "texts": pages.texts} for pages in pair.pages],
        "commands": _commands(pair, job),
    }
