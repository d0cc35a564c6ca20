"""What fetches bring: pages and what callbacks make of them, and failures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from scrapy_replica.claim import Restoration, Why
from scrapy_replica.crawl.claims.made_requests import STEPS, MadeRequests
from scrapy_replica.crawl.hosts.replicas import ProbeUrl
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.scope import OUT_OF_SCOPE
from scrapy_replica.crawldb.pages import MISSING, NOT_MODIFIED, Fetched, is_absent
from scrapy_replica.focus.relearning import MOST_PAGES
from scrapy_replica.freshness.answer import Answer
from scrapy_replica.pages.beside import hash_of_beside
from scrapy_replica.records import Doubt, Novelty, Page
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.detector import Findings
from scrapy_replica.sites.evidence import path_of
from scrapy_replica.sites.redirects import place_of
from scrapy_replica.usage import ROBOTS, to_json, uses

if TYPE_CHECKING:
    from scrapy_replica.crawl.wiring import Parts


class Fetches:
    """Takes note of each fetch, and hands it to the parts that it says something to."""

    def __init__(self, parts: Parts) -> None:
        self._store, self._counts, self._now, self._scope = parts.store, parts.counts, parts.now, parts.scope
        self._runner, self._active_learning, self._checks = parts.runner, parts.active_learning, parts.checks
        self._duplicates, self._reading, self._forms = parts.duplicates, parts.reading, parts.forms
        self._repetition, self._revisits, self._replicas = parts.repetition, parts.revisits, parts.replicas
        self._own_names, self._rules, self._dust, self._guard = parts.own_names, parts.rules, parts.dust, parts.guard
        self._frontier, self._claims, self._restorer = parts.frontier, parts.claims, parts.restorer
        self._evidence, self._probes, self._scope_check = parts.evidence, parts.probes, parts.scope_check
        self._outlinks, self._recent_links = parts.outlinks, parts.recent_links
        self._has_topic = parts.config.topic is not None
        self.made_requests = MadeRequests(parts.store)
        self.n_pages = parts.store.pages.count(max(parts.config.warmup_pages, MOST_PAGES))
        """Pages of all processes, as far as anything depends on their number."""

    def observe(self, page: Page, url_id: int, depth: int, size: int | None = None) -> Observation:
        """Take note of a page that was fetched from the URL of that id, and judge it.

        *size* is that of its body as it came over the network, in bytes.
        """
        if not depth:
            self.open_to(page.host)  # a seed may have redirected to it
        if not page.is_read:
            return self._observe_unread(page, url_id, depth, size)
        relevance = self._runner.relevance.of(page)
        before = None if self._store.urls.is_first(url_id) else self._store.pages.judgement(url_id)
        novelty, twin = self._duplicates.find_twin(page, url_id, before)
        if twin is not None:
            self._reading.found()
        parent = self._store.urls.row(url_id).parent
        is_new = self._duplicates.is_news(page, novelty)
        is_news = self._guard.is_news(page, url_id, parent, novelty, is_new)
        row = self._row_of(page, url_id, size)._replace(
            signature=page.signature,
            simhash=page.simhash,
            words=page.words,
            relevance=relevance,
            novelty=novelty.value,
            twin=twin.url_id if twin else None,
            is_news=is_news,
            beside=hash_of_beside(page),
        )
        if (traces := self._replicas.traces_of(page)) is not None:
            mark, neighbours = traces
            row = row._replace(mark=mark.pack(), neighbours=neighbours.to_json())
        self._store.pages.enter(row)  # before the detector is told, which reads from there
        self._note_host(page)
        if before is None:
            self.n_pages += 1
            self._guard.count(page.url, page.host, parent, is_novel=is_news)
            if novelty is Novelty.NOVEL:
                self._repetition.add(page)
                self._active_learning.add(page, url_id, relevance)
        is_collected = self._duplicates.is_collected(page, novelty)
        self._counts["page/collected"] += is_collected
        observation = Observation(page, url_id, depth, relevance, novelty, twin, is_new, is_collected)
        observation.is_changed = before is not None and before[0] != page.signature
        self.note_findings(observation, *self._replicas.observe(page, traces))
        self._duplicates.add(page)  # until now the index says whether a page before it has its text
        self._end_observing(observation)
        self._counts["page/relevant"] += relevance > 0.5
        # Near duplicates within a host are often two pages of one template.
        is_copy = novelty is Novelty.NEAR_DUPLICATE and twin is not None and twin.host != page.host
        if is_copy or novelty is Novelty.EXACT_DUPLICATE:
            self._runner.unproductive(page.url)
        return observation

    def is_to_be_read(self, url: str, url_id: int, text: bytes) -> bool:
        return self._reading.wants(url, text) or self._evidence.awaits(url_id)

    def _observe_unread(self, page: Page, url_id: int, depth: int, size: int | None) -> Observation:
        """Take note of a page of which nothing is known but that no page before had all of its text."""
        is_new = not self._store.pages.has_page(url_id)
        observation = Observation(page, url_id, depth, 0.0, Novelty.NOVEL, is_new=True)
        row = self._row_of(page, url_id, size)._replace(novelty=Novelty.NOVEL.value, is_news=True)
        self._store.pages.enter(row)
        self._note_host(page)
        self._guard.meet(page)
        if is_new:
            self.n_pages += 1
            self._guard.count(page.url, page.host, self._store.urls.row(url_id).parent, is_novel=True)
        self._counts["page/unread"] += 1
        self._end_observing(observation)
        return observation

    def note_findings(self, found_on: Observation | None, findings: Findings, urls: Iterable[ProbeUrl] = ()) -> None:
        """Take note of what came to light about hosts, and of the pages to ask for."""
        self._counts["host/blocked"] += len(findings.verdicts)
        self._counts["host/conflicts"] += sum(pair.doubt is Doubt.CONFLICT for pair in findings.uncertain)
        self._scope_check.check({verdict.canonical for verdict in findings.verdicts})
        if found_on is not None:
            self._probes.add_of_mirrors(urls, found_on)

    def _row_of(self, page: Page, url_id: int, size: int | None) -> Fetched:
        """Return what is known of a fetch, whatever its page says."""
        said = to_json(page.statements)
        return Fetched(url_id, self._now(), HTTPStatus.OK.value, title=page.title, size=size, statements=said)

    def _end_observing(self, observation: Observation) -> None:
        self._evidence.add_page(observation)
        self._probes.add_page()
        self._reopen(observation.page.host)
        self._counts["page/observed"] += 1
        self._counts[f"page/{observation.novelty.value}"] += 1
        self._outlinks.unshown.add(observation.url_id)

    def _note_host(self, page: Page) -> None:
        """Take note of what *page* says of its host: how it may be used, its address, its forms."""
        if page.ip is not None:
            self._store.urls.hosts.set_ip(page.host, page.ip)
        self._counts["form/found"] += self._forms.add(page.forms)
        self._counts["usage/stated"] += any(one.source != ROBOTS for one in page.statements)
        for use, is_allowed in uses(page.statements).items():
            self._counts[f"usage/{use.value}/refused"] += not is_allowed

    def observe_again(self, page: Page, url_id: int, depth: int) -> Observation:
        """Return what is known of a page that says what it said before; nothing else of it is entered anew."""
        self._store.pages.set_statements(url_id, to_json(page.statements))
        novelty, twin = self._duplicates.find_twin(page, url_id, self._store.pages.judgement(url_id))
        relevance, is_new = self._runner.relevance.of(page), self._duplicates.is_news(page, novelty)
        return Observation(page, url_id, depth, relevance, novelty, twin, is_new, is_known=True)

    def add_items(self, observation: Observation, items: Collection[int]) -> None:
        """Take note of *items*, as hashes, that the callback made of the page.

        A page that gives an item that no page gave before is news, whatever its text says, and so is the page that it
        was found on.
        """
        if observation.is_known:
            return
        with self._store.span():
            is_new = self._store.items.enter(items)
            observation.items.update(items)
            if is_new and not observation.gives_news:
                observation.gives_news = True
                self._counts["item/pages_with_new"] += 1
                self._counts["item/duplicates_with_new"] += observation.novelty is Novelty.EXACT_DUPLICATE
                self._reward(observation.url_id)
                for url_id in self._asked_by(observation.url_id):
                    self._reward(url_id)

    def add_items_of_no_page(self, url_id: int, via: Sequence[str], items: Collection[int]) -> None:
        """Take note of *items*, as hashes, that a callback made of an answer that is no page, say a 404.

        What gives an item that nothing gave before stands for itself, and so do the URLs *via* which it was come by.
        """
        with self._store.span():
            if self._store.items.enter(items):
                found = self._store.urls.find([self._frontier.key(url) for url in via])
                for one in (url_id, *(known.id for known in found.values())):
                    self._evidence.add_news(one)

    def _asked_by(self, url_id: int) -> Iterator[int]:
        """Yield the page that *url_id* was found on, and those on which the callbacks began that asked for it step by
        step: a shell whose script searches by a form and then asks for what was found.
        """
        for _ in range(STEPS):
            parent = self._store.urls.row(url_id).parent
            if parent is None:
                return
            yield parent
            if self._store.pages.news(parent) is None:
                return  # of another process, which has not told of it yet
            finder = self._store.urls.row(parent).parent
            if finder is None or finder not in self._guard.led_on:
                return
            url_id = parent

    def _reward(self, url_id: int) -> None:
        """Take note that the page of the URL of that id brought news after all, unless it is known to."""
        known = self._store.pages.news(url_id)
        if known is None or known[1]:
            return
        row = self._store.urls.row(url_id)
        self._store.pages.set_news(url_id)
        self._guard.reward(row.url, row.host, row.parent)
        self._reopen(row.host)

    def _reopen(self, host: str) -> None:
        if self._guard.take_reopened(host):
            self._claims.lift_traps(host)

    def end_callback(self, observation: Observation, callback: str = "", *, asks_more: bool = False) -> None:
        """Take note that the spider's *callback* is through with the page.

        A page that had no links is shown to the strategy now. *asks_more*: the callback asked for a URL that is new and
        does not stand on the page.
        """
        if observation.url_id in self._outlinks.unshown and not observation.held:
            self._outlinks.scores(observation, ())
        if observation.held and (asks_more or observation.gives_news):
            with self._store.span():
                self._outlinks.follow_held(observation, is_repeat=False)
        try:
            self._end_callback(observation, callback, asks_more=asks_more)
        finally:
            if observation.held:
                with self._store.span():
                    self._outlinks.follow_held(observation, is_repeat=self._dust.is_repeat(observation.page.url))
        # What has too little text to tell, data among it, may be what the user wants; so may a near duplicate.
        is_content = observation.novelty is not Novelty.EXACT_DUPLICATE or observation.gives_news
        is_content = is_content and not observation.is_known and not observation.is_collected
        if self._has_topic:
            is_content = is_content and observation.relevance > 0.5
        self._checks.end(observation.url_id, is_content=is_content)

    def _end_callback(self, observation: Observation, callback: str, *, asks_more: bool) -> None:
        with self._store.span():
            if asks_more:
                self._guard.leads_on(observation.page.url, observation.page.host, observation.url_id)
            if observation.items:
                self._store.items.keep(observation.url_id, observation.items)
                self.made_requests.brought(observation.url_id, observation.items)
                told = self._replicas.add_page_items(observation.page, observation.url_id, observation.items)
                self.note_findings(None, told)
            if observation.gives_news:
                # Its page seemed to repeat another one, and does not.
                dropped = {self._frontier.key(url): url for url in observation.dropped}
                self._restorer.restore_urls(dropped, Restoration(Why.ITEM))
            self._evidence.end_callback(observation, callback, asks_more=asks_more or observation.gives_news)
            self._scope_check.check_news()
            if not observation.is_known:
                self._own_names.add(observation.page, observation.url_id, callback)

    def observe_failure(
        self,
        url_id: int,
        status: int | None,
        error: str | None,
        via: Sequence[str] = (),
        location: str | None = None,
        size: int | None = None,
        callback: str = "",
    ) -> None:
        """Take note that a fetch brought no page: another status, another type, or no response.

        *via* are the URLs that redirected to it, at which there is no page either; *location* is where it redirects to.
        *size* is that of the body, in bytes; *callback* was to get it.
        """
        if is_absent(status):
            self._replicas.add_missing(self._store.urls.url_of(url_id))
        self._revisits.note_failing(url_id)
        found = self._store.urls.find([self._frontier.key(url) for url in via])
        for failed_id in (url_id, *(known.id for known in found.values())):
            # What cannot be observed, with a status of 200, may have been entered all the same.
            is_asked, is_new = failed_id == url_id, status != HTTPStatus.OK and self._store.urls.is_first(failed_id)
            was_page = not is_new and self._store.pages.has_page(failed_id)
            # A page that is gone was one; an error may pass.
            is_kept = was_page and not (is_asked and is_absent(status))
            if not is_kept:
                row = Fetched(failed_id, self._now(), status, error)
                if is_asked:
                    row = row._replace(size=size, leads_to=place_of(location) if location is not None else None)
                else:
                    row = row._replace(leads_to=self._store.pages.leads_to(failed_id))
                self._store.pages.enter(row)
            if not was_page or (is_asked and status != NOT_MODIFIED):
                self._add_failure(failed_id, status, location, is_kept=is_kept)
            if status == HTTPStatus.OK:
                self._evidence.add_document(failed_id)
        if location is not None:
            self._replicas.note_place(self._store.urls.url_of(url_id), place_of(location))
            self._evidence.add_redirect(url_id, [known.id for known in found.values()], location, callback)
            if self._scope.may_stand(location):
                self.note_findings(None, self._replicas.add_redirect(self._store.urls.url_of(url_id), location))
        if status is None or status >= MISSING:
            self._runner.unproductive(self._store.urls.url_of(url_id))
        self._counts["page/failed" if status is None else "page/other"] += 1
        self._checks.end(url_id, is_content=False)

    def _add_failure(self, url_id: int, status: int | None, location: str | None, *, is_kept: bool) -> None:
        """Take note that there is no page at a URL; one of the same path that it leads to is its page.

        Sites lead whatever they do not have to their front page.
        """
        leads_on = location is not None
        if location is not None and self._scope.may_stand(location):
            leads_on = normal_path(path_of(location)) != normal_path(path_of(self._store.urls.url_of(url_id)))
        if leads_on or location is None:
            self._evidence.add_failure(url_id, status, leads_on=leads_on, is_kept=is_kept)

    def settle_visit(self, url_id: int, answer: Answer, payload: bytes | None) -> None:
        """Take note of the *answer* to a request for the URL of that id, whose callback is through.

        *payload* is its request where it is more than a plain GET.
        """
        if not self._revisits.settle(url_id, answer, payload):
            self._evidence.add_unchanged(url_id)

    def open_to(self, host: str) -> None:
        """Let *host* into the scope, as that of a seed; what was dropped because it was outside comes back."""
        if self._scope.open_to(host) and self._store.suppressed.some_of(OUT_OF_SCOPE, 1):
            self._claims.lift(OUT_OF_SCOPE)

    def forget(self, host: str) -> None:
        """Take note that a page of *host* could not be observed: what is known of it is read again from the store."""
        self._replicas.forget(host)
        self.forget_counts(host)
        self._active_learning.read_again()
        self._recent_links.clear()

    def forget_counts(self, host: str) -> None:
        for part in (self._rules, self._guard, self._repetition, self._forms):
            part.forget(host)
