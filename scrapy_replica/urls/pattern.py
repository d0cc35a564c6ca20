"""A URL as keys and values, taken apart without loss.

Nothing is decoded, lower-cased or resolved: ``str(parse(url)) == url`` for every string, so percent-encoding, empty
values, ``//``, dot segments and matrix parameters are what they were. The parts are those of the rewrite rules of
Dasgupta, Kumar, Sasturkar 2008 (*De-duping URLs via rewrite rules*, KDD, section 3.1).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from scrapy_replica.address import host_of

_PARTS = re.compile(r"([^:/?#]*://[^/?#]*)?([^?#]*)(?:\?([^#]*))?(.*)", re.DOTALL)
# ``a=1&amp;b=2`` is what a server sees of a badly escaped link: ``amp;b`` is a name of its own there.
_SEPARATOR = re.compile(r"(&|(?<!&amp);)")
_EXTENSION = re.compile(r"[^./]\.([A-Za-z][A-Za-z0-9]{0,4}|mp3|mp4|7z)$")
_HEX = re.compile(r"[0-9a-f]{16,}$", re.IGNORECASE)


class UrlPattern(NamedTuple):
    """A URL in parts. Immutable; ``str`` gives the URL back exactly."""

    head: str
    """Scheme and authority as written, for example ``http://Example.org:80``; empty for a relative URL."""
    path: str
    arguments: tuple[str, ...] | None
    """Raw ``name=value`` pieces of the query in their order; None without a ``?``."""
    separators: tuple[str, ...]
    """The ``&`` or ``;`` between the arguments, one less than those."""
    fragment: str
    """With its ``#``; empty without one."""

    def __str__(self) -> str:
        return self.head + self.local + self.fragment

    @property
    def query(self) -> str:
        """The query without its ``?``; empty without one."""
        if not self.arguments:
            return ""
        if len(self.arguments) == 1:
            return self.arguments[0]
        pieces = [self.arguments[0]]
        for separator, argument in zip(self.separators, self.arguments[1:], strict=True):
            pieces += (separator, argument)
        return "".join(pieces)

    @property
    def local(self) -> str:
        """Path and query, without host and fragment."""
        return self.path if self.arguments is None else f"{self.path}?{self.query}"

    @property
    def host(self) -> str:
        """As :func:`address.host_of` gives it."""
        return host_of(self.head or self.path)

    @property
    def extension(self) -> str:
        """File extension of the last path component without its dot, lower-case; empty without one."""
        found = _EXTENSION.search(self.path)
        return found.group(1).lower() if found else ""

    @property
    def components(self) -> list[str]:
        """The path between its slashes: ``/a/b/`` gives ``a``, ``b`` and an empty one."""
        return self.path.split("/")[1:] if self.path.startswith("/") else self.path.split("/")

    def value(self, name: str) -> str | None:
        """Return the value of the first argument called *name*: empty for ``name=`` and ``name``, None without it."""
        for argument in self.arguments or ():
            key, _, value = argument.partition("=")
            if key == name:
                return value
        return None

    def with_arguments(self, arguments: tuple[str, ...]) -> UrlPattern:
        """Return the URL with these *arguments*; no ``?`` is left behind when there are none."""
        separators = self.separators[: max(len(arguments) - 1, 0)]
        missing = len(arguments) - 1 - len(separators)
        if missing > 0:
            separators += (separators[-1] if separators else "&",) * missing
        return UrlPattern(self.head, self.path, arguments or None, separators, self.fragment)

    def sorted(self) -> UrlPattern:
        """Return the URL with its arguments in the order of their names; equal names keep their order."""
        if not self.arguments or len(self.arguments) == 1:
            return self
        ordered = tuple(sorted(self.arguments, key=argument_name))
        return self if ordered == self.arguments else self._replace(arguments=ordered)


def parse(url: str) -> UrlPattern:
    """Take *url* apart; every string is accepted."""
    found = _PARTS.match(url)
    assert found is not None  # every part of the expression may be empty
    head, path, query, fragment = found.groups()
    if query is None:
        return UrlPattern(head or "", path, None, (), fragment)
    if ";" in query:
        pieces = _SEPARATOR.split(query)
        return UrlPattern(head or "", path, tuple(pieces[::2]), tuple(pieces[1::2]), fragment)
    arguments = tuple(query.split("&"))
    return UrlPattern(head or "", path, arguments, ("&",) * (len(arguments) - 1), fragment)


def size_of(local: str) -> tuple[int, str]:
    """Return what forms of one page are ordered by, path and query: of the least the others are spellings.

    The shortest, then the first in the alphabet; small letters before capitals.
    """
    return len(local), local.swapcase()


def argument_name(argument: str) -> str:
    """Return what stands before the first ``=``."""
    return argument.partition("=")[0]


def token_class(token: str) -> str:
    """Return ``digits``, ``hex`` (16 or more), ``word`` or ``mixed``; ``empty`` for an empty token."""
    if not token:
        return "empty"
    if token.isdigit():
        return "digits"
    if _HEX.match(token):
        return "hex"
    return "word" if token.isalpha() else "mixed"
