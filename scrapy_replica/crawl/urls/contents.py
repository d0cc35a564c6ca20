"""What a page is on its host, as a number: two pages of one content are one page there. And how its URL is written."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from operator import itemgetter

import mmh3

from scrapy_replica.pages.beside import FEW_WORDS
from scrapy_replica.records import Page
from scrapy_replica.urls.pattern import parse

OF_LINKS = 0.8
"""Share of the words of a page that are those of its links from which all its links tell it from others: the parts of a
listing say the same where what is listed is taken for no main text."""

_VERSION = 0xFFFF
"""The part of a content that stands for language version and callback: where it differs no two pages are one."""


@lru_cache(10_000)
def form_of(url: str) -> str:
    """Return *url* without fragment, its arguments in the order of their names.

    Waiting URLs are looked at again and again while a rule is under proof: the cache (3 MB) saves seven calls of eight.
    """
    pattern = parse(url)
    return str(pattern.sorted()._replace(fragment=""))


def content_of(
    page: Page, callback: int, min_words: int, items: Collection[int] = (), told: int = 0, *, of_links: bool = False
) -> int | None:
    """Return a 63-bit hash of title, language version and words, in whatever order, and of what the page says beside
    them. Too short a text is told by what it shows and the *items* that it gave, hashes, or by a form to log in; else
    it is ``None``.

    Without the order, because sort orders show one page; two listings of the same words and title are one page, too.
    Where these are *of links*, the words of all links of the page count, but not how often: where two
    links lead to one URL, or to two, depends on how each is spelt. The last byte stands for the version that the page
    declares by ``hreflang``: versions are told apart even where nobody has translated the text. The byte before is that
    of *callback*: pages of which a spider makes different things are different pages to it. So are those whose callback
    is *told* different things, a hash, and made nothing of them: several may fill one item.
    """
    is_short = page.signature is None or page.words < min_words
    is_known = page.words < FEW_WORDS and page.is_read and page.is_html  # of more words what it shows does not count
    is_told = is_known and (items or any(form.is_login for form in page.forms))
    if is_short and not is_told:
        return None
    language = ""
    if page.alternates:
        language = _declared_version(page)
    bag = " ".join(sorted(page.text.split()))
    if of_links:
        bag += " ".join(sorted({link.text for link in (*page.links, *page.other_links)}))
    # mmh3 kills the process over a str that is no UTF-8.
    says = f"{page.title}\n{bag}\n{page.beside}" + (f"\n{sorted(items)}" if is_short else "")
    says += f"\n{told}" if told else ""
    number = mmh3.hash64(says.encode("utf-8", "surrogatepass"), signed=False)[0] >> 1
    version = mmh3.hash(language.encode("utf-8", "surrogatepass"), signed=False) & 0xFF
    return number & ~_VERSION | callback << 8 | version


def is_of_links(page: Page) -> bool:
    """Tell whether the main text of *page* is that of links, :data:`OF_LINKS` of its words: a listing, or its menu."""
    words = {*page.text.split()}
    linked = {*" ".join([link.text for link in page.links]).split()}
    return len(words & linked) > OF_LINKS * len(words)


def _declared_version(page: Page) -> str:
    """Return the version that *page* says it is: that of the URL with its path and the most of its arguments."""
    own = parse(page.url)
    arguments = {*(own.arguments or ())}

    def shared(url: str) -> int:
        there = parse(url)
        is_this = (there.host, there.path) == (own.host, own.path) and arguments.issuperset(there.arguments or ())
        return len(there.arguments or ()) if is_this else -1

    found = [(shared(url), language) for language, url in page.alternates if language != "x-default"]
    return max((one for one in found if one[0] >= 0), key=itemgetter(0), default=(0, ""))[1]


def redirect_content(location: str, callback: int) -> int:
    """Return a content for whatever leads to *location*, which lies on another host."""
    number = mmh3.hash64(location.encode("utf-8", "surrogatepass"), signed=False)[0] >> 1
    return number & ~_VERSION | callback << 8


def callback_number(name: str) -> int:
    """Return a byte that stands for the callback called *name*: 0 for the spider's ``parse``, which has no name."""
    return mmh3.hash(name.encode("utf-8", "surrogatepass"), signed=False) % 0xFF + 1 if name else 0


def callback_in(content: int) -> int:
    """Return the number of the callback that got a page of that *content*."""
    return content >> 8 & 0xFF


def differ_in_callback(content: int, other: int) -> bool:
    """Tell whether two contents differ in their callbacks alone."""
    return content != other and content ^ other == (callback_in(content) ^ callback_in(other)) << 8


def own_content(form: str, content: int, *, is_open: bool) -> int:
    """Return a content that no other page has, for a page at *form* that looks like those of *content*.

    *is_open*: it may be the same; what it alone leads to will tell.
    """
    own = f"{form}#" if is_open else form
    number = mmh3.hash64(own.encode("utf-8", "surrogatepass"), signed=False)[0] >> 1
    return number & ~_VERSION | content & _VERSION
