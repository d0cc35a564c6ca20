"""A long crawl of a generated web: memory, speed, stalls and the opening of its job, as the crawl grows.

``make bench`` crawls 100,000 pages. A million, with a topic (about an hour and 10 GB of disk):
``python tests/benchmarks/bench_million.py --pages 1000000 --hosts 10000 --strategy link-aware --topic``; with
``--direct`` without Scrapy's engine and without HTML, and only the opening at the end through Scrapy.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse

from scrapy_replica import Addon, TopicSpider

PAGES, HOSTS, KNOWN = 100_000, 10_000, 10
LINKS = 20
SUBSITE_DEPTH = 3
"""Levels of the tree that stay on one host."""
OWN_HOST = 7
"""Of ten new links so many stay on the page's host, except at the bottom of a subsite."""
DUPLICATES = 20
"""One page of so many repeats its neighbour."""
REPLICAS = 50
"""One host of so many is a copy of the one before it; a link names either."""
STALLS = ("stall", "stall_p999", "stall_cpu", "stall_cpu_p999")  # ms
SYLLABLES = [a + b for a in ("ba", "de", "ki", "lo", "mu", "ne", "pa", "ru") for b in ("ran", "sti", "vol", "gem")]
WORDS = [a + b for a in SYLLABLES for b in ("ter", "ning", "sa", "lo", "mik", "der", "pon", "est")]
TOPICAL = WORDS[:32]


def mixed(*numbers: int) -> int:
    """64 bits that depend on *numbers* alone, as good as random (splitmix64)."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) % (1 << 64)
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % (1 << 64)
        state ^= state >> 31
    return state


def phrases(words: list[str], n: int) -> list[str]:
    return [" ".join(words[mixed(i, word) % len(words)] for word in range(8)) for i in range(n)]


PHRASES = {True: phrases(TOPICAL, 256), False: phrases(WORDS, 4096)}


def number_of(url: str) -> int:
    """Return the number of the page at *url*."""
    return int(url.rpartition("/")[2].partition(".")[0])


class GeneratedWeb:
    """A tree without end, *known* children a page; whatever a page shows follows from its number alone.

    Of its 20 links *known* lead to its children, new to the crawl, and the others to pages found before.
    """

    def __init__(self, hosts: int, known: int) -> None:
        self._hosts, self._known = hosts, known
        self._place_of = lru_cache(10_000)(self._place)

    def _place(self, number: int) -> tuple[int, int]:
        """Return (depth, host) of a page."""
        if not number:
            return 0, 0
        depth, host = self._place_of((number - 1) // self._known)
        is_own = 10 * ((number - 1) % self._known) < OWN_HOST * self._known
        if (depth + 1) % SUBSITE_DEPTH == 0 or not is_own:
            host = mixed(number) % self._hosts
        return depth + 1, host

    def url(self, number: int, asked_by: int = 0) -> str:
        """Return the URL of a page; on a replica where the page that links to it says so."""
        host = self._place_of(number)[1]
        if host % REPLICAS == 0 and mixed(number, asked_by) % 2:
            host += 1  # the copy of this host
        return f"http://h{host}.example/{number % 40}/{number}.html"

    def has(self, url: str) -> bool:
        """Tell whether there is a page at *url*: on its own host, or the copy of that."""
        host = self._place_of(number_of(url))[1]
        served = {f"h{host}.example"} | ({f"h{host + 1}.example"} if host % REPLICAS == 0 else set())
        return url.split("/", 3)[2] in served

    def links(self, number: int) -> list[int]:
        children = range(self._known * number + 1, self._known * (number + 1) + 1)
        parent = max(0, number - 1) // self._known
        siblings = [self._known * parent + 1 + (number + step) % self._known for step in range(1, 7)]
        before = [parent, *siblings][: LINKS - self._known]
        far = (mixed(number, i) % (number + 1) for i in range(LINKS - self._known - len(before)))
        return [*children, *before, *far]

    def html(self, url: str) -> bytes:
        number = number_of(url)
        content = number - (mixed(number) % DUPLICATES == 0 and number > 0)
        phrase = PHRASES[mixed(content // 100) % 10 == 0]
        text = ". ".join(phrase[mixed(content, i) % len(phrase)] for i in range(8))
        anchors = "".join(
            f'<li><a href="{self.url(link, number)}">{WORDS[link % len(WORDS)]}</a></li>' for link in self.links(number)
        )
        title = f"<title>{content}</title>"
        return f"<html><head>{title}</head><body><p>{content} {text}.</p><ul>{anchors}</ul></body></html>".encode()


class GeneratedHandler(BaseDownloadHandler):
    """Answers every request from the generated web of the settings; notes when the first one came."""

    lazy = False
    first: float | None = None

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self._web = GeneratedWeb(*crawler.settings["GENERATED_WEB"])

    async def download_request(self, request: Any) -> Any:
        if GeneratedHandler.first is None:
            GeneratedHandler.first = time.monotonic()
        await asyncio.sleep(0)
        is_there = self._web.has(request.url)
        body, status = (self._web.html(request.url), 200) if is_there else (b"", 404)
        return HtmlResponse(request.url, status=status, body=body, encoding="utf-8", request=request)

    async def close(self) -> None:
        pass


class Stalls:
    """The longest turn of the event loop during each page: what another task would have waited.

    By the clock, which counts what other processes did meanwhile, and by the processor time of the thread, which does
    not count waiting for the disk.
    """

    def __init__(self) -> None:
        self._longest = self._longest_cpu = 0.0
        self._of_pages: list[tuple[float, float]] = []
        run, clock, cpu = asyncio.Handle._run, time.perf_counter, time.thread_time

        def timed(handle: asyncio.Handle) -> None:
            begun, begun_cpu = clock(), cpu()
            run(handle)
            self._longest = max(self._longest, clock() - begun)
            self._longest_cpu = max(self._longest_cpu, cpu() - begun_cpu)

        asyncio.Handle._run = timed

    def page(self) -> None:
        self._of_pages.append((self._longest, self._longest_cpu))
        self._longest = self._longest_cpu = 0.0

    def figures(self) -> dict[str, float]:
        """Return the longest and the 99.9th percentile over the pages since the last call, in ms."""
        wall, cpu = (sorted(1e3 * stall for stall in stalls) for stalls in zip(*self._of_pages, strict=True))
        self._of_pages = []
        most = int(0.999 * (len(wall) - 1))
        return {"stall": wall[-1], "stall_p999": wall[most], "stall_cpu": cpu[-1], "stall_cpu_p999": cpu[most]}


class Recorder:
    """Writes a line of JSON for every *every* pages, and closes the spider after *pages*."""

    def __init__(self, crawler: Any, job: Path, pages: int, every: int) -> None:
        self._crawler, self._job, self._limit, self._every = crawler, job, pages, every
        self.pages = 0
        self._stalls = Stalls()
        self._wall, self._cpu = time.monotonic(), time.process_time()
        crawler.signals.connect(self._received, signals.response_received)

    def _received(self) -> None:
        self.pages += 1
        self._stalls.page()
        if self.pages % self._every == 0:
            self._record()
        if self.pages == self._limit:
            self._closing = asyncio.ensure_future(self._crawler.engine.close_spider_async(reason="pages"))

    def _record(self) -> None:
        wall, cpu = time.monotonic(), time.process_time()
        line = {
            "pages": self.pages,
            "rss_mb": rss_mb(),
            "pages_s": self._every / (wall - self._wall),
            "cpu_ms": 1e3 * (cpu - self._cpu) / self._every,
            "job_mb": sum(file.stat().st_size for file in self._job.glob("*") if file.is_file()) / 1e6,
            **self._stalls.figures(),
        }
        print(json.dumps({name: round(value, 2) for name, value in line.items()}), flush=True)
        self._wall, self._cpu = time.monotonic(), time.process_time()


def rss_mb() -> float:
    with open("/proc/self/statm") as statm:  # noqa: PTH123
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    off = ("RETRY", "REDIRECT", "COOKIES", "COMPRESSION", "HTTPPROXY", "REFERER", "TELNETCONSOLE", "REMOTE_CONTROL")
    topic = {"REPLICA_TOPIC": str(write_topic(options.job))} if options.topic else {}
    return {
        **{f"{name}_ENABLED": False for name in off},
        "ADDONS": {Addon: 500},
        "REPLICA_STRATEGY": options.strategy,
        "DOWNLOAD_HANDLERS": {"http": GeneratedHandler, "https": None, "ftp": None},
        "GENERATED_WEB": (options.hosts, options.known),
        "JOBDIR": str(options.job / "job"),
        "CONCURRENT_ITEMS": 4,
        "LOG_LEVEL": "ERROR",
        "LOGSTATS_INTERVAL": 0,
        "MEMUSAGE_ENABLED": False,
        **topic,
    }


def write_topic(folder: Path) -> Path:
    """Write 20 examples of the topic."""
    topic = folder / "topic"
    topic.mkdir(parents=True, exist_ok=True)
    for i in range(20):
        (topic / f"{i}.txt").write_text(". ".join(PHRASES[True][8 * i : 8 * i + 8]))
    return topic


def crawl(options: argparse.Namespace) -> None:
    """Crawl so many pages more of the job, in this process."""
    begun = time.monotonic()
    process = AsyncCrawlerProcess(settings_of(options))
    crawler = process.create_crawler(TopicSpider)
    recorder = Recorder(crawler, options.job / "job", options.pages, options.every)
    process.crawl(crawler, seeds=GeneratedWeb(options.hosts, options.known).url(0))
    process.start()
    assert recorder.pages
    assert GeneratedHandler.first is not None
    stats = crawler.stats.get_stats()
    decisions = {name.split("/", 2)[2]: n for name, n in stats.items() if name.startswith("replica/decision/")}
    figures = {"first_request_s": round(GeneratedHandler.first - begun, 2), "rss_mb": round(rss_mb(), 1)}
    waiting = stats.get("replica/frontier/waiting", 0)
    print(json.dumps({**figures, "waiting": waiting, "decisions": decisions, "reason": stats.get("finish_reason")}))


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("--pages", type=int, default=PAGES)
    found.add_argument("--hosts", type=int, default=HOSTS)
    found.add_argument("--known", type=int, default=KNOWN, help="URLs known for each page fetched, at most 20")
    found.add_argument("--strategy", default="breadth-first")
    found.add_argument("--topic", action="store_true", help="a tenth of the pages is on it")
    found.add_argument("--every", type=int, default=10_000, help="pages between two lines of the table")
    found.add_argument("--job", type=Path, help="folder to keep; a temporary one otherwise")
    found.add_argument("--direct", action="store_true", help="without Scrapy's engine and without HTML")
    found.add_argument("--here", action="store_true", help="one crawl in this process, without table and reopening")
    return found


def lines_of(options: argparse.Namespace, pages: int, *, is_direct: bool = False) -> Any:
    """Crawl in a process of its own; yield the lines that it prints."""
    names = ("hosts", "known", "strategy", "every", "job")
    arguments = [f"--{name}={getattr(options, name)}" for name in names]
    arguments += ["--topic"] * options.topic + ["--direct"] * is_direct
    command = [sys.executable, __file__, "--here", f"--pages={pages}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    assert process.returncode == 0


def status_seconds(job: Path) -> float:
    """Return what the command takes to tell of the *job*, the start of Python included."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "scrapy", "replica", "status", str(job), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Crawl, close, open again; print a table and return the figures."""
    columns = ("pages", "rss_mb", "pages_s", "cpu_ms", "job_mb", *STALLS)
    print("".join(f"{column:>15}" for column in columns))
    figures: dict[str, Any] = {"rows": []}
    for line in lines_of(options, options.pages, is_direct=options.direct):
        if "first_request_s" in line:
            figures["crawl"] = line
            continue
        figures["rows"].append(line)
        print("".join(f"{line[column]:15,.1f}" for column in columns), flush=True)
    figures["status_s"] = status_seconds(options.job / "job")
    figures["reopened"] = list(lines_of(options, 100))[-1]
    print(f"  waiting when closed: {figures['crawl']['waiting']:,}; decisions: {figures['crawl']['decisions']}")
    print(f"  scrapy replica status: {figures['status_s']:.1f} s")
    reopened = figures["reopened"]
    print(f"  opened again: first request after {reopened['first_request_s']:.1f} s, {reopened['rss_mb']:,.0f} MB")
    return figures


def run(options: argparse.Namespace) -> dict[str, Any]:
    is_kept = options.job is not None
    options.job = options.job or Path(tempfile.mkdtemp())
    try:
        figures = measure(options)
        print(json.dumps({"cpus": os.cpu_count(), **figures}))
        return figures
    finally:
        if not is_kept:
            shutil.rmtree(options.job)


def test_a_long_crawl(capsys, figures):
    with capsys.disabled():
        print(f"\na crawl of {PAGES:,} pages and {KNOWN * PAGES:,} known URLs on {HOSTS:,} hosts")
        found = run(parser().parse_args([]))
    last = found["rows"][-1]
    figures.add(f"{PAGES:,} pages: memory", last["rss_mb"], "MB", "700 MB")
    figures.add("their last 10,000: 99.9th percentile", last["stall_cpu_p999"], "ms", "20 ms")
    figures.add("and longest turn", last["stall_cpu"], "ms", "100 ms")
    figures.add("opened again, to the first request", found["reopened"]["first_request_s"], "s", "10 s")


if __name__ == "__main__":
    chosen = parser().parse_args()
    if chosen.here and chosen.direct:
        from direct_crawl import run_directly

        run_directly(chosen)
    elif chosen.here:
        crawl(chosen)
    else:
        run(chosen)
