"""What a report shows of a job: bounded, however large the job is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from scrapy_replica.claim import Claim, Kind, Standing
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.status import UNTESTED, Tested
from scrapy_replica.decision import Action, Reason
from scrapy_replica.urls.rule import Rule

if TYPE_CHECKING:
    from scrapy_replica.crawldb.reader import RuleView, VerdictView
    from scrapy_replica.crawldb.results import Directory, Point, Savings, Scores, TrapView
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader
    from scrapy_replica.crawldb.status import Status

POINTS = 240
"""Points of a curve."""

BINS = 40

HOSTS, COPIES, RULES, TRAPS, ENDED = 50, 100, 50, 50, 20
"""Rows of each table at most."""

SITES, PLACES = 3, 12
"""Hosts whose directories are shown, and directories of each."""

EXAMPLES = 2
"""Of each rule; of each copy one."""

Saved = Sequence[tuple[str, str | None]]
"""URLs that were not fetched, and what is fetched in the place of each."""


class Copy(NamedTuple):
    """A host that is, or was taken for, a copy of another."""

    view: VerdictView
    level: int
    """Verdicts between it and the host that is kept: 1, more for a copy of a copy."""
    examples: Saved


class Group(NamedTuple):
    """Hosts that serve one site."""

    canonical: str
    pages: int
    """Pages of the canonical host that were fetched."""
    copies: Sequence[Copy]
    """As many as are shown, each after what it is a copy of."""


class HostDirectories(NamedTuple):
    """A host and its directories, each before those below it."""

    host: str
    places: Sequence[Directory]
    """Those with most URLs; each counts what lies below it as well."""
    n_places: int
    """Directories in all."""


class LearntRule(NamedTuple):
    """A rule with what it saved."""

    view: RuleView
    examples: Saved


class Because(NamedTuple):
    """What was held back for one reason, and what testing it showed."""

    reason: Reason
    saved: int
    """URLs that are not fetched."""
    demoted: int
    """Those that were put behind the others."""
    tested: Tested


class Figures(NamedTuple):
    """All that a report shows."""

    status: Status
    course: Sequence[Point]
    savings: Savings
    groups: Sequence[Group]
    """Those that saved most first."""
    n_copies: int
    """Copies in all."""
    saved_by_hosts: int
    """URLs that are not fetched for some verdict."""
    ended: Sequence[VerdictView]
    """Verdicts that hold no more, the last ones."""
    rules: Sequence[LearntRule]
    """Those in force first, and of these those that saved most."""
    n_rules: int
    sites: Sequence[HostDirectories]
    """Hosts with most fetches that have directories."""
    traps: Sequence[TrapView]
    n_traps: int
    trapped: int
    """URLs of all traps."""
    scores: Scores | None

    @property
    def waiting(self) -> int:
        return self.status.urls.get(State.WAITING, 0)

    @property
    def reasons(self) -> list[Because]:
        """What was held back, by reason."""
        status = self.status
        found = [
            Because(
                reason,
                status.dropped.get(reason, 0),
                status.decisions.get((reason, Action.DEMOTE), 0),
                status.tested.get(reason, UNTESTED),
            )
            for reason in Reason
        ]
        return [because for because in found if because.saved or because.demoted or because.tested.samples]


def figures(job: SqliteReader, status: Status) -> Figures:
    """Return what a report shows of *job*, with its *status* of :data:`HOSTS` hosts."""
    results, verdicts = job.results, job.verdicts()
    distinct = (view for view in job.rules() if not view.is_repeated)
    rules = sorted(distinct, key=lambda view: (view.row.state != Standing.IN_FORCE, -view.saved, view.row.id))
    traps = results.traps()
    return Figures(
        status,
        results.course(POINTS),
        results.savings(),
        _groups(job, verdicts),
        len(verdicts),
        sum(view.saved for view in verdicts),
        results.ended_verdicts(ENDED),
        [LearntRule(view, _examples(job, view)) for view in rules[:RULES]],
        len(rules),
        [site for site in (_site(job, host.host) for host in status.hosts[:SITES]) if len(site.places) > 1],
        traps[:TRAPS],
        len(traps),
        sum(trap.urls for trap in traps),
        results.scores(BINS),
    )


def _site(job: SqliteReader, host: str) -> HostDirectories:
    """Return the directories of *host*."""
    places = job.results.places(host)
    largest = sorted(places, key=lambda place: -place.urls)[:PLACES]
    return HostDirectories(host, sorted(largest, key=lambda place: place.path), len(places))


def _examples(job: SqliteReader, view: RuleView) -> Saved:
    """Return URLs that a rule saved, or those that it was learnt from."""
    return (
        job.results.saved_by(Claim(Kind.RULE, str(view.row.id)), EXAMPLES)
        or Rule.from_dict(view.row.rule).examples[:EXAMPLES]
    )


def _groups(job: SqliteReader, verdicts: Sequence[VerdictView]) -> list[Group]:
    """Return the groups of copies, those that saved most first, until so many copies are shown."""
    copies: dict[str, list[VerdictView]] = {}
    for view in verdicts:
        copies.setdefault(view.verdict.canonical, []).append(view)
    blocked = {view.verdict.copy for view in verdicts}
    trees = {canonical: list(_tree(canonical, copies)) for canonical in copies if canonical not in blocked}
    groups, left = [], COPIES
    for canonical, tree in sorted(trees.items(), key=lambda tree: -sum(view.saved for view, _ in tree[1])):
        shown = [Copy(view, level, job.results.saved_by(view.verdict.claim, 1)) for view, level in tree[:left]]
        if shown:
            groups.append(Group(canonical, job.results.pages_of(canonical), shown))
        left -= len(shown)
    return groups


def _tree(canonical: str, copies: dict[str, list[VerdictView]]) -> list[tuple[VerdictView, int]]:
    """Return the copies of *canonical*, each once and followed by its own, with their level."""
    found: dict[str, tuple[VerdictView, int]] = {}
    ahead = [(view, 1) for view in reversed(copies[canonical])]
    while ahead:
        view, level = ahead.pop()
        if found.setdefault(view.verdict.copy, (view, level))[0] is view:
            ahead += [(own, level + 1) for own in reversed(copies.get(view.verdict.copy, ()))]
    return list(found.values())
