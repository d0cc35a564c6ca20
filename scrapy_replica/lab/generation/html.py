"""The pages of a web as HTML that says exactly the terms and links that the archive has of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from scrapy_replica.lab.generation.text import Rows, added
from scrapy_replica.lab.generation.web import Chunk, Web, mixed
from scrapy_replica.numeric import IntArray

_END = "\n"
_BEHIND = ("", "", " of the", "", " and", "", "", _END, "", " for", "")
"""What stands behind words: words that are no terms, and the end of a sentence."""
_HEAD = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{0}</title>\n</head>\n<body>\n'
_TAIL = '</div>\n<div class="footer"><hr></div>\n</body>\n</html>\n'


class Renderer:
    """Makes HTML of the chunks of *web*; holds the URLs of all its pages."""

    def __init__(self, web: Web) -> None:
        self._web, self._titles = web, web.vocabulary.anchors
        self._urls = [url for hosts in web.parts() for url in web.addresses.urls(hosts)]
        # What stands behind a word does not depend on those around it: a word more changes a text in one place.
        said = [word + _BEHIND[number * 7 % len(_BEHIND)] for number, word in enumerate(web.vocabulary.words)]
        self._said = np.array(said, dtype=object)

    def pages(self, chunk: Chunk) -> Iterator[bytes]:
        """Yield the pages of *chunk*."""
        start, words = self._words(chunk)
        shared = self._web.navigation(np.arange(chunk.first, chunk.stop)).tolist()
        links, titles = chunk.links.start.tolist(), chunk.titles.tolist()
        for row, url in enumerate(chunk.urls):
            found = self._links(chunk, url, range(links[row], links[row + 1]))
            text = " ".join(words[start[row] : start[row + 1]])
            yield _page(self._titles[titles[row]], found[: shared[row]], found[shared[row] :], text.split(_END))

    def _links(self, chunk: Chunk, url: str, places: range) -> list[str]:
        host, span, found = url[: url.index("/", 8) + 1], slice(places.start, places.stop), []
        targets, anchors = chunk.links.targets[span].tolist(), chunk.links.anchors[span].tolist()
        for target, anchor in zip(targets, anchors, strict=True):
            href = self._urls[target].replace("&", "&amp;")
            href = href[len(host) - 1 :] if href.startswith(host) else href
            found.append(f'<a href="{href}">{self._titles[anchor]}</a>')
        return found

    def _words(self, chunk: Chunk) -> tuple[IntArray, list[str]]:
        """The words of each page that are neither title nor anchor, in an order that copies share with their source."""
        left, n = self._untold(chunk), chunk.stop - chunk.first
        counts = left.counts.astype(np.int64)
        repeated = np.repeat(np.arange(len(counts)), counts)
        page, nth = np.repeat(np.arange(n), np.diff(left.start))[repeated], np.arange(len(repeated))
        nth -= np.repeat(np.cumsum(counts) - counts, counts)
        source = self._web.plan.source[chunk.first : chunk.stop].astype(np.int64)[page]
        place = mixed((source << 24) ^ (left.ids[repeated].astype(np.int64) << 6) ^ nth, self._web.plan.seed)
        order = np.lexsort((place, page))
        said: list[str] = self._said[left.ids[repeated[order]]].tolist()
        return np.searchsorted(page, np.arange(n + 1)), said

    def _untold(self, chunk: Chunk) -> Rows:
        """The terms of *chunk* less those that title and anchors say."""
        n, rows, links = chunk.stop - chunk.first, chunk.rows, chunk.links
        row = np.concatenate([np.repeat(np.arange(n), np.diff(links.start)), np.arange(n)])
        word = self._web.vocabulary.anchor_words[np.concatenate([links.anchors, chunk.titles])]
        row, word = np.repeat(row, 2)[word.reshape(-1) >= 0], word[word >= 0]
        of_row = np.concatenate([np.repeat(np.arange(n), np.diff(rows.start)), row])
        counts = np.concatenate([rows.counts.astype(np.int64), np.full(len(row), -1)])
        return added(n, of_row, np.concatenate([rows.ids, word]), counts)


def _page(title: str, navigation: Sequence[str], links: Sequence[str], sentences: Sequence[str]) -> bytes:
    parts = [_HEAD.format(title)]
    if navigation:
        parts.append('<div class="nav"><ul>\n<li>' + "</li>\n<li>".join(navigation) + "</li>\n</ul></div>\n")
    parts.append(f'<div class="content">\n<h1>{title}</h1>\n')
    parts.append(_prose(sentences, links))
    if listed := links[len(sentences) :]:
        parts.append("<ul>\n<li>" + "</li>\n<li>".join(listed) + "</li>\n</ul>\n")
    parts.append(_TAIL)
    return "".join(parts).encode()


def _prose(sentences: Sequence[str], links: Sequence[str]) -> str:
    """Sentences, the first each with a link as long as there are any, three to a paragraph."""
    parts = []
    for number, said in enumerate(sentences):
        link = f" with {links[number]}" if number < len(links) else ""
        begin = "</p>\n<p>" if number and number % 3 == 0 else ""
        parts.append(f"{begin}The {said.strip()}{link}.")
    return "<p>" + " ".join(parts) + "</p>\n"
