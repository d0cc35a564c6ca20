"""http and https of one host: what was found by one scheme is not fetched by the other, where samples show one page."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.states import FOUND, UrlStates
from scrapy_replica.crawldb.claims import ClaimTable
from scrapy_replica.crawldb.contract import Known
from scrapy_replica.decision import Outcome

OTHER = {"http": "https", "https": "http"}
PROVED = 3
"""Pages that were the same by both schemes after which the claim drops; until then what it concerns waits, and samples
of it are fetched. As many as a rewrite rule needs."""
MAX_HOSTS = 100_000
"""Hosts of which it is known by which schemes they were met, some 150 bytes each; after that all are forgotten, which
costs fetches until a host is met by both once more."""


class SameByOther(NamedTuple):
    """A URL that was found by the other scheme as well, and before."""

    url: str
    """That URL by the scheme that it was found by first."""
    claim: Claim
    is_proved: bool


class Schemes:
    """Knows which hosts are met by both schemes. Only there a URL costs a second look into the store."""

    def __init__(self, states: UrlStates, samples: Samples, claims: ClaimTable) -> None:
        self._states, self._samples, self._claims = states, samples, claims
        self._met: dict[str, str] = {}
        """Host -> the scheme that it was met by, empty for both."""

    def other_of(self, url: str) -> str | None:
        """Return the URL whose state :meth:`same_of` asks for of *url*, as things stand by now."""
        scheme, _, rest = url.partition("://")
        is_by_both = scheme in OTHER and self._met.get(host_of(url), scheme) != scheme
        return f"{OTHER[scheme]}://{rest}" if is_by_both else None

    def same_of(self, url: str, host: str) -> SameByOther | None:
        """Return *url* by the other scheme where that was found before and brought no failure."""
        if (other := self._other(url, host)) is None:
            return None
        claim = Claim(Kind.SCHEME, host)
        if self._claims.is_refuted(claim):
            return None
        known = self._states.of(other)
        if (
            known is None
            or known.state not in FOUND
            or not self._is_first(known, url)
            or self._states.is_missing(other)
        ):
            return None
        return SameByOther(other, claim, self._is_proved(claim))

    def instead_of(self, url: str, host: str) -> str | None:
        """Return *url*, which brought no page, by the other scheme, where pages that lead there may be suppressed."""
        other, claim = self._other(url, host), Claim(Kind.SCHEME, host)
        is_acting = other is not None and self._is_proved(claim) and not self._claims.is_refuted(claim)
        return other if is_acting else None

    def _is_proved(self, claim: Claim) -> bool:
        return self._samples.test_of(claim).outcomes[Outcome.SAME] >= PROVED

    def _is_first(self, other: Known, url: str) -> bool:
        """Tell whether the *other* URL was found before *url*: of two that wait one has to stay."""
        known = self._states.of(url)
        return known is None or other.id < known.id

    def _other(self, url: str, host: str) -> str | None:
        """Return *url* by the other scheme; nothing as long as all of its host came by one."""
        scheme, _, rest = url.partition("://")
        if scheme not in OTHER or ":" in host:  # a port is of one scheme
            return None
        if len(self._met) >= MAX_HOSTS:
            self._met.clear()
        met = self._met.setdefault(host, scheme)
        if met and met != scheme:
            self._met[host] = ""
        return None if met == scheme else f"{OTHER[scheme]}://{rest}"
