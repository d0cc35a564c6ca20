"""One job that is killed again and again: ``kills_target.py JOB ITEMS KILLS SEED``; prints how many kills hit.

Every run is a fork of this process, which spares it the imports. Without KILLS the job runs once, by plain Scrapy.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import time

from scrapy import FormRequest, Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from web import REPLICA, page, redirect, web_settings

LONGEST = 0.5
"""Seconds after which a kill by time comes at the latest; a run of the whole job takes longer."""
MOST_REQUESTS = 30
"""Requests after which a kill by number comes at the latest."""
NUMBERS = itertools.count(1)


def links_of(number: int) -> list[int]:
    return [n for n in (3 * number + 1, 3 * number + 2, 3 * number + 3, number // 2, number // 3) if n < PAGES]


def url_of(number: int) -> str:
    return f"http://h{number % 7}.example/{number}"


def number_of(url: str) -> int:
    return int(url.rpartition("/")[2])


class ManySided(Spider):
    """Uses all that a request can carry that can be stored, and says whether it came back."""

    name = "many-sided"

    async def start(self):
        yield self.ask(0, dont_filter=True)

    def ask(self, number, kind=Request, **more):
        callback = self.parse_later if number % 2 else self.parse_now
        meta, kwargs = {"box": [number, (1, b"2")]}, {"number": number}
        return kind(url_of(number), callback, meta=meta, cb_kwargs=kwargs, priority=number % 3 - 1, **more)

    def parse_now(self, response, number):
        yield from self.outputs(response, number)

    async def parse_later(self, response, number):
        for output in self.outputs(response, number):
            yield output

    def outputs(self, response, number):
        origin = response.meta.get("redirect_urls", [response.url])[0]
        is_whole = number == number_of(origin) and list(map(str, response.meta["box"])) == [str(number), "(1, b'2')"]
        request = response.request
        yield {"url": response.url, "method": request.method, "body": request.body.decode(), "is_whole": is_whole}
        if request.method == "POST":
            return
        here = number_of(response.url)
        yield from map(self.ask, links_of(here))
        if here % 5 == 1:
            yield self.ask(here // 2, FormRequest, formdata={"n": str(here)})
        if here % 11 == 7:
            yield Request(f"{url_of(here)}0000", self.parse_leaf, errback=self.failed, dont_filter=True)
        if here % 13 == 6:
            raise RuntimeError

    def parse_leaf(self, response):
        yield {"leaf": response.url}

    def failed(self, failure):
        raise AssertionError


class ItemLog:
    """A pipeline whose items outlive the process."""

    def process_item(self, item):
        os.write(ITEMS, json.dumps(item, sort_keys=True).encode() + b"\n")
        return item


def web(request):
    if next(NUMBERS) == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)
    number = number_of(request.url)
    if number % 17 == 3 and request.method == "GET" and number < PAGES:
        return redirect(url_of(number + 1))
    return page(map(url_of, links_of(number)), seed=(request.url, request.body))


def crawl(addon: bool) -> None:
    job = {**REPLICA, "JOBDIR": sys.argv[1]} if addon else {}
    settings = {
        **web_settings(web, []),
        **job,
        "CONCURRENT_REQUESTS": 8,
        "CONCURRENT_ITEMS": 8,
        "ITEM_PIPELINES": {ItemLog: 1},
        "LOG_LEVEL": "CRITICAL",
        "REMOTE_CONTROL_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
    process = AsyncCrawlerProcess(settings)
    process.crawl(ManySided)
    process.start()


def run(kill_at: int = 0, kill_after: float = 0.0, *, addon: bool = True) -> int:
    """Crawl in a fork, killed at a request or after some seconds; return its status."""
    global KILL_AT  # noqa: PLW0603 - the fork's own
    KILL_AT = kill_at
    child = os.fork()
    if not child:
        crawl(addon)
        os._exit(0)
    if kill_after:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    if not KILLS:
        sys.exit(run(addon=False))
    lots = random.Random(sys.argv[4])
    by_number = [(lots.randint(1, MOST_REQUESTS), 0.0) for _ in range(KILLS // 2)]
    by_time = [(0, lots.uniform(0.001, LONGEST)) for _ in range(KILLS - len(by_number))]
    kills = [*by_number, *by_time]
    lots.shuffle(kills)
    print(sum(run(*kill) == -signal.SIGKILL for kill in kills), flush=True)
    sys.exit(run())


PAGES = 600
if __name__ == "__main__":
    KILL_AT, KILLS = 0, int(sys.argv[3])
    PAGES = int(os.environ["PAGES"])
    ITEMS = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    main()
