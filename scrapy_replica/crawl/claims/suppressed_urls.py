"""What claims suppressed, and which of it tells most about them when it is fetched after all."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

import mmh3

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.urls.changed_urls import ChangedUrls
from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawldb.claims import LastSuppressed, Suppressed
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.samples import Stratum
from scrapy_replica.decision import Outcome
from scrapy_replica.urls.rule import Rule

T = TypeVar("T")

_NUMBER = re.compile(r"\d{1,18}")

AT_THE_END = 3
"""URLs of a mirror that are fetched at the end, spread from the first suppressed to the last; and samples in one
directory after which, if nothing was told of any, no more are fetched there."""
CROWDED = 5
"""URLs of one directory, of which none was a sample, that a claim suppressed: one is fetched at the end, a fifth of
what is saved there. With this and the bound on what is wrong five of sixty random families of hosts lost pages, and
eleven with neither."""


class SuppressedUrls:
    """Chooses among the URLs that a claim suppressed.

    :param salt: what choices depend on besides the URLs, unknown to the sites.
    """

    def __init__(self, store: CrawlDB, salt: int) -> None:
        self._store, self._salt = store, salt
        self._changed: dict[Claim, ChangedUrls] = {}
        """Claim of a rule -> what it changes."""

    def of(self, claim: Claim) -> list[LastSuppressed]:
        """Return what *claim* suppressed last and what fetching it would tell about."""
        # What a page repeats says nothing of links that another claim suppresses all the same, and that one is tested.
        found = self._store.suppressed.last_of(claim, is_alone=claim.kind is Kind.LINKS)
        if any(claim in together.parts for together in self._store.suppressed.claims(Kind.RULES)):
            found = [one for one in found if self.is_tested(one.row, one.url)]
        # So is what is suppressed on the canonical host.
        return [one for one in found if claim.kind is not Kind.MIRROR or host_of(one.url) == claim.subject]

    def some_of(self, claim: Claim, most: int, looked_until: int = 0) -> list[Suppressed]:
        """Return at most *most* of what *claim* suppressed after the URL of that id: what leads furthest, and others.

        What lies behind a page that was left out is not found where that stands: whether it is what the representative
        leads to is seen page by page. The others are spread over all in the order of the numbers in their URLs, so that
        none of a run of things is left out, as the newest tenth. Of each stretch one is taken that differs in the most
        arguments from its representative: a pair that differs in one of two says nothing of the other. Which of those
        depends on the salt, as else the tenth of each ten might never be one.
        """
        if most <= 0:
            return []
        found = [one for one in self.of(claim) if one.row.id > looked_until]
        furthest = [one.row for one in sorted(found, key=lambda one: one.n_led_to, reverse=True)[:1]]
        rest = sorted((one for one in found if one.row not in furthest), key=lambda one: _numbers(one.url))
        n = min(most - 1, len(rest))
        stretches = [rest[one * len(rest) // n : (one + 1) * len(rest) // n] for one in range(n)]
        return [*furthest, *(max(stretch, key=self._telling).row for stretch in stretches)]

    def _telling(self, one: LastSuppressed) -> tuple[int, int]:
        return _n_different(one), mmh3.hash(str(one.row.id), self._salt)

    def untried(self, claim: Claim) -> list[Suppressed]:
        """Return one of what *claim* suppressed in each directory of many, of which no sample told anything.

        A rule over an argument is tested there by each value, of which one may be what the site takes without it. Where
        a few in a row told nothing the others will not, either.
        """
        suppressed: defaultdict[str, list[Suppressed]] = defaultdict(list)
        for one in self.of(claim):
            suppressed[place_of(one.url, Stratum.of(one.url, one.representative))].append(one.row)
        return self.one_of_each(claim, suppressed)

    def one_of_each(self, claim: Claim, found: Mapping[str, Sequence[T]]) -> list[T]:
        """Return one of each directory of many in *found*, in which no sample of *claim* told anything."""
        samples = [
            (place_of(self._store.urls.url_of(one.id), one.stratum), one.outcome)
            for one in self._store.samples.of_claim(claim)
        ]
        n_samples = Counter(place for place, _ in samples)
        told = {place for place, outcome in samples if outcome in {Outcome.SAME, Outcome.OTHER}}
        return [
            many[len(many) // 2]
            for place, many in found.items()
            if len(many) >= CROWDED and place not in told and n_samples[place] < AT_THE_END
        ]

    def is_tested(self, row: Suppressed, url: str) -> bool:
        """Tell whether fetching *url* tests the claim of *row*: of several rules only those by which it differs from
        what stands for it in the end. ``/record/9?lang=de`` beside ``/record/9`` says nothing of whether ``/s/9`` is
        one of them.
        """
        rule = self._changed_by(row.claim) if row.claim.kind is Kind.RULE else None
        if rule is None or (other_id := self._store.suppressed.final_representative(row.representative)) is None:
            return True
        return rule.taken(form_of(url)) != rule.taken(form_of(self._store.urls.url_of(other_id)))

    def _changed_by(self, claim: Claim) -> ChangedUrls | None:
        """Return what the rule of *claim* changes; ``None`` where another process proposed it a moment ago."""
        if claim not in self._changed and (row := self._store.rules.row(int(claim.subject))) is not None:
            self._changed[claim] = ChangedUrls(Rule.from_dict(row.rule))
        return self._changed.get(claim)


def place_of(url: str, stratum: Stratum) -> str:
    """Return the place of *url*, with the values that its representative lacks."""
    lacks = (one for one in url.partition("?")[2].split("&") if one.partition("=")[0] in stratum.lacks)
    return f"{stratum.place}#{'&'.join(sorted(lacks))}"


def _numbers(url: str) -> list[int]:
    """Return the numbers in *url* behind its host: things are mostly numbered as they were made."""
    return [int(number) for number in _NUMBER.findall(url.partition("://")[2].partition("/")[2])]


def _n_different(one: LastSuppressed) -> int:
    """Return in how many arguments a URL and its representative differ."""
    arguments = (set((url or "").partition("?")[2].split("&")) for url in (one.url, one.representative))
    return len({argument.partition("=")[0] for argument in set.symmetric_difference(*arguments)})
