"""Hyperlinks of a page: which URLs it points to, in which words, from where."""

from __future__ import annotations

import codecs
import re
from functools import cache
from itertools import islice
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from lxml import etree
from w3lib.url import safe_url_string

from scrapy_replica.address import host_of
from scrapy_replica.pages.text_tree import INVISIBLE, hides
from scrapy_replica.records import Link

MAX_TEXT_CHARACTERS = 200
# A link around half a page (or a hostile nest of links) is not read to its end: 99 % have fewer than 10 events.
_MAX_EVENTS = 100
_LONGEST_HOST = 300
"""Characters of host and port. The DNS has none of more than 253, and to spell one of 600,000 in ASCII, so as to
find that out, takes a second."""

# What urljoin and safe_url_string return as it is, but for the fragment. Letters, digits and marks that need no
# quoting; no dot segments, empty segments, parameters or empty queries, which the standard functions treat specially.
_SEGMENT = r"(?:[A-Za-z0-9_~%-][A-Za-z0-9_~%.-]*)"
_TAIL = rf"{_SEGMENT}(?:/{_SEGMENT})*/?(?:\?[A-Za-z0-9_~%.=&/-]+)?"
_PLAIN_URL = re.compile(rf"https?://[a-z0-9](?:[a-z0-9.-]{{0,60}}[a-z0-9])?(?::[1-9]\d{{0,3}})?(?:/(?:{_TAIL})?)?")
_PLAIN_ROOTED = re.compile(rf"/{_TAIL}|/")
_PLAIN_RELATIVE = re.compile(rf"((?:\.\.?/)*)({_TAIL})")
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
_HTTP = frozenset({"http", "https"})
_WHITE_SPACE = " \t\n\r\f"
_MAY_HIDE = etree.XPath("//@hidden | //@style")
"""Of a page of 250 elements a third of what it takes to look for links below what is hidden."""


@cache
def _is_known(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
    except (LookupError, ValueError):
        return False
    return True


class Base:
    """The base URL of a page: makes the page's references absolute.

    The result of :meth:`absolute` is what ``scrapy.Request(urljoin(base, reference)).url`` gives, without fragment,
    at a fifth of its time.
    """

    def __init__(self, url: str, encoding: str = "utf-8") -> None:
        self._url, self._scheme = url, url.partition(":")[0].lower()
        self._encoding = encoding if _is_known(encoding) else "utf-8"
        self._directories: dict[str, str | None] = {}

    def absolute(self, reference: str) -> str | None:
        """Return the absolute http or https URL of *reference*; None for other schemes and what is no URL."""
        whole = reference.strip(_WHITE_SPACE)
        reference = whole.partition("#")[0]
        if reference.startswith("//"):
            reference = f"{self._scheme}:{reference}"
        if _PLAIN_URL.fullmatch(reference):
            return reference
        if _PLAIN_ROOTED.fullmatch(reference):
            directory = self._directory("/")
            return None if directory is None else directory + reference[1:]
        relative = _PLAIN_RELATIVE.fullmatch(reference)
        if relative:
            directory = self._directory(relative[1])
            return None if directory is None else directory + relative[2]
        return self._joined(whole)  # with its fragment, before which white space counts

    def _directory(self, prefix: str) -> str | None:
        """Return the URL of the directory that *prefix* (``/``, ``../``, ``./``, nothing) leads to, with its slash."""
        if prefix not in self._directories:
            place = self._own_directory(prefix)
            joined = self._joined(prefix + "x") if place is None else None
            self._directories[prefix] = place if joined is None else joined[:-1]
        return self._directories[prefix]

    def _own_directory(self, prefix: str) -> str | None:
        """Return where ``/`` or nothing leads to, which most references begin with; ``None`` where it takes a look."""
        host_end = self._url.find("/", 8)
        if prefix not in {"", "/"} or host_end < 0 or not _PLAIN_URL.fullmatch(self._url):
            return None
        return self._url[: (host_end if prefix else self._url.partition("?")[0].rindex("/")) + 1]

    def _joined(self, reference: str) -> str | None:
        scheme = _SCHEME.match(reference)
        if scheme and scheme[1].lower() not in _HTTP:
            return None
        try:
            url = urljoin(self._url, reference)
            if len(url) > _LONGEST_HOST and len(urlsplit(url).netloc.rpartition("@")[2]) > _LONGEST_HOST:
                return None
            url = safe_url_string(url, self._encoding)
        except ValueError:
            return None
        url = url.partition("#")[0]
        return url if url.startswith(("http://", "https://")) and host_of(url) else None


def page_links(root: etree._Element, base: Base) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
    """Return the http and https links (``a``, ``area``) of the page parsed as *root*: the first of each URL, and those
    after it that have other words.

    What the page hides counts too, and is shy, unless the page shows another link to the same URL. References that are
    empty, only a fragment or no URL are left out. Anchor texts are cut at :data:`MAX_TEXT_CHARACTERS`. Linear in the
    size of the page; the tree is not changed.
    """
    links: dict[str, Link] = {}
    others: dict[tuple[str, str], Link] = {}
    hidden = _hidden(root)
    for element in root.iter("a", "area"):
        reference = element.get("href")
        if not reference or reference[0] == "#":
            continue
        url = base.absolute(reference)
        if url is None:
            continue
        is_shy = element in hidden or "nofollow" in element.get("rel", "").lower()
        if url not in links:
            links[url] = Link(url, _anchor_text(element), len(links), is_shy)
            continue
        first = links[url]
        if first.is_shy and not is_shy:
            links[url] = first._replace(is_shy=False)
        if (text := _anchor_text(element)) != first.text:
            others[url, text] = first._replace(text=text)
    return tuple(links.values()), tuple(others.values())


def _hidden(root: etree._Element) -> set[etree._Element]:
    """Return the elements that the page hides, and all below them."""
    hidden: set[etree._Element] = set()
    for attribute in cast("list[Any]", _MAY_HIDE(root)):
        element = attribute.getparent()
        # What lies in what is hidden is there already, lest a nest of it be read again and again.
        if element not in hidden and (attribute.attrname == "hidden" or hides(attribute)):
            hidden.update(element.iter())
    return hidden


def _anchor_text(link: etree._Element) -> str:
    if not len(link):
        return " ".join((link.text or link.get("alt") or "")[: 4 * MAX_TEXT_CHARACTERS].split())[:MAX_TEXT_CHARACTERS]
    pieces: list[str | None] = [link.text]
    alternative: str | None = None
    for event, element in islice(etree.iterwalk(link, events=("start", "end", "comment")), 1, _MAX_EVENTS):
        if event == "start":
            if element.tag not in INVISIBLE:
                pieces.append(element.text)
            if element.tag == "img":
                alternative = alternative or element.get("alt")
        elif element is not link:
            pieces.append(element.tail)
    text = " ".join("".join(filter(None, pieces)).split()) or " ".join((alternative or "").split())
    return text[:MAX_TEXT_CHARACTERS]
