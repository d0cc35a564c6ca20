"""A slow crawl of two hosts that are alike but for a quarter of their words, ``control_target.py JOB``."""

from __future__ import annotations

import sys

from scrapy.crawler import AsyncCrawlerProcess
from test_live_replicas import seeds, site
from web import REPLICA, web_settings

from scrapy_replica import TopicSpider

MARKUP = "<img src=x onerror=document.title='broken'>"

if __name__ == "__main__":
    one = site("http://a.example", "w", n=200, title=MARKUP)
    other = site("http://b.example", "w", n=200, edit=0.25, title=MARKUP)
    settings = {**web_settings(one | other, []), **REPLICA, "JOBDIR": sys.argv[1], "DOWNLOAD_DELAY": 0.2}
    settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = 1
    process = AsyncCrawlerProcess({**settings, "TELNETCONSOLE_ENABLED": False})
    process.crawl(TopicSpider, seeds=seeds(one, other))
    process.start()
