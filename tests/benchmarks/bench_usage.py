"""What it costs a page to read what its site says may be done with it, and to keep that."""

from __future__ import annotations

import statistics

import pytest
from bench_noise import cpu_ms, page_trees
from lxml import etree
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from scrapy_replica.components.usage import UsageStatements
from scrapy_replica.pages.page import page_from_tree
from scrapy_replica.usage import RobotsUsage, to_json, uses

URL = "http://www.example.com/a/b.html"
SAYING = b"""User-agent: *
Content-Signal: search=yes,ai-train=no
Content-Usage: train-ai=n
Content-Usage: /x/ train-ai=y
"""


class Parser:
    def __init__(self, robots):
        self.usage = RobotsUsage(robots)


def responses(trees):
    for tree in trees:
        request = Request(URL, headers={"User-Agent": "Scrapy/2.19 (+https://scrapy.org)"})
        response = HtmlResponse(URL, request=request, body=etree.tostring(tree, method="html"), encoding="utf-8")
        assert response.selector.root is not None  # parsed before
        yield response


def record(page):
    return page_from_tree(page.selector.root, URL)


@pytest.mark.shared
def test_statements(shared, capsys):
    pages = list(responses(page_trees(shared, "/cleaneval/html/")))
    with capsys.disabled():
        print(f"\n{len(pages):,} pages, parsed before, CPU time a page")
        for name, robots, headers in (
            ("a site that says nothing", b"User-agent: *\nDisallow: /x\n", {}),
            ("one that says what it can", SAYING, {"X-Robots-Tag": "noai, noimageai", "Content-Usage": "train-ai=n"}),
        ):
            statements = UsageStatements(Settings({"ROBOTSTXT_OBEY": True}))
            statements.add_robots(Parser(robots), Request(URL))
            for page in pages:
                page.headers.update(headers)

            def read(page, statements=statements):
                said = statements.of(page)
                return uses(said), to_json(said)

            shares = zip(cpu_ms(read, pages), cpu_ms(record, pages), strict=True)
            share = 100 * statistics.median(own / whole for own, whole in shares)
            times = sorted(1e3 * ms for ms in cpu_ms(read, pages))
            size = statistics.mean(len(read(page)[1]) for page in pages)
            p95 = times[int(0.95 * len(times))]
            print(f"  {name}: median {statistics.median(times):.0f} us, p95 {p95:.0f} us", end="")
            print(f", {share:.1f} % of the page record; {size:.0f} bytes in the job")
