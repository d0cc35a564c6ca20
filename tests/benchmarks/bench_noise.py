"""Main text and terms of real pages, already parsed, and the whole record of a page."""

from __future__ import annotations

import io
import statistics
import tarfile
import time

import lxml.html
import pytest
from lxml import etree

from scrapy_replica.pages import extractor
from scrapy_replica.pages.noise import texts
from scrapy_replica.pages.page import page_from_tree
from scrapy_replica.pages.terms import terms

ROUNDS = 3


def page_trees(shared, folder=""):
    zstandard = pytest.importorskip("zstandard")
    with (shared / "content" / "content.tar.zst").open("rb") as packed:
        stream = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(packed).read())
    trees = []
    with tarfile.open(fileobj=stream) as archive:
        for member in archive:
            if member.name.endswith(".html") and member.size and folder in f"/{member.name}":
                body = archive.extractfile(member).read().decode("utf-8", "replace").encode()
                parser = lxml.html.HTMLParser(recover=True, encoding="utf8", huge_tree=True)
                trees.append(lxml.html.document_fromstring(body, parser=parser))
    return trees


def cpu_ms(function, trees):
    """Return the CPU time of *function* on each tree, the median of the rounds."""
    rounds = []
    for _ in range(ROUNDS):
        times = []
        for tree in trees:
            start = time.process_time()
            function(tree)
            times.append(1e3 * (time.process_time() - start))
        rounds.append(times)
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


@pytest.mark.shared
def test_extractors_beside_parsing(shared, capsys):
    """CPU time by turns on the same pages, as much as possible under the same load: the ratios mean something."""
    bodies = [etree.tostring(tree, method="html") for tree in page_trees(shared, "/cleaneval/html/")[::15]]
    runs = {"learned": extractor.texts, "cetd": texts}
    times = {name: [] for name in ("parsing", *runs)}
    for body in bodies:
        own = {name: [] for name in times}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                start = time.process_time()
                tree = lxml.html.document_fromstring(body, parser=lxml.html.HTMLParser(encoding="utf8"))
                parsed = time.process_time()
                run(tree)
                own["parsing"].append(parsed - start)
                own[name].append(time.process_time() - parsed)
        for name, some in own.items():
            times[name].append(1e3 * statistics.median(some))
    medians = {name: statistics.median(some) for name, some in times.items()}
    with capsys.disabled():
        for name, value in medians.items():
            print(f"\n  {name}: median {value:.2f} ms, {value / medians['parsing']:.1f} times parsing", end="")


@pytest.mark.shared
def test_main_text_and_terms(shared, capsys):
    trees = page_trees(shared)
    functions = {
        "main text and terms (targets: median 2, p95 10)": lambda tree: terms(texts(tree).main),
        "the whole page record": lambda tree: page_from_tree(tree, "http://www.example.com/a/b.html"),
    }
    with capsys.disabled():
        print(f"\n{len(trees):,} pages, parsed before, CPU time a page")
        for name, function in functions.items():
            times = sorted(cpu_ms(function, trees))
            p95 = times[int(0.95 * len(times))]
            print(f"  {name}: median {statistics.median(times):.2f} ms, p95 {p95:.2f} ms, largest {times[-1]:.0f} ms")
