"""The scope check: no claim stands on a page of which a part, or what it leads to, is out of scope."""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_replica.claim import Kind, Why
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawl.given import KeyOf
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawldb.contract import CrawlDB, UrlRow
from scrapy_replica.decision import Decision, Reason


class ScopeCheck:
    """Ends what suppressed URLs in favour of pages that the scope cuts off."""

    def __init__(
        self,
        store: CrawlDB,
        scope: CrawlScope,
        replicas: Replicas,
        claims: Claims,
        settling: Settling,
        log: DecisionLog,
        key: KeyOf,
    ) -> None:
        self._store, self._scope, self._replicas, self._claims = store, scope, replicas, claims
        self._settling, self._log, self._key = settling, log, key

    def check_news(self) -> None:
        """Look at the hosts of which URLs were left out since the last call."""
        self.check(self._scope.take_news())

    def check(self, hosts: Iterable[str]) -> None:
        """End the mirrors whose canonical host is one of *hosts*, where a part of it is left out and theirs is inside.

        What lies behind that part is known of neither host: the links of the one are left out, pages of the other that
        lead there are suppressed. So are, the other way round, pages of a canonical host that were fetched on a mirror
        of which a part is out of scope, and in drop mode links of duplicates, without any mirror.
        """
        for host in hosts:
            urls = self._scope.left_out_of(host)
            if not urls:
                continue
            for claim in self._store.suppressed.claims(Kind.LINKS, host):
                self._claims.lift(claim)
            for url in self._replicas.fetched.of_host(host):
                self._restore_for(self._key(url), url)  # where its page does not lead, theirs may
            for verdict in self._replicas.judged_copies_of(host):
                copies = (self._replicas.url_on_copy(verdict, url) for url in urls)
                if any(other is not None and self._scope.may_stand(other) for other in copies):
                    self._claims.restore_after_mirror(self._replicas.refute(verdict.claim), Why.LEFT_OUT, host)

    def _restore_for(self, key: int, url: str) -> None:
        """Let come back what was suppressed in favour of *url*: what it leads to, or itself, is left out."""
        if self._store.suppressed.claims_for(key):
            self._claims.restore_for(key, Why.LEFT_OUT, url)

    def leave_out(self, taken: UrlRow, decision: Decision) -> None:
        """Drop a URL whose turn has come and that does not belong to the crawl; what it stood for comes back."""
        if decision.reason is not Reason.HOST_PAGES:
            self._scope.note(taken.url)
            self.check_news()
        self._log.record(taken.id, taken.url, decision)
        self._store.urls.drop(taken.id)
        if taken.key is None or self._store.pages.has_page(taken.id):
            return  # it stands for nothing, or was fetched before
        self._store.catch_up()  # from now on nobody suppresses anything for it, and what was so far is known
        self._claims.refute(self._settling.give_up(taken.id, taken.key))
        self._restore_for(taken.key, taken.url)
