"""Late samples: some of what each claim suppressed is fetched when nothing else is left."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from scrapy_replica.claim import TESTED_KINDS, Claim, Kind, Restoration, Why, Work
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.fallback import Fallback, Unlinked
from scrapy_replica.crawl.claims.restoring import Restorer, reason_of
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.claims.suppressed_urls import AT_THE_END, SuppressedUrls, place_of
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.urls.look_ahead import LookAhead
from scrapy_replica.crawldb.claims import Suppressed, spread
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.revisits import LAST_PASS, Pass
from scrapy_replica.crawldb.samples import Stratum
from scrapy_replica.decision import Outcome, Reason
from scrapy_replica.urls.validation import PROVED

LEAST, SHARE, ROOT = 5, 0.1, 2
"""Of what a claim that is no mirror suppressed a tenth is fetched: at least five, and of more than 400 twice the square
root. A site of 260 pages where an argument names every third page from the 81st on lost 120 contents in 7 of 180 crawls
with three, in none of 270 so; of versions for print of which a third says something else three left one or two of 199
contents in 3 of 32 crawls."""
MOST_COUNTED = 40_000
"""Of more a claim's samples are as many: 400."""
MOST_AGAIN = 16
"""URLs of such a claim that are at most when the job is passed over again: what had a session that ended is gone, and
tells nothing. With 25 of 254 a rule over sessions ended at the third visit."""
FURTHER, MOST_FURTHER = 2, 8
"""URLs that are fetched of what late samples led to and that was suppressed in its turn, each time and of one claim. An
endless web has always more; with 24 of a claim a right rule over sessions took 247 requests in place of 231."""
LEAST_DOUBTED, MOST_DOUBTED = 8, 24
"""URLs that a claim suppressed which are fetched after all when it was wrong once more: a quarter, half of them in the
directory where it was. Where a tenth of many is wrong, anywhere, it is seen in 92 of 100 cases, and leads to as many
more. With eight of any number 36 crawls of two shops that differ in up to 18 % of their goods lost 95 of 398 items, so
23. With all spread, of 60 random families of hosts eleven lost 29 contents, and six 14 so, when eight were."""
DOUBT = 0.1
"""Likelihood ratio at which more of a claim is fetched; with .25 a stranger that answers junk after forty pages loses a
site 60 of 100."""
LOOKED = "looked at the end"
"""Key of the pass over the job, and of the newest URL, at which every claim had been looked at."""
FAILED_AT_ONCE = 200
"""URLs that failed looked at in one turn: 5 ms with one mirror."""
MOST_ORPHANED = 1_000
"""Representatives that bring no page looked for at once, when everything was fetched."""


class LateSamples:
    """Draws samples from what is suppressed, and finds what processes that are gone left behind."""

    def __init__(
        self,
        store: CrawlDB,
        samples: Samples,
        replicas: Replicas,
        claims: Claims,
        restorer: Restorer,
        fallback: Fallback,
        look_ahead: LookAhead,
        settling: Settling,
    ) -> None:
        self._store, self._samples, self._replicas = store, samples, replicas
        self._claims, self._restorer = claims, restorer
        self._fallback, self._look_ahead, self._settling = fallback, look_ahead, settling
        self._suppressed = SuppressedUrls(store, samples.salt)
        self._last_look: tuple[int, int] = tuple(json.loads(store.meta(LOOKED) or b"[0, 0]"))
        """Number of the pass and id of the newest URL at which an earlier run had looked at every claim."""
        self._newest_sampled: dict[Claim, int] = {}
        """Claim of which some of what it suppressed was fetched at the end -> the newest URL that it had suppressed."""
        self._n_further: Counter[Claim] = Counter()
        """URLs fetched because late samples led to them."""
        self._drawn: Counter[Claim] = Counter()
        """URLs that are fetched in this go of what each claim suppressed: one tests all claims that suppressed it."""
        self._asked_again: dict[str, int] = {}
        """Host whose failed URLs were asked of its mirrors again -> the newest URL that these had suppressed."""
        self._failed: list[int] = []
        """Ids of the failed URLs that are still to be looked at."""
        self._asked_of: set[str] = set()
        """Hosts of whose pages that say what others say mirrors were asked for some."""
        self._n_values: Counter[Claim] = Counter()
        """URLs fetched for a value of an argument: :data:`AT_THE_END` of a claim. Sessions are ever new values."""

    def draw(self) -> bool:
        """Ask for some of what every claim suppressed, when nothing else is left to fetch; tell whether any was.

        A claim may have stopped being right after its last sample was drawn. The leader does it for all processes. A
        crawl that goes on looks at what was suppressed since: one that was through asks for nothing once more.
        """
        if not self._store.is_leader:
            return False
        if self._store.is_shared and self._restore_left():
            return True
        self._drawn.clear()
        self._look_further()
        self._claims.refute(self._settling.settle_left())
        self._claims.refute(self._settling.settle_brought([*self._pages_for_pages()]))
        is_asked = self.sample_doubted() | self._restorer.has_work | self._look_into_traps()
        for verdict in self._replicas.holding():
            for claim in (verdict.claim, verdict.claim._replace(kind=Kind.FETCHED)):
                is_asked |= self._draw_of(claim, Reason.REPLICA_HOST, verdict.n_aligned)
        for row in self._store.rules.acting():
            if not row.is_manual:
                is_asked |= self._draw_of(Claim(Kind.RULE, str(row.id)), Reason.DUST_RULE, PROVED)
        for claim in self._store.suppressed.claims(Kind.RULES):
            is_asked |= self._draw_of(claim, Reason.DUST_RULE, PROVED)
        is_asked |= self._ask_again()
        for kind in (Kind.SCHEME, Kind.NAME, Kind.PERMALINK, Kind.LINKS):
            for claim in self._store.suppressed.claims(kind):
                is_asked |= self._draw_of(claim, reason_of(claim), 0)
        is_asked |= self._ask_of_repeats()
        if not is_asked:
            self._store.set_meta(LOOKED, json.dumps([self._pass, self._store.urls.last_id]).encode())
        return is_asked

    def _pages_for_pages(self) -> Iterator[Claim]:
        """Yield the claims by which one page stands for another, but for those of rules."""
        for verdict in self._replicas.holding():
            yield verdict.claim
            yield verdict.claim._replace(kind=Kind.FETCHED)
        for kind in (Kind.SCHEME, Kind.NAME, Kind.PERMALINK, Kind.LINKS):
            yield from self._store.suppressed.claims(kind)

    @property
    def _pass(self) -> int:
        return Pass.load(self._store.meta(LAST_PASS)).number

    @cached_property
    def _resumed_until(self) -> int:
        """Id of the newest URL that an earlier run of this pass had looked at; 0 without one."""
        number, newest = self._last_look
        return newest if number == self._pass else 0

    def _has_more(self, claim: Claim) -> bool:
        """Tell whether *claim* suppressed URLs that no earlier run looked at the end among."""
        return self._store.suppressed.newest_of(claim) > self._resumed_until

    def _draw_of(self, claim: Claim, reason: Reason, n_agreed: int) -> bool:
        """Ask for some of what *claim* suppressed: once, and again while its samples leave a doubt or lead further.

        A test costs no more than half of what the claim can save: whoever has as many samples as URLs left is through.
        """
        if not self._samples.are_drawn:
            return False
        sampled_until = self._newest_sampled.get(claim)
        if sampled_until is None and self._samples.test_of(claim).n_samples and not self._has_more(claim):
            return False  # an earlier run was through with it
        self._newest_sampled[claim] = self._store.suppressed.newest_of(claim)
        if sampled_until is None or self._is_doubted(claim, n_agreed):
            is_asked = claim.kind in {Kind.MIRROR, Kind.SCHEME} and self._sample_unlinked(claim)
            chosen = self._suppressed.some_of(claim, self._most(claim) - self._drawn[claim])
        else:
            is_asked = False
            chosen = self._suppressed.some_of(claim, min(FURTHER, MOST_FURTHER - self._n_further[claim]), sampled_until)
            self._n_further[claim] += len(chosen)
        is_asked |= self._enter(chosen, reason)
        if claim.kind is Kind.MIRROR:
            return self._enter(self._suppressed.untried(claim), reason) or is_asked
        if claim.kind is not Kind.RULE or self._n_values[claim] >= AT_THE_END:
            return is_asked
        untried = self._suppressed.untried(claim)[: AT_THE_END - self._n_values[claim]]
        self._n_values[claim] += len(untried)
        return self._enter(untried, reason) or is_asked

    def _ask_again(self) -> bool:
        """Ask mirrors, and the other scheme, for what failed before they were known to lead there.

        Tell whether any is asked, or is still to be looked at. What leads to it on a mirror may be met later, and is
        suppressed then: a partial copy that was elected lost four of 2,491 pages, to which its list alone led.
        """
        if not self._failed:
            newest: defaultdict[str, int] = defaultdict(int)
            canonical = [(verdict.canonical, verdict.claim) for verdict in self._replicas.holding()]
            schemes = [(claim.subject, claim) for claim in self._store.suppressed.claims(Kind.SCHEME)]
            for host, claim in canonical + schemes:
                newest[host] = max(newest[host], self._store.suppressed.newest_of(claim))
            for host, last in newest.items():
                if last > self._asked_again.get(host, self._resumed_until):
                    self._asked_again[host] = last
                    self._failed += self._store.pages.failed_on(host)
        chosen, self._failed = self._failed[:FAILED_AT_ONCE], self._failed[FAILED_AT_ONCE:]
        return sum([self._fallback.ask(one) for one in chosen]) > 0 or bool(self._failed)

    def _ask_of_repeats(self) -> bool:
        """Ask mirrors for some of the pages that say what another one of their host says, of which none was asked.

        Once for each host, and again while that leaves a doubt; tell whether any is asked. Without it 4 of 24 crawls
        lost 9 of 10 pages that the host answers with one that it gave sixty times before.
        """
        is_asked = False
        for host, repeats in self._fallback.repeats.items():
            if host in self._asked_of and repeats.test.likelihood_ratio(0) < DOUBT:
                continue
            self._asked_of.add(host)
            for row in spread([*repeats.left], max(LEAST, self._share(len(repeats.left)))):
                repeats.left.remove(row)
                is_asked |= self._fallback.ask_late(row)
        return is_asked

    def _most(self, claim: Claim) -> int:
        """Return how many URLs of *claim* are fetched at the end, besides those in large directories of a mirror."""
        if claim.kind in {Kind.MIRROR, Kind.FETCHED} and not self._store.items.are_given():
            return AT_THE_END
        n_suppressed = self._store.suppressed.count(claim, MOST_COUNTED)
        is_doubted = self._samples.test_of(claim).outcomes[Outcome.OTHER] > 0
        return max(_doubted(n_suppressed) if is_doubted else LEAST, self._share(n_suppressed))

    def _share(self, n: int) -> int:
        """Return how many of *n* URLs are fetched at the end."""
        return int(min(SHARE * n, MOST_AGAIN if self._pass else ROOT * math.sqrt(n)))

    def _is_doubted(self, claim: Claim, n_agreed: int) -> bool:
        """Tell whether the samples of *claim* leave a doubt, and are fewer than what it suppressed."""
        test, n_agreed = self._samples.test_of(claim), self._samples.agreed_before(claim, n_agreed)
        is_worth_more = self._store.suppressed.count(claim, test.n_samples + 1) > test.n_samples
        return is_worth_more and test.likelihood_ratio(n_agreed) >= DOUBT

    def _sample_unlinked(self, claim: Claim) -> bool:
        """Ask for some of what the host of *claim* has and nothing leads to; tell whether any is asked for."""
        left = [*self._fallback.unlinked[claim.subject]]
        found: defaultdict[str, list[Unlinked]] = defaultdict(list)
        for one in left:
            found[place_of(one.url, Stratum.of(one.url))].append(one)
        chosen = dict.fromkeys([*spread(left, AT_THE_END), *self._suppressed.one_of_each(claim, found)])
        return sum([self._fallback.sample_late(one) for one in chosen]) > 0

    def _look_further(self) -> None:
        """Make other pages of samples that said the same and alone led to contents: by now others would have, too."""
        for url_id in self._store.samples.leading_further():
            self._claims.refute(self._samples.overturn(url_id))

    def sample_doubted(self) -> bool:
        """Ask for some of what doubted claims suppressed; tell whether any is asked for.

        Until something spoke against them too little of it was fetched.
        """
        doubted, self._samples.doubted = self._samples.doubted, {}
        is_asked = sum(self._look_into(claim, url_id) for claim, url_id in doubted.items()) > 0
        while self._samples.wanted:
            rows = self._store.suppressed.of_url(self._samples.wanted.pop())
            if rows and not any(self._is_ordered(part) for row in rows for part in (row.claim, *row.claim.parts)):
                is_asked |= self._enter(rows[:1], reason_of(rows[0].claim))
        return is_asked

    def _is_ordered(self, claim: Claim) -> bool:
        """Tell whether a person gave *claim*."""
        if claim.kind is Kind.MIRROR:
            return all(verdict.claim != claim for verdict in self._replicas.holding())
        row = self._store.rules.row(int(claim.subject)) if claim.kind is Kind.RULE else None
        return row is not None and row.is_manual

    def _look_into(self, claim: Claim, url_id: int) -> bool:
        """Ask for some of what *claim* suppressed: beside the URL of that id, of which it was wrong, and in its place.

        Tell whether there were any.
        """
        found, place = self._suppressed.of(claim), Stratum.of(self._store.urls.url_of(url_id)).place
        there = sorted(
            (one.row for one in found if Stratum.of(one.url).place == place), key=lambda row: abs(row.id - url_id)
        )
        most = _doubted(len(found))
        chosen = there[: most // 4]
        chosen += spread(sorted(there[most // 4 :], reverse=True), most // 4)
        rest = [one.row for one in found if one.row not in chosen]
        return self._enter([*chosen, *spread(rest, most - len(chosen))], reason_of(claim))

    def _enter(self, chosen: Sequence[Suppressed], reason: Reason) -> bool:
        """Ask for URLs that one claim suppressed; tell whether there are any."""
        for row in chosen:
            # It tests all that suppress it: a link that waited because of one claim may be dropped by another.
            url = self._store.urls.url_of(row.id)
            others = (one for one in self._store.suppressed.of_url(row.id) if one.claim != row.claim)
            tested = [row, *(one for one in others if self._suppressed.is_tested(one, url))]
            tested = [one for one in tested if one.claim.kind in TESTED_KINDS]
            self._samples.enter_late(tested, reason, url)
            self._drawn.update(one.claim for one in tested)
            self._store.suppressed.restore_one(row.id)
        return bool(chosen)

    def _look_into_traps(self) -> bool:
        """Look ahead in what seem to be traps; tell whether anything is to be fetched because of it."""
        is_asked = False
        for claim in filter(self._has_more, self._store.suppressed.claims(Kind.TRAP)):
            is_asked_ahead, has_news = self._look_ahead.look(claim)
            is_asked |= is_asked_ahead or has_news
            if has_news:
                self._claims.lift(claim)
        return is_asked

    def _restore_left(self) -> bool:
        """Go on with the work of dead processes, and bring back what they suppressed under claims that had ended."""
        mirrors = {verdict.claim: verdict.is_manual for verdict in self._store.verdicts.holding()}
        in_force = mirrors.keys() | {Claim(Kind.RULE, str(row.id)) for row in self._store.rules.acting()}
        for claim in self._store.suppressed.claims():
            has_rows = all(one in in_force for one in claim.parts if one.kind in {Kind.MIRROR, Kind.RULE})
            if not has_rows or self._store.claims.is_refuted(claim):
                self._claims.lift(claim)
            elif not mirrors.get(claim) and self._samples.test_of(claim).is_refuted:
                self._claims.refute([claim])  # who led was gone before it heard of all samples
        for key in self._store.suppressed.orphans(MOST_ORPHANED):
            work, restoration = Work(None, key), Restoration(Why.ORPHANED)
            self._restorer.begin(work, Reason.REPLICA_HOST, restoration)
        self._restorer.adopt()
        return self._restorer.has_work


def _doubted(n_suppressed: int) -> int:
    """Return how many of the URLs that a claim suppressed are fetched when it was wrong once more."""
    return max(LEAST_DOUBTED, min(n_suppressed // 4, MOST_DOUBTED))
