"""Memory of what the crawl knows of hosts, URLs and pages, on a generated crawl: hosts in turn, as politeness has it.

``HOSTS``, ``PAGES`` and ``URLS`` (of each host) of the environment scale it.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import numpy as np

from scrapy_replica.config import Config
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.pages.duplicates import Duplicates
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawldb.contract import Found, NewUrl
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.records import Page

HOSTS, PAGES, URLS = (int(os.environ.get(name, n)) for name, n in (("HOSTS", 10_000), ("PAGES", 10), ("URLS", 100)))
FINGERPRINTS = 1_000_000
LEXICON = [f"word{number}" for number in range(5_000)]


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def url_of(host: int, number: int) -> str:
    """Most pages have a path of their own; a fifth are named alike on many hosts, a tenth come with a session id."""
    rng = random.Random(host * 1_000_003 + number)
    if number % 5 == 4:
        return f"http://h{host}.example/{rng.choice(('about', 'news', 'docs', 'team'))}/{rng.randrange(3_000)}.html"
    query = f"?sid={rng.randrange(10**6)}" if number % 10 == 3 else ""
    return f"http://h{host}.example/s{number % 7}/d{number % 31}/item-{host}-{number}.html{query}"


def page_of(host: int, number: int) -> Page:
    rng = random.Random(host * 7_000_003 + number)
    text = " ".join(rng.choices(LEXICON, k=100))
    return Page(
        url=url_of(host, number),
        host=f"h{host}.example",
        title=f"Item {number} of {host}",
        text=text,
        words=100,
        signature=rng.randbytes(16),
        simhash=rng.getrandbits(64),
    )


class Rooms:
    """The parts of a crawl that know hosts, URLs and pages."""

    def __init__(self, path: Path) -> None:
        self.db = SqliteCrawlDB(path)
        config = Config(mode="drop")
        self.duplicates = Duplicates(self.db.pages, config)
        self.guard = TrapGuard(config, self.db.pages, self.db.urls.url_of)
        self.replicas = Replicas(config, self.db, time.time, self.duplicates.index)
        self.rules = CrawlRules(config, self.db, time.time)
        self.dust = Dust(config, self.db, self.rules)

    def know(self, url: str, host: str) -> int:
        url_id, found = self.db.urls.discover([NewUrl(url, host, hash(url))])[0]
        if found is Found.NEW:
            self.replicas.add_url(url, host, None)
        return url_id

    def observe(self, page: Page, links: list[str]) -> None:
        for url in links:
            self.replicas.block_of(url, page.host)
            self.rules.hit(url, page.host)
            self.guard.rejection_of(url, page.host)
            self.know(url, page.host)
        url_id = self.know(page.url, page.host)
        novelty, twin = self.duplicates.find_twin(page, url_id, None)
        traces = self.replicas.traces_of(page)
        assert traces is not None
        row = Fetched(url_id, time.time(), 200, None, page.signature, page.simhash, page.words, page.title)
        mark, neighbours = traces
        self.db.pages.enter(row._replace(is_news=True, mark=mark.pack(), neighbours=neighbours.to_json()))
        self.guard.count(page.url, page.host, None, is_novel=True)
        self.replicas.observe(page, traces)
        self.duplicates.add(page)
        self.dust.observe(Observation(page, url_id, 0, 0.0, novelty, twin))
        self.db.urls.finish([url_id])
        self.db.commit()


def test_memory(tmp_path, capsys):
    before = resident_mb()
    rooms = Rooms(tmp_path)
    rooms.duplicates.index.extend(np.random.default_rng(7).integers(0, 2**64, FINGERPRINTS, dtype=np.uint64))
    lines = [f"index of {FINGERPRINTS:,} fingerprints: {resident_mb() - before:.0f} MB"]
    times = []
    for number in range(PAGES):
        start = time.process_time()
        for host in range(HOSTS):
            first = number * URLS // PAGES
            links = [url_of(host, other) for other in range(first, (number + 1) * URLS // PAGES)]
            begun = time.process_time()
            rooms.observe(page_of(host, number), links)
            times.append(time.process_time() - begun)
        candidates, seconds = rooms.replicas.detector.candidates, time.process_time() - start
        lines.append(
            f"{(number + 1) * HOSTS:,} pages: {resident_mb() - before:.0f} MB, {seconds / HOSTS * 1e3:.2f} ms a page;"
            f" lists {candidates.lists.n_entries:,}, pairs {len(candidates.pairs):,}, evidence of"
            f" {len(candidates.evidence):,} hosts, rules {len(rooms.rules.hosts):,}, guard {len(rooms.guard._hosts):,}"
        )
    ranked = np.sort(times) * 1e3
    lines.append(f"longest {ranked[-1]:.0f} ms, 99.9th percentile {np.quantile(ranked, 0.999):.1f} ms")
    rooms.db.close()
    start = time.process_time()
    rooms = Rooms(tmp_path)
    lines.append(f"opened in {time.process_time() - start:.2f} s")
    with capsys.disabled():
        print("", *lines, sep="\n")
