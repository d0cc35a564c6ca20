"""Samples: fetches of what claims would suppress, and what they showed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawldb.key_set import KeySet
from scrapy_replica.crawldb.pages import OWN
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.table import Table
from scrapy_replica.crawldb.status import UNTESTED, Tested
from scrapy_replica.decision import Outcome, Reason


class Stratum(NamedTuple):
    """A part of a site, which is sampled by itself."""

    place: str = ""
    """The directory of its URLs, and the names of their arguments."""
    lacks: tuple[str, ...] = ()
    """Names of the arguments that their representatives lack."""

    @classmethod
    def of(cls, url: str, representative: str | None = None) -> Stratum:
        """Return the stratum of *url*, in whose place *representative* is fetched."""
        base, names = url.partition("?")[0], _names(url)
        lacks = names - _names(representative) if representative is not None else ()
        directory = "/".join(base.removesuffix("/").split("/")[3:-1])
        return cls(f"{directory}?{'&'.join(sorted(names))}", tuple(sorted(lacks)))

    @classmethod
    def read(cls, name: str) -> Stratum:
        """Return the stratum that the crawl database has under *name*."""
        place, _, lacks = name.partition("#")
        return cls(place, tuple(lacks.split("&")) if lacks else ())

    def __str__(self) -> str:
        """Return the name under which the crawl database has it."""
        return f"{self.place}#{'&'.join(self.lacks)}" if self.lacks else self.place


def _names(url: str) -> set[str]:
    query = url.partition("#")[0].partition("?")[2]
    return {argument.partition("=")[0] for argument in query.split("&")}


class Sample(NamedTuple):
    """A URL that a claim would suppress and that is fetched all the same, as a test of the claim."""

    id: int
    claim: Claim
    reason: Reason | None
    """Set for one of the claims of a URL, by which samples are counted."""
    representative: int | None
    """Key of the URL that it is held against; ``None``: against everything that was fetched."""
    stratum: Stratum
    weight: float
    """URLs that it stands for."""
    outcome: Outcome | None = None


COLUMNS = "url, claim, reason, representative, stratum, weight, outcome"


class SampleTable(Table):
    """One row for each URL and claim in each pass over the job; what is asked for is of the pass that goes on."""

    def __init__(self, connection: Connection, *, is_own: bool = False) -> None:
        super().__init__(connection)
        self._urls = KeySet(connection, "samples", "url", is_own=is_own)
        self._representatives = KeySet(connection, "samples", "representative", is_own=is_own)

    def enter(self, samples: Iterable[Sample]) -> list[Sample]:
        """Write *samples* down and return those that are new; one that is known stays what it is."""
        sql = f"INSERT OR IGNORE INTO samples ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        new = []
        for one in samples:
            reason, outcome = _value(one.reason), _value(one.outcome)
            row = (one.id, str(one.claim), reason, one.representative, str(one.stratum), one.weight, outcome)
            if self._write(sql, row).rowcount:
                new.append(one)
                self._urls.add(one.id)
                if one.representative is not None:
                    self._representatives.add(one.representative)
        return new

    def of_url(self, url_id: int) -> list[Sample]:
        """Return the samples that the URL of that id is, one for each claim."""
        return self._samples("url = ?", url_id) if url_id in self._urls else []

    def of_claim(self, claim: Claim) -> list[Sample]:
        return self._samples("claim = ?", str(claim))

    def _samples(self, condition: str, value: int | str) -> list[Sample]:
        rows = self._read(f"SELECT {COLUMNS} FROM samples WHERE {condition} AND pass = 0", (value,))
        return [_sample(row) for row in rows]

    def awaiting(self, representative: int) -> list[int]:
        """Return the ids of the URLs that wait to be held against the one with key *representative*."""
        if representative not in self._representatives:
            return []
        sql = "SELECT DISTINCT url FROM samples WHERE representative = ? AND outcome IS NULL ORDER BY url"
        return self._column(sql, representative)

    def left(self) -> list[int]:
        """Return the ids of all URLs that wait to be held against others."""
        sql = "SELECT url FROM samples INDEXED BY awaiting WHERE outcome IS NULL AND representative IS NOT NULL"
        return sorted({*self._column(sql)})

    def leading_further(self) -> list[int]:
        """Return the ids of a mirror's samples that were the same, and alone led to contents of the canonical host.

        Contents are pages of its own, and what repeats a page of another host: it is there because of a link of the
        mirror. What nothing else led to was fetched for the add-on's sake.
        """
        sql = (
            "SELECT r.parent FROM unrequested CROSS JOIN urls AS r ON r.id = unrequested.url"
            " CROSS JOIN pages AS one ON one.url = r.id JOIN urls AS p ON p.id = r.parent"
            " LEFT JOIN pages AS twin ON twin.url = one.twin"
            f" WHERE p.host <> r.host AND ({OWN} OR twin.host <> r.host)"
            " AND EXISTS (SELECT 1 FROM samples WHERE samples.url = p.id AND pass = 0 AND outcome = ?1"
            " AND claim > ?2 || ' ' AND claim < ?2 || '!')"
        )
        return sorted({*self._column(sql, Outcome.SAME.value, Kind.MIRROR.value)})

    def with_brought(self, claim: Claim) -> list[tuple[int, int]]:
        """Return (id, key of the representative) of samples of *claim* that were the same, and of which a callback made
        up requests that brought items.
        """
        sql = (
            "SELECT samples.url, representative FROM samples CROSS JOIN brought ON brought.url = samples.url"
            " WHERE claim = ? AND pass = 0 AND outcome = ? AND representative IS NOT NULL"
        )
        return self._read(sql, (str(claim), Outcome.SAME.value)).fetchall()

    def beside(self, claim: Claim) -> tuple[int, int]:
        """Return of how many samples of *claim* that were the same, and have the text of their representatives, what
        stands beside it is that of these as well, and of how many it is not; where there is nothing they do not count.
        """
        sql = (
            "SELECT COALESCE(SUM(one.beside = other.beside), 0), COALESCE(SUM(one.beside <> other.beside), 0)"
            " FROM samples CROSS JOIN pages AS one ON one.url = samples.url"
            " CROSS JOIN urls ON urls.key = samples.representative CROSS JOIN pages AS other ON other.url = urls.id"
            " WHERE claim = ?1 AND pass = 0 AND outcome = ?2 AND one.signature = other.signature"
        )
        n_equal, n_other = self._read(sql, (str(claim), Outcome.SAME.value)).fetchone()
        return n_equal, n_other

    def settle(self, url_id: int, outcome: Outcome, claim: Claim | None = None) -> list[Sample]:
        """Write what fetching a URL showed of one *claim* or of all; return its samples that this settled."""
        return self._change("outcome IS NULL", url_id, outcome, claim)

    def overturn(self, url_id: int) -> list[Sample]:
        """Make other pages of the samples of a URL that were the same; return them."""
        return self._change(f"outcome = '{Outcome.SAME.value}'", url_id, Outcome.OTHER)

    def _change(self, condition: str, url_id: int, outcome: Outcome, claim: Claim | None = None) -> list[Sample]:
        name = str(claim) if claim is not None else None
        sql = (
            "UPDATE samples SET outcome = ?1 WHERE url = ?2 AND pass = 0 AND claim = COALESCE(?3, claim)"
            f" AND {condition} RETURNING {COLUMNS}"
        )
        return [_sample(row) for row in self._write(sql, (outcome.value, url_id, name)).fetchall()]

    def retire(self, number: int) -> None:
        """Let the settled samples of mirrors and rules be those of the pass *number*: they are tested anew."""
        for kind in (Kind.MIRROR, Kind.RULE, Kind.RULES):
            self._write(
                "UPDATE samples SET pass = ?1 WHERE pass = 0 AND claim > ?2 AND claim < ?3 AND outcome IS NOT NULL",
                (number, f"{kind.value} ", f"{kind.value}!"),
            )

    def tested(self) -> dict[Reason, Tested]:
        """Return what the settled samples of each reason showed."""
        rows = self._read(
            "SELECT reason, outcome = 'other', SUM(weight), SUM(weight * weight), COUNT(*) FROM samples"
            " WHERE reason IS NOT NULL AND outcome IN ('same', 'other') GROUP BY 1, 2"
        )
        found: dict[Reason, Tested] = {}
        for name, is_other, weight, squares, n in rows:
            one = Tested(weight * (not is_other), weight * is_other, squares, n, n * is_other)
            found[Reason(name)] = found.get(Reason(name), UNTESTED).plus(one)
        return found


def _value(one: Reason | Outcome | None) -> str | None:
    return one.value if one is not None else None


def _sample(row: tuple[Any, ...]) -> Sample:
    url_id, claim, reason, representative, stratum, weight, outcome = row
    return Sample(
        url_id,
        Claim.read(claim),
        Reason(reason) if reason is not None else None,
        representative,
        Stratum.read(stratum),
        weight,
        Outcome(outcome) if outcome is not None else None,
    )
