"""Coming back: which URLs of an earlier crawl are asked for again, in which way, and what the answers show."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

import mmh3

from scrapy_replica.config import Config
from scrapy_replica.crawl import histories
from scrapy_replica.crawl.given import Clock, KeyOf
from scrapy_replica.crawl.histories import MAX_ABSENCES, Expected
from scrapy_replica.crawl.passes import SLICE, Passes
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawldb.contract import URGENT, CrawlDB, State
from scrapy_replica.crawldb.pages import GONE, NOT_MODIFIED
from scrapy_replica.crawldb.revisits import Done, History, Pass
from scrapy_replica.freshness.answer import Answer, Validators, is_same_etag

logger = logging.getLogger(__name__)

MAX_MISSES = 3
"""Visits in a row that bring nothing after which no comparison waits for a page."""

CALLBACKS = "callbacks"
"""Key of a hash of what the callbacks of the last run depended on."""

MAX_PAYLOAD = 16_384
"""Bytes of what a request carries; one with more is not kept for another time."""

MAX_LED = 100_000
"""Pages that led to something new and whose callback is not through: there are never so many."""


class Revisits:
    """The passes over a job, under ``REPLICA_REVISIT``; a pass goes on through the end of the process.

    A URL is due when the chance that it changed since it was last seen is above ``REPLICA_REVISIT_CHANCE``, by its own
    changes and those of its host (:mod:`~scrapy_replica.freshness.change_rate`); as long as nothing was visited twice
    all are. Of the others ``REPLICA_EXPLORE`` are asked for all the same, so that what begins to change is noticed. The
    most likely to have changed comes first.

    A page that did not change needs no callback only where one was through with it, and all that it gave was entered,
    under the same :attr:`callback_fingerprint`: :meth:`reusable` tells so, and nothing else does. Any other page is
    due, asked for without a condition, and given to its callback.

    A page is asked for on condition that it changed, with the ETag and date that its server gave; one that
    ``REPLICA_EXPLORE`` drew and that is answered by 304 once more, without a condition. A host is doubted from the
    first page on that changed though its server said that it did not: it is asked without conditions, and what it
    answered by 304 is asked for again.

    :param salt: what draws depend on; unknown to the sites.
    """

    def __init__(
        self,
        config: Config,
        store: CrawlDB,
        key: KeyOf,
        now: Clock,
        salt: int,
        counts: Counter[str],
        scope: CrawlScope,
    ) -> None:
        self._config, self._store, self._salt, self._scope = config, store, salt, scope
        self._spider = b""
        self._key, self.now = key, now
        self.is_on = config.revisit
        self._led: set[int] = set()
        """Ids of pages that led to what no page before led to."""
        self._met: set[int] = set()
        """Ids of URLs that were found gone and that a page leads to that changed in this run."""
        self._failing: set[int] = set()
        """Ids of URLs that brought nothing and are on their way still."""
        self._expected = Expected({})
        self._passes = Passes(store, counts, is_on=self.is_on)
        if self.is_on:
            self._open()

    def _open(self) -> None:
        self._expected = Expected(self._store.revisits.changes_of_hosts())
        if not self._pass.is_over:
            logger.info("Pass %d over the job goes on", self._pass.number)
            return
        if self._store.pages.count(1) and not self._store.revisits.done_after(0, 1):
            logger.warning("No page of this job can be asked for again: another scheduler than the add-on's was in use")
        self._passes.begin(self.now())
        # Mirrors and rewrite rules are tested anew.
        self._store.samples.retire(self._pass.number)

    @property
    def _pass(self) -> Pass:
        return self._passes.present

    # What callbacks give

    @property
    def callback_fingerprint(self) -> int:
        """What callbacks give of a page depends on, beside the page: the spider and the scope; a signed 64-bit hash."""
        return int(mmh3.hash64(self._spider + self._scope.fingerprint)[0])

    def set_spider(self, spider: bytes) -> None:
        """Take note of what the outputs of the spider's callbacks depend on."""
        self._spider = spider
        before, now = self._store.meta(CALLBACKS), str(mmh3.hash64(spider)[0]).encode()
        self._store.set_meta(CALLBACKS, now)
        if self.is_on and before not in {None, now}:
            logger.warning(
                "The spider or what it is started with is another than in the last run: all pages are asked for and "
                "given to their callbacks"
            )

    def reusable(self, url_id: int) -> History | None:
        """Return what is known of the page of that URL, if it needs no callback where it is as it was."""
        history = self.history_of(url_id)
        return history if history is not None and history.callback_fingerprint == self.callback_fingerprint else None

    def items_given(self, url_id: int, page: int) -> frozenset[int]:
        """Return the hashes of the items that callbacks gave of the page of that URL, if an earlier pass saw it.

        *page* is a hash of what it says and of its URL without session ids: it may have been seen in another session.
        """
        found = self._store.revisits.of_page(page) if self.is_on else []
        before = self.history_of(url_id) if found else None
        if before is not None and before.gone_at is not None:
            return frozenset()  # it comes back
        if all(one.first_at >= self._pass.began_at for one in (*found, *filter(None, [before]))):
            return frozenset()
        return frozenset().union(*(one.items for one in found if one.callback_fingerprint == self.callback_fingerprint))

    # What is due

    @property
    def has_work(self) -> bool:
        return self.is_on and bool(self._pass.after is not None or self._pass.doubted or self._pass.tested)

    def work(self) -> None:
        """Look at a few URLs whether they are due."""
        if not self.is_on:
            return
        if self._pass.tested:
            tested = map(self._store.revisits.of, self._pass.tested)
            self._store.urls.renew([(one.url, URGENT, one.payload) for one in tested if one is not None])
            self._pass.tested = []
            self._passes.keep()
        if self._pass.doubted:
            self._passes.take_some_back()
        elif self._pass.after is not None:
            self._look(self._pass.after)

    def _look(self, after: int) -> None:
        found = self._store.revisits.done_after(after, SLICE)
        self._pass.after = found[-1].history.url if found else None
        self._passes.keep()
        asked = [one for one in found if one.history.checked_at < self._pass.began_at]
        if asked:
            due = [
                (one.history.url, 0.0 if one.history.misses else chance, one.history.payload)
                for one, chance in zip(asked, self._expected.chances(asked, self._pass.began_at), strict=True)
                if self._is_due(one, chance)
            ]
            self._passes.count("due", self._store.urls.renew(due))
            self._passes.count("not_due", len(asked) - len(due))

    def _is_due(self, one: Done, chance: float) -> bool:
        history = one.history
        if self._is_drawn(history.url):
            return True
        if history.absences >= MAX_ABSENCES and one.depth:
            return False
        is_doubtful = (
            history.misses > 0 or history.content is None or history.callback_fingerprint != self.callback_fingerprint
        )
        return is_doubtful or chance > self._config.revisit_chance

    def _is_drawn(self, url_id: int) -> bool:
        """Tell whether the URL of that id is asked for in this pass whatever is known of it, or its server says."""
        draw: int = mmh3.hash64(f"due {self._pass.number} {url_id}", self._salt, signed=False)[0]
        return draw < self._config.explore * (1 << 64)

    def ask_gone_again(self, keys: Iterable[int | None]) -> None:
        """Let URLs be asked for once more that were found gone, and that a page which changed leads to.

        *keys* are theirs; ``None`` where a URL has none.
        """
        if not self.is_on:
            return
        for known in self._store.urls.find([key for key in keys if key is not None]).values():
            history = self._store.revisits.of(known.id) if known.state is State.DONE else None
            if history is not None and history.absences >= MAX_ABSENCES and known.id not in self._met:
                self._met.add(known.id)
                self._store.urls.renew([(history.url, 0.0, history.payload)])

    def ask_wanted(self, url_id: int) -> bool:
        """Let the URL of that id, which was asked for and that a person wants, be asked for next; tell whether it is.

        One that brought a page is not, but for a page that only an earlier pass saw or that is away.
        """
        history = self._store.revisits.of(url_id)
        is_old = history is not None and (history.misses > 0 or history.checked_at < self._pass.began_at)
        if self._store.pages.has_page(url_id) and not (self.is_on and is_old):
            return False
        return self._store.urls.renew([(url_id, URGENT, history.payload if history is not None else None)]) > 0

    def ask_modified(self, urls: Iterable[tuple[int, float]]) -> int:
        """Let URLs be due that were modified since they were seen, as a sitemap says; return how many are.

        *urls* are pairs of key and time, in seconds since the epoch; one in the future says nothing.
        """
        times = {key: at for key, at in urls if at <= self.now()}
        due = []
        for key, known in self._store.urls.find(times).items():
            history = self._store.revisits.of(known.id) if known.state is State.DONE else None
            if history is not None and history.seen_at < times[key] and history.checked_at < self._pass.began_at:
                due.append((history.url, 1.0, history.payload))
        return self._store.urls.renew(due) if self.is_on else 0

    # How it is asked for

    def condition(self, url_id: int) -> Validators:
        """Return what the URL of that id is to be asked for with, if it changed; nothing: as if for the first time."""
        history = self.reusable(url_id)
        if history is None or history.misses or history.checked_at >= self._pass.began_at:
            return Validators()  # within a pass it is asked for again where its answer is doubted
        is_doubted = self._store.revisits.is_doubted(self._store.urls.row(url_id).host)
        return Validators() if is_doubted else Validators(history.etag, history.last_modified)

    # What the answer shows

    def note_led_on(self, url_id: int) -> None:
        """Take note that the page of that id led to a URL that no page before led to."""
        if self.is_on:
            if len(self._led) >= MAX_LED:
                self._led.clear()
            self._led.add(url_id)

    def is_known(self, url_id: int) -> bool:
        """Tell whether the URL of that id is asked for again, with the chance that it changed for a score."""
        return self.is_on and self._store.pages.has_page(url_id)

    def history_of(self, url_id: int) -> History | None:
        """Return what is known of the page of the URL of that id; ``None``: there was none."""
        return self._store.revisits.of(url_id) if self.is_known(url_id) else None

    def is_away(self, url_id: int, *, is_done: bool) -> bool:
        """Tell whether this visit to the URL of that id, or the last one where it is done, brought nothing.

        There may be a page all the same.
        """
        history = self._store.revisits.of(url_id) if is_done else None
        return url_id in self._failing or (history is not None and history.misses > 0)

    def note_failing(self, url_id: int) -> None:
        """Take note that there is an answer of the URL of that id, which is not settled yet, and no page."""
        self._failing.add(url_id)

    def settle(self, url_id: int, answer: Answer, payload: bytes | None) -> bool:
        """Take note of the *answer* to a request for the URL of that id, whose callback is through.

        Return whether it says anything but that the page is the one that was known.
        """
        before = None if self._store.urls.is_first(url_id) else self._store.revisits.of(url_id)
        has_led = url_id in self._led
        self._led.discard(url_id)
        self._failing.discard(url_id)
        if before is None:
            if payload is not None and len(payload) > MAX_PAYLOAD:
                return True
            before = History(url_id, payload)
        elif answer.is_cached:
            return True
        if answer.status == NOT_MODIFIED:
            self._not_modified(before, answer)
        elif answer.content is not None:
            self._seen(before, answer, has_led=has_led)
        else:
            self._missed(before, answer)
        if self.is_on:
            self._passes.keep()
        return answer.content is None or answer.content != before.content

    def is_stale_url(self, url: str) -> bool:
        """Tell what :meth:`is_stale` does, of the page at *url*."""
        known = self._store.urls.known(self._key(url)) if self.is_on else None
        return known is not None and self.is_stale(known.id)

    def is_stale(self, url_id: int) -> bool:
        """Tell whether a page may have changed since it was seen; if so, it is asked for now."""
        history = self._store.revisits.of(url_id) if self.is_on else None
        if history is None or history.checked_at >= self._pass.began_at or history.misses >= MAX_MISSES:
            return False
        self._store.urls.renew([(history.url, URGENT, history.payload)])
        return True

    def _not_modified(self, before: History, answer: Answer) -> None:
        if not answer.is_conditional:
            self._missed(before, answer)  # nobody asked
            self._passes.doubt(self._host_of(before))
            return
        self._store.revisits.enter(histories.after_not_modified(before, self.now()))
        self._passes.count_believed(before, 1)
        promised, told = before.etag, answer.validators.etag
        if promised is not None and told is not None and not is_same_etag(promised, told):
            self._passes.doubt(self._host_of(before))  # it is about something else
        elif self._store.revisits.is_doubted(host := self._host_of(before)):
            self._passes.take_back_later(host)  # it was asked before the host was doubted
        elif self._is_drawn(before.url):
            self._passes.count("tested", 1)
            self._pass.tested.append(before.url)

    def _seen(self, before: History, answer: Answer, *, has_led: bool) -> None:
        is_first = before.content is None
        is_other = not is_first and answer.content != before.content
        is_test = before.believed > 0 and before.checked_at >= self._pass.began_at
        if is_test:  # what it was told a moment ago is forgotten
            self._passes.count_believed(before, -1)
            before = histories.without_not_modified(before)
        is_changed = not is_first and (is_other or has_led or before.gone_at is not None)
        self._store.revisits.enter(histories.after_page(before, answer, self.now(), is_changed=is_changed))
        if not is_first:
            self._passes.count("changed" if is_changed else "unchanged", 1)
        # The server said a moment ago, or says by its ETag and date, that the page did not change.
        if is_other and (is_test or Validators(before.etag, before.last_modified).promise(answer.validators)):
            self._passes.doubt(self._host_of(before))

    def _missed(self, before: History, answer: Answer) -> None:
        is_gone = answer.status in GONE
        self._store.revisits.enter(histories.after_miss(before, self.now(), is_gone=is_gone))
        if before.visits:
            self._passes.count("gone" if is_gone else "failed", 1)

    def _host_of(self, history: History) -> str:
        return self._store.urls.row(history.url).host

    # The end of a pass

    def end(self) -> None:
        """Take note that nothing is left to ask for: the next run begins a pass."""
        if not self.is_on or self._pass.is_over:
            return
        self._passes.end()
