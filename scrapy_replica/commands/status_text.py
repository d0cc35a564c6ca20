"""How a crawl goes in words and tables of 80 columns."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from scrapy_replica.address import redacted
from scrapy_replica.commands.orders import said
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.status import UNTESTED
from scrapy_replica.decision import Action, Reason
from scrapy_replica.report.headline import headline, tests_in_words, told_savings
from scrapy_replica.urls.scope import Outside
from scrapy_replica.words.phrases import REASONS, STANDINGS, coverage
from scrapy_replica.words.rules import rule
from scrapy_replica.words.terminal import COLUMNS, counted, lasting, percent, score, table, wrapped
from scrapy_replica.words.text import cleaned, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_replica.crawldb.orders import Order
    from scrapy_replica.crawldb.reader import Process, RuleView, VerdictView
    from scrapy_replica.crawldb.status import HostStatus, Status, Traffic

MOST_RESTING = 5
"""Hosts that rest which are named."""

ROWS = (
    ("fetched", "fetches"),
    ("pages (status 200)", "pages"),
    ("  new", "novel"),
    ("  exact duplicates", "exact_duplicates"),
    ("  near duplicates", "near_duplicates"),
    ("  on topic", "relevant"),
    ("no response", "failed"),
    ("status 400 and above", "refused"),
    ("redirects, short pages", "others"),
)
"""Fetches in the order of the table: name and field of :class:`~scrapy_replica.crawldb.status.Traffic`."""


def in_words(
    status: Status,
    orders: Sequence[Order],
    now: float,
    sharing: Sequence[Process] = (),
    *,
    is_running: bool,
) -> str:
    """Return *status* as text of 80 columns for a person.

    *now* is in seconds since the epoch; *sharing* are the processes of the crawl where several have it.
    """
    if status.first_at is None:
        waits = counted(status.urls.get(State.WAITING, 0), "URL")
        begins = "the crawl has just begun" if is_running else "no crawl has the job open"
        return f"{begins}: nothing was fetched yet, {waits} waiting\n" + _processes(sharing)
    parts = [
        wrapped(headline(status)) + "\n",
        _head(status, now, is_running=is_running),
        _fetches(status),
        _frontier(status),
        _resting(status, now),
        _coverage(status),
        _paragraph(status.come_back.in_words()),
        _outside(status.outside),
        saved_in_words(status),
        *_last_hour(status, is_running=is_running),
        _by_hand(orders),
        _processes(sharing),
        _hosts(status),
    ]
    return "\n".join(part for part in parts if part)


def _paragraph(told: str) -> str:
    return wrapped(told) + "\n" if told else ""


def _resting(status: Status, now: float) -> str:
    left = sorted((until - now, slot) for slot, until in status.resting.items() if until > now)
    if not left:
        return ""
    shown = ", ".join(f"{cleaned(slot)} for {lasting(seconds)}" for seconds, slot in left[:MOST_RESTING])
    others = f", and {len(left) - MOST_RESTING} others" if len(left) > MOST_RESTING else ""
    return _paragraph(f"These hosts asked for patience and rest: {shown}{others}.")


def _coverage(status: Status) -> str:
    told = coverage(status.coverage, has_topic=status.has_topic)
    return _paragraph(f"{told}." if told else "")


_LEFT_OUT = {
    Outside.OTHER_HOST: "to other hosts",
    Outside.NOT_INCLUDED: "that no pattern includes",
    Outside.EXCLUDED: "that a pattern excludes",
    Outside.LANGUAGE: "for their language",
    Outside.DEPTH: "too many links from the seeds",
}
"""Links out of scope."""


def _outside(outside: Mapping[str, int]) -> str:
    told = ", ".join(f"{n:,} {_LEFT_OUT[Outside(why)]}" for why, n in outside.items())
    return _paragraph(f"Links out of scope: {told}." if told else "")


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _head(status: Status, now: float, *, is_running: bool) -> str:
    assert status.first_at is not None
    assert status.last_at is not None
    ago = f"{lasting(max(0.0, now - status.last_at))} ago"
    last = ago if is_running else f"{_time(status.last_at)}, {ago}"
    does = "the crawl runs" if is_running else "no crawl has the job open"
    return (
        wrapped(f"{does}; spider {shortened(status.spider, 30)}, first fetch {_time(status.first_at)}, last {last}")
        + "\n"
    )


def _fetches(status: Status) -> str:
    window = f"last {lasting(status.seconds)}"
    lines = [f"{'':<22}{'in all':>12}{'':>8}{window:>18}"]
    for name, field in ROWS:
        if field == "relevant" and not status.has_topic:
            continue
        counts = [_count(traffic, field) for traffic in (status.total, status.recent)]
        shares = [_share(traffic, field) for traffic in (status.total, status.recent)]
        lines.append(f"{name:<22}{counts[0]:>12,}{shares[0]:>8}{counts[1]:>18,}{shares[1]:>8}".rstrip())
    if status.unchanged:
        lines.append(f"{'as before (304)':<22}{status.unchanged:>12,}{'':>8}{status.recent_unchanged:>18,}")
    return "\n".join(lines) + "\n"


def _count(traffic: Traffic, field: str) -> int:
    count: int = getattr(traffic, field)
    return count


def _share(traffic: Traffic, field: str) -> str:
    """Return the share in its whole: pages in fetches, and what pages are in pages."""
    whole = traffic.fetches if field in {"pages", "failed", "refused", "others"} else traffic.pages
    return percent(_count(traffic, field) / whole) if whole and field != "fetches" else ""


def _frontier(status: Status) -> str:
    urls = {state: status.urls.get(state, 0) for state in State}
    told = [
        f"URLs: {urls[State.WAITING]:,} waiting ({status.demoted:,} of them behind the others),",
        f"{urls[State.LEASED]:,} being fetched, {urls[State.DONE]:,} done, {urls[State.DROPPED]:,} not fetched.",
        f"{status.per_second * 60:,.0f} answers a minute.",
    ]
    if status.seconds_left:
        told.append(f"What waits now takes {lasting(status.seconds_left)} at this rate.")
    return wrapped(" ".join(told)) + "\n"


def saved_in_words(status: Status) -> str:
    """Return why URLs are held back, how many, and what was lost with them, as text of 80 columns."""
    return "\n".join(part for part in (_decisions(status), _lost(status)) if part)


def _decisions(status: Status) -> str:
    """Return a line for each reason: what was to wait, what is not fetched, and what samples say of that."""
    rows = [
        (
            REASONS[reason],
            status.decisions.get((reason, Action.DEMOTE), 0),
            status.dropped.get(reason, 0),
            tested.samples,
            tested.false_drops,
        )
        for reason in Reason
        for tested in [status.tested.get(reason, UNTESTED)]
    ]
    rows = [row for row in rows if any(row[1:4])]
    header = ("why", "later", "not fetched", "tested", "wrong")
    return table(header, rows) if rows else "nothing was decided against a URL\n"


def _lost(status: Status) -> str:
    """Return what was saved in all, and what the samples of each reason say was lost with it."""
    if not status.saved:
        return ""
    told, lost = f"At least {told_savings(status)}", status.lost
    if lost is None:
        told += ". No sample tells whether rightly."
    else:
        told += f"; {tests_in_words(status.all_tested)}."
        if status.all_tested.false_drops:
            told += f" Lost: about {counted(round(lost.about), 'page')}."
        told += f" No sample tells of {lost.untested:,}." if lost.untested else ""
    return wrapped(told) + "\n"


def _last_hour(status: Status, *, is_running: bool) -> Iterator[str]:
    """Yield the verdicts and rules of the last hour, and how many there are in all."""
    claims, hour = status.claims, "the last hour" if is_running else "its last hour"
    ended = "".join(f", {count:,} {STANDINGS[why]}" for why, count in sorted(claims.ended.items()))
    by_hand = f", {claims.blocked_by_hand:,} of them by hand" if claims.blocked_by_hand else ""
    yield "\n".join(
        [
            f"Copies of hosts: {claims.holding:,} blocked{by_hand}{ended}; {claims.n_verdicts:,} found in {hour}",
            *map(_verdict, claims.verdicts),
            *_more(claims.n_verdicts - len(claims.verdicts)),
            f"Rules: {claims.in_force:,} in force; {claims.n_new_rules:,} of {hour}",
            *map(_rule, claims.new_rules),
            *_more(claims.n_new_rules - len(claims.new_rules)),
            "",
        ]
    )


def _more(count: int) -> list[str]:
    return [f"  and {count:,} more"] if count > 0 else []


def _verdict(view: VerdictView) -> str:
    verdict = view.verdict
    sure = "by hand" if verdict.is_manual else f"score {score(verdict.score)}"
    tail = f"{sure}, {counted(view.saved, 'URL')} saved" + ("" if view.is_in_force else f", {STANDINGS[view.standing]}")
    room = COLUMNS - len(f"  00:00   is , {tail}")
    canonical = shortened(verdict.canonical, max(room // 2, room - width_of(cleaned(verdict.copy))))
    return f"  {_time(view.at)[-5:]}  {shortened(verdict.copy, room - width_of(canonical))} is {canonical}, {tail}"


def _rule(view: RuleView) -> str:
    told = f"rule {view.row.id}: {rule(view.row.rule)}, {counted(view.saved, 'URL')} saved"
    return wrapped(shortened(told, 3 * COLUMNS), 2, 4)


def _outcome(order: Order) -> str:
    return "not seen by the crawl yet" if order.is_open else cleaned(order.answer or "done", 200)


def _by_hand(orders: Sequence[Order]) -> str:
    """Return what a person told the crawl last, a line each."""
    told = [
        wrapped(f"{_time(order.at)[-5:]} {redacted(shortened(said(order), MAX_SAID))}: {_outcome(order)}", 2, 9)
        for order in orders
    ]
    return "\n".join(["By hand, the last first:", *told, ""]) if told else ""


MAX_SAID = 150
"""Columns of what a person said."""


def _processes(sharing: Sequence[Process]) -> str:
    """Return a line for each process; nothing where one has the crawl."""
    rows = [
        (process.name, process.pages, "leads" if process.leads else "", f"{lasting(process.silent)} ago")
        for process in sharing
    ]
    return table(("process", "pages", "", "last heard of"), rows) if rows else ""


def _hosts(status: Status) -> str:
    if not status.hosts:
        return ""
    rows = [_host(host, status.seconds) for host in status.hosts]
    told = table(("host", "fetched", "new", "dupl.", "errors", "waiting", "dropped", "a minute"), rows)
    more = status.n_hosts - len(rows)
    return told + (f"and {counted(more, 'host')} more\n" if more else "")


def _host(host: HostStatus, seconds: float) -> tuple[str | int | float, ...]:
    traffic = host.traffic
    rate = 60 * host.recent / seconds if seconds else 0.0
    counts = (traffic.fetches, traffic.novel, traffic.duplicates, traffic.errors, host.waiting, host.dropped)
    return (host.host, *counts, rate if 0 < rate < 10 else round(rate))
