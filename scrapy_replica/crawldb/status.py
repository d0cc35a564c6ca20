"""How a crawl goes: the figures of a whole job, which all that shows them takes from one record.

``scrapy replica status``, the report, the control page, the line at the end of a crawl and ``replica/saved`` among its
statistics print a :class:`Status`; none of them counts these for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scrapy_replica.claim import Standing
from scrapy_replica.coverage import Coverage
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.reader import RuleView, VerdictView
from scrapy_replica.crawldb.revisits import Pass
from scrapy_replica.decision import SAVING, Action, Reason
from scrapy_replica.numeric import weighted_share


class Traffic(NamedTuple):
    """What came of some fetches."""

    fetches: int = 0
    """URLs that were asked for, whatever came of it."""
    pages: int = 0
    """Those answered with status 200."""
    novel: int = 0
    exact_duplicates: int = 0
    near_duplicates: int = 0
    relevant: int = 0
    """Pages whose relevance is above 0.5."""
    failed: int = 0
    """Fetches without a response."""
    refused: int = 0
    """Responses with a status of 400 and above."""

    @property
    def duplicates(self) -> int:
        return self.exact_duplicates + self.near_duplicates

    @property
    def errors(self) -> int:
        return self.failed + self.refused

    @property
    def others(self) -> int:
        """Fetches that are none of these: redirects, files, and pages of too little text to tell."""
        return max(0, self.fetches - self.novel - self.duplicates - self.errors)

    def plus(self, other: Traffic) -> Traffic:
        return Traffic(*(one + more for one, more in zip(self, other, strict=True)))


class HostStatus(NamedTuple):
    """One host; its port is in its name where it is not the scheme's own."""

    host: str
    traffic: Traffic
    recent: int
    """Answers in the time that the speed is taken of."""
    waiting: int
    dropped: int
    last_at: float | None
    """When a URL of it was last fetched, in seconds since the epoch."""


class Tested(NamedTuple):
    """What the samples of one reason showed: URLs that were to be dropped and were fetched all the same."""

    same: float
    """URLs that the samples stand for which were rightly to be dropped."""
    other: float
    """Those that stand for pages of their own: false drops."""
    squares: float
    """Sum of the squares of the weights of both."""
    samples: int
    """Samples of which could be told what they are."""
    false_drops: int
    """Samples that are pages of their own."""

    @property
    def rate(self) -> tuple[float, float, float] | None:
        """Share of false drops, each sample counted for as many URLs as it stands for, and its 95 % interval."""
        return weighted_share(self.other, self.same + self.other, self.squares)

    def plus(self, other: Tested) -> Tested:
        same, wrong, squares, samples, n = (one + more for one, more in zip(self, other, strict=True))
        return Tested(same, wrong, squares, int(samples), int(n))


UNTESTED = Tested(0.0, 0.0, 0.0, 0, 0)


class Lost(NamedTuple):
    """What was lost with the URLs that were saved, as their samples say: those of each reason tell of its own URLs."""

    untested: int
    """Saved URLs of reasons without a sample: nothing is known of them."""
    about: float
    """Pages of their own among the others."""
    most: float
    """The same by the upper ends of the 95 % intervals."""


class ClaimFigures(NamedTuple):
    """What is believed of hosts and URLs, by whom, and since when."""

    holding: int
    """Verdicts on hosts that hold."""
    blocked_by_hand: int
    """Those of them that a person gave."""
    ended: Mapping[Standing, int]
    """Verdicts that are not in force, by how they stand."""
    verdicts: Sequence[VerdictView]
    """Those reached in the last hour, latest first, at most some."""
    n_verdicts: int
    """All those reached in the last hour."""
    rules: Mapping[str, int]
    """State of rules -> their number."""
    in_force: int
    """Rules in force, without those of which others do all."""
    rules_by_hand: int
    """Those in force that a person gave."""
    new_rules: Sequence[RuleView]
    """Rules in force that were proposed in the last hour, latest first, at most some."""
    n_new_rules: int

    @property
    def mirrors(self) -> int:
        """Hosts that are blocked as copies, for what was found."""
        return self.holding - self.blocked_by_hand

    @property
    def learnt_rules(self) -> int:
        """Those of the rules in force that no person gave."""
        return self.in_force - self.rules_by_hand


class Status(NamedTuple):
    """The figures of a job."""

    spider: str
    """Name of the spider that the job belongs to."""
    has_topic: bool
    first_at: float | None
    """When the first URL was fetched, in seconds since the epoch; ``None`` while none was."""
    last_at: float | None
    seconds: float
    """Length of the time that the speed is taken of, which ends where the crawl stands."""
    urls: Mapping[State, int]
    demoted: int
    """URLs that wait behind the others."""
    total: Traffic
    recent: Traffic
    """In the time that the speed is taken of."""
    unchanged: int
    """URLs that answered 304 when they were last asked for: they are as they were."""
    recent_unchanged: int
    n_hosts: int
    hosts: Sequence[HostStatus]
    """Those with most fetches."""
    decisions: Mapping[tuple[Reason, Action], int]
    dropped: Mapping[Reason, int]
    """URLs that are not fetched as things stand; one counts for the reason it was dropped for last."""
    tested: Mapping[Reason, Tested]
    claims: ClaimFigures
    coverage: Coverage
    unrequested: int
    """URLs that are fetched for the add-on's sake, and that nothing asked for."""
    beyond: int
    """URLs that only pages of these, or of one another, lead to, and that were fetched or dropped."""
    outside: Mapping[str, int]
    """Links that are out of scope: value of ``urls.scope.Outside`` -> number, most first."""
    resting: Mapping[str, float]
    """Download slots whose hosts asked for patience, and until when, in seconds since the epoch."""
    come_back: Pass
    """The last pass over the job."""

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return (self.recent.fetches + self.recent_unchanged) / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """What fetching all that waits now would take at that speed; ``None`` where there is none."""
        return self.urls.get(State.WAITING, 0) / self.per_second if self.per_second else None

    @property
    def n_saved(self) -> int:
        """Requests that were saved, at least: what only dropped URLs lead to is not known.

        URLs that are not fetched, less those that are fetched in their place or to decide about them, and less what
        only these lead to: a URL without its session begins another one.
        """
        return max(0, sum(self.saved.values()) - self.unrequested - self.beyond)

    @property
    def saved_share(self) -> float:
        """Share of :attr:`n_saved` among these and the URLs that were fetched."""
        return self.n_saved / max(1, self.n_saved + self.total.fetches)

    @property
    def saved(self) -> Mapping[Reason, int]:
        """Those of :attr:`dropped` that are duplicates, as evidence or a person says, or lead to nothing new."""
        return {reason: count for reason, count in self.dropped.items() if reason in SAVING}

    @property
    def lost(self) -> Lost | None:
        """What was lost with :attr:`saved`; ``None`` while no sample tells."""
        rates = {reason: rate for reason in self.saved if (rate := self.tested.get(reason, UNTESTED).rate)}
        if not rates:
            return None
        about, most = (sum(rate[end] * self.saved[reason] for reason, rate in rates.items()) for end in (0, 2))
        return Lost(sum(count for reason, count in self.saved.items() if reason not in rates), about, most)

    @property
    def all_tested(self) -> Tested:
        found = UNTESTED
        for tested in self.tested.values():
            found = found.plus(tested)
        return found

    @property
    def figures(self) -> dict[str, float]:
        """All that is one number, by name; what is not known is left out."""
        total, claims = self.total, self.claims
        wanted = total.relevant if self.has_topic else total.novel
        figures: dict[str, float | None] = {
            **{f"urls.{state.value.replace(' ', '_')}": count for state, count in self.urls.items()},
            "urls.demoted": self.demoted,
            **total._asdict(),
            "harvest": wanted / total.pages if total.pages else None,
            **_prefixed("recent", self.recent._asdict()),
            "unchanged": self.unchanged,
            "recent.unchanged": self.recent_unchanged,
            "recent.seconds": self.seconds,
            **_coverage(self.coverage),
            "per_second": self.per_second,
            "seconds_left": self.seconds_left,
            "hosts": self.n_hosts,
            **{f"decision.{reason.value}.{action.value}": n for (reason, action), n in self.decisions.items()},
            "saved": self.n_saved,
            **_prefixed("lost", self.lost._asdict() if self.lost else {}),
            **{f"dropped.{reason.value}": count for reason, count in self.dropped.items()},
            **_tested("", self.all_tested),
            "verdicts.holding": claims.holding,
            "verdicts.by_hand": claims.blocked_by_hand,
            **{f"verdicts.{why.value}": count for why, count in claims.ended.items()},
            "verdicts.last_hour": claims.n_verdicts,
            **{f"rules.{state.replace(' ', '_')}": count for state, count in claims.rules.items()},
            "rules.by_hand": claims.rules_by_hand,
            "rules.last_hour": claims.n_new_rules,
            **_prefixed("out_of_scope", self.outside),
            **_prefixed("resting", self.resting),
            **_prefixed("pass", self.come_back.counts),
        }
        for reason, one in self.tested.items():
            figures |= _tested(f".{reason.value}", one)
        return {name: round(value, 5) for name, value in figures.items() if value is not None}


def _prefixed(prefix: str, figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix}.{name}": value for name, value in figures.items()}


def _coverage(coverage: Coverage) -> dict[str, float]:
    figures: dict[str, float] = {"found": coverage.found, "checked": coverage.checked}
    for names, told in ((("share", "share_low"), coverage.share), (("left", "left_high"), coverage.left)):
        if told is not None:
            figures |= dict(zip(names, told, strict=True))
    return _prefixed("coverage", figures)


def _tested(suffix: str, tested: Tested) -> dict[str, float]:
    rate = tested.rate
    names = ("false_drop_rate", "false_drop_rate_low", "false_drop_rate_high")
    shares = {f"{name}{suffix}": share for name, share in zip(names, rate, strict=True)} if rate else {}
    return {f"samples{suffix}": tested.samples, f"false_drops{suffix}": tested.false_drops, **shares}
