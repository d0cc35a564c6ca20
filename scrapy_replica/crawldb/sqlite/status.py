"""The figures of a job, read from indexes alone: half a second for a million URLs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from scrapy_replica.claim import Claim, Kind, Standing
from scrapy_replica.coverage import Coverage
from scrapy_replica.crawldb.checks import CheckTable
from scrapy_replica.crawldb.contract import OUTSIDE, RELEVANCE, SPIDER, State
from scrapy_replica.crawldb.reader import RuleView, VerdictView
from scrapy_replica.crawldb.rests import RESTS, load
from scrapy_replica.crawldb.revisits import LAST_PASS, Pass
from scrapy_replica.crawldb.rules import RuleRow, RuleTable, without_repeats
from scrapy_replica.crawldb.samples import SampleTable
from scrapy_replica.crawldb.sqlite.schema import DONE, DROPPED, LEASED, WAITING
from scrapy_replica.crawldb.sqlite.table import OF_HOST, Table
from scrapy_replica.crawldb.status import ClaimFigures, HostStatus, Status, Traffic
from scrapy_replica.crawldb.verdicts import COLUMNS, verdict_of
from scrapy_replica.decision import Action, Reason

HOUR = 3_600.0

SPEED_SECONDS = 600.0
"""Time at the end of a crawl that its speed is taken of."""

SHOWN = 10
"""Verdicts and rules that are told one by one."""

TRAFFIC = (
    "COUNT(*), SUM(status = 200), SUM(novelty = 'novel'), SUM(novelty = 'exact-duplicate'),"
    " SUM(novelty = 'near-duplicate'), SUM(relevance > 0.5), SUM(status IS NULL), SUM(status >= 400)"
)
"""The fields of :class:`Traffic`; all that they need is in the index ``pages_of_host``."""

RECENT = "FROM hosts CROSS JOIN pages ON pages.host = hosts.id AND fetched_at >= ?"
"""One look at the end of the fetches of each host."""

SUPPRESSED = f"FROM suppressed JOIN urls ON urls.id = suppressed.url WHERE urls.state = {DROPPED} AND"

HOLDING = "FROM verdicts WHERE standing = 'in force'"

UNCHANGED = "FROM revisits INDEXED BY believed WHERE believed > 0"
"""URLs that answered 304 when they were last asked for."""

LAST_DROP_REASON = (
    "SELECT url, reason, MAX(id) FROM decisions INDEXED BY decided WHERE action IN ('drop', 'rewrite') GROUP BY url"
)
"""URLs that were dropped, and the reason of the last time: of its ``MAX`` SQLite takes the other columns."""
IN_TRAP = (
    "SELECT 1 FROM decisions INDEXED BY decided"
    f" WHERE decisions.url = unrequested.url AND reason = '{Reason.TRAP_BUDGET.value}' AND action = 'drop'"
)
BEYOND = (
    "FROM unrequested JOIN urls ON urls.id = unrequested.url"
    f" WHERE is_beyond AND (state = {DONE} OR (state = {DROPPED} AND NOT EXISTS ({IN_TRAP})))"
)
"""URLs that only those lead to which nothing asked for. What one further on in a trap leads to its pages reach, too."""


class ViewReader(Table):
    """Verdicts and rules of a job, each with what came of it."""

    def _verdicts(self, condition: str, values: Sequence[Any] = ()) -> list[VerdictView]:
        sql = f"SELECT {COLUMNS}, at, expires_at IS NULL, standing FROM verdicts WHERE {condition}"
        found = []
        for *cells, at, is_manual, standing in self._read(sql, values).fetchall():
            verdict = verdict_of(cells, is_manual=bool(is_manual))
            pages = self._number(
                f"SELECT COUNT(*) FROM pages WHERE {OF_HOST} AND fetched_at <= ? AND status = 200", verdict.copy, at
            )
            found.append(VerdictView(verdict, at, Standing(standing), self._saved(verdict.claim), pages))
        return found

    def _rule(self, row: RuleRow) -> RuleView:
        return RuleView(row, self._saved(Claim(Kind.RULE, str(row.id))))

    def _saved(self, claim: Claim) -> int:
        return self._number(f"SELECT COUNT(*) {SUPPRESSED} claim = ?", str(claim))


class StatusReader(ViewReader):
    """Reads what :class:`~scrapy_replica.crawldb.status.Status` holds."""

    def read(self, now: float | None, most: int) -> Status:
        """Return the figures, of at most so many hosts one by one.

        *now*, in seconds since the epoch, is ``None`` where the crawl does not run, whose last hour ends with its last
        fetch.
        """
        rows = self._read(
            f"SELECT host, MIN(fetched_at), MAX(fetched_at), {TRAFFIC} FROM pages GROUP BY host"
        ).fetchall()
        traffic = {host: Traffic(*(count or 0 for count in counts)) for host, _, _, *counts in rows}
        first = min((row[1] for row in rows), default=None)
        unchanged, asked_at = self._read(f"SELECT COUNT(*), MAX(checked_at) {UNCHANGED}").fetchone()
        last = max([row[2] for row in rows] + [asked_at] * (asked_at is not None), default=None)
        end = now if now is not None else last or 0.0
        begin = max(end - SPEED_SECONDS, first if first is not None else end)
        waiting, demoted = self._waiting()
        dropped = dict(self._read(f"SELECT host, COUNT(*) FROM urls WHERE state = {DROPPED} GROUP BY host"))
        total = reduce(Traffic.plus, traffic.values(), Traffic())
        n_hosts, hosts = self._hosts(traffic, {row[0]: row[2] for row in rows}, waiting, dropped, begin, most)
        decisions, dropped_for = self._decisions()
        return Status(
            spider=(self._connection.meta(SPIDER) or b"").decode(),
            has_topic=self._connection.meta(RELEVANCE) is not None,
            first_at=first,
            last_at=last,
            seconds=max(0.0, end - begin),
            urls=self._states(sum(waiting.values()), sum(dropped.values())),
            demoted=demoted,
            total=total,
            recent=Traffic(*(count or 0 for count in self._read(f"SELECT {TRAFFIC} {RECENT}", (begin,)).fetchone())),
            unchanged=unchanged,
            recent_unchanged=self._number(f"SELECT COUNT(*) {UNCHANGED} AND checked_at >= ?", begin),
            n_hosts=n_hosts,
            hosts=hosts,
            decisions=decisions,
            dropped=dropped_for,
            tested=SampleTable(self._connection).tested(),
            claims=self._claims(end),
            coverage=self._coverage(sum(waiting.values()), total),
            unrequested=self._number("SELECT COUNT(*) FROM unrequested WHERE NOT is_beyond"),
            beyond=self._number(f"SELECT COUNT(*) {BEYOND}"),
            outside=dict(sorted(self._connection.sums(OUTSIDE).items(), key=lambda one: -one[1])),
            resting=load(self._connection.meta(RESTS)),
            come_back=Pass.load(self._connection.meta(LAST_PASS)),
        )

    def _claims(self, end: float) -> ClaimFigures:
        """Return what is believed; *end* is where the last hour ends."""
        new = f"SELECT id FROM rules WHERE state = '{Standing.IN_FORCE.value}' AND at > ? ORDER BY id DESC"
        rules = {row.id: row for row in without_repeats(RuleTable(self._connection).acting())}
        new_rules = [rules[rule] for rule in self._column(new, end - HOUR) if rule in rules]
        return ClaimFigures(
            holding=self._number(f"SELECT COUNT(*) {HOLDING}"),
            blocked_by_hand=self._number(f"SELECT COUNT(*) {HOLDING} AND expires_at IS NULL"),
            ended=self._ended(),
            verdicts=self._verdicts("at > ? ORDER BY id DESC LIMIT ?", (end - HOUR, SHOWN)),
            n_verdicts=self._number("SELECT COUNT(*) FROM verdicts WHERE at > ?", end - HOUR),
            rules=dict(self._read("SELECT state, COUNT(*) FROM rules GROUP BY state")),
            in_force=len(rules),
            rules_by_hand=sum(row.is_manual for row in rules.values()),
            new_rules=[self._rule(row) for row in new_rules[:SHOWN]],
            n_new_rules=len(new_rules),
        )

    def _coverage(self, waiting: int, total: Traffic) -> Coverage:
        """Return how much was found; contents are counted by the index, which knows no items."""
        is_topic = total.relevant > 0
        found = total.relevant if is_topic else total.pages - total.exact_duplicates
        return Coverage(found, waiting, *CheckTable(self._connection).outcomes(is_topic=is_topic))

    def _ended(self) -> dict[Standing, int]:
        rows = self._read("SELECT standing, COUNT(*) FROM verdicts WHERE standing <> 'in force' GROUP BY standing")
        return {Standing(standing): count for standing, count in rows}

    def _waiting(self) -> tuple[dict[int, int], int]:
        """Return the number of waiting URLs by host, and how many of all are demoted."""
        sql = f"SELECT host, is_demoted, COUNT(*) FROM urls WHERE state = {WAITING} GROUP BY host, is_demoted"
        found, n_demoted = defaultdict[int, int](int), 0
        for host, is_demoted, count in self._read(sql):
            found[host] += count
            n_demoted += count * is_demoted
        return found, n_demoted

    def _states(self, waiting: int, dropped: int) -> dict[State, int]:
        leased = self._number(f"SELECT COUNT(*) FROM urls WHERE state = {LEASED}")
        done = self._number("SELECT COUNT(*) FROM urls") - waiting - leased - dropped
        return {State.WAITING: waiting, State.LEASED: leased, State.DONE: done, State.DROPPED: dropped}

    def _hosts(
        self,
        traffic: Mapping[int, Traffic],
        last: Mapping[int, float],
        waiting: Mapping[int, int],
        dropped: Mapping[int, int],
        begin: float,
        most: int,
    ) -> tuple[int, list[HostStatus]]:
        """Return the number of hosts, and the most fetched ones; those that share a name are one."""
        recent = Counter(dict(self._read(f"SELECT hosts.id, COUNT(*) {RECENT} GROUP BY hosts.id", (begin,))))
        recent.update(
            dict(self._read(f"SELECT host, COUNT(*) {UNCHANGED} AND checked_at >= ? GROUP BY host", (begin,)))
        )
        found: dict[str, HostStatus] = {}
        for host, name in self._read("SELECT id, name FROM hosts"):
            one = HostStatus(
                name,
                traffic.get(host, Traffic()),
                recent[host],
                waiting.get(host, 0),
                dropped.get(host, 0),
                last.get(host),
            )
            found[name] = _together(found[name], one) if name in found else one
        hosts = sorted(found.values(), key=lambda host: (-host.traffic.fetches, -host.waiting, host.host))
        return len(hosts), hosts[:most]

    def _decisions(self) -> tuple[dict[tuple[Reason, Action], int], dict[Reason, int]]:
        """Return the number of decisions by reason and action, and of URLs that are dropped by reason."""
        made = self._read("SELECT reason, action, COUNT(*) FROM decisions GROUP BY reason, action")
        counts = ", ".join(f"SUM(reason = '{reason.value}')" for reason in Reason)  # GROUP BY would sort
        dropped = self._read(
            f"SELECT {counts} FROM ({LAST_DROP_REASON}) AS last_drop"
            f" CROSS JOIN urls ON urls.id = last_drop.url WHERE state = {DROPPED}"
        ).fetchone()
        return (
            {(Reason(reason), Action(action)): count for reason, action, count in made},
            {reason: count for reason, count in zip(Reason, dropped, strict=True) if count},
        )


def _together(one: HostStatus, other: HostStatus) -> HostStatus:
    return HostStatus(
        one.host,
        one.traffic.plus(other.traffic),
        one.recent + other.recent,
        one.waiting + other.waiting,
        one.dropped + other.dropped,
        max((at for at in (one.last_at, other.last_at) if at is not None), default=None),
    )
