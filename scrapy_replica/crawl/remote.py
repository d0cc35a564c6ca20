"""What other processes of the crawl wrote, applied to what this one holds in memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_replica.address import host_of
from scrapy_replica.claim import Work
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.recent import Recent
from scrapy_replica.crawl.scope import OUT_OF_SCOPE
from scrapy_replica.crawldb.contract import RELEVANCE, StoreError
from scrapy_replica.crawldb.pages import is_absent
from scrapy_replica.crawldb.remote import RemotePage, RemoteUpdate
from scrapy_replica.records import Novelty, Page
from scrapy_replica.sites.evidence import PageMark
from scrapy_replica.sites.neighbours import Neighbours

if TYPE_CHECKING:
    from scrapy_replica.crawl.fetches import Fetches
    from scrapy_replica.crawl.wiring import Parts

logger = logging.getLogger(__name__)

READ_AGAIN = 500
"""Pages of all processes after which it is read again which texts are kept."""

ADOPT_S = 60.0
"""Seconds after which work that another process began and did not end is taken for left behind."""


class RemoteUpdates:
    """Takes note of what other processes fetched, and tells each part what they wrote, which its store has by then.

    What others wrote was decided by them; here caches follow, and their pages and samples go the way of this process's
    own. An update that cannot be applied is left out, and the crawl goes on.
    """

    def __init__(self, parts: Parts, fetches: Fetches) -> None:
        self._store, self._now, self._payloads, self._scope = parts.store, parts.now, parts.payloads, parts.scope
        self._runner, self._active_learning, self._orders = parts.runner, parts.active_learning, parts.orders
        self._duplicates, self._forms, self._recent_links = parts.duplicates, parts.forms, parts.recent_links
        self._replicas, self._rules, self._restorer = parts.replicas, parts.rules, parts.restorer
        self._evidence, self._probes, self._scope_check = parts.evidence, parts.probes, parts.scope_check
        self._fetches = fetches
        self._known_pages = Recent()
        """Ids of pages: each comes up again when its callback is through."""
        self._left_behind: dict[Work, float] = {}
        """Work of others -> when it was met first."""

    def apply(self, update: RemoteUpdate) -> None:
        """Apply what the store's ``listen`` gave, several times a second and in no span; what follows is committed."""
        before = self._fetches.n_pages
        self._store.unrequested.ids.update(update.unrequested)
        self._fetches.n_pages += self._apply(update)
        if self._fetches.n_pages // READ_AGAIN > before // READ_AGAIN:
            self._active_learning.read_again()
        if RELEVANCE in update.meta:
            self._recent_links.clear()  # scores of another model
        for host in update.forms:
            self._forms.forget(host)
        self._store.commit()

    def _apply(self, update: RemoteUpdate) -> int:
        """Apply *update*; return the number of pages that others fetched."""
        with self._alone("the lead"):
            if update.is_leader:
                self._replicas.become_leader()
                self._restorer.adopt()
        with self._alone("what comes back"):
            if update.work:
                self._store.claims.read_again()
                self._restorer.join(update.work)
        with self._alone("seeds"):
            self._store.seeds.read_again()
            if self._scope.open_remote(update.seeds):
                self._restorer.join([Work(OUT_OF_SCOPE)])
        with self._alone("orders"):
            self._orders.apply_remote(update.orders)
        with self._alone("the topic"):
            self._runner.follow(update.meta)
        with self._alone("rules"):
            self._rules.apply_remote(update.rules)
        with self._alone("verdicts"):
            began = self._replicas.apply_remote(update.verdicts)
            left_out = self._scope.apply_remote(update.meta)
            self._scope_check.check(left_out.union(verdict.canonical for verdict in began))
        with self._alone("URLs that others found"):
            self._apply_urls(update.urls)
        n_pages = sum(map(self._apply_page, self._store.pages.remote(update.pages)))
        with self._alone("samples of others"):
            self._evidence.add_samples(update.tested)
        if self._store.is_leader:
            self._store.visits.count_remote(len(update.visits))
            self._adopt()
        self._runner.apply_remote(update.visits)
        return n_pages

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        """Open a span in which nothing that goes wrong stops the crawl."""
        try:
            with self._store.span():
                yield
        except StoreError:
            raise
        except Exception:
            logger.exception("Not applied: %s", what)

    def _apply_urls(self, url_ids: Sequence[int]) -> None:
        for found in self._store.urls.found(url_ids):
            callback = self._payloads.callback(found.payload) if found.parent is not None else None
            self._replicas.add_url(found.url, found.host, callback)
            if found.linking_host is not None and found.linking_host != found.host:
                self._replicas.add_link(found.host, found.linking_host)

    # Pages

    def _apply_page(self, page: RemotePage) -> bool:
        """Take note of a fetch; tell whether it brought a page that was not known before."""
        is_first = False
        with self._alone(f"the page {page.url}"):
            if page.novelty is None:
                self._add_remote_failure(page)
            elif is_first := self._known_pages.add(page.url_id):
                self._add_remote_page(page)
            elif page.mark is not None:
                found = self._replicas.add_items(page.url, page.host, PageMark.unpack(page.mark))
                self._fetches.note_findings(None, found)
            self._rules.add_remote_page(page)
        return is_first

    def _add_remote_failure(self, page: RemotePage) -> None:
        if is_absent(page.status):
            self._replicas.add_missing(page.url)
            if (place := self._store.pages.leads_to(page.url_id)) is not None:
                self._replicas.note_place(page.url, place)
        is_kept = self._store.pages.has_page(page.url_id)
        self._evidence.add_failure(page.url_id, page.status, is_kept=is_kept, is_own=False)

    def _add_remote_page(self, page: RemotePage) -> None:
        if page.simhash is not None:
            self._duplicates.index.add(page.simhash)
        # None where hosts are not compared, or the marks of this one were forgotten meanwhile.
        neighbours = Neighbours.from_json(page.neighbours) if page.neighbours is not None else Neighbours()
        observation = self._observation_of(page, neighbours.way or (page.url,))
        if page.mark is not None:
            mark = PageMark.unpack(page.mark)
            found = self._replicas.add_page(observation.page, mark, neighbours, page.fetched_at)
            self._fetches.note_findings(observation, *found)
        self._evidence.add_page(observation, is_own=False)
        if self._store.is_leader:
            self._probes.add_page()

    def _observation_of(self, remote: RemotePage, way: Sequence[str]) -> Observation:
        """Return what the store knows of a page as if it had been observed here."""
        *via, url = way
        words, text, simhash = remote.words or 0, self._text_of(remote.url_id), remote.simhash
        page = Page(url, host_of(url), remote.title, None, text, words=words, simhash=simhash, redirected_from=(*via,))
        known = self._store.pages.judgement(remote.url_id)
        twin = known[2] if known is not None else None
        return Observation(page, remote.url_id, remote.depth, remote.relevance or 0.0, Novelty(remote.novelty), twin)

    def _text_of(self, url_id: int) -> str:
        """Return the beginning of the text of a page where it is kept, for pairs of hosts that a person decides."""
        if not (self._store.is_leader and self._runner.relevance.is_learnt):
            return ""
        return next((text.excerpt for text in self._store.texts.after(url_id - 1, 1) if text.url_id == url_id), "")

    # What is left behind

    def _adopt(self) -> None:
        """Go on with work that nobody has ended for long: the process that began it is gone."""
        now = self._now()
        self._left_behind = {work: self._left_behind.get(work, now) for work in self._store.suppressed.unfinished()}
        if any(now - since > ADOPT_S for since in self._left_behind.values()):
            self._left_behind.clear()
            self._restorer.adopt()
