"""The pages of a chunk as HTML that says exactly the terms and links that the archive has of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.generation.text import added
from scrapy_replica.generation.web import Chunk, Web, mixed
from scrapy_replica.numeric import IntArray

SENTENCE = 9
"""Words of a sentence, besides those that are no terms."""
WORDS_A_LINK = 14
"""Words from which on a text takes one link in; the links beyond stand in a list."""
_HEAD = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{0}</title>\n</head>\n<body>\n'
_TAIL = '</div>\n<div class="footer"><hr></div>\n</body>\n</html>\n'


def pages_of(web: Web, chunk: Chunk, urls: Sequence[str]) -> Iterator[bytes]:
    """Yield the HTML of the pages of *chunk*; *urls* are those of all pages of the web."""
    words, starts = _words(web, chunk)
    texts = web.vocabulary.anchors
    targets, anchors = chunk.links.targets.tolist(), chunk.links.anchors.tolist()
    links, titles = chunk.links.start.tolist(), chunk.titles.tolist()
    shared = web.navigation(np.arange(chunk.first, chunk.stop)).tolist()
    for row, url in enumerate(chunk.urls):
        host = url[: url.index("/", 8)]
        found = []
        for place in range(links[row], links[row + 1]):
            href = urls[targets[place]]
            href = href[len(host) :] if href.startswith(host + "/") else href
            found.append(f'<a href="{href.replace("&", "&amp;")}">{texts[anchors[place]]}</a>')
        yield _page(texts[titles[row]], found[: shared[row]], found[shared[row] :], words[starts[row] : starts[row + 1]])


def _page(title: str, navigation: list[str], links: list[str], words: list[str]) -> bytes:
    parts = [_HEAD.format(title)]
    if navigation:
        parts.append('<div class="nav"><ul>\n<li>' + "</li>\n<li>".join(navigation) + "</li>\n</ul></div>\n")
    parts.append(f'<div class="content">\n<h1>{title}</h1>\n')
    room = len(words) // WORDS_A_LINK
    parts.append(_prose(words, links[:room]))
    if links[room:]:
        parts.append("<ul>\n<li>" + "</li>\n<li>".join(links[room:]) + "</li>\n</ul>\n")
    parts.append(_TAIL)
    return "".join(parts).encode()


def _prose(words: list[str], links: list[str]) -> str:
    """Sentences of words, each with a link as long as there are any, three to a paragraph."""
    parts = []
    for number, first in enumerate(range(0, len(words), SENTENCE)):
        said = words[first : first + SENTENCE]
        link = f" with {links[number]}" if number < len(links) else ""
        begin = "</p>\n<p>" if number and number % 3 == 0 else ""
        parts.append(f"{begin}The {' '.join(said[:4])} of the {' '.join(said[4:])}{link}.")
    return "<p>" + " ".join(parts) + "</p>\n" if parts else ""


def _words(web: Web, chunk: Chunk) -> tuple[list[str], IntArray]:
    """The words of each page that are neither title nor anchor, in an order that copies share with their source."""
    n, rows, links = chunk.stop - chunk.first, chunk.rows, chunk.links
    shown = np.concatenate([links.anchors, chunk.titles])
    row = np.concatenate([np.repeat(np.arange(n), np.diff(links.start)), np.arange(n)])
    row, word = np.repeat(row, 2), web.vocabulary.anchor_words[shown].reshape(-1)
    row, word = row[word >= 0], word[word >= 0]
    of_row = np.concatenate([np.repeat(np.arange(n), np.diff(rows.start)), row])
    counts = np.concatenate([rows.counts.astype(np.int64), np.full(len(row), -1)])
    left = added(n, of_row, np.concatenate([rows.ids, word]), counts)
    repeated = np.repeat(np.arange(len(left.ids)), left.counts)
    page = np.repeat(np.arange(n), np.diff(left.start))[repeated]
    # The place of a word goes by source, word and how many of it came before.
    nth = np.arange(len(repeated)) - np.repeat(np.cumsum(left.counts.astype(np.int64)) - left.counts, left.counts)
    source = web.plan.source[chunk.first : chunk.stop].astype(np.int64)
    place = mixed((source[page] << 24) ^ (left.ids[repeated].astype(np.int64) << 6) ^ nth, web.plan.seed)
    order = np.lexsort((place, page))
    vocabulary = web.words
    starts = np.searchsorted(page[order], np.arange(n + 1))
    found: NDArray[np.object_] = vocabulary[left.ids[repeated[order]]]
    return found.tolist(), starts
