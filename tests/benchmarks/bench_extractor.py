"""Milliseconds a page, parsing included, of the extractor beside CETD and trafilatura; growth with page size."""

from __future__ import annotations

import time
from statistics import median

import pytest

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


def test_beside_peers():
    pytest.importorskip("trafilatura")
    page = page_of(40_000)
    found = {name: milliseconds(run, page) for name, run in extractors(["learned", "cetd", "trafilatura"]).items()}
    for name, value in found.items():
        print(f"{name}: {value:.2f} ms, {value / found['learned']:.1f} times learned")


def test_growth():
    for size in (50_000, 500_000, 5_000_000):
        page = page_of(size)
        print(f"{size:>9} bytes: {1e6 * milliseconds(lambda html: texts(parse(html)), page) / size:.1f} ns a byte")
