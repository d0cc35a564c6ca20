"""Claims: what saves fetches. Each says that some URLs need not be fetched, and is tested while it acts.

The life of a claim:

============ ============================================ ============== ==============================================
standing     event                                        becomes        effect
============ ============================================ ============== ==============================================
candidate    its probes agree                             in force       what waits is decided anew when it is taken
candidate    its probes disagree                          refuted        none: it suppressed nothing
in force     its samples refute it                        refuted        what it suppressed comes back; final in the job
in force     it gets too old, or another takes its place  suspended      what it suppressed comes back
in force     a person says otherwise                      disabled       what it suppressed comes back; final until then
suspended    its probes agree                             in force       its test goes on with the samples that it has
disabled     a person blocks the mirror again             in force       none; a rule stays disabled
============ ============================================ ============== ==============================================

The standing is a column of the claim's own row: of a mirror among the verdicts, of a rewrite rule among the rules, of
any other claim, which is in force unless a row says otherwise, among the claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple


class Kind(str, Enum):
    """What a claim is about; the word begins its name."""

    MIRROR = "mirror"
    """All of the host :attr:`Claim.subject` is on the canonical host :attr:`Claim.of` as well."""
    UNSHARED = "unshared"
    """So are those pages of the mirror *subject* that nothing on the canonical host *of* leads to."""
    FETCHED = "fetched"
    """Pages that the mirror *subject* brought before it was known as one lead to what those of the canonical host *of*
    do: they need not be fetched there."""
    RULE = "rule"
    """The rewrite rule whose number is *subject* leads from URLs to others of the same pages."""
    RULES = "rules"
    """The rules whose numbers are *subject* do so together: what is wrong of all may be right of each."""
    SCHEME = "scheme"
    """A URL of the host *subject* is one page by http and by https."""
    NAME = "name"
    """URLs that pages of the host *subject* name as their own (``rel=canonical``) bring the same pages."""
    PERMALINK = "permalink"
    """Links of the host *subject* lead back to the page that they stand on, where both have the shapes *of*."""
    LINKS = "links"
    """Where a page repeats one of the host *subject*, its links to the host *of* lead to the same pages."""
    TRAP = "trap"
    """URLs of the host *subject* that have a shape of the kind *of* bring nothing new."""
    BUDGET = "budget"
    """The limit *of* allows no more pages of the host *subject*."""
    FULL = "full"
    """``REPLICA_HOST_PAGES`` allows no more pages of the host."""
    SCOPE = "scope"
    """The URL lies outside the scope of the crawl."""
    EXCLUDED = "excluded"
    """A person excluded the pattern *subject* while the crawl ran."""


_OF_MIRRORS = frozenset({Kind.UNSHARED, Kind.FETCHED})

_PAIRS = _OF_MIRRORS | {Kind.MIRROR, Kind.PERMALINK, Kind.LINKS, Kind.TRAP, Kind.BUDGET}

TESTED_KINDS = _OF_MIRRORS | {
    Kind.MIRROR, Kind.RULE, Kind.RULES, Kind.SCHEME, Kind.NAME, Kind.PERMALINK, Kind.LINKS, Kind.TRAP,
}  # fmt: skip
"""Kinds that rest on evidence: samples test them, and a refuted one does not act."""


class Standing(str, Enum):
    """How a claim stands; see the table of this module."""

    CANDIDATE = "candidate"
    IN_FORCE = "in force"
    SUSPENDED = "suspended"
    REFUTED = "refuted"
    DISABLED = "disabled"


ENDED = frozenset({Standing.REFUTED, Standing.DISABLED})
"""Standings that nothing but a person ends."""


class Claim(NamedTuple):
    """One claim, as a name: what it is about, and nothing of how it stands."""

    kind: Kind
    subject: str = ""
    of: str = ""

    def __str__(self) -> str:
        """Return the name under which the crawl database knows it: ``mirror b.example of a.example``."""
        if self.kind in _PAIRS:
            return f"{self.kind.value} {self.subject} of {self.of}"
        return f"{self.kind.value} {self.subject}" if self.subject else self.kind.value

    @classmethod
    def read(cls, name: str) -> Claim:
        """Return the claim of that *name*.

        :raises ValueError: it is none.
        """
        word, _, rest = name.partition(" ")
        kind = Kind(word)
        subject, _, of = rest.partition(" of ") if kind in _PAIRS else (rest, "", "")
        return cls(kind, subject, of)

    @property
    def parts(self) -> tuple[Claim, ...]:
        """The claims without which this one suppresses nothing, or itself."""
        if self.kind in _OF_MIRRORS:
            return (self._replace(kind=Kind.MIRROR),)
        if self.kind is Kind.RULES:
            return tuple(Claim(Kind.RULE, number) for number in self.subject.split("+"))
        return (self,)


def of_rules(rules: Iterable[int]) -> tuple[Claim, ...]:
    """Return the claims by which rewrite *rules* (their numbers) change a URL: all of them together, and each."""
    numbers = [str(number) for number in sorted(rules)]
    each = [Claim(Kind.RULE, number) for number in numbers]
    return (Claim(Kind.RULES, "+".join(numbers)), *each) if len(each) > 1 else (*each,)


class Work(NamedTuple):
    """What is to come back: all that a claim suppressed, or all that one page stood for."""

    claim: Claim | None = None
    representative: int | None = None
    """Key of the URL that stood for it."""
    is_anew: bool = False
    """Another page may stand for it, or that one be there again: it is decided about anew when its turn comes."""

    def __str__(self) -> str:
        """Return the name under which the crawl database keeps it."""
        if self.claim is not None:
            return f"of {self.claim}"
        return f"{'anew' if self.is_anew else 'for'} {self.representative}"

    @classmethod
    def read(cls, name: str) -> Work:
        word, _, rest = name.partition(" ")
        if word == "of":
            return cls(Claim.read(rest))
        return cls(None, int(rest), word == "anew")


class Why(str, Enum):
    """Why a suppressed URL comes back."""

    REFUTED = "refuted"
    """Samples refuted the claim *what*."""
    ENDED = "ended"
    """The claim *what* ended by its age, by a person, or because another took its place."""
    GONE = "gone"
    """Its representative *what* brought no page."""
    REPEATS = "repeats"
    """Its representative has no text of its own; it repeats *what*."""
    LEFT_OUT = "left out"
    """Its representative *what* is out of scope, or some of what that leads to."""
    ITEM = "item"
    """The page that it was found on gave an item that no page gave before."""
    ORPHANED = "orphaned"
    """A process that is gone left it without a representative."""


class Restoration(NamedTuple):
    """Why a suppressed URL came back, as it is written into its history."""

    why: Why
    what: str | None = None
    """Name of a claim, or a URL."""
    details: Mapping[str, object] = MappingProxyType({})

    def evidence(self) -> dict[str, object]:
        """Return it as the evidence of a decision."""
        return {"restored": self.why.value, "what": self.what, **self.details}
