"""A crawl of a site and its copy that kills itself: ``replica_kill_target.py JOB KILL_AT``."""

from __future__ import annotations

import itertools
import os
import signal
import sys

from scrapy.crawler import AsyncCrawlerProcess
from test_live_replicas import ALL, seeds, site
from web import web_settings

from scrapy_replica import TopicSpider

SITES = site("http://a.example", "w", 80), site("http://b.example", "w", 80)
PAGES = {url: page for pages in SITES for url, page in pages.items()}
NUMBERS = itertools.count(1)


def web(request):
    if next(NUMBERS) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return PAGES[request.url]


if __name__ == "__main__":
    settings = {**web_settings(web, []), **ALL, "JOBDIR": sys.argv[1], "TELNETCONSOLE_ENABLED": False}
    process = AsyncCrawlerProcess(settings)
    process.crawl(TopicSpider, seeds=seeds(*SITES))
    process.start()
