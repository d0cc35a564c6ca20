"""Alignment: which page of one host stands where a page of another host stands.

Mirrors live under other path prefixes, so whole paths do not meet and stripping each host's own common prefix breaks
on one stray page. Paths are normalised; every suffix two hosts share, cutting at most five leading segments, votes
for (prefix of A, prefix of B), and the pair of prefixes with most votes aligns the hosts.
"""

from __future__ import annotations

import math
import re
from functools import cache
from urllib.parse import unquote

MAX_CUT = 5
"""Leading segments a suffix may lack."""
MAX_HOSTS = 100
"""Lists of more hosts give no evidence."""
_MAX_PREFIXES = 64  # prefix pairs that may stand for election: a bound on memory, never met by mirrors

_EXTENSION = re.compile(r"\.(?:x?html?|php|aspx?|jsp)$", re.IGNORECASE)
_INDEX = re.compile(r"^(?:index|default|home)$", re.IGNORECASE)

# Without looking ahead, which engines for SQL do not. No number or word: "sid" may be a story's, by its date or name.
_MIXED = "|".join(rf"(?:[a-z]{{{n}}}[0-9]|[0-9]{{{n}}}[a-z])[^&;/?]{{{7 - n},}}" for n in range(1, 8))
"""Eight characters or more, letters and digits among the first of them."""
_SESSION_ID = (
    f"(?:sid|sess(?:ion)?_?id|phpsessid|jsessionid|aspsessionid[a-z]*|oscsid|zenid|xtcsid|cftoken)=(?:{_MIXED})"
)
FIRST_SESSIONS, SESSION = rf"(?i)\?(?:{_SESSION_ID}&)+", rf"(?i)[?&;]{_SESSION_ID}"
"""Arguments that are a session by their name and value: first of several in a query, and, without those, any."""


@cache
def _sessions() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return both of them, compiled where a crawl meets the first argument: that takes 4 ms."""
    return re.compile(FIRST_SESSIONS), re.compile(SESSION)


def without_session(path: str) -> str:
    """Return *path* (with its query) without the session that it belongs to.

    >>> without_session("/a;jsessionid=1c9be0a7?sid=5scevl7b&p=1")
    '/a?p=1'
    """
    if "=" not in path:
        return path
    first, single = _sessions()
    return single.sub("", first.sub("?", path))


def normal_path(path: str) -> str:
    """Return *path* (with its query) without session, page extension, trailing index name and outer slashes.

    The query, where there is one, is the last segment:

    >>> normal_path("/docs/index.html"), normal_path("/blog/?p=1"), normal_path("/")
    ('docs', 'blog/?p=1', '')
    """
    stem, mark, query = without_session(path).partition("?")
    if "%" in stem:
        stem = unquote(stem)
    segments = [segment for segment in stem.split("/") if segment]
    if segments:
        segments[-1] = _EXTENSION.sub("", segments[-1])
        if _INDEX.match(segments[-1]):
            segments.pop()
    if mark and query:
        segments.append("?" + query)
    return "/".join(segments)


def suffixes(normal: str) -> list[tuple[str, str]]:
    """Return (prefix, suffix) of a normalised path for every cut that leaves something; the whole path first."""
    if not normal:
        return []
    found = [("", normal)]
    at = -1
    for _ in range(MAX_CUT):
        at = normal.find("/", at + 1)
        if at < 0 or normal.startswith("?", at + 1) or "?" in normal[:at]:
            break
        found.append((normal[:at], normal[at + 1 :]))
    return found


def relative(normal: str, prefix: str) -> str | None:
    """Return the part of a normalised path behind *prefix*, or None if it lies elsewhere."""
    if not prefix:
        return normal
    if normal == prefix:
        return ""
    return normal[len(prefix) + 1 :] if normal.startswith(prefix + "/") else None


def joined(prefix: str, rest: str) -> str:
    """Return the normalised path of *rest* below *prefix*: the inverse of :func:`relative`."""
    return f"{prefix}/{rest}" if prefix and rest else prefix or rest


def unshared(first: str, second: str) -> tuple[str, str] | None:
    """Return what two normalised paths hold before their longest common suffix of whole segments, None without one."""
    mine, theirs = first.split("/"), second.split("/")
    n = 0
    while n < min(len(mine), len(theirs)) and mine[-1 - n] == theirs[-1 - n]:
        n += 1
    if not n or mine[-n:] == [""]:
        return None
    return "/".join(mine[:-n]), "/".join(theirs[:-n])


class Election:
    """Votes of shared suffixes for the prefixes under which two hosts hold one site."""

    __slots__ = ("_votes", "_weight", "_winner")

    def __init__(self) -> None:
        self._votes: dict[tuple[str, str], float] | None = None
        """Made with the second vote: most pairs of hosts share one suffix."""
        self._winner: tuple[str, str] | None = None
        self._weight = 0.0

    def add(self, prefixes: tuple[str, str], n_hosts: int) -> None:
        """Count one shared suffix that *n_hosts* hosts have, weighted by its rarity."""
        weight = math.log(1 + MAX_HOSTS / n_hosts)
        if self._votes is None:
            if self._winner is None:
                self._winner, self._weight = prefixes, weight
                return
            self._votes = {self._winner: self._weight}
        self._winner = None
        if prefixes in self._votes or len(self._votes) < _MAX_PREFIXES:
            self._votes[prefixes] = self._votes.get(prefixes, 0.0) + weight

    def winner(self) -> tuple[str, str]:
        """Return the prefixes of most votes, ties to the shortest; ("", "") without votes."""
        if self._winner is None and self._votes is not None:
            votes = self._votes
            # votes are sums of logarithms in any order: 9 digits keep ties ties
            self._winner = min(votes, key=lambda pair: (-round(votes[pair], 9), len(pair[0]) + len(pair[1]), pair))
        return self._winner or ("", "")
