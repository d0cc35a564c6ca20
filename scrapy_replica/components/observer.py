"""What comes back, page by page, and what the spider makes of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.http import HtmlResponse

from scrapy_replica.address import host_of
from scrapy_replica.components.extract import tree_of
from scrapy_replica.components.items import item_hashes
from scrapy_replica.components.pages import FORM, elements_of
from scrapy_replica.components.payloads import callback_of
from scrapy_replica.components.told import told_hash
from scrapy_replica.components.topic import doubt_topic
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.pages.page import all_text
from scrapy_replica.usage import from_json, to_json
from scrapy_replica.words import phrases

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_replica.components.extension import ReplicaExtension
    from scrapy_replica.crawl.observation import Observation

logger = logging.getLogger(__name__)

FLUSH_EVERY = 100
"""Pages between two flushes of the statistics."""


class Observer:
    """Takes note of responses before their callbacks run, and then of what these gave."""

    def __init__(self, extension: ReplicaExtension) -> None:
        self._extension, self._crawl, self._flights = extension, extension.crawl, extension.flights

    def observe(self, response: Response) -> Observation | None:
        """Make a page of *response*, enter it, and return what was learnt; ``None`` if it is no page."""
        extension, crawl = self._extension, self._crawl
        request = response.request
        assert request is not None
        flight = self._flights.of(request)
        flight.is_observed = True
        if flight.url_id is None:
            found_on = flight.found_on
            flight.url_id = crawl.enter_fetched(request.url, found_on.url_id if found_on is not None else None)
        if response.status != 200:
            via = request.meta.get("redirect_urls", ())
            crawl.fetches.observe_failure(flight.url_id, response.status, None, via, size=flight.size)
            return None
        flight.elements = elements_of(response)
        is_read = self._is_to_be_read(response, flight.url_id)
        page, depth = extension.pages.of(response, is_read=is_read), response.meta.get("depth", 0)
        is_known = extension.has_frontier and extension.revalidation.is_known(response, flight, page)
        was_given = is_known and crawl.revisits.reusable(flight.url_id) is not None
        if is_known and not crawl.store.pages.is_unread(flight.url_id):
            observation = crawl.fetches.observe_again(page, flight.url_id, depth)
        else:
            observation = crawl.fetches.observe(page, flight.url_id, depth, flight.size)
            if crawl.counts["page/observed"] % FLUSH_EVERY == 0:
                extension.flush()
            doubt_topic(crawl)
        observation.was_given, observation.told = was_given, told_hash(request, flight.url_id)
        flight.observation, _observations[response] = observation, (self, observation)
        return observation

    def _is_to_be_read(self, response: Response, url_id: int) -> bool:
        crawl = self._crawl
        if crawl.reading.reads_all or self._extension.repeats.is_asked:
            return True
        if not isinstance(response, HtmlResponse) or FORM in response.meta:
            return True
        return crawl.fetches.is_to_be_read(response.url, url_id, all_text(tree_of(response)))

    def read(self, response: Response, observation: Observation) -> None:
        """Read the page of *response* if it was not, and each page from now on: a callback asks what they say."""
        self._crawl.reading.reads_all = True
        if observation.page.is_read:
            return
        with self._extension.stopping("%s cannot be read", response):
            page = self._extension.pages.of(response)
            observation.novelty, observation.twin = self._crawl.duplicates.find_twin(page, observation.url_id, None)
            observation.page = page

    def observe_unchanged(self, response: Response) -> None:
        """Keep what is said by now of a page that is as it was."""
        assert response.request is not None
        url_id = self._flights.of(response.request).url_id
        if url_id is not None:
            pages = self._crawl.store.pages
            before = from_json(pages.statements(url_id))
            said = self._extension.usage.again(response, before)
            if list(said) != before:
                pages.set_statements(url_id, to_json(said))

    def were_given(self, items: set[int]) -> bool:
        """Tell whether it is certain that *items*, as hashes, were given before."""
        with self._extension.stopping():
            return self._extension.error is None and self._crawl.store.items.know(items)
        return False

    def has_crawled(self, host: str) -> bool:
        """Tell whether it is certain that something was fetched on *host*."""
        with self._extension.stopping():
            return self._extension.error is None and self._crawl.store.pages.has_host(host)
        return False

    def add_items(self, observation: Observation, items: set[int]) -> None:
        """Take note of *items*, as hashes, that the callback made of a page so far."""
        if self._extension.error is None:
            with self._extension.stopping("Nothing can be learnt from the items of %s", observation.page.url):
                self._crawl.fetches.add_items(observation, items)

    def add_item_of_no_page(self, response: Response, item: Any) -> None:
        """Take note of an *item* that a callback, or an errback, made of an answer that is no page."""
        request = response.request
        assert request is not None
        url_id = self._flights.of(request).url_id
        if self._extension.error is None and url_id is not None:
            with self._extension.stopping("Nothing can be learnt from an item of %s", response):
                via = request.meta.get("redirect_urls", ())
                items = item_hashes([item], response, is_crawled=self.has_crawled)
                self._crawl.fetches.add_items_of_no_page(url_id, via, items)

    def follow_more(self, observation: Observation) -> bool:
        """Enter the next links of a page that has very many; tell whether there are more."""
        if self._extension.error is not None or not observation.unfollowed:
            return False
        fault = "Some links of %s are not followed"
        with self._extension.stopping(fault, observation.page.url), self._crawl.store.span():
            self._crawl.outlinks.follow_more(observation)
        return bool(observation.unfollowed)

    def end_callback(self, request: Request) -> None:
        """Take note that the callback of *request* is through with its page, or will never have it."""
        flight = self._flights.of(request)
        observation, flight.observation, flight.elements = flight.observation, None, ()
        if self._extension.error is not None or observation is None:
            return
        while self.follow_more(observation):  # its callback raised before all were entered
            pass
        try:
            self._crawl.fetches.end_callback(observation, callback_of(request), asks_more=flight.asks_more)
            self._end_if_enough()
        except StoreError:
            raise
        except Exception:
            logger.exception("Nothing can be learnt from what the spider made of %s", observation.page.url)
            self._crawl.counts["page/error"] += 1
            self._crawl.fetches.forget(observation.page.host)

    def _end_if_enough(self) -> None:
        """Close the crawl when it has found what ``REPLICA_STOP_AT`` asks for; what waits stays in the job."""
        extension, checks = self._extension, self._crawl.checks
        if not extension.is_ending and checks.has_enough:
            told = phrases.coverage(checks.coverage, has_topic=extension.config.topic is not None)
            logger.info("%s; the crawl ends (REPLICA_STOP_AT)", told)
            extension.end_crawl("enough")

    def cannot_observe(self, response: Response, error: Exception) -> None:
        """Take note that a page could not be observed; what was written of it was taken back."""
        crawl = self._crawl
        crawl.counts["page/error"] += 1
        _observations.pop(response, None)
        with self._extension.stopping():
            crawl.fetches.forget(host_of(response.url))
            assert response.request is not None
            flight = self._flights.of(response.request)
            flight.answer, flight.observation, flight.elements = None, None, ()
            if flight.url_id is None or not self._extension.has_frontier:
                flight.url_id = crawl.enter_fetched(response.request.url)  # that row was taken back as well
            crawl.fetches.observe_failure(flight.url_id, response.status, f"cannot be observed: {type(error).__name__}")

    def keep_known(self, response: Response) -> None:
        """Have written what is known of *response*, if it is kept."""
        recorder = self._extension.recorder
        if recorder is not None and response.request is not None:
            flight, has_topic = self._flights.of(response.request), self._crawl.runner.relevance.is_learnt
            recorder.note(flight, response, observation_of(response), has_topic=has_topic)


_observations: WeakKeyDictionary[Response, tuple[Observer, Observation]] = WeakKeyDictionary()


def observation_of(response: Response) -> Observation | None:
    """Return what was learnt from *response*, read or not; ``None`` if it is no page."""
    return _observations.get(response, (None, None))[1]


def page_of(response: Response) -> Observation | None:
    """Return what the add-on learnt from *response*: its page, relevance and novelty. For use in callbacks.

    ``None`` where the add-on is off or the response is no page. Where a callback asks, every page is read.
    """
    observer, observation = _observations.get(response, (None, None))
    if observer is not None and observation is not None:
        observer.read(response, observation)
    return observation
