"""How long a page of very many links keeps the event loop from other work, beside Scrapy's link extractor on it."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

sys.path.insert(0, str(Path(__file__).parents[1]))
from web import REPLICA, crawl, text

from scrapy_replica import TopicSpider

URL = "http://site.example/"


def page_of(links: int) -> str:
    items = "".join(f'<li><a href="/part/{number}.html">part {number}</a></li>' for number in range(links))
    return f"<html><body><p>{text('links', 200)}</p><ul>{items}</ul></body></html>"


@pytest.mark.asyncio
@pytest.mark.parametrize(("links", "wanted"), [(16_000, 0.1), (100_000, 0.3)])
async def test_longest_turn(links, wanted, monkeypatch, capsys, figures):
    page, turns, run = page_of(links), [], asyncio.Handle._run

    def timed(handle):
        begun = time.thread_time()
        run(handle)
        turns.append(time.thread_time() - begun)

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    await crawl(TopicSpider, {URL: page}, {**REPLICA, "CLOSESPIDER_PAGECOUNT": 1}, seeds=URL)
    begun = time.thread_time()
    LinkExtractor().extract_links(HtmlResponse(URL, body=page.encode(), encoding="utf-8"))
    plain = time.thread_time() - begun
    figures.add(f"a turn of {links:,} links; LinkExtractor", max(turns), "s", f"{wanted} s", peer=plain)
