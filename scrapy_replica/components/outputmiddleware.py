"""What callbacks give: requests are judged, items told from those before."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import sleep
from scrapy.utils.misc import load_object

from scrapy_replica.address import host_of
from scrapy_replica.components.callback_outputs import BATCH, CallbackOutputs
from scrapy_replica.components.flight import permission_of
from scrapy_replica.components.items import HostTest, given_hash, item_hashes
from scrapy_replica.components.middleware import Middleware
from scrapy_replica.components.observer import observation_of
from scrapy_replica.components.pages import let_go
from scrapy_replica.components.payloads import callback_of
from scrapy_replica.components.scope import belongs, outsiders
from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawldb.contract import NewUrl, Permission
from scrapy_replica.decision import FETCH, Action, as_guess
from scrapy_replica.records import Link, Novelty
from scrapy_replica.usage import uses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from scrapy_replica.components.extension import ReplicaExtension
    from scrapy_replica.components.flight import Flight
    from scrapy_replica.crawl.observation import Observation
    from scrapy_replica.urls.sessions import Sessions

DEMOTED_PRIORITY = 1_000_000
"""Taken off the priority of a demoted request where another scheduler is in use."""

MOST_GIVEN = 2_000
"""Items of one page that are known when the crawl comes back, 8 bytes each."""

OWN = ("scrapy.spidermiddlewares.", "scrapy_replica.")
"""Where spider middlewares are that leave the URLs of requests as they are."""


def may_be_early(settings: BaseSettings) -> bool:
    """Tell whether nobody misses a request that ends before other spider middlewares have seen it."""
    middlewares = settings.get_component_priority_dict_with_base("SPIDER_MIDDLEWARES")
    in_use = [load_object(cls) for cls, order in middlewares.items() if order is not None]
    are_own = all(getattr(cls, "__module__", "").startswith(OWN) for cls in in_use)
    return are_own and not settings.getint("DEPTH_PRIORITY") and not settings.getbool("DEPTH_STATS_VERBOSE")


class LateOutputMiddleware(Middleware):
    """Scores and decides about the requests that a callback gives, nearest to the engine: as others left them."""

    IS_EARLY = False

    def __init__(self, crawler: Crawler, extension: ReplicaExtension) -> None:
        super().__init__(crawler, extension)
        assert crawler.stats is not None
        self._stats = crawler.stats
        self._max_depth = crawler.settings.getint("DEPTH_LIMIT")
        self._max_length = crawler.settings.getint("URLLENGTH_LIMIT")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if may_be_early(crawler.settings) is not cls.IS_EARLY:
            raise NotConfigured
        return super().from_crawler(crawler)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        observation = observation_of(response)
        assert response.request is not None
        flight = self._extension.flights.of(response.request)
        if observation is None:
            host = host_of(response.url)
            async for output in result:
                if not isinstance(output, Request):
                    self._extension.observer.add_item_of_no_page(response, output)
                    yield output
                elif belongs(self._extension.crawl.scope, output, host):
                    yield output
            flight.is_through = True
            return
        found_on = _FoundOn(observation, response, self._extension.observer.has_crawled)
        outputs = CallbackOutputs(result)
        try:
            while not outputs.is_at_end:
                for output in self._judged(found_on, response.request, outputs.ready()):
                    yield output
                if len(found_on.items) > BATCH:
                    self._add_items(found_on)
                await outputs.more()
            flight.is_through = True
            while self._extension.observer.follow_more(observation):
                await sleep(0)
        finally:
            self._end(found_on, response.request)
            let_go(response)

    def _judged(self, found_on: _FoundOn, asked_by: Request, outputs: list[Any]) -> Iterator[Any]:
        requests, given = [output for output in outputs if isinstance(output, Request)], set[int]()
        if len(requests) < len(outputs):
            # Now: what comes after may change them.
            items = [output for output in outputs if not isinstance(output, Request)]
            if self._extension.repeats.is_asked:
                self._tell_repeats(found_on, items)
            else:
                found_on.take_items(items)
            given = self._given_before(found_on, asked_by, items)
            if self._is_refused(found_on):
                given = {id(item) for item in items}
                self._extension.crawl.counts["usage/items_left_out"] += len(given)
        if requests:
            found_on.observation.told = 0  # a page that leads on is no part of an item alone
        requests = [request for request in requests if not self._is_too_far(found_on, request)]
        left_out = self._decide_safely(found_on, asked_by, requests) if requests else set[int]()
        if left_out and self.IS_EARLY:
            self._stats.max_value("request_depth_max", found_on.observation.depth + 1)  # as Scrapy would have
        return (output for output in outputs if id(output) not in left_out and id(output) not in given)

    def _is_refused(self, found_on: _FoundOn) -> bool:
        """Tell whether the site of the page refuses the use that items are for."""
        use = self._extension.config.usable
        return use is not None and uses(found_on.observation.page.statements).get(use) is False

    def _given_before(self, found_on: _FoundOn, asked_by: Request, items: list[Any]) -> set[int]:
        """Take note of *items*; return the ids of those that the page gave before, in another pass over the job."""
        extension = self._extension
        if not extension.has_frontier or extension.crawl.store.is_shared:
            return set()
        flight = extension.flights.of(asked_by)
        hashes = {id(item): found_on.given_hash(item, extension.revalidation.sessions) for item in items}
        told = {one for one in hashes.values() if one is not None}
        if len(flight.items) < MOST_GIVEN:
            flight.items |= told
        before: frozenset[int] = frozenset()
        if extension.error is None:
            with extension.stopping():
                before = extension.revalidation.given(flight)
        given = {one for one, told in hashes.items() if told in before}
        extension.crawl.counts["revisit/items_again"] += len(given)
        return given

    def _is_too_far(self, found_on: _FoundOn, request: Request) -> bool:
        """Tell whether one of Scrapy's own middlewares leaves *request* out, here or by now."""
        if self._max_length and len(request.url) > self._max_length:
            return True
        is_deep = 0 < self._max_depth <= found_on.observation.depth
        return is_deep and not request.meta.get("depth_reset")

    def _tell_repeats(self, found_on: _FoundOn, items: list[Any]) -> None:
        """Take *items*, and note those of them that were given before, where the text of the page repeats another's."""
        observation = found_on.observation
        if observation.twin is None or observation.novelty is Novelty.NOVEL or observation.is_known:
            found_on.take_items(items)
            return
        for item in items:
            self._add_items(found_on)
            found_on.take_items([item])
            if found_on.items and self._extension.observer.were_given(found_on.items):
                self._extension.repeats.add(item, observation.twin.url)

    def _add_items(self, found_on: _FoundOn) -> None:
        """Take note of the items that the callback gave so far."""
        items, found_on.items = found_on.items, set()
        if items:
            self._extension.observer.add_items(found_on.observation, items)

    def _decide_safely(self, found_on: _FoundOn, asked_by: Request, requests: list[Request]) -> set[int]:
        """Score and decide about *requests*; return the ids of those that nothing would come of."""
        extension = self._extension
        with extension.stopping("The requests found on %s are entered unjudged", found_on.observation.page.url):
            self._add_items(found_on)
            flight = extension.flights.of(asked_by)
            flight.asks_more = flight.asks_more or self._asks_more(found_on, requests)
            if any(request.dont_filter for request in requests):
                extension.revalidation.mark_unfinished(asked_by)  # they are not asked again by themselves
            return self._score_and_decide(found_on, requests)
        return set()

    def _score_and_decide(self, found_on: _FoundOn, requests: list[Request]) -> set[int]:
        crawl, flights = self._extension.crawl, self._extension.flights
        observation, own = found_on.observation, found_on.links
        left_out = outsiders(crawl.scope, observation.page, requests, own)
        requests = [request for request in requests if id(request) not in left_out]
        links = [own.get(request.url) or Link(request.url) for request in requests]
        has_order = self._extension.has_frontier  # another scheduler asks for no scores
        scores = crawl.outlinks.scores(observation, links) if has_order else [0.0] * len(links)
        new = [each for each in zip(requests, scores, strict=True) if not self._is_seen(*each)]
        left_out.update({id(request) for request in requests} - {id(request) for request, _ in new})
        with crawl.policy.looked_up([request.url for request, _ in new] if has_order else ()):
            for request, score in new:
                flight = flights.of(request)
                flight.found_on, flight.score = observation, score
                if not self._decide_one(found_on, request, flight):
                    left_out.add(id(request))
        if has_order:
            keys = [flights.of(request).key for request, _ in new]
            crawl.store.urls.expect([key for key in keys if key is not None])
        return left_out

    def _decide_one(self, found_on: _FoundOn, request: Request, flight: Flight) -> bool:
        """Decide about *request*; ``False`` if it is dropped here, where another scheduler is in use."""
        extension, observation, permission = self._extension, found_on.observation, permission_of(request)
        if permission is Permission.EXEMPT:
            return True
        host, flight.key = host_of(request.url), extension.fingerprints.of_request(request)
        callback, policy = callback_of(request), extension.crawl.policy
        if permission < Permission.AS_ASKED and request.url in found_on.links:
            flight.decision = policy.decide_link(observation, request.url, host, permission, callback)
        else:
            flight.decision = policy.decide(request.url, host, permission, callback, observation.url_id)
        if extension.has_frontier:
            return True
        new = NewUrl(
            request.url, host, flight.key, flight.score, depth=observation.depth + 1, parent=observation.url_id
        )
        return self._may_pass(request, new)

    def _asks_more(self, found_on: _FoundOn, requests: list[Request]) -> bool:
        """Tell whether one of *requests* is new, and for a URL that does not stand on the page, or sends something."""
        sent = [request for request in requests if request.body or request.method != "GET"]
        made_up = [request for request in requests if request.url not in found_on.links]
        if not (sent or made_up):
            return False
        of_request = self._extension.fingerprints.of_request
        keys = {of_request(request) for request in made_up if form_of(request.url) not in found_on.forms}
        keys.update(map(of_request, sent))
        return self._extension.crawl.fetches.made_requests.add(found_on.observation.url_id, keys)

    def _is_seen(self, request: Request, score: float) -> bool:
        extension = self._extension
        return (
            extension.has_frontier
            and not extension.has_own_filter
            and not request.dont_filter
            and extension.fingerprints.is_by_url(request)
            and extension.crawl.outlinks.is_seen(request.url, score, request.priority)
        )

    def _may_pass(self, request: Request, new: NewUrl) -> bool:
        """Carry out a decision where another scheduler is in use; ``False`` if the request is dropped."""
        decision = as_guess(self._extension.flights.of(request).decision or FETCH)
        if decision.action is Action.DROP:
            self._extension.crawl.frontier.enter([(new, decision)])
            return False
        if decision.action is Action.DEMOTE:
            if request.priority > 0:  # the user wants it before others
                return True
            request.priority -= DEMOTED_PRIORITY
        crawl = self._extension.crawl
        if decision.reason is not None and new.key is not None and not crawl.store.urls.find([new.key]):
            crawl.record_decision(request.url, decision)
        return True

    def _end(self, found_on: _FoundOn, request: Request) -> None:
        self._add_items(found_on)
        with self._extension.stopping():
            self._extension.observer.end_callback(request)
            # The next page may be under way already, and whoever wants to give an order waits for this. What goes to
            # other processes goes with what is asked of them next.
            if self._extension.error is None and not self._extension.crawl.store.is_shared:
                self._extension.crawl.store.commit()


class EarlyOutputMiddleware(LateOutputMiddleware):
    """The same nearest to the spider, where only Scrapy's own middlewares are in use.

    Most requests of a callback are for URLs that wait already; Scrapy's middlewares, which would work on each, take a
    tenth of the processor time of a crawl with the tutorial's spider.
    """

    IS_EARLY = True


class _FoundOn:
    """The page whose callback runs, and what its requests are held against."""

    def __init__(self, observation: Observation, response: Response, is_crawled: HostTest) -> None:
        self.observation, self._response, self._is_crawled = observation, response, is_crawled
        self.links = {link.url: link for link in observation.page.links}
        self.items: set[int] = set()
        """Hashes of items that the callback gave and nobody took note of."""

    def take_items(self, items: list[Any]) -> None:
        self.items |= item_hashes(items, self._response, self._said, self._is_crawled)

    def given_hash(self, item: Any, sessions: Sessions) -> int | None:
        """Return a hash of all that *item* says; ``None`` where it cannot be read."""
        return given_hash(item, self._response, self._said, sessions)

    @cached_property
    def _said(self) -> tuple[object, ...]:
        """What the add-on says of the page and a callback may write into its items, whatever it calls that."""
        of_page = self.observation
        said: tuple[object, ...] = (of_page.novelty.value,)
        if of_page.twin is not None:
            said += (of_page.twin.url,)
        return said if of_page.relevance in {0.0, 1.0} else (*said, of_page.relevance)

    @cached_property
    def forms(self) -> set[str]:
        url = self.observation.page.url
        return {url, form_of(url), *map(form_of, self.links)}
