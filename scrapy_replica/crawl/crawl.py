"""One crawl: decides about URLs, observes pages, enters links. It orchestrates; the algorithms live in the rooms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TextIO

from scrapy_replica.address import host_of
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.intake import Payloads
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.scope import HOST_PAGES, OUT_OF_SCOPE, full
from scrapy_replica.crawl.steering import Steering
from scrapy_replica.crawl.topic.relevance import KEY as RELEVANCE
from scrapy_replica.crawl.wiring import wire
from scrapy_replica.crawldb.contract import CrawlDB, NewUrl, Permission, RemoteUpdate, UrlRow
from scrapy_replica.crawldb.orders import MARK
from scrapy_replica.crawldb.pages import NOT_MODIFIED, Fetched, is_absent
from scrapy_replica.decision import Decision, Reason
from scrapy_replica.focus.relearning import MOST_PAGES
from scrapy_replica.freshness.answer import Answer
from scrapy_replica.pages.beside import hash_of_beside
from scrapy_replica.records import Novelty, Page
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.usage import ROBOTS, to_json, uses

MAX_DECIDED = 100
"""URLs decided about in one turn when none of them is to be fetched: 10 ms."""

READ_AGAIN = 500
"""Pages of all processes after which it is read again which texts are kept."""

SALT, NOISE = "salt", "noise"

FIRST_ERROR = 400
"""HTTP status from which on there is no page."""


class Crawl:
    """Holds the rooms together.

    :param key: URL -> 64 bits of its request fingerprint, signed.
    :param now: seconds since the epoch.
    :param payloads: what requests have beyond a plain GET.
    :param counts: statistics, as ``area/what``.
    :param salt: 32 bits that no site can know, on which it depends what is sampled; a job keeps its own.
    :param sink: where decisions are written as lines of JSON, besides the ledger in *store*.
    """

    def __init__(
        self,
        config: Config,
        store: CrawlDB,
        *,
        key: Callable[[str], int],
        now: Callable[[], float],
        aliases: Aliases,
        payloads: Payloads,
        counts: Counter[str],
        salt: int = 0,
        sink: TextIO | None = None,
    ) -> None:
        self.config, self.store, self.counts, self._now, self._payloads = config, store, counts, now, payloads
        self._check_noise()
        parts = wire(
            config,
            store,
            key=key,
            now=now,
            aliases=aliases,
            payloads=payloads,
            counts=counts,
            salt=int(store.first_meta(SALT, str(salt).encode())),
            sink=sink,
        )
        self.scope, self.runner, self.replicas, self.revisits = (
            parts.scope,
            parts.runner,
            parts.replicas,
            parts.revisits,
        )
        self.dust, self.forms, self.repetition, self.samples = parts.dust, parts.forms, parts.repetition, parts.samples
        self.policy, self.intake, self.outlinks, self.orders = parts.policy, parts.intake, parts.outlinks, parts.orders
        self.claims, self.evidence, self.restorer = parts.claims, parts.evidence, parts.restorer
        self._own_names = parts.own_names
        self.late_samples, self.probes, self.checks = parts.late_samples, parts.probes, parts.checks
        self._asking, self._duplicates, self._guard, self._states = (
            parts.asking,
            parts.duplicates,
            parts.guard,
            parts.states,
        )
        self._scope_check, self._log, self._seen, self._head_rescorer = (
            parts.scope_check,
            parts.log,
            parts.seen,
            parts.head_rescorer,
        )
        self._remote = parts.remote
        self._pages = store.pages.count(max(config.warmup_pages, MOST_PAGES))
        self.is_behind = False
        """:meth:`take` stopped in the middle, so that nothing stalls; it wants to be called again."""
        self._open()

    def _open(self) -> None:
        self.orders.add(MARK, self._mark, url=str, is_relevant=bool)
        self.orders.follow(MARK, lambda _: self.runner.relevance.marks.read_again())
        if self.store.is_leader:
            self.restorer.adopt()
            if self.scope.is_changed:
                self.claims.lift(OUT_OF_SCOPE)
                self.claims.lift(HOST_PAGES)
        self.obey()

    def obey(self) -> bool:
        """Carry out what a person told the crawl through its database, and let old verdicts end.

        Another process does so where this one is not the leader.

        :return: whether there was any order.
        """
        has_obeyed = False
        if self.store.is_leader:
            self.claims.mirrors_ended(self.replicas.expire())
            has_obeyed = self.orders.obey()
        self.store.commit()
        return has_obeyed

    def _check_noise(self) -> None:
        """Raise ``ConfigError`` where texts of this run and of those before do not compare."""
        noise = self.config.noise.value.encode()
        before = self.store.first_meta(NOISE, noise)
        if before != noise:
            raise ConfigError(f"REPLICA_NOISE: the crawl began with {before.decode()}; give that, or another JOBDIR")

    def steer(self, on_seed: Callable[[str], None]) -> None:
        """Take note that the frontier is in use: a person's orders about it are carried out, beginning with those
        given before.

        *on_seed* is told the URL of each seed that a person added.
        """

        def added(url: str) -> None:
            self.open_to(host_of(url))
            on_seed(url)

        Steering(self.store, self.scope, self.intake, self.claims, self.orders, self.revisits.wanted, on_seed=added)
        self.obey()
        if not self.store.is_shared:
            self.checks.begin()

    # Other processes

    def apply_remote(self, update: RemoteUpdate) -> None:
        """Apply what other processes that share the crawl wrote; called several times a second, in no span.

        *update* is what the store's ``listen`` gave. What follows from it is committed.
        """
        before = self._pages
        self._pages += self._remote.apply(update)
        if self._pages // READ_AGAIN > before // READ_AGAIN:
            self._asking.read_again()
        if RELEVANCE in update.meta:
            self._seen.clear()  # scores of another model
        for host in update.forms:
            self.forms.forget(host)
        self.store.commit()

    def _reread_hosts(self) -> None:
        """Read anew what is held of hosts that other processes had until now."""
        for host in self.store.urls.claimed():
            self.replicas.read_again(host)
            self.dust.forget(host)
            self._guard.forget(host)
            self.repetition.forget(host)
            self.forms.forget(host)

    # Pages

    def observe(self, page: Page, url_id: int, depth: int, size: int | None = None) -> Observation:
        """Take note of a page that was fetched from the URL of that id, and judge it.

        *size* is that of its body as it came over the network, in bytes.
        """
        if not depth:
            self.open_to(page.host)  # a seed may have redirected to it
        relevance = self.runner.relevance.of(page)
        before = self.store.pages.judgement(url_id)
        novelty, twin = self._duplicates.judge(page, url_id, before)
        found_on = self.store.urls.row(url_id).parent
        is_news = self._guard.is_news(page, url_id, found_on, novelty, self._duplicates.is_news(page, novelty))
        self.store.pages.enter(
            Fetched(
                url_id,
                self._now(),
                200,
                None,
                page.signature,
                page.simhash,
                page.words,
                page.title,
                relevance,
                novelty.value,
                twin.url_id if twin else None,
                is_news,
                size,
                hash_of_beside(page),
                to_json(page.statements),
            )
        )
        self._count_uses(page)
        if page.ip is not None:
            self.store.urls.set_host_ip(page.host, page.ip)
        self._duplicates.add(page)
        self.counts["form/found"] += self.forms.shown(page.forms)
        if before is None:
            self._pages += 1
            self._guard.count(page.url, page.host, found_on, is_novel=is_news)
            if novelty is Novelty.NOVEL:
                self.repetition.add(page)
                self._asking.add(page, url_id, relevance)
        is_changed = before is not None and before[0] != page.signature
        observation = Observation(page, url_id, depth, relevance, novelty, twin, is_changed=is_changed)
        self.evidence.add_findings(observation, *self.replicas.observe(page, url_id))
        self.evidence.add_page(observation)
        self._reopen(page.host)
        self.counts["page/observed"] += 1
        self.counts[f"page/{novelty.value}"] += 1
        self.counts["page/relevant"] += relevance > 0.5
        # Near duplicates within a host are often two pages of one template.
        is_copy = novelty is Novelty.NEAR_DUPLICATE and twin is not None and twin.host != page.host
        if is_copy or novelty is Novelty.EXACT_DUPLICATE:
            self.runner.unproductive(page.url)
        self.outlinks.unshown.add(url_id)
        return observation

    def _count_uses(self, page: Page) -> None:
        self.counts["usage/stated"] += any(one.source != ROBOTS for one in page.statements)
        for use, is_allowed in uses(page.statements).items():
            self.counts[f"usage/{use.value}/refused"] += not is_allowed

    def open_to(self, host: str) -> None:
        """Let *host* into the scope, as that of a seed; what was dropped because it was outside comes back."""
        if self.scope.open_to(host) and self.store.suppressed.some_of(OUT_OF_SCOPE, 1):
            self.claims.lift(OUT_OF_SCOPE)

    def observe_again(self, page: Page, url_id: int, depth: int) -> Observation:
        """Return what is known of a page that says what it said before; nothing else of it is entered anew."""
        self.store.pages.set_statements(url_id, to_json(page.statements))
        novelty, twin = self._duplicates.judge(page, url_id, self.store.pages.judgement(url_id))
        return Observation(page, url_id, depth, self.runner.relevance.of(page), novelty, twin, is_known=True)

    def forget(self, host: str) -> None:
        """Take note that a page of *host* could not be observed: what is known of it is read again from the store."""
        self.replicas.forget(host)
        self.dust.forget(host)
        self._guard.forget(host)
        self.repetition.forget(host)
        self.forms.forget(host)
        self._asking.read_again()
        self._seen.clear()

    def fetched(self, url: str, found_on: int | None = None) -> int:
        """Return the id of *url*, which another scheduler fetched: it is done.

        *found_on* is the id of the page that it was found on.
        """
        url_id = self._entered(url, found_on)
        self.store.urls.finish([url_id])
        return url_id

    def decided(self, url: str, decision: Decision) -> None:
        """Write *decision* down about a URL that another scheduler fetches all the same, once for each reason."""
        decision = self.intake.draw(url, self.intake.key(url), decision)
        url_id = self._entered(url)
        if decision.reason is not None and not self.store.ledger.knows(url_id, decision.reason):
            self._log.record(url_id, url, decision)

    def _entered(self, url: str, found_on: int | None = None) -> int:
        """Return the id of *url*, which is not to be given out."""
        new = NewUrl(url, host_of(url), self.intake.key(url), parent=found_on, is_dropped=True)
        return self.store.urls.discover([new])[0][0]

    def failed(
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
            self.replicas.add_missing(self.store.urls.url_of(url_id))
        self.revisits.fails(url_id)
        found = self.store.urls.find([self.intake.key(url) for url in via])
        for failed_id in (url_id, *(known.id for known in found.values())):
            was_page, is_asked = self.store.pages.has_page(failed_id), failed_id == url_id
            # A page that is gone was one; an error may pass.
            if not was_page or (is_asked and is_absent(status)):
                self.store.pages.enter(Fetched(failed_id, self._now(), status, error, size=size if is_asked else None))
            if not was_page or (is_asked and status != NOT_MODIFIED):
                self.evidence.add_failure(failed_id, status, location)
        if location is not None:
            self.evidence.add_redirect(url_id, location, callback)
        if status is None or status >= FIRST_ERROR:
            self.runner.unproductive(self.store.urls.url_of(url_id))
        self.counts["page/failed" if status is None else "page/other"] += 1
        self.checks.end(url_id, is_content=False)

    def _mark(self, what: Mapping[str, Any]) -> None:
        """Take what a person said of a page."""
        if self.config.topic is None:
            raise ValueError("the crawl has no examples of a topic to learn it with: give some with --topic")
        if (known := self._states.of(what["url"])) is None:
            raise ValueError("no page of the crawl links there")
        url = self.store.urls.url_of(known.id)
        self.runner.relevance.marks.give(known.id, url, is_relevant=bool(what["is_relevant"]))
        self.counts["mark/taken"] += 1

    def visited(self, url_id: int, answer: Answer, payload: bytes | None) -> None:
        """Take note of the *answer* to a request for the URL of that id, whose callback is through.

        *payload* is its request where it is more than a plain GET.
        """
        if not self.revisits.settle(url_id, answer, payload):
            self.evidence.add_unchanged(url_id)

    # Links

    @property
    def has_to_learn(self) -> bool:
        """Whether there is something to do for :meth:`learn_anew`: a span for nothing would take 15 us a response."""
        return (self.store.is_leader and self._asking.has_work) or self.runner.has_to_learn(self._pages)

    def learn_anew(self) -> None:
        """Learn the topic anew where that is due, before each page, in a span of its own that no page takes back."""
        if self.store.is_leader:
            self._asking.work()
        self.outlinks.rescore(self.runner.learn_anew(self._pages))

    def gave(self, observation: Observation, items: Collection[int]) -> None:
        """Take note of *items*, as hashes, that the callback made of the page.

        A page that gives an item that no page gave before is news, whatever its text says, and so is the page that it
        was found on.
        """
        if observation.is_known:
            return
        with self.store.span():
            is_new = self.store.items.enter(items)
            observation.items.update(items)
            if is_new and not observation.gives_news:
                observation.gives_news = True
                self.counts["item/pages_with_new"] += 1
                self._reward(observation.url_id)
                parent = self.store.urls.row(observation.url_id).parent
                if parent is not None:
                    self._reward(parent)

    def _reward(self, url_id: int) -> None:
        """Take note that the page of the URL of that id brought news after all, unless it is known to."""
        known = self.store.pages.news(url_id)
        if known is None or known[1]:
            return
        row = self.store.urls.row(url_id)
        self.store.pages.set_news(url_id)
        self._guard.reward(row.url, row.host, row.parent)
        self._reopen(row.host)

    def _reopen(self, host: str) -> None:
        if self._guard.take_reopened(host):
            self.claims.lift_traps(host)

    def end(self, observation: Observation, callback: str = "", *, asks_more: bool = False) -> None:
        """Take note that the spider's *callback* is through with the page.

        A page that had no links is shown to the strategy now. *asks_more*: the callback asked for a URL that is new and
        does not stand on the page.
        """
        if observation.url_id in self.outlinks.unshown:
            self.outlinks.scores(observation, ())
        with self.store.span():
            if asks_more:
                self._guard.leads_on(observation.page.url, observation.page.host)
            if observation.items:
                self.store.items.keep(observation.url_id, observation.items)
                told = self.replicas.add_page_items(observation.page, observation.url_id, observation.items)
                self.evidence.add_findings(None, told)
            self.evidence.end_callback(observation, callback, asks_more=asks_more or observation.gives_news)
            if not observation.is_known:
                self._own_names.add(observation.page, observation.url_id, callback)
        # What has too little text to tell, data among it, may be what the user wants; so may a near duplicate.
        is_content = observation.novelty is not Novelty.EXACT_DUPLICATE or observation.gives_news
        is_content = is_content and not observation.is_known
        if self.config.topic is not None:
            is_content = is_content and observation.relevance > 0.5
        self.checks.end(observation.url_id, is_content=is_content)

    def enter_listed(self, listed: Sequence[tuple[str, float | None]]) -> None:
        """Enter URLs that a site's own list names, one link from the seeds, and when they changed, where it says so."""
        asked = []
        for url, _ in listed:
            host = host_of(url)
            if (outside := self.scope.outside(url, host)) is not None:
                self.scope.count(outside)
                continue
            new = NewUrl(url, host, self.intake.key(url), depth=1)
            asked.append((new, self.policy.decide(url, host, Permission.MOVE, "")))
        self.intake.enter(asked)
        changed = {self.intake.key(url): at for url, at in listed if at is not None}
        found = self.store.urls.find(changed)
        self.store.seeds.set_dates({known.id: changed[key] for key, known in found.items()})
        self.revisits.modified(changed.items())

    # The frontier

    def take(self) -> UrlRow | None:
        """Lease the best waiting URL of the ready slots that may still be fetched, as things stand by now."""
        self.restorer.work()
        self.revisits.work()
        self.replicas.work()
        self.dust.work()
        self.is_behind = False
        for _ in range(MAX_DECIDED):
            self._head_rescorer.score()
            taken = self.store.urls.take()
            if taken is None:
                return None
            self._reread_hosts()
            if is_check := self.checks.is_check(taken.id):
                taken = taken._replace(is_demoted=True)  # it is fetched whatever only demotes it
            if (decision := self._left_out(taken)) is not None:
                self._scope_check.leave_out(taken, decision)
            elif self.intake.decide_again(taken):
                return taken
            if is_check:
                self.checks.end(taken.id, is_content=False)
        self.is_behind = True
        return None

    def _left_out(self, taken: UrlRow) -> Decision | None:
        """Return why a URL whose turn has come does not belong to the crawl any more; ``None`` if it does."""
        decision = self.scope.about(taken)
        if decision is None and self._guard.is_full(taken.host) and not self.store.pages.has_page(taken.id):
            decision = full(taken.host)
        if decision is None or decision.reason is Reason.EXCLUDED:
            return decision
        is_asked = taken.permission is Permission.AS_ASKED or self._payloads.may_leave(taken.payload)
        return None if is_asked else decision

    @property
    def has_work(self) -> bool:
        """Whether :meth:`take` has something to do although it gave nothing."""
        return self.is_behind or self.restorer.has_work or self.revisits.has_work

    @property
    def is_pending(self) -> bool:
        """Whether there is anything to fetch, now or later."""
        return self.store.urls.waiting > 0 or self.restorer.has_work or self.revisits.has_work
