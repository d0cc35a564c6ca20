"""Unrequested URLs: those that were entered in the place of others, or for the add-on's own sake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set

from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.given import Payloads
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawldb.contract import URGENT, CrawlDB, Found, State, UrlRow


class UnrequestedUrls:
    """Knows which URLs wait for no sake of their own: they save less, and those that claims entered are withdrawn."""

    def __init__(
        self, store: CrawlDB, samples: Samples, payloads: Payloads, replicas: Replicas, counts: Counter[str]
    ) -> None:
        self._store, self._samples, self._payloads = store, samples, payloads
        self._replicas, self._counts = replicas, counts
        self._replacing: set[int] = set()
        """Ids of the URLs that this run entered by claims alone, in the place of others, and that were not taken."""
        self._of_mirrors: set[int] = set()
        """Ids of the URLs that this run entered because pages of other hosts alone lead to what they stand for."""
        self.has_withdrawn = False

    def note_entered(
        self,
        url_id: int,
        what: Found,
        host: str = "",
        finder: int | None = None,
        *,
        is_unrequested: bool,
        is_for_claim: bool = False,
    ) -> None:
        """Take note of a URL of *host* that was entered, and of the page that leads to it.

        :param is_unrequested: nobody asked for it, or only for what leads there.
        :param is_for_claim: it stands in the place of another by a claim.
        """
        if not is_for_claim:
            self._replacing.discard(url_id)
        if is_unrequested and what is Found.NEW:
            self._store.unrequested.enter(url_id)
            if is_for_claim:
                self._replacing.add(url_id)
        elif not is_unrequested:
            self._store.unrequested.ask(url_id, finder, is_new=what is Found.NEW)
        if is_for_claim and finder is not None and not self._store.is_shared:
            self._note_finder(url_id, what, finder, host)

    def _note_finder(self, url_id: int, what: Found, finder: int, host: str) -> None:
        """Take note of what leads to a URL of *host* by a name of its mirror: what a page of its own does, no page of
        the mirror leads to alone.
        """
        if what is not Found.NEW and url_id not in self._of_mirrors:
            return
        is_own = self._store.urls.row(finder).host == host
        if what is Found.NEW and not is_own:
            self._of_mirrors.add(url_id)
        elif is_own and url_id in self._of_mirrors:
            self._of_mirrors.discard(url_id)
            self._store.urls.set_parent(url_id, finder)

    def note_requested(self, url_ids: Iterable[int]) -> None:
        """Take note that something asks for the URLs of those ids, or took them: none of them is withdrawn."""
        self._replacing.difference_update(url_ids)

    def is_needed(self, key: int) -> bool:
        """Tell whether the page at the URL with that *key* stands for others, or samples are held against it."""
        return bool(self._store.suppressed.claims_for(key)) or self._samples.need(key)

    def forget_unneeded(self, keys: Set[int]) -> None:
        """Forget those URLs of *keys* that wait in the place of others alone, all of which came back, and test nothing.

        In a shared crawl another process may have found a link to one a moment ago.
        """
        if not self._replacing or not keys or self._store.is_shared:
            return
        for key, known in self._store.urls.find(keys).items():
            is_waiting = known.id in self._replacing and known.state is State.WAITING
            if not is_waiting or self.is_needed(key) or self._store.samples.of_url(known.id):
                continue
            row = self._store.urls.row(known.id)
            # What is demoted is suppressed itself; a probe, or what a check drew, is wanted for its own sake.
            if not row.is_demoted and row.score < URGENT:
                self._forget(row)

    def _forget(self, row: UrlRow) -> None:
        self._store.urls.forget(row.id)
        self._payloads.forget(row.payload)
        self._replacing.discard(row.id)
        self._store.unrequested.remove(row.id)
        self.has_withdrawn = True
        self._counts["frontier/withdrawn"] += 1
        self._replicas.read_again(row.host)
