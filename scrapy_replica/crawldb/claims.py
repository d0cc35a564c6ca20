"""What claims suppressed and what stands for it, how claims stand, and what is on its way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeVar

from scrapy_replica.claim import Claim, Kind, Standing, Work
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.key_set import KeySet
from scrapy_replica.crawldb.pages import MISSING
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.schema import DONE, DROPPED
from scrapy_replica.crawldb.sqlite.table import Table
from scrapy_replica.crawldb.sqlite.urls import UrlTable

MAX_LOOKED_AT = 1_000
"""URLs that one claim suppressed last among which some are chosen."""
MAX_REWRITES = 5
"""URLs in a row of which each stands for the one before; more would be a circle of aliases and verdicts."""
LAST = "\U0010ffff"
"""After whatever a name goes on with."""

T = TypeVar("T")


class Suppressed(NamedTuple):
    """A URL that a claim suppressed."""

    id: int
    claim: Claim
    representative: int | None
    """Key of the URL that is fetched in its place."""


class LastSuppressed(NamedTuple):
    """What a claim suppressed, and what is known of the two URLs."""

    row: Suppressed
    url: str
    representative: str | None
    """URL of the page that is fetched in its place, where it is known."""
    n_led_to: int
    """How far that page was the first to lead, in bytes of hashes."""


def spread(rows: list[T], most: int) -> list[T]:
    """Return *most* of *rows*, spread over all of them, or all where there are no more."""
    n = min(most, len(rows))
    return [rows[one * len(rows) // n] for one in range(n)]


class Restored(NamedTuple):
    """A suppressed URL that comes back."""

    id: int
    url: str | None
    """``None`` where it went on meanwhile."""
    representative: int | None
    """Key of the URL that was fetched in its place."""


class SuppressedTable(Table):
    """For each URL that was dropped, rewritten or demoted the claims that did so, and its representative."""

    def __init__(self, connection: Connection, urls: UrlTable, *, is_own: bool) -> None:
        super().__init__(connection)
        self._urls = urls
        self._representatives = KeySet(connection, "suppressed", "representative", is_own=is_own)

    def enter(self, rows: Iterable[Suppressed]) -> None:
        values = [(row.id, str(row.claim), row.representative) for row in rows]
        for _, _, representative in values:
            if representative is not None:
                self._representatives.add(representative)
        self._write_many("INSERT OR REPLACE INTO suppressed VALUES (?, ?, ?)", values)

    def restore(self, work: Work, most: int, *, after: int = 0, of: Claim | None = None) -> list[Restored]:
        """Let URLs that *work* is about wait again; exempt where their representative is gone for good.

        :param of: of what one page stood for, that which this claim suppressed.
        :return: at most *most* of them, those of a claim in the order of their ids and from the one after *after* on;
            empty when none is left.
        """
        claim, key = work.claim or of, work.representative
        conditions: dict[str, str | int] = {} if key is None else {"representative = ?": key}
        if claim is not None:
            conditions |= {"claim = ?": str(claim), "url > ?": after}
        order = "" if claim is None else "ORDER BY url"
        sql = f"SELECT url, representative FROM suppressed WHERE {' AND '.join(conditions)} {order} LIMIT ?"
        rows = self._read(sql, (*conditions.values(), most))
        return self._restore(dict(rows.fetchall()), is_exempt=work.claim is None and not work.is_anew)

    def restore_one(self, url_id: int) -> None:
        """Let one suppressed URL wait again, exempt."""
        self._restore({url_id: None}, is_exempt=True)

    def _restore(self, ids: Mapping[int, int | None], *, is_exempt: bool) -> list[Restored]:
        self._write_many("DELETE FROM suppressed WHERE url = ?", [(url_id,) for url_id in ids])
        return [Restored(url_id, self._urls.restore(url_id, is_exempt=is_exempt), key) for url_id, key in ids.items()]

    def some_of(self, claim: Claim, most: int) -> list[Suppressed]:
        """Return at most *most* URLs that *claim* suppressed and that are dropped, spread over all of them."""
        return spread([one.row for one in self.last_of(claim)], most)

    def last_of(self, claim: Claim, *, is_alone: bool = False) -> list[LastSuppressed]:
        """Return what *claim* suppressed last and is dropped, at most :data:`MAX_LOOKED_AT`.

        :param is_alone: of what no other claim suppressed as well.
        """
        others = "SELECT 1 FROM suppressed AS other WHERE other.url = urls.id AND other.claim != suppressed.claim"
        sql = (
            "SELECT suppressed.url, representative, urls.url, kept.url, COALESCE(LENGTH(leads), 0)"
            " FROM suppressed JOIN urls ON urls.id = suppressed.url LEFT JOIN urls AS kept ON kept.key = representative"
            f" LEFT JOIN pages ON pages.url = kept.id WHERE claim = ? AND urls.state = {DROPPED}"
            f" {f'AND NOT EXISTS ({others})' if is_alone else ''} ORDER BY suppressed.url DESC LIMIT {MAX_LOOKED_AT}"
        )
        rows = self._read(sql, (str(claim),))
        return [LastSuppressed(Suppressed(url_id, claim, key), *told) for url_id, key, *told in rows]

    def count(self, claim: Claim, most: int) -> int:
        sql = "SELECT COUNT(*) FROM (SELECT 1 FROM suppressed WHERE claim = ? LIMIT ?)"
        return self._number(sql, str(claim), most)

    def newest_of(self, claim: Claim) -> int:
        """Return the highest id of the URLs that *claim* suppressed; 0 if there is none."""
        return self._number("SELECT COALESCE(MAX(url), 0) FROM suppressed WHERE claim = ?", str(claim))

    def of_url(self, url_id: int) -> list[Suppressed]:
        rows = self._read("SELECT claim, representative FROM suppressed WHERE url = ? ORDER BY claim", (url_id,))
        return [Suppressed(url_id, Claim.read(name), key) for name, key in rows]

    def final_representative(self, key: int | None) -> int | None:
        """Return the id of the URL whose page stands in the end for the one with that *key*, or is its own; ``None``
        where nothing is known.
        """
        for _ in range(MAX_REWRITES):
            known = self._urls.known(key) if key is not None else None
            if known is None or known.state is not State.DROPPED:
                return known.id if known is not None else None
            key = next((one.representative for one in self.of_url(known.id) if one.representative is not None), None)
        return None

    def claims_for(self, representative: int | None) -> list[Claim]:
        """Return the claims that suppressed URLs in favour of the one with that key; none where it has none."""
        if representative is None or representative not in self._representatives:
            return []
        return self._claims_after("representative = ? AND", representative, "")

    def claims(self, kind: Kind | None = None, subject: str = "") -> list[Claim]:
        """Return the claims that suppressed URLs: all, those of a *kind*, or of these those about *subject*."""
        before = f"{kind.value} {f'{subject} of ' if subject else ''}" if kind is not None else ""
        return self._claims_after("claim < ? AND", f"{before}{LAST}", before)

    def _claims_after(self, condition: str, value: str | int, name: str) -> list[Claim]:
        """Return the claims of rows that meet a *condition* and whose name comes after *name*.

        Claim by claim through the index: one may have suppressed millions of URLs.
        """
        sql, found = f"SELECT claim FROM suppressed WHERE {condition} claim > ? ORDER BY claim LIMIT 1", []
        last: str | None = name
        while (last := self._cell(sql, value, last)) is not None:
            found.append(Claim.read(last))
        return found

    def orphans(self, most: int) -> list[int]:
        """Return at most *most* keys of representatives that bring no page.

        They are not known, were dropped without anything in their place, or their fetch failed. It reads all rows.
        """
        sql = (
            "SELECT DISTINCT representative FROM suppressed WHERE representative IS NOT NULL AND NOT EXISTS ("
            " SELECT 1 FROM urls LEFT JOIN pages ON pages.url = urls.id WHERE urls.key = representative"
            f" AND CASE urls.state"
            f" WHEN {DROPPED} THEN EXISTS (SELECT 1 FROM suppressed AS again WHERE again.url = urls.id)"
            f" WHEN {DONE} THEN pages.url IS NULL OR pages.status < {MISSING} ELSE 1 END) LIMIT ?"
        )
        return self._column(sql, most)

    # What comes back

    def begin(self, work: Work) -> None:
        """Write down that *work* is to be done in slices; it stays through the end of the process."""
        # A row that is there is written again, so that others hear of it.
        if not self._write("UPDATE work SET id = id WHERE work = ?", (str(work),)).rowcount:
            self._write("INSERT INTO work VALUES (?, ?)", (self._connection.new_id("work"), str(work)))

    def end(self, work: Work) -> None:
        self._write("DELETE FROM work WHERE work = ?", (str(work),))

    def unfinished(self) -> list[Work]:
        """Return the work that was begun and not ended, first begun first."""
        return [*map(Work.read, self._column("SELECT work FROM work ORDER BY id"))]


class UnrequestedTable(Table):
    """One row for each URL that the add-on asked for by itself, and for each *beyond*: only pages of these lead there.

    What was saved is so many fetches less. Their ids are held in memory, because every URL that is entered asks.
    """

    @cached_property
    def ids(self) -> set[int]:
        """The ids of those asked for; what other processes wrote is added by who hears of it."""
        return {*self._column("SELECT url FROM unrequested WHERE NOT is_beyond")}

    @cached_property
    def beyond(self) -> set[int]:
        """The ids of those beyond: 90 bytes each, most of a crawl where each URL that is made up begins a session."""
        return {*self._column("SELECT url FROM unrequested WHERE is_beyond")}

    def enter(self, url_id: int, *, is_beyond: bool = False) -> None:
        """Write down that nothing asked for the URL of that id, or only what *is beyond*."""
        (self.beyond if is_beyond else self.ids).add(url_id)
        self._write("INSERT OR IGNORE INTO unrequested VALUES (?, ?)", (url_id, is_beyond))

    def leads_beyond(self, url_id: int | None) -> bool:
        """Tell whether what the page of that id leads to is beyond, unless another page leads there."""
        return url_id in self.ids or url_id in self.beyond

    def ask(self, url_id: int, finder: int | None, *, is_new: bool) -> None:
        """Write down that the page of the id *finder*, or the user, asked for the URL of that id."""
        is_beyond = self.leads_beyond(finder)
        if is_beyond and is_new:
            self.enter(url_id, is_beyond=True)
        elif not is_beyond or url_id in self.ids:
            self.remove(url_id)

    def remove(self, url_id: int) -> None:
        """Write down that something asked for the URL of that id after all, if nothing had."""
        if url_id in self.ids or url_id in self.beyond:
            self.ids.discard(url_id)
            self.beyond.discard(url_id)
            self._write("DELETE FROM unrequested WHERE url = ?", (url_id,))


class ClaimTable(Table):
    """How the claims stand that have no row of their own among verdicts or rules: in force, unless a row says else.

    Those that are refuted are held in memory, because every decision asks: a handful.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._refuted: frozenset[Claim] | None = None

    def refute(self, claim: Claim) -> None:
        self._write("INSERT OR REPLACE INTO claims VALUES (?, ?)", (str(claim), Standing.REFUTED.value))
        self.read_again()

    def is_refuted(self, claim: Claim) -> bool:
        if self._refuted is None:
            names = self._column("SELECT claim FROM claims WHERE standing = ?", Standing.REFUTED.value)
            self._refuted = frozenset(map(Claim.read, names))
        return claim in self._refuted

    def read_again(self) -> None:
        """Forget what is held: others wrote some, or a span was taken back."""
        self._refuted = None
