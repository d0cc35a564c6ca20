"""The links of a page: scored, decided about, and entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from scrapy_replica.address import host_of
from scrapy_replica.crawl.frontier import Frontier
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.links.recent_links import RecentLinks
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.order.strategy_runner import StrategyRunner
from scrapy_replica.crawl.policy import Policy
from scrapy_replica.crawl.revisits import Revisits
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawldb.contract import CrawlDB, NewUrl, Permission, State
from scrapy_replica.decision import Action, Decision, Reason
from scrapy_replica.records import Link

FOLLOWED_AT_ONCE = 1_000
"""Links of one page that are entered in one turn of the event loop, which takes some 40 ms."""


class Outlinks:
    """Takes the links of observed pages.

    Of links that are no requests all is done here (:meth:`follow`). Of requests that a callback gives the
    components enter what :meth:`scores` and :meth:`is_seen` leave, and tell :meth:`note` of it.
    """

    def __init__(
        self,
        store: CrawlDB,
        runner: StrategyRunner,
        policy: Policy,
        frontier: Frontier,
        scope: CrawlScope,
        revisits: Revisits,
        replicas: Replicas,
        recent_links: RecentLinks,
        counts: Counter[str],
    ) -> None:
        self._store, self._runner, self._policy, self._frontier = store, runner, policy, frontier
        self._scope, self._revisits, self._replicas = scope, revisits, replicas
        self._recent_links, self._counts = recent_links, counts
        self.unshown: set[int] = set()
        """Ids of the pages that were observed and that the strategy was not shown yet."""

    def scores(self, observation: Observation, links: Sequence[Link]) -> list[float]:
        """Return the strategy's scores of *links*, and move the waiting URLs that it scores anew."""
        self.unshown.discard(observation.url_id)
        scores, moved = self._runner.scores(observation.page, observation.relevance, links)
        self._move(moved)
        return scores

    def rescore(self, scores: dict[str, float]) -> None:
        """Give URLs that were found so far their new *scores*, and what is fetched in their place as well."""
        urls = {self._frontier.key(url): url for url in scores}
        for key, known in self._store.urls.find(urls).items():
            if known.state is State.DROPPED:
                target, score = self._frontier.representative_of(urls[key]), scores[urls[key]]
                scores[target] = max(score, scores.get(target, score))
        self._move(scores)

    def _move(self, scores: Mapping[str, float]) -> None:
        if scores:
            self._store.urls.rescore({self._frontier.key(url): score for url, score in scores.items()})
            self._recent_links.update(scores)

    def follow(self, observation: Observation, links: Sequence[Link]) -> None:
        """Enter those of the *links* of the page just observed that are in scope, the first ones now.

        Those of a page that nothing asked for wait for its callback to end (:meth:`follow_held`).
        """
        is_first = not (observation.is_known or observation.held)
        if links and is_first and self._store.unrequested.leads_beyond(observation.url_id):
            observation.held = links
            return
        is_open = self._scope.is_open
        observation.unfollowed = links if is_open else self._scope.links_of(observation.page).of(links)
        self.follow_more(observation)

    def follow_more(self, observation: Observation) -> None:
        left = observation.unfollowed
        links, observation.unfollowed = left[:FOLLOWED_AT_ONCE], left[FOLLOWED_AT_ONCE:]
        scored = zip(links, self.scores(observation, links), strict=True)
        new = [(link.url, score) for link, score in scored if not self.is_seen(link.url, score)]
        with self._policy.looked_up([url for url, _ in new]):
            asked = [self._link(observation, url, score) for url, score in new]
        entered = self._frontier.enter(asked)
        self.note(observation, [(new, one.decision) for (new, _), one in zip(asked, entered, strict=True)])

    def follow_held(self, observation: Observation, *, is_repeat: bool) -> None:
        """Enter the links that were held, unless the page *is a repeat* of another one of its host, which has them.

        It may begin a session, in which all has names of its own: of 168 requests of plain Scrapy 1,954 were made. What
        stands for others is asked for in their place, and has to lead where they do.
        """
        key = self._store.urls.key_of(observation.url_id)
        if is_repeat and key is not None and not self._store.suppressed.claims_for(key):
            self._counts["frontier/unneeded"] += len(observation.held)
            self.scores(observation, ())
        else:
            self.follow(observation, observation.held)
            while observation.unfollowed:
                self.follow_more(observation)
        observation.held = ()

    def follow_new(self, observation: Observation, links: Sequence[Link]) -> None:
        """Enter those of the *links* of a page that was observed before which nothing is known of."""
        keys = [self._frontier.key(link.url) for link in links]
        known = self._frontier.find_asked(set(keys))
        new = [link for link, key in zip(links, keys, strict=True) if key not in known]
        if new:
            self.follow(observation, new)

    def _link(self, observation: Observation, url: str, score: float) -> tuple[NewUrl, Decision]:
        host, key = host_of(url), self._frontier.key(url)
        new = NewUrl(url, host, key, score, depth=observation.depth + 1, parent=observation.url_id)
        return new, self._policy.decide_link(observation, url, host, Permission.MOVE, callback="")

    def is_seen(self, url: str, score: float, priority: int = 0) -> bool:
        """Tell whether *url* was entered a short while ago in as good a place, so that nothing would come of it."""
        is_seen = self._recent_links.has(url, score, priority)
        self._counts["dupefilter/filtered"] += is_seen
        return is_seen

    def note(self, observation: Observation, asked: Sequence[tuple[NewUrl, Decision]]) -> None:
        """Take note that links of a page were decided."""
        if not observation.is_known:
            self._revisits.ask_gone_again(new.key for new, decision in asked if decision.action is Action.FETCH)
        for new, decision in asked:
            if decision.action is Action.DROP and decision.reason is Reason.EXACT_DUPLICATE_LINKS:
                observation.dropped.append(new.url)
            if decision.action is Action.FETCH:
                self._recent_links.add(new.url, new.score, new.priority)
            else:  # it may come up again from a better page
                self._recent_links.discard(new.url)
            if new.host != observation.page.host:
                self._replicas.add_link(new.host, observation.page.host)
