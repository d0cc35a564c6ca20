"""A slow crawl of two hosts, ``slow_target.py JOB``: 400 pages each, one request at a time."""

from __future__ import annotations

import sys

from replica_sites import text_of
from scrapy.crawler import AsyncCrawlerProcess
from test_live_replicas import ALL, html
from web import web_settings

from scrapy_replica import TopicSpider

LINKS = [f"http://{host}/{number}" for number in range(400) for host in ("a.example", "b.example")]


def web(request):
    return html(text_of(request.url), LINKS if request.url == "http://portal.example/" else ())


if __name__ == "__main__":
    settings = {**web_settings(web, []), **ALL, "JOBDIR": sys.argv[1], "DOWNLOAD_DELAY": 1}
    process = AsyncCrawlerProcess({**settings, "TELNETCONSOLE_ENABLED": False})
    process.crawl(TopicSpider, seeds="http://portal.example/")
    process.start()
