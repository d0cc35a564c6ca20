"""A crawl of two hosts that are alike but for a quarter of their words: ``control_target.py JOB [DELAY PAGES]``."""

from __future__ import annotations

import sys
from html import escape

from scrapy.crawler import AsyncCrawlerProcess
from test_live_replicas import seeds, site
from web import REPLICA, web_settings

from scrapy_replica import TopicSpider

MARKUP = "<img src=x onerror=document.title='broken'>"

if __name__ == "__main__":
    job, delay, pages = sys.argv[1:] if len(sys.argv) == 4 else (sys.argv[1], "0.4", "200")
    one = site("http://a.example", "w", n=int(pages), title=escape(MARKUP))
    other = site("http://b.example", "w", n=int(pages), edit=0.25, title=escape(MARKUP))
    settings = {**web_settings(one | other, []), **REPLICA, "JOBDIR": job, "DOWNLOAD_DELAY": float(delay)}
    settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = 1
    process = AsyncCrawlerProcess({**settings, "TELNETCONSOLE_ENABLED": False})
    process.crawl(TopicSpider, seeds=seeds(one, other))
    process.start()
