"""What mining has found, as files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.commands.formats import write_csv
from scrapy_replica.commands.write import replacing, write
from scrapy_replica.mining.rows import TableWriter, read
from scrapy_replica.mining.schema import CLUSTERS
from scrapy_replica.words.phrases import DOUBTS, evidence_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from scrapy_replica.mining.run import Mined
    from scrapy_replica.records import Verdict
    from scrapy_replica.urls.rule import Rule

FILES = {
    "verdicts.csv": "hosts that are copies, of which, and why",
    "uncertain.csv": "pairs of hosts for a person to look at",
    "groups.csv": "the hosts of each site",
    "aliases.txt": "other names of hosts, for REPLICA_ALIASES",
    "rules.json": "URLs that are one page, for REPLICA_RULES and rules import",
    "judge.json": "the judge, for REPLICA_JUDGE",
    "clusters.parquet": "URLs whose texts are one",
    "mine.json": "the figures",
}
"""Name of a file and what is in it, as they are written; the last one says that all are there."""

VERDICT: dict[str, type] = {
    "copy": str,
    "canonical": str,
    "copy_prefix": str,
    "canonical_prefix": str,
    "score": float,
    "aligned_pages": int,
}


def write_all(mined: Mined, out: Path, told: Mapping[str, object]) -> None:
    """Write all files into the folder *out*.

    :raises ValueError: one cannot be written: a line that names it.
    """
    found = mined.judged
    _table(out / "verdicts.csv", {**VERDICT, "sure": str, "evidence": str}, [
        [*_cells(verdict), "yes" if verdict.copy in found.sure else "no", "; ".join(evidence_of(verdict))]
        for verdict in found.verdicts
    ])  # fmt: skip
    _table(out / "uncertain.csv", {**VERDICT, "wanted": float, "doubt": str, "evidence": str}, [
        [*_cells(p.verdict), round(p.wanted, 4), DOUBTS[p.doubt], "; ".join(evidence_of(p.verdict))]
        for p in found.uncertain
    ])  # fmt: skip
    groups = [[kept, host] for kept, hosts in found.groups.items() for host in hosts]
    _table(out / "groups.csv", {"kept": str, "host": str}, groups)
    write(out / "aliases.txt", "".join(f"{copy} {kept}\n" for copy, kept in sorted(found.aliases.items())).encode())
    write(out / "rules.json", _json([_without_secrets(rule).to_dict() for rule in mined.rules]))
    write(out / "judge.json", _json(found.judge.to_dict()))
    with TableWriter(out / "clusters.parquet", CLUSTERS) as writer:
        for cluster, url, host in read(mined.clusters, CLUSTERS):
            writer.add((cluster, redacted(url), host))
    write(out / "mine.json", _json(told))


def contents(out: Path) -> str:
    """Return a line for each file of *out*."""
    width = max(map(len, FILES)) + len(str(out)) + 3
    return "\n" + "".join(f"{f'{out}/{name}':<{width}}{what}\n" for name, what in FILES.items())


def _without_secrets(rule: Rule) -> Rule:
    return replace(rule, examples=tuple((redacted(url), redacted(image)) for url, image in rule.examples))


def _cells(verdict: Verdict) -> list[Any]:
    return [*verdict.told.values(), verdict.n_aligned]


def _table(file: Path, columns: Mapping[str, type], rows: Sequence[Sequence[Any]]) -> None:
    with replacing(file) as output:
        write_csv(columns, [rows], output)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
