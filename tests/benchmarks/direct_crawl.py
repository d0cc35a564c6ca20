"""A crawl of the generated web without Scrapy's engine and without HTML: what the add-on itself costs, page by page.

The calls are those of the scheduler and the observer, in their order; requests in flight are as many as Scrapy has.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import mmh3
from bench_million import DUPLICATES, PHRASES, WORDS, GeneratedWeb, mixed, number_of, rss_mb, settings_of
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter

from scrapy_replica import TopicSpider
from scrapy_replica.address import host_of
from scrapy_replica.components.fingerprinter import UrlFingerprints
from scrapy_replica.components.garbage import LongLived
from scrapy_replica.components.payloads import RequestPayloads
from scrapy_replica.components.topic import Examples
from scrapy_replica.config import Config
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawldb.contract import NewUrl, UrlRow
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import FETCH
from scrapy_replica.pages.terms import terms
from scrapy_replica.records import Link, Page
from scrapy_replica.sites.aliases import Aliases

IN_FLIGHT, OF_SLOT = 16, 8
"""Scrapy's ``CONCURRENT_REQUESTS`` and ``CONCURRENT_REQUESTS_PER_DOMAIN``."""
ORDERS_SECONDS = 0.5

stem = cache(terms)


class PageRecords(GeneratedWeb):
    """The pages that :meth:`GeneratedWeb.html` shows, as the records that the add-on makes of them."""

    def page(self, url: str) -> Page:
        number = number_of(url)
        content = number - (mixed(number) % DUPLICATES == 0 and number > 0)
        phrase = PHRASES[mixed(content // 100) % 10 == 0]
        chosen = [phrase[mixed(content, i) % len(phrase)] for i in range(8)]
        text = f"{content} {'. '.join(chosen)}."
        counts: Counter[str] = Counter()
        for words in chosen:
            counts.update(stem(words))
        return Page(
            url,
            host_of(url),
            title=str(content),
            text=text,
            terms=counts,
            words=65,
            signature=mmh3.hash_bytes(text.lower().encode()),
            simhash=mixed(content),
            links=tuple(
                Link(self.url(link, number), WORDS[link % len(WORDS)], place)
                for place, link in enumerate(self.links(number))
            ),
        )


class Turns:
    """What the turns of the crawl took, in all and the longest of each page, and how much of that was what."""

    def __init__(self) -> None:
        self._of_pages: list[tuple[float, float]] = []
        self._parts: Counter[str] = Counter()
        self._longest: dict[str, float] = {}
        self._of_longest: dict[str, float] = {}
        self._totals: Counter[str] = Counter()
        gc.callbacks.append(self._collected)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_begun = time.thread_time()
        else:
            self._parts[f"gc{info['generation']}"] += time.thread_time() - self._gc_begun

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        begun = time.thread_time()
        yield
        self._parts[name] += time.thread_time() - begun

    @contextmanager
    def turn(self) -> Iterator[None]:
        self._parts.clear()
        begun, begun_cpu = time.perf_counter(), time.thread_time()
        yield
        cpu, wall = time.thread_time() - begun_cpu, time.perf_counter() - begun
        self._of_pages.append((wall, cpu))
        self._totals.update(self._parts)
        for name, took in self._parts.items():
            self._longest[name] = max(took, self._longest.get(name, 0))
        if cpu > self._of_longest.get("cpu", 0):
            self._of_longest = {"cpu": cpu, "wall": wall, **self._parts}

    def figures(self) -> dict[str, Any]:
        """Return the figures since the last call, in ms."""
        wall, cpu = (sorted(took) for took in zip(*self._of_pages, strict=True))
        pages = len(wall)
        most = int(0.999 * (pages - 1))
        found = {
            "cpu_ms": 1e3 * sum(cpu) / pages,
            "pages_s": pages / sum(wall),
            "stall": 1e3 * wall[-1],
            "stall_p999": 1e3 * wall[most],
            "stall_cpu": 1e3 * cpu[-1],
            "stall_cpu_p999": 1e3 * cpu[most],
            "mean_ms": {name: round(1e3 * took / pages, 3) for name, took in self._totals.items()},
            "longest_ms": {name: round(1e3 * took, 1) for name, took in self._longest.items()},
            "longest_turn_ms": {name: round(1e3 * took, 1) for name, took in self._of_longest.items()},
        }
        self._of_pages, self._longest, self._of_longest = [], {}, {}
        self._totals.clear()
        return found


class DirectCrawl:
    """Drives a :class:`Crawl` on the job folder of *options*."""

    def __init__(self, options: argparse.Namespace) -> None:
        settings = Settings(settings_of(options))
        self._web = PageRecords(options.hosts, options.known)
        config = Config.from_settings(settings)
        counts: Counter[str] = Counter()
        store = SqliteCrawlDB(options.job / "job", TopicSpider.name)
        self.crawl = Crawl(
            config,
            store,
            key=UrlFingerprints(RequestFingerprinter()).of_url,
            now=time.time,
            aliases=Aliases({}),
            payloads=RequestPayloads(is_stored=True, url_of=store.urls.url_of, counts=counts),
            counts=counts,
        )
        self.crawl.probes.may_enter = True
        if config.topic is not None:
            self.crawl.runner.relevance.learn(Examples(config).model)
        self._in_flight: deque[UrlRow] = deque()
        self._of_slot: Counter[str] = Counter()
        self._looked = time.monotonic()
        self._enter_seed()

    def _enter_seed(self) -> None:
        url = self._web.url(0)
        self.crawl.frontier.enter([(NewUrl(url, host_of(url), self.crawl.frontier.key(url)), FETCH)])

    def _fill(self, turns: Turns) -> None:
        """Take URLs until as many are in flight as may be."""
        urls = self.crawl.store.urls
        while len(self._in_flight) < IN_FLIGHT:
            with turns.part("take"):
                taken = self.crawl.take()
            if taken is None:
                break
            self._in_flight.append(taken)
            self._of_slot[taken.slot] += 1
            if self._of_slot[taken.slot] == OF_SLOT:
                urls.hold(taken.slot)

    def _finish(self, taken: UrlRow, turns: Turns) -> None:
        crawl = self.crawl
        self._of_slot[taken.slot] -= 1
        crawl.store.urls.release(taken.slot)
        crawl.store.urls.finish([taken.id])
        with turns.part("commit"):
            crawl.store.commit()

    def run(self, pages: int, turns: Turns, on_page: Callable[[int], None]) -> None:
        self._fill(turns)
        for done in range(1, pages + 1):
            taken = self._in_flight.popleft()
            page = self._web.page(taken.url) if self._web.has(taken.url) else None
            with turns.turn():
                self._answer(taken, page, turns)
                self._finish(taken, turns)
                self._fill(turns)
                while not self._in_flight:
                    self._fill(turns)
                self._obey(turns)
            on_page(done)

    def _answer(self, taken: UrlRow, page: Page | None, turns: Turns) -> None:
        """Do what the observer does with the response: that of *page*, or 404."""
        crawl = self.crawl
        with crawl.store.span():
            crawl.learn_anew()
        with crawl.store.span():
            if page is None:
                crawl.fetches.observe_failure(taken.id, 404, None)
                return
            with turns.part("observe"):
                observation = crawl.fetches.observe(page, taken.id, taken.depth)
            with turns.part("follow"):
                crawl.outlinks.follow(observation, page.links)
        crawl.fetches.end_callback(observation)

    def _obey(self, turns: Turns) -> None:
        if time.monotonic() - self._looked > ORDERS_SECONDS:
            with turns.part("orders"):
                self.crawl.obey()
            self._looked = time.monotonic()

    def close(self) -> None:
        self.crawl.store.close()


def run_directly(options: argparse.Namespace) -> None:
    """Crawl so many pages and close the job; print a line of JSON for every *every* pages."""
    (options.job / "job").mkdir(parents=True, exist_ok=True)
    before = rss_mb()
    direct = DirectCrawl(options)
    turns = Turns()
    LongLived().open()

    def record(pages: int) -> None:
        if pages % options.every:
            return
        line = {
            "pages": pages,
            "rss_mb": rss_mb(),
            "job_mb": sum(file.stat().st_size for file in (options.job / "job").glob("*")) / 1e6,
            "waiting": direct.crawl.store.urls.waiting,
            "tracked": len(gc.get_objects()),
            **turns.figures(),
        }
        rounded = {name: round(value, 2) if isinstance(value, float) else value for name, value in line.items()}
        print(json.dumps(rounded), flush=True)

    direct.run(options.pages, turns, record)
    counts, waiting = direct.crawl.counts, direct.crawl.store.urls.waiting
    begun = time.monotonic()
    direct.close()
    figures = {"first_request_s": 0.0, "before_mb": round(before, 1), "rss_mb": round(rss_mb(), 1)}
    decisions = {name.partition("/")[2]: n for name, n in counts.items() if name.startswith("decision/")}
    closed = {"close_s": round(time.monotonic() - begun, 2), "waiting": waiting, "decisions": decisions}
    print(json.dumps({**figures, **closed, "counts": counts}))
