"""The plain records that the rooms hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.usage import Statement

Terms = Mapping[str, int]
"""Stem -> how often a text has it."""


class Link(NamedTuple):
    """One hyperlink of a page. A tuple because a page has dozens of them."""

    url: str
    """Absolute URL, without fragment."""
    text: str = ""
    """Anchor text, white space folded; the ``alt`` of an image where there is no text."""
    position: int = 0
    """Place among the page's links, from 0, in document order."""
    is_shy: bool = False
    """Its page asks that it not be followed (``rel=nofollow``), or shows it to nobody."""


class FormField(NamedTuple):
    """One field of a form: its name, what a person reads beside it, and the values it offers or holds."""

    name: str
    label: str
    values: tuple[str, ...]


class Form(NamedTuple):
    """One form of a page."""

    action: str
    """Absolute URL that it is sent to."""
    method: str
    """``get`` or ``post``."""
    fields: tuple[FormField, ...]
    """Those that a person sees, one for each name, in document order."""
    is_login: bool
    """It asks for a password: nothing of what is sent to it may be kept."""


LED = "led"
"""Name, in the evidence of a verdict, of the number of URLs of a copy without pages that lead to their places on the
canonical host."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two hosts serve one site: *copy* is not fetched any more, *canonical* is."""

    copy: str
    canonical: str
    copy_prefix: str
    """Path below which the site lies on the copy, without outer slashes; what follows is equal on both."""
    canonical_prefix: str
    score: float
    """How sure the evidence is, 0..1."""
    n_aligned: int
    """Comparable pages the verdict rests on."""
    evidence: Mapping[str, float] = field(default_factory=dict)
    """Feature -> value, unknown ones left out."""
    is_manual: bool = False
    """A person blocked the copy: no evidence takes that back."""

    @property
    def claim(self) -> Claim:
        """The claim that acts while the verdict holds."""
        return Claim(Kind.MIRROR, self.copy, self.canonical)

    @property
    def told(self) -> dict[str, str | float]:
        """Where it holds and how sure it is, by the names that these have in JSON and in tables."""
        sides = {"copy": self.copy, "canonical": self.canonical}
        prefixes = {"copy_prefix": self.copy_prefix, "canonical_prefix": self.canonical_prefix}
        return {**sides, **prefixes, "score": round(self.score, 4)}


class Doubt(str, Enum):
    """What keeps two hosts from a verdict."""

    SCORE = "score"
    """The judge is not sure enough."""
    UNSHARED = "unshared"
    """Too many known pages of either host are not known on the other."""
    UNTRIED = "untried"
    """Too few pages of the copy were asked of the host that would be kept."""
    CONFLICT = "conflict"
    """The verdict would join two hosts that were found to be two sites."""
    ITEMS = "items"
    """The spider begins on both, and its items do not agree on enough pages."""


class PagePair(NamedTuple):
    """Two pages at one place of two hosts, the copy's first."""

    urls: tuple[str, str]
    titles: tuple[str | None, str | None]
    texts: tuple[str, str]
    """How their main texts begin."""


@dataclass(frozen=True, slots=True)
class UncertainPair:
    """Two hosts that may be one site, for a person to decide."""

    verdict: Verdict
    """What would be said of them."""
    wanted: float
    """Score that a verdict takes, 0..1."""
    doubt: Doubt
    pages: tuple[PagePair, ...] = ()
    """Some of those at equal places, least alike first."""


class Facts(NamedTuple):
    """What a page states, each as it is spelled there."""

    offers: frozenset[str] = frozenset()
    """Prices with their currency, and words about stock."""
    numbers: frozenset[str] = frozenset()
    """Those in its main text, but for what changes while a page stays the same."""
    numbers_around: frozenset[str] = frozenset()
    """The same of the text around it, where the main text has none."""


@dataclass(frozen=True, slots=True)
class Page:
    """What one fetched page says. ``None`` stands where nothing is known, never 0 or an empty string."""

    url: str
    host: str
    """Host name of *url*, lower-case, with the port where it is not the scheme's own."""
    title: str | None = None
    language: str | None = None
    """Two-letter code from the ``lang`` attribute."""
    text: str = ""
    """Main text, noise removed, white space folded."""
    terms: Terms = field(default_factory=dict)
    """Those of the main text."""
    words: int = 0
    """Number of words of the main text (CJK characters count one each)."""
    signature: bytes | None = None
    """128-bit mmh3 of the normalised main text: equal for exact duplicates."""
    simhash: int | None = None
    """64-bit simhash of the main text's word 3-shingles."""
    beside: str = ""
    """What it says beside its main text: the text around, its description, data in scripts and attributes."""
    facts: Facts = Facts()
    canonical: str | None = None
    """Absolute target of ``rel=canonical``."""
    shortlink: str | None = None
    """Absolute target of ``rel=shortlink``."""
    alternates: tuple[tuple[str, str], ...] = ()
    """``hreflang`` alternates: (language, absolute URL)."""
    redirected_from: tuple[str, ...] = ()
    """URLs that led here, first requested first."""
    links: tuple[Link, ...] = ()
    """The first to each URL."""
    other_links: tuple[Link, ...] = ()
    """Links to the same URLs in other words, as of a list by date to "by date" and to "50 a page"."""
    forms: tuple[Form, ...] = ()
    ip: str | None = None
    """Address that answered."""
    is_html: bool = True
    """Its text can be read; else it is known by its bytes alone."""
    is_read: bool = True
    """Its text was read, if it can be; else nothing is known that follows from it."""
    statements: tuple[Statement, ...] = ()
    """What its site says may be done with it."""


class Reach(str, Enum):
    """How far from its seeds a crawl may go."""

    HOSTS = "hosts"
    """Not beyond their hosts."""
    DOMAINS = "domains"
    """Not beyond the domains that were registered for them."""
    ANY = "any"


class Noise(str, Enum):
    """How noise is removed from a page."""

    CETD = "cetd"
    LEARNED = "learned"
    NONE = "none"
    """Not at all: the main text is all text that the page shows."""


class Novelty(str, Enum):
    """What a fetched page is beside those fetched before it."""

    NOVEL = "novel"
    EXACT_DUPLICATE = "exact-duplicate"
    NEAR_DUPLICATE = "near-duplicate"
    UNKNOWN = "unknown"
    """Too little text to tell."""


class Capture(NamedTuple):
    """Where a payload that was fetched is kept, for those that are the same."""

    url: str
    date: str
    """``WARC-Date`` of its record."""
    file: str
    """Name of the WARC file that the record is in."""
