"""What a site says may be done with its pages: statements as they were observed, and what they come to.

A site allows a use, refuses it, or says nothing that can be read: then it is unknown, whatever else the site says.
Statements are kept as they stand, since most of what they are written in are drafts: :ref:`usage-sources` names them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit


class Use(str, Enum):
    """What pages are used for."""

    SEARCH = "search"
    """To be found, with a link to them."""
    AI_USE = "ai-use"
    """As the input of a model that generates."""
    TRAIN_AI = "train-ai"
    """To train such a model."""
    TDM = "tdm"
    """Text and data mining."""


class Statement(NamedTuple):
    """One thing that a site says about one of its pages."""

    source: str
    """Where it says so: one of the names below."""
    value: str


ROBOTS = "robots.txt"
CONTENT_USAGE, CONTENT_SIGNAL = "content-usage", "content-signal"
ROBOTS_CONTENT_USAGE, ROBOTS_CONTENT_SIGNAL = "robots.txt content-usage", "robots.txt content-signal"
X_ROBOTS_TAG, META_ROBOTS = "x-robots-tag", "meta robots"
TDM_RESERVATION, META_TDM_RESERVATION = "tdm-reservation", "meta tdm-reservation"
TDM_POLICY, META_TDM_POLICY = "tdm-policy", "meta tdm-policy"
PAGE_LICENSE, HEADER_LICENSE, ROBOTS_LICENSE = "page license", "link license", "robots.txt license"
LICENSES = (PAGE_LICENSE, HEADER_LICENSE, ROBOTS_LICENSE)
"""Sources of the URLs of licences, most specific first."""

ALLOWED, REFUSED = "allowed", "refused"
"""The first is also the value of :data:`ROBOTS`: the crawl asks for robots.txt, and it lets the page be fetched."""

LONGEST = 2_000
"""Characters of a statement; a longer one is none, since what is cut may say something else."""
MOST = 20
"""Statements about one page."""
MOST_BYTES = 500 << 10
"""Of a robots.txt that are read (RFC 9309, 2.5)."""
MOST_RULES = 1_000
"""Rules of a robots.txt that are read."""

_KEY = r"[a-z*][a-z0-9_.*-]*"
_ITEM = (
    r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*|\"(?:[ !#-\[\]-~]|\\[\"\\])*\"|-?[0-9]{1,15}(?:\.[0-9]{1,3})?"
    r"|:[A-Za-z0-9+/=]*:|\?[01]|@-?[0-9]{1,15}|%\"[ !#-~]*\""
)
_PARAMETERS = rf"(?:;[ ]*{_KEY}(?:=(?:{_ITEM}))?)*"
_INNER_LIST = rf"\([ ]*(?:(?:{_ITEM}){_PARAMETERS}(?:[ ]+|(?=\))))*\)"
_MEMBER = rf"({_KEY})(?:=({_ITEM}|{_INNER_LIST}))?{_PARAMETERS}[ \t]*(,?)[ \t]*"
"""A member of a dictionary (RFC 9651, 3.2) and the comma behind it; few sites send one, and 2 ms is what it takes to
compile."""

_DIRECTIVES_WITH_VALUE = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
_REFUSED_BY_DIRECTIVE = {
    "noindex": Use.SEARCH,
    "none": Use.SEARCH,
    "nosnippet": Use.AI_USE,
    "max-snippet:0": Use.AI_USE,
    "noai": Use.TRAIN_AI,
}
_SIGNALS = {"search": Use.SEARCH, "ai-input": Use.AI_USE, "ai-train": Use.TRAIN_AI}
_VOCABULARY = {use.value: use for use in (Use.SEARCH, Use.AI_USE, Use.TRAIN_AI)}


def uses(statements: Iterable[Statement]) -> dict[Use, bool]:
    """Return which uses *statements* allow or refuse; what is in neither is unknown. One refusal outweighs the rest."""
    told: dict[Use, bool] = {}
    for statement in statements:
        read = _READERS.get(statement.source)
        for use, is_allowed in read(statement.value) if read is not None else ():
            told[use] = is_allowed and told.get(use, True)
    return told


def uses_by_name(statements: Iterable[Statement]) -> dict[str, str]:
    """Return use -> ``allowed`` or ``refused``; what is unknown is left out."""
    return {use.value: ALLOWED if is_allowed else REFUSED for use, is_allowed in uses(statements).items()}


def as_preferences(told: Mapping[Use, bool]) -> str:
    """Return uses as a ``Content-Usage`` field says them."""
    return ", ".join(f"{use.value}={'y' if told[use] else 'n'}" for use in Use if use in told)


def license_of(statements: Iterable[Statement]) -> str | None:
    """Return the URL of the licence that is most specific to the page."""
    found = [statement for statement in statements if statement.source in LICENSES]
    return min(found, key=lambda one: LICENSES.index(one.source)).value if found else None


def kept(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Return *statements* within their bounds, licences last."""
    found = dict.fromkeys(one for one in statements if len(one.value) <= LONGEST)
    return tuple(sorted(found, key=lambda one: one.source in LICENSES)[:MOST])


def to_json(statements: Sequence[Statement]) -> str | None:
    """Return *statements* as a job keeps them, in ASCII; ``None`` for none."""
    return json.dumps(statements, separators=(",", ":")) if statements else None


def from_json(text: str | None) -> list[Statement]:
    return [Statement(source, value) for source, value in json.loads(text or "[]")]


def _dictionary(value: str) -> Iterator[tuple[Use, bool]]:
    """Read preferences of the vocabulary of aipref; nothing if *value* is no dictionary of RFC 9651."""
    value, at, found = value.strip(" "), 0, dict[str, str | None]()
    is_open = False
    while at < len(value):
        member = re.compile(_MEMBER).match(value, at)
        if member is None:
            return
        found[member[1]], at, is_open = member[2], member.end(), bool(member[3])
        if not is_open and at < len(value):
            return
    if is_open:
        return
    for label, use in _VOCABULARY.items():
        if found.get(label) in {"y", "n"}:
            yield use, found[label] == "y"


def _signals(value: str) -> Iterator[tuple[Use, bool]]:
    for part in value.lower().split(","):
        name, _, answer = (word.strip() for word in part.partition("="))
        if name in _SIGNALS and answer in {"yes", "no"}:
            yield _SIGNALS[name], answer == "yes"


def _directives(value: str) -> Iterator[tuple[Use, bool]]:
    for part in value.lower().split(","):
        use = _REFUSED_BY_DIRECTIVE.get(re.sub(r"\s+", "", part))
        if use is not None:
            yield use, False


def _reservation(value: str) -> Iterator[tuple[Use, bool]]:
    if value.strip() in {"0", "1"}:
        yield Use.TDM, value.strip() == "0"
    if value.strip() == "1":  # training is text and data mining; that it is not reserved is no preference about it
        yield Use.TRAIN_AI, False


_READERS: dict[str, Callable[[str], Iterator[tuple[Use, bool]]]] = {
    CONTENT_USAGE: _dictionary,
    ROBOTS_CONTENT_USAGE: _dictionary,
    CONTENT_SIGNAL: _signals,
    ROBOTS_CONTENT_SIGNAL: _signals,
    X_ROBOTS_TAG: _directives,
    META_ROBOTS: _directives,
    TDM_RESERVATION: _reservation,
    META_TDM_RESERVATION: _reservation,
}


# Headers

LINK = "link"
FIELDS = (CONTENT_USAGE, CONTENT_SIGNAL, TDM_RESERVATION, TDM_POLICY, LINK)
"""Names of headers that are read, beside ``X-Robots-Tag``."""


def header_statements(fields: Mapping[str, str], robot_tags: Iterable[str], url: str, robot: str) -> list[Statement]:
    """Return what the headers of a response say.

    :param fields: those of :data:`FIELDS`, lines of one name joined by commas.
    :param robot_tags: the values of ``X-Robots-Tag``, which may begin with the name of a robot.
    :param url: that of the page.
    :param robot: product token of the crawler, lower-case.
    """
    found = [Statement(name, value.strip()) for name, value in fields.items() if name != LINK]
    found += [Statement(X_ROBOTS_TAG, tag) for tag in (_own_directives(tag, robot) for tag in robot_tags) if tag]
    for target, parameters in _LINK.findall(fields.get(LINK, "")[:LONGEST]):
        relations = _RELATION.search(parameters)
        if relations is not None and "license" in "".join(relations.groups("")).lower().split():
            found += license_at(HEADER_LICENSE, url, target)
    return found


_LINK = re.compile(r"<([^<>]*)>([^<>]*)")
_RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
_ROBOT = re.compile(r"[a-z][a-z0-9_ -]*")


def _own_directives(tag: str, robot: str) -> str:
    """Return the directives of an ``X-Robots-Tag`` that are for every crawler, or for *robot*."""
    own, is_own = [], True
    for part in tag.split(","):
        name, colon, directive = part.partition(":")
        name = name.strip().lower()
        if colon and _ROBOT.fullmatch(name) and name not in _DIRECTIVES_WITH_VALUE:
            is_own, part = name == robot, directive  # noqa: PLW2901
        if is_own and part.strip():
            own.append(part.strip())
    return ", ".join(own)


def license_at(source: str, base: str, reference: str) -> list[Statement]:
    """Return the statement that a licence stands at *reference*; none if that is no http URL."""
    try:
        url = urljoin(base, reference.strip())
        is_web = urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return []
    return [Statement(source, url)] if is_web else []


# robots.txt


class RobotsRule(NamedTuple):
    """What robots.txt says about the pages below a path."""

    source: str
    path: str
    """Pattern as in ``Allow``; empty for all pages."""
    value: str


class RobotsUsage:
    """What one robots.txt says about uses, by crawlers: draft-ietf-aipref-attach-05, section 3, and RSL 1.0."""

    def __init__(self, body: bytes) -> None:
        self._rules: dict[str, list[RobotsRule]] = {}
        """Lower-case token of a crawler -> rules of its groups."""
        self._licenses: list[str] = []
        text = body[:MOST_BYTES].decode("utf-8", "replace")
        if _HAS_USAGE.search(text):
            self._read(text)

    def _read(self, text: str) -> None:
        agents, is_begun = list[str](), False
        for n_rules, line in enumerate(_LINE.finditer(text)):
            if n_rules >= MOST_RULES:
                break
            name, value = line[1].lower(), line[2].strip()
            if name == "license":  # for every crawler, wherever it stands
                self._licenses.append(value)
            elif name == "user-agent":
                agents = [*([] if is_begun else agents), value.lower()]
                self._rules.setdefault(value.lower(), [])
                is_begun = False
            else:
                is_begun = True
                rule = _rule(name, value)
                for agent in agents if rule is not None else ():
                    self._rules[agent].append(rule)  # type: ignore[arg-type]

    def statements(self, url: str, user_agent: str) -> list[Statement]:
        """Return what is said about the page at *url* to the crawler of that name."""
        found = [one for place in self._licenses[:MOST] for one in license_at(ROBOTS_LICENSE, "", place)]
        own = [agent for agent in self._rules if agent and agent != "*" and agent in user_agent.lower()]
        rules = self._rules.get(max(own, key=len) if own else "*", [])
        if rules:
            path = _path_of(url)
            for source in (ROBOTS_CONTENT_USAGE, ROBOTS_CONTENT_SIGNAL):
                fitting = [rule for rule in rules if rule.source == source and _fits(rule.path, path)]
                longest = max((len(rule.path) for rule in fitting), default=0)
                found += [Statement(source, rule.value) for rule in fitting if len(rule.path) == longest]
        return found


_HAS_USAGE = re.compile(r"^[ \t\ufeff]*(?:content-usage|content-signal|license)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_LINE = re.compile(
    r"^[ \t\ufeff]*(user-agent|allow|disallow|crawl-delay|content-usage|content-signal|license)[ \t]*:([^#\r\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_SAFE = "/*$%?&=;:@!,+~()'[]"


def _rule(name: str, value: str) -> RobotsRule | None:
    source = {CONTENT_USAGE: ROBOTS_CONTENT_USAGE, CONTENT_SIGNAL: ROBOTS_CONTENT_SIGNAL}.get(name)
    path, words = "", [value]
    if value.startswith("/"):
        path, *words = value.split(None, 1)
    return RobotsRule(source, quote(path, _SAFE), words[0]) if source is not None and words else None


def _path_of(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "/"
    return quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), _SAFE)


def _fits(pattern: str, path: str) -> bool:
    """Tell whether *path* begins as *pattern* says, in which ``*`` is anything and a last ``$`` the end."""
    is_whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    last = others.pop() if is_whole and others else None
    for part in others:
        at = path.find(part, at) + len(part)
        if at < len(part):
            return False
    if not is_whole:
        return True
    return at == len(path) if last is None else len(path) - at >= len(last) and path.endswith(last)
