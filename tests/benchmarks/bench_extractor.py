"""The extractor beside CETD and trafilatura: milliseconds a page, parsing included, growth with size, and Markdown."""

from __future__ import annotations

import random
import re
import time
from statistics import median
from urllib.parse import urlsplit

import pytest

from scrapy_replica import extract
from scrapy_replica.lab.pages.noise import extractors
from scrapy_replica.lab.training.train_extractor import parse
from scrapy_replica.pages.extractor import texts

PARAGRAPH = "<p>The committee met on Tuesday and agreed, <a href=/x>after a long debate</a>, to publish it.</p>"
ITEM = "<li class=menu-item><a href=/section>A section</a></li>"
ROUNDS = 5


def page_of(size: int) -> bytes:
    unit = f"<div class=entry><ul>{ITEM * 5}</ul>{PARAGRAPH * 8}</div>"
    return f"<html><body>{unit * (size // len(unit) + 1)}</body></html>".encode()


def milliseconds(run, page: bytes) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run(page)
        times.append((time.process_time() - start) * 1000)
    return median(times)


def test_beside_peers(figures):
    pytest.importorskip("trafilatura")
    page = page_of(40_000)
    found = {name: milliseconds(run, page) for name, run in extractors(["learned", "cetd", "trafilatura"]).items()}
    for name, value in found.items():
        print(f"{name}: {value:.2f} ms, {value / found['learned']:.1f} times learned")
    figures.add("main text of 40 kB; trafilatura", found["learned"], "ms", ".125 x", peer=found["trafilatura"])


def test_growth():
    for size in (50_000, 500_000, 5_000_000):
        page = page_of(size)
        print(f"{size:>9} bytes: {1e6 * milliseconds(lambda html: texts(parse(html)), page) / size:.1f} ns a byte")


MARKS = {
    "headings": r"^#{1,6} ",
    "list items": r"^\s*(?:[-*]|\d+\.) ",
    "links": r"\]\(",
    "rows": r"^\|(?!\s*-)",
    "words": r"\w+",
}


@pytest.mark.shared
def test_markdown_of_ten_pages(shared):
    """Of ten hosts drawn at random, a page with tables or code each."""
    trafilatura, fastwarc = pytest.importorskip("trafilatura"), pytest.importorskip("fastwarc")
    of_host: dict[str, list[str]] = {}
    with (shared / "web" / "campus.warc.gz").open("rb") as stream:
        for record in fastwarc.ArchiveIterator(stream, record_types=fastwarc.WarcRecordType.response, parse_http=True):
            body = record.reader.read() if record.http_headers.status_code == 200 else b""
            if re.search(rb"<(?:table|pre)\b", body):
                url = record.headers["WARC-Target-URI"]
                of_host.setdefault(urlsplit(url).netloc, []).append((url, body.decode("utf-8", "replace")))
    draw = random.Random(1)
    drawn = [draw.choice(of_host[host]) for host in draw.sample(sorted(of_host), 10)]
    told = {
        "extract": [extract(html, url=url).markdown for url, html in drawn],
        "trafilatura": [
            trafilatura.extract(html, output_format="markdown", include_links=True, include_formatting=True) or ""
            for _, html in drawn
        ],
    }
    for name, texts_ in told.items():
        counts = {kind: sum(len(re.findall(mark, one, re.MULTILINE)) for one in texts_) for kind, mark in MARKS.items()}
        print(name, trafilatura.__version__ if name == "trafilatura" else "", counts, "empty:", texts_.count(""))
