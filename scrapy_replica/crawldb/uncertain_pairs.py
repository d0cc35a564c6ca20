"""The table of pairs of hosts that a person is asked about."""

from __future__ import annotations

import json

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.records import Doubt, PagePair, UncertainPair, Verdict

MAX_PAIRS = 200
"""Pairs kept; beyond, those farthest from a verdict go. 6 kB each at most."""


class UncertainPairTable:
    """One row for each two hosts."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write = connection.read, connection.write

    def enter(self, pair: UncertainPair) -> None:
        """Write *pair*, in place of what was written of these two hosts."""
        verdict = pair.verdict
        self._write(
            "INSERT OR REPLACE INTO uncertain_pairs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                _name(verdict.copy, verdict.canonical),
                verdict.copy,
                verdict.canonical,
                verdict.copy_prefix,
                verdict.canonical_prefix,
                verdict.score,
                verdict.n_aligned,
                json.dumps(dict(verdict.evidence)),
                pair.wanted,
                pair.doubt.value,
                json.dumps(pair.pages),
            ),
        )
        self._write(
            "DELETE FROM uncertain_pairs WHERE pair IN"
            " (SELECT pair FROM uncertain_pairs ORDER BY ABS(wanted - score), pair LIMIT -1 OFFSET ?)",
            (MAX_PAIRS,),
        )

    def decided(self, a: str, b: str) -> None:
        """Forget the pair of two hosts."""
        self._write("DELETE FROM uncertain_pairs WHERE pair = ?", (_name(a, b),))

    def forget(self, host: str) -> None:
        """Forget the pairs of *host*."""
        self._write("DELETE FROM uncertain_pairs WHERE copy = ?1 OR canonical = ?1", (host,))

    def all(self) -> list[UncertainPair]:
        """Return the pairs, nearest to a verdict first."""
        rows = self._read(
            "SELECT copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence, wanted, doubt, pages"
            " FROM uncertain_pairs ORDER BY ABS(wanted - score), pair"
        )
        found = []
        for copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence, wanted, doubt, pages in rows:
            verdict = Verdict(copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, json.loads(evidence))
            pairs = tuple(PagePair(*map(tuple, pair)) for pair in json.loads(pages))
            found.append(UncertainPair(verdict, wanted, Doubt(doubt), pairs))
        return found


def _name(a: str, b: str) -> str:
    return " ".join(sorted((a, b)))
