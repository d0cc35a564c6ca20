"""Which URLs belong to a crawl: those near its seeds, and those that patterns let in and do not keep out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from scrapy_replica.address import site_of
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.records import Page, Reach

_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://[^/?#]*")
_LANGUAGE = re.compile("[a-z]{2}")


class Outside(str, Enum):
    """Why a URL does not belong to the crawl; the words stand in stats, ledger and ``explain``."""

    OTHER_HOST = "other-host"
    NOT_INCLUDED = "not-included"
    EXCLUDED = "excluded"
    LANGUAGE = "language"
    DEPTH = "depth"


class Pattern:
    """A pattern of whole URLs in which ``*`` stands for any characters and everything else for itself.

    It takes time linear in the URL, whatever the pattern: no text of a site makes it slow.

    :raises ValueError: no URL could match it.
    """

    def __init__(self, text: str) -> None:
        if not text.startswith(("*", "http")):
            raise ValueError(f"the pattern {text!r} matches no whole URL; write '*{text.strip('*')}*' or 'https://...'")
        self.text = text
        self._head, *self._rest = text.split("*")

    def matches(self, url: str) -> bool:
        """Tell whether it matches *url*, as :func:`plain` returns it."""
        if not self._rest:
            return url == self._head
        if not url.startswith(self._head):
            return False
        *middle, tail = self._rest
        place = len(self._head)
        for part in middle:
            found = url.find(part, place)
            if found < 0:
                return False
            place = found + len(part)
        return url.endswith(tail) and len(url) - len(tail) >= place


def plain(url: str, host: str) -> str:
    """Return *url* on *host* as patterns see it: scheme and host lower-case, without user and the scheme's own port.

    So that no other spelling of a host slips through.
    """
    authority = _AUTHORITY.match(url)
    return f"{authority[1].lower()}://{host}{url[authority.end() :]}" if authority else url


def patterns(setting: str, texts: Iterable[str]) -> list[Pattern]:
    """Return the patterns that *texts* are.

    :raises ConfigError: one is none; *setting* names where it stands.
    """
    try:
        return [Pattern(text) for text in texts]
    except ValueError as error:
        raise ConfigError(f"{setting}: {error}") from None


class Scope:
    """The borders that a person drew around a crawl before it began.

    :raises ConfigError: a pattern or language is none.
    """

    def __init__(self, config: Config) -> None:
        self.reach = config.scope
        self._include = patterns("REPLICA_INCLUDE", config.include)
        self._exclude = patterns("REPLICA_EXCLUDE", config.exclude)
        self._languages = _languages(config.languages)
        self.hosts: set[str] = set()
        """Hosts of the seeds, where they are borders."""
        self._sites: set[str] = set()
        self.is_open = config.scope is Reach.ANY and not (self._include or self._exclude or self._languages)
        """There are no borders at all."""

    def open_to(self, host: str) -> bool:
        """Let *host* in, as that of a seed, empty for a file; tell whether it was outside."""
        if self.reach is Reach.ANY:
            return False
        was_outside = not self.hosts or not self.is_near(host)
        self.hosts.add(host)
        self._sites.add(site_of(host))
        return was_outside

    @property
    def n_open(self) -> int:
        """Hosts, or domains, that seeds let in."""
        return len(self._sites if self.reach is Reach.DOMAINS else self.hosts)

    def is_near(self, host: str) -> bool:
        """Tell whether *host* is near enough to the seeds; before there is a seed all are."""
        if not self.hosts:
            return True
        return host in self.hosts or (self.reach is Reach.DOMAINS and site_of(host) in self._sites)

    def outside(self, url: str, host: str) -> Outside | None:
        """Return why *url* on *host* does not belong to the crawl; ``None`` if it does."""
        if not self.is_near(host):
            return Outside.OTHER_HOST
        if not self._exclude and not self._include:
            return None
        url = plain(url, host)
        if any(pattern.matches(url) for pattern in self._exclude):
            return Outside.EXCLUDED
        if self._include and not any(pattern.matches(url) for pattern in self._include):
            return Outside.NOT_INCLUDED
        return None

    @property
    def knows_languages(self) -> bool:
        """Whether languages are borders."""
        return bool(self._languages)

    def is_foreign(self, *languages: str | None) -> bool:
        """Tell whether a page is in none of the wanted languages; *languages* are what it says and what it seems.

        One of which nothing is known is not.
        """
        known = {language for language in languages if language is not None}
        return bool(self._languages and known) and self._languages.isdisjoint(known)

    def alternates(self, page: Page) -> dict[str, bool]:
        """Return the translations that *page* names (URL -> whether it is wanted); ``x-default`` is always."""
        named: dict[str, bool] = {}
        for language, url in page.alternates:
            code = language.replace("_", "-").partition("-")[0]
            named[url] = named.get(url, False) or code == "x" or code in self._languages
        return named


def _languages(words: Sequence[str]) -> frozenset[str]:
    codes = [code.lower() for word in words for code in word.split(",") if code]
    for code in codes:
        if not _LANGUAGE.fullmatch(code):
            raise ConfigError(f"REPLICA_LANGUAGES: {code!r} is no two-letter language such as en")
    return frozenset(codes)
