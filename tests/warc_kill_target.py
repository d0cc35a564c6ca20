"""A crawl that kills itself: ``warc_kill_target.py FOLDER KILL_AT``, at the KILL_AT-th request (0: never)."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path

from scrapy.crawler import AsyncCrawlerProcess
from web import REPLICA, page, web_settings

from scrapy_replica import TopicSpider

FOLDER, KILL_AT = Path(sys.argv[1]), int(sys.argv[2])
NUMBERS = itertools.count(1)


def web(request):
    if next(NUMBERS) == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)
    number = int(request.url.rpartition("/")[2])
    links = [f"http://h{n % 7}.example/{n}" for n in (2 * number + 1, 2 * number + 2) if n < 100]
    return page(links, seed=number)


process = AsyncCrawlerProcess(
    {
        **web_settings(web, []),
        **REPLICA,
        "JOBDIR": str(FOLDER / "job"),
        "REPLICA_WARC": str(FOLDER / "warc"),
        "FEEDS": {str(FOLDER / "items.csv"): {"format": "csv"}},
        "REMOTE_CONTROL_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(TopicSpider, seeds="http://h0.example/0")
process.start()
