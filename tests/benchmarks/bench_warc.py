"""What it costs to keep what is fetched: CPU time a page with WARC files and without, in turns."""

from __future__ import annotations

import asyncio
import gzip
import time
from functools import cache
from statistics import median

from web import HTML, REPLICA, crawl, page

from scrapy_replica import TopicSpider

PAGES, WORDS, ROUNDS = 300, 1_000, 6
"""Words of a page: some 9 kB, sent compressed, as most servers do."""


@cache
def body(number):
    links = [f"/{n}" for n in (2 * number + 1, 2 * number + 2) if n < PAGES]
    return gzip.compress(page(links, seed=number, words=WORDS).encode(), mtime=0)


def web(request):
    return 200, {**HTML, "Content-Encoding": "gzip"}, body(int(request.url.rpartition("/")[2]))


def cpu_ms(settings):
    before = time.process_time()
    result = asyncio.run(crawl(TopicSpider, web, {**REPLICA, **settings}, seeds="http://a.example/0"))
    assert len(result.items) == PAGES
    return 1000 * (time.process_time() - before) / PAGES


def test_cost_of_warc_files(tmp_path):
    cpu_ms({})
    pairs = [(cpu_ms({}), cpu_ms({"REPLICA_WARC": tmp_path / str(n)})) for n in range(ROUNDS)]
    more = median(kept - plain for plain, kept in pairs)
    plain = median(plain for plain, _ in pairs)
    print(f"\n{plain:.2f} ms a page without, {more:.2f} ms more with ({more / plain:.1%})")
