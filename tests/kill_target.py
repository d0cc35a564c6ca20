"""A crawl that kills itself: ``kill_target.py JOB LOG KILL_AT [SPIDER]``.

The web has 200 pages; every URL that is asked for is appended to LOG at once. At the KILL_AT-th one (0: never) the
process kills itself as ``kill -9`` does.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys

from scrapy import FormRequest, Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from web import REPLICA, page, web_settings

from scrapy_replica import TopicSpider

PAGES = 200
CONCURRENT_REQUESTS = 8
CRAWLERS = []
NUMBERS = itertools.count(1)


def links_of(number: int) -> list[int]:
    """Three children each, and links to pages known before."""
    return [n for n in (3 * number + 1, 3 * number + 2, 3 * number + 3, number // 2, number // 3) if n < PAGES]


def url_of(number: int) -> str:
    return f"http://h{number % 7}.example/{number}"


class Everything(Spider):
    """Uses all that a request can carry; each item holds what came back."""

    name = "everything"

    async def start(self):
        yield Request(url_of(0), self.parse_page, cb_kwargs={"path": [0]}, meta={"mark": "m0"})

    def parse_page(self, response, path):
        self.note("page", response, path, response.meta["mark"])
        for link in links_of(path[-1]):
            yield Request(url_of(link), self.parse_page, cb_kwargs={"path": [*path, link]}, meta={"mark": f"m{link}"})
        if path[-1] % 10 == 1:
            form = {"n": str(path[-1])}
            yield FormRequest("http://form.example/", formdata=form, callback=self.parse_form, errback=self.failed)
        if path[-1] == 5:
            yield Request("http://form.example/again", self.parse_again, dont_filter=True, priority=-1)
            yield Request("http://form.example/again", self.parse_again, dont_filter=True, priority=-1)

    def parse_form(self, response):
        self.note("form", response, response.request.body.decode(), response.request.method)

    def parse_again(self, response):
        self.note("again", response, None, response.request.dont_filter)

    def failed(self, failure):
        raise AssertionError

    def note(self, kind, response, what, more):
        log([kind, response.url, what, more])


def log(entry: object) -> None:
    os.write(LOG, json.dumps(entry).encode() + b"\n")


def web(request):
    number = next(NUMBERS)
    log(["fetch", request.url, request.body.decode(), None])
    if number == KILL_AT:
        log(["kill", "", len(CRAWLERS[0].engine._slot.scheduler._leases._requests), None])
        os.kill(os.getpid(), signal.SIGKILL)
    name = request.url.rpartition("/")[2]
    return page(map(url_of, links_of(int(name))) if name.isdigit() else (), seed=(request.url, request.body))


def main() -> None:
    settings = {
        **web_settings(web, []),
        **REPLICA,
        "JOBDIR": sys.argv[1],
        "CONCURRENT_REQUESTS": CONCURRENT_REQUESTS,
        "REMOTE_CONTROL_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "CLOSESPIDER_PAGECOUNT": int(os.environ.get("CLOSE_AT", "0")),
    }
    process = AsyncCrawlerProcess(settings)
    spider = TopicSpider if sys.argv[4] == "topic" else Everything
    CRAWLERS.append(process.create_crawler(spider))
    process.crawl(CRAWLERS[0], **({"seeds": url_of(0)} if spider is TopicSpider else {}))
    process.start()


if __name__ == "__main__":
    KILL_AT = int(sys.argv[3])
    LOG = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    main()
