"""One process of a crawl: ``processes_target.py SPIDER SETTINGS [ARGUMENTS]``, the last two as JSON.

SPIDER is ``topic``, or one of the spiders here. ``ADDON`` in the settings: ``false`` leaves the add-on out.
"""

from __future__ import annotations

import json
import sys

from scrapy import FormRequest, Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor

from scrapy_replica import Addon, TopicSpider


class Ordinary(Spider):
    """Uses all that a request can carry and that is plain data."""

    name = "ordinary"

    def __init__(self, seeds: str = "", **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.start_urls = seeds.split()
        self._links = LinkExtractor()

    def parse(self, response, depth=0, form=None):
        yield {
            "url": response.url,
            "method": response.request.method,
            "box": response.meta.get("box"),
            "form": form,
            "asked by": (response.request.headers.get("X-Asked-By") or b"").decode(),
        }
        if response.request.method == "POST":
            return
        number = int(response.url.rpartition("/")[2] or 0)
        for link in self._links.extract_links(response):
            target = int(link.url.rpartition("/")[2] or 0)
            box = {"number": target, "list": [target, None, {"half": target / 2}], "text": "ä"}
            headers = {"X-Asked-By": "me"} if target % 3 == 0 else None
            callback = self.parse_async if target % 2 else self.parse
            yield Request(link.url, callback, meta={"box": box}, headers=headers, errback=self.failed)
        if number % 7 == 1:
            data = {"n": str(number), "ä": "ö"}
            yield FormRequest(response.urljoin("form"), self.parse, formdata=data, cb_kwargs={"form": data})
            yield Request(
                response.urljoin("binary"),
                self.parse,
                method="POST",
                body=bytes([255, 0, number % 256]),
                meta={"box": 1},
            )
        if number % 11 == 5:
            raise RuntimeError("a callback that raises")

    async def parse_async(self, response, form=None):
        for output in self.parse(response, form=form):
            yield output

    def failed(self, failure):
        yield {"failed": failure.request.url, "why": failure.value.response.status}


class Unshareable(Spider):
    """Yields requests that no other process could have."""

    name = "unshareable"

    def __init__(self, seeds: str = "", **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.start_urls = seeds.split()

    def parse(self, response):
        yield {"url": response.url}
        yield Request(response.urljoin("tuple"), meta={"item": {"a": (1, 2)}})
        yield Request(response.urljoin("object"), cb_kwargs={"loader": object()})
        yield Request(response.urljoin("lambda"), lambda response: None)
        yield Request(response.urljoin("good"), self.parse_good, meta={"item": {"a": [1, 2]}})

    def parse_good(self, response):
        yield {"url": response.url}


SPIDERS = {"topic": TopicSpider, "ordinary": Ordinary, "unshareable": Unshareable}


def main() -> None:
    settings = json.loads(sys.argv[2])
    offline = {"REMOTE_CONTROL_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False}
    addons = {Addon: 500} if settings.pop("ADDON", True) else {}
    process = AsyncCrawlerProcess({**offline, "LOG_LEVEL": "WARNING", "ADDONS": addons, **settings})
    crawler = process.create_crawler(SPIDERS[sys.argv[1]])
    task = process.crawl(crawler, **json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})
    process.start()
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        sys.exit(f"ERROR: {error}")
    stats = {key: value for key, value in crawler.stats.get_stats().items() if isinstance(value, (int, float, str))}
    print(json.dumps(stats), flush=True)


if __name__ == "__main__":
    main()
