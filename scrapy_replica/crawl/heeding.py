"""What other processes of the crawl wrote, taken up by each part that holds some of it in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from scrapy_replica.address import host_of
from scrapy_replica.crawl.consequences import Consequences
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.intake import Payloads
from scrapy_replica.crawl.links.guide import Guide
from scrapy_replica.crawl.obeying import Obeying
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.pages.novelty import Duplicates
from scrapy_replica.crawl.recent import Recent
from scrapy_replica.crawl.scope import OUT_OF_SCOPE, CrawlScope
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawldb.contract import CrawlDB, News, StoreError
from scrapy_replica.crawldb.pages import HeardPage, is_absent
from scrapy_replica.records import Novelty, Page
from scrapy_replica.sites.evidence import PageMark
from scrapy_replica.sites.neighbours import Neighbours

logger = logging.getLogger(__name__)

ADOPT_S = 60.0
"""Seconds after which work that another process began and did not end is taken for left behind."""


class Heeding:
    """Tells each part what is news to it. Whatever is told lies in the store of this process by then.

    What others wrote was decided by them; here caches follow. Where this process leads, pages of others are judged as
    its own are: see :class:`Consequences`. News that cannot be taken up is left out, and the crawl goes on.
    """

    def __init__(
        self,
        store: CrawlDB,
        replicas: Replicas,
        dust: Dust,
        duplicates: Duplicates,
        guide: Guide,
        scope: CrawlScope,
        obeying: Obeying,
        consequences: Consequences,
        payloads: Payloads,
        now: Callable[[], float],
    ) -> None:
        self._store, self._replicas, self._dust, self._duplicates = store, replicas, dust, duplicates
        self._guide, self._scope, self._obeying, self._consequences = guide, scope, obeying, consequences
        self._payloads, self._now = payloads, now
        self._heard = Recent()
        """Ids of pages: each comes up again when its callback is through."""
        self._left: dict[str, float] = {}
        """Work of others -> when it was met first."""

    def heed(self, news: News) -> int:
        """Take up *news*; return the number of pages that others fetched."""
        for what, take_up in (
            ("the lead", self._of_lead),
            ("causes that ended", self._of_ends),
            ("seeds", self._of_seeds),
            ("orders", self._of_orders),
            ("the topic", self._of_topic),
            ("rules", self._of_rules),
            ("verdicts", self._of_verdicts),
            ("URLs that others found", self._of_urls),
        ):
            with self._alone(what):
                take_up(news)
        n_pages = sum(map(self._of_page, self._store.pages.heard(news.pages)))
        with self._alone("samples of others"):
            self._consequences.of_heard_samples(news.causes)
        if self._store.leads:
            self._store.visits.heard(len(news.visits))
            self._adopt()
        self._guide.heed(news.visits)
        return n_pages

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        """Open a span in which nothing that goes wrong stops the crawl."""
        try:
            with self._store.page():
                yield
        except StoreError:
            raise
        except Exception:
            logger.exception("Not taken up: %s", what)

    def _of_lead(self, news: News) -> None:
        if news.leads:
            self._replicas.lead()
            self._consequences.adopt()

    def _of_ends(self, news: News) -> None:
        for cause in news.ended:
            self._consequences.of_heard_end(cause)

    def _of_seeds(self, news: News) -> None:
        if self._scope.heed(news.seeds):
            self._consequences.of_heard_end(OUT_OF_SCOPE)

    def _of_orders(self, news: News) -> None:
        self._obeying.heed(news.orders)

    def _of_topic(self, news: News) -> None:
        self._guide.follow(news.meta)

    def _of_rules(self, news: News) -> None:
        self._dust.heed(news.rules)

    def _of_verdicts(self, news: News) -> None:
        began = self._replicas.heed(news.verdicts)
        left_out = self._scope.follow(news.meta)
        self._consequences.of_heard_scope(left_out.union(verdict.keeper for verdict in began))

    def _of_urls(self, news: News) -> None:
        for found in self._store.urls.found(news.urls):
            callback = self._payloads.callback(found.payload) if found.parent is not None else None
            self._replicas.known(found.url, found.host, callback)
            if found.found_on is not None and found.found_on != found.host:
                self._replicas.linked(found.host, found.found_on)

    # Pages

    def _of_page(self, page: HeardPage) -> bool:
        """Take note of a fetch; tell whether it brought a page that was not heard of before."""
        is_first = False
        with self._alone(f"the page {page.url}"):
            if page.novelty is None:
                self._of_failure(page)
            elif is_first := self._heard.add(page.url_id):
                self._of_first(page)
            elif page.mark is not None:
                found = self._replicas.heard_items(page.url, page.host, PageMark.unpack(page.mark))
                self._consequences.of_findings(found)
            self._dust.heard(page)
        return is_first

    def _of_failure(self, heard: HeardPage) -> None:
        if is_absent(heard.status):
            self._replicas.missing(heard.url)
        self._consequences.of_heard_failure(heard.url_id, heard.url, heard.key, heard.status)

    def _of_first(self, heard: HeardPage) -> None:
        if heard.simhash is not None:
            self._duplicates.index.add(heard.simhash)
        # None where hosts are not compared, or the marks of this one were forgotten meanwhile.
        neighbours = Neighbours.from_json(heard.neighbours) if heard.neighbours is not None else Neighbours()
        observation = self._observation(heard, neighbours.way or (heard.url,))
        if heard.mark is not None:
            mark = PageMark.unpack(heard.mark)
            self._consequences.of_heard_host(observation, mark, neighbours, heard.fetched_at)
        self._consequences.of_heard_page(observation)

    def _observation(self, heard: HeardPage, way: Sequence[str]) -> Observation:
        """Return what the store knows of a page as if it had been observed here."""
        *via, url = way
        words, text, simhash = heard.words or 0, self._text_of(heard.url_id), heard.simhash
        page = Page(url, host_of(url), heard.title, None, text, words=words, simhash=simhash, redirected_from=(*via,))
        known = self._store.pages.judgement(heard.url_id)
        twin = known[2] if known is not None else None
        return Observation(page, heard.url_id, heard.depth, heard.relevance or 0.0, Novelty(heard.novelty), twin)

    def _text_of(self, url_id: int) -> str:
        """Return the beginning of the text of a page where it is kept, for pairs of hosts that a person decides."""
        if not (self._store.leads and self._guide.relevance.is_learnt):
            return ""
        return next((text.excerpt for text in self._store.texts.after(url_id - 1, 1) if text.url_id == url_id), "")

    # What is left behind

    def _adopt(self) -> None:
        """Go on with work that nobody has ended for long: the process that began it is gone."""
        now, unfinished = self._now(), self._store.saved.unfinished_work()
        self._left = {work: self._left.get(work, now) for work in unfinished}
        if any(now - since > ADOPT_S for since in self._left.values()):
            self._left.clear()
            self._consequences.adopt()
