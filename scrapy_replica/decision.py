"""Decisions: what is done with a URL, and why. Nothing is dropped, demoted or rewritten without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from scrapy_replica.claim import Claim, Kind


class Mode(str, Enum):
    """How far the add-on may act on what it believes (``REPLICA_MODE``)."""

    OBSERVE = "observe"
    """Nothing is changed; what would be saved is counted."""
    DEMOTE = "demote"
    """Guesses wait behind everything else, certainties are dropped."""
    DROP = "drop"
    """Guesses and certainties are dropped."""


class Action(str, Enum):
    """What happens to a URL."""

    FETCH = "fetch"
    DEMOTE = "demote"
    DROP = "drop"
    REWRITE = "rewrite"


class Reason(str, Enum):
    """Why a URL was demoted, dropped or rewritten; the words stand in stats, ledger and ``explain``."""

    MANUAL_ALIAS = "manual-alias"
    MANUAL_BLOCK = "manual-block"
    REPLICA_HOST = "replica-host"
    DUST_RULE = "dust-rule"
    OTHER_SCHEME = "other-scheme"
    OTHER_NAME = "other-name"
    PERMALINK = "permalink"
    EXACT_DUPLICATE_LINKS = "exact-duplicate-links"
    NEAR_DUPLICATE_LINKS = "near-duplicate-links"
    COLLECTED_LINKS = "collected-links"
    PATH_BUDGET = "path-budget"
    TRAP_BUDGET = "trap-budget"
    HOST_PAGES = "host-pages"
    OUT_OF_SCOPE = "out-of-scope"
    EXCLUDED = "excluded"
    """By a person, while the crawl ran."""


TESTED_REASONS = frozenset(
    {
        Reason.REPLICA_HOST,
        Reason.DUST_RULE,
        Reason.OTHER_SCHEME,
        Reason.OTHER_NAME,
        Reason.PERMALINK,
        Reason.EXACT_DUPLICATE_LINKS,
        Reason.NEAR_DUPLICATE_LINKS,
        Reason.TRAP_BUDGET,
    }
)
"""Reasons that rest on evidence and not on a person's word: what they drop is sampled."""


SAVING = TESTED_REASONS | {Reason.MANUAL_ALIAS, Reason.MANUAL_BLOCK}
"""Reasons by which fetches are saved; the others leave out what a person did not want."""

BUDGETS = frozenset({Reason.PATH_BUDGET, Reason.TRAP_BUDGET, Reason.HOST_PAGES})
"""Reasons that bound how many pages are fetched."""


class Outcome(str, Enum):
    """What fetching a sample showed."""

    SAME = "same"
    """It was rightly to be dropped: it is what stands in its place, or nothing new."""
    OTHER = "other"
    """It is a page of its own."""
    UNKNOWN = "unknown"
    """Too little text to tell."""
    FAILED = "failed"
    """It, or the page that it is held against, was asked for in vain."""
    UNREAD = "unread"
    """The page that it is held against was not read, or it has no page and nobody misses it: nothing leads to it, or it
    is gone (404, 410), as what a copy of a part of a site has not. It counts neither way."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about one URL.

    ``wanted`` is what the evidence asks for; ``action`` is what is done, after the mode, the exploration sample and
    the user's exemptions. The two differ in ``observe`` mode and for sampled URLs.
    """

    action: Action
    wanted: Action
    reason: Reason | None = None
    probability: float = 1.0
    """How sure the evidence is, 0..1."""
    evidence: Mapping[str, object] = field(default_factory=dict)
    url: str | None = None
    """The URL to fetch instead, for a rewrite; of a sample, the one that it is held against."""
    representative: str | None = None
    """The URL whose page stands for one that is suppressed: it was fetched or waits."""
    claims: tuple[Claim, ...] = ()
    """What suppresses the URL; it comes back when one of them ends."""
    is_rule_chain: bool = False
    """Rules changed the URL one after the other: what its page shows says something of all together, of none alone."""
    n_agreed: int = 0
    """Comparisons that agreed before what decided came into force."""
    is_gate: bool = False
    """The representative is where all URLs of a shape lead: each of them is a sample of its own."""
    is_sampled: bool = False
    """Fetched all the same to test what decided."""
    weight: float = 1.0
    """URLs that a sample stands for: one over the probability that it was drawn with."""

    @property
    def tested(self) -> tuple[Claim, ...]:
        """The claims that the page at the URL would test."""
        return tuple(one for one in self.claims if one.kind is not Kind.RULE) if self.is_rule_chain else self.claims


def as_guess(decision: Decision) -> Decision:
    """Return *decision* where nothing comes back: what a person did not order waits behind the others."""
    is_final = decision.action in {Action.DROP, Action.REWRITE} and decision.reason in TESTED_REASONS
    return replace(decision, action=Action.DEMOTE, url=None) if is_final else decision


FETCH = Decision(Action.FETCH, Action.FETCH)
