"""Made-up text: which directories are called, real ones and babble of them by the order of the chain.

``pytest tests/benchmarks/bench_made_up.py -s -o python_files='bench_*.py'``: eight minutes. ``FORTUNES=FOLDER`` names
the files of the Debian packages ``fortunes`` and ``fortunes-min``: pages of twelve sayings each, of nothing in common.
``TEXTS=FOLDER`` has more directories: ``NAME.LANGUAGE/*.txt``, a file for each page, a line for each paragraph.
"""

from __future__ import annotations

import os
import random
import re
from collections import defaultdict
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from lxml.html import document_fromstring
from pyarrow import parquet as pq

from scrapy_replica.crawl.urls.chains import odds_ratio
from scrapy_replica.crawl.urls.made_up import (
    LONG,
    LONG_ORDER,
    ORDERS,
    TELLING,
    TELLING_LONG,
    WINDOW,
    adaptation,
    is_long_chain,
    is_made_up,
    packed_stems,
)
from scrapy_replica.pages.page import page_from_tree
from scrapy_replica.pages.terms import terms
from scrapy_replica.records import Page
from scrapy_replica.warc.archive import Archive

MOST = 400
"""Pages of one directory."""
WORDS = 300
"""Of a page of babble."""


def flowing(text):
    """Return *text* of short lines with a line for each paragraph."""
    return "\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text))


def place_of(url):
    parts = url.partition("?")[0].split("/", 4)
    return "/".join(parts[2:4] if len(parts) > 4 else parts[2:3])


def directories(shared):
    """Return the pages of real directories: (text, language) each."""
    found = defaultdict(list)
    columns = pq.read_table(shared / "focus" / "uci.parquet", columns=["url", "text"]).to_pydict()
    for url, text in zip(columns["url"], columns["text"], strict=True):
        found[place_of(url)].append((text or "", "en"))
    for name, part in (("focus/mdn_archived", 6), ("focus/emacswiki", 5)):
        columns = pq.read_table(shared / f"{name}.parquet", columns=["url", "text"]).to_pydict()
        for url, text in zip(columns["url"], columns["text"], strict=True):
            found[f"{name}/{'/'.join(url.split('/')[4:part])[:40]}"].append((text or "", "en"))
    columns = pq.read_table(shared / "text" / "webkb.parquet", columns=["label", "text"]).to_pydict()
    for label, text in zip(columns["label"], columns["text"], strict=True):
        found[f"webkb/{label}"].append((flowing(text or ""), "en"))
    columns = pq.read_table(shared / "text" / "20news_bydate.parquet", columns=["newsgroup", "text"]).to_pydict()
    for group, text in zip(columns["newsgroup"], columns["text"], strict=True):
        found[f"news/{group}"].append((flowing(text), "en"))
    for warc in [shared / "web" / "campus.warc.gz", *sorted((shared / "replicas" / "warc").glob("*.gz"))]:
        for record in Archive([warc]).records():
            pages = found[f"captured {place_of(record.url)}"]
            kind = {name.lower(): value for name, value in record.headers}.get(b"content-type", b"")
            if record.status == 200 and b"html" in kind and record.body.strip() and len(pages) < MOST // 2:
                page = page_from_tree(document_fromstring(record.body), record.url)
                pages.append((page.text, page.language or "en"))
    for file in sorted(Path(os.environ.get("FORTUNES", "/usr/share/games/fortunes")).glob("[a-z]*[a-z]")):
        if not file.suffix:
            said = [" ".join(one.split()) for one in file.read_text(encoding="utf-8", errors="replace").split("\n%\n")]
            found[f"sayings {file.name}"] = [("\n".join(said[n : n + 12]), "en") for n in range(0, len(said), 12)]
    for folder in sorted(Path(os.environ["TEXTS"]).iterdir()) if "TEXTS" in os.environ else ():
        language = folder.suffix[1:]
        found[f"texts {folder.stem}"] = [(file.read_text("utf-8"), language) for file in sorted(folder.glob("*.txt"))]
    return {name: [*dict.fromkeys(one for one in pages if len(one[0]) > 500)][:MOST] for name, pages in found.items()}


def measured(pages):
    """Return what is measured of the *pages* that are prose."""
    made = (Page(url="", host="", text=text, language=lang, terms=terms(text, lang)) for text, lang in pages)
    return [stems for page in made if (stems := packed_stems(page, "en")) is not None]


def chain(texts, order):
    followers = defaultdict(list)
    for text in texts:
        words = text.split()
        for place in range(len(words) - order):
            followers[tuple(words[place : place + order])].append(words[place + order])
    return dict(followers)


def babble(followers, begins, order, draw, n_words):
    said = []
    while len(said) < n_words:
        said += (
            [draw.choice(followers[tuple(said[-order:])])] if tuple(said[-order:]) in followers else draw.choice(begins)
        )
    return " ".join(said)


def row(name, groups, n, measure):
    """Print what is measured of windows of *n* pages, and how many are called."""
    windows = [pages[first : first + n] for pages in groups for first in range(0, len(pages) - n + 1, n)]
    told = [value for pages in windows if (value := measure(pages)) is not None]
    called = sum(map(is_long_chain if n >= LONG else is_made_up, windows))
    print(
        f"{name:<34}{n:>4}{len(told):>8}{min(told):>9.3f}{np.median(told):>9.3f}{max(told):>9.3f}{called:>8}/{len(windows)}"
    )
    return called


def in_paragraphs(pages):
    """Return their adaptation, of two windows a hundred words on."""
    flowing = [page if page.is_flowing else page._replace(packed=page.packed[:0]) for page in pages]
    return adaptation(flowing, is_apart=len(pages) > WINDOW)


def chain_of(order):
    """Return what returns the odds ratio of pages, where enough tells of it."""

    def measure(pages):
        ratio, tells = odds_ratio([page.sequence for page in pages], order)
        return ratio if tells >= (TELLING_LONG if order == LONG_ORDER else TELLING) else None

    return measure


@pytest.mark.shared
def test_which_directories_are_called(shared):
    real = directories(shared)
    begun = process_time()
    stems = {name: measured(pages) for name, pages in real.items() if len(pages) >= WINDOW}
    n_pages = sum(map(len, stems.values()))
    print(
        f"\n{len(stems)} directories, {n_pages} pages of prose, {1e6 * (process_time() - begun) / n_pages:.0f} us each"
    )
    print(f"{'':<34}{'':>4}{'windows':>8}{'least':>9}{'median':>9}{'most':>9}{'called':>8}")
    for n in (WINDOW, 2 * WINDOW):
        assert row("real", stems.values(), n, in_paragraphs) == 0
    for order in ORDERS:
        row(f"real, odds of order {order}", stems.values(), 2 * WINDOW, chain_of(order))
    for n in (LONG, 2 * LONG):
        assert row(f"real, odds of order {LONG_ORDER}", stems.values(), n, chain_of(LONG_ORDER)) == 0
    draw = random.Random(1)
    english = [[text for text, lang in pages if lang == "en"] for pages in real.values()]
    english = [texts for texts in english if len(texts) >= 2 * WINDOW]
    everything = [text for texts in english for text in texts[:60]]
    sources = [draw.choice(english) for _ in range(12)]
    sources += [draw.sample(everything, size) for size in (80,) * 6 + (600,) * 6 + (3_000,) * 2]
    for order in (1, 2, 3):
        for n_parts, told in ((1, "one paragraph"), (3, "three paragraphs"), (12, "lines")):
            groups = []
            for texts in sources:
                followers = chain(texts, order)
                begins = [*followers]
                shortest = 12 if n_parts > 3 else 60
                longest = 2 * WORDS // n_parts - shortest
                most = 2 * LONG if n_parts > 3 and order == LONG_ORDER else 2 * WINDOW
                lengths = [[draw.randint(shortest, longest) for _ in range(n_parts)] for _ in range(most + most // 4)]
                lengths = [one if n_parts > 1 else [WORDS] for one in lengths]
                pages = ["\n".join(babble(followers, begins, order, draw, k) for k in one) for one in lengths]
                groups.append(measured([(text, "en") for text in pages])[:most])
            if n_parts > 3:
                for n in (LONG, 2 * LONG) if order == LONG_ORDER else (2 * WINDOW,):
                    row(f"order {order}, {told}, odds", groups, n, chain_of(order))
            else:
                for n in (WINDOW, 2 * WINDOW):
                    row(f"order {order}, {told}", groups, n, in_paragraphs)
