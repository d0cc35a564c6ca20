"""A slow crawl of two hosts, ``slow_target.py JOB``: 400 pages each, one request at a time."""

from __future__ import annotations

import sys

from scrapy.crawler import AsyncCrawlerProcess
from web import REPLICA, page, web_settings

from scrapy_replica import TopicSpider

LINKS = [f"http://{host}/{number}" for number in range(400) for host in ("a.example", "b.example")]


def web(request):
    return page(LINKS if request.url == "http://portal.example/" else (), seed=request.url)


if __name__ == "__main__":
    settings = {**web_settings(web, []), **REPLICA, "REPLICA_EXPLORE": 0, "JOBDIR": sys.argv[1], "DOWNLOAD_DELAY": 1}
    settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = 1
    process = AsyncCrawlerProcess({**settings, "TELNETCONSOLE_ENABLED": False})
    process.crawl(TopicSpider, seeds="http://portal.example/")
    process.start()
