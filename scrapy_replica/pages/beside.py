"""What a page says beside its main text: its description, data in scripts and attributes, and the text around.

Pages of many sites are shells: one text on all, and what tells them apart stands in JSON-LD, in the state of a script,
in microdata, in a sidebar or a footer. None of that is main text, and all of it counts where two pages of one host are
compared. Of 250 pages of a campus crawl with the main text and title of another page of their host, 239 said the same
beside it as well; the others were versions with other content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import mmh3
from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element

    from scrapy_replica.records import Page

MAX_JSON = 1_000_000
"""Characters of one script that are read as JSON; a longer one counts as it stands."""
MAX_VALUES = 20_000
"""Values of one page that are looked at."""

FEW_WORDS = 20
"""Words of main text below which what a page shows tells it from others, too: 24 of 120 pictures with one caption for
each album were lost, where the items said no more than that."""
_SHOWN = ("img", "video", "audio", "source", "iframe", "embed")

# begins with a letter, so that the script is passed over quickly
_STATE = re.compile(
    r"[wsgvlc](?<![^;\s].)(?:(?:(?<=w)indow|(?<=s)elf|(?<=g)lobalThis)[.\[][\w$.\[\]\"']+"
    r"|(?:(?<=v)ar|(?<=l)et|(?<=c)onst)\s+[\w$]+)\s*=\s*(?:(?=[{\[])|JSON\.parse\(\s*(?=[\"']))"
)
"""Where a script sets a variable to an object or a list, or to what a text in it says."""
_ESCAPED, _QUOTE = re.compile(r"\\(['\"\\/])"), re.compile(r"(?<!\\)(?:\\\\)*'")
"""In a text between single quotes, and where that ends."""
_DECODER = json.JSONDecoder()

_OF_THE_REQUEST = re.compile(
    r"csrf|nonce|token|session|buildid|request_?id|trace_?id|visitor|timestamp|^(?:query|aspath|now|url|href|path|path_?name)$",
    re.IGNORECASE,
)
"""Names of values that tell of the request or the server and not of the page."""
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//\S*$|/\S*$", re.IGNORECASE)
_TOKEN = re.compile(r"(?=[^ ]*\d)(?=[^ ]*[A-Za-z])[0-9A-Za-z_+/=-]{16,}$")
_CLOCK = re.compile(r"\b\d?\d:\d\d(?::\d\d)?\b|\b\d+[.,]\d+ ?(?:s|ms|sec\w*|sek\w*)\b")
"""Clock times, and how long the page took."""

_DESCRIBED = frozenset({"description", "keywords"})
_DESCRIBED_PREFIXES = ("og:", "twitter:", "product:", "article:", "place:", "business:", "book:", "dc.")
_MICRODATA = etree.XPath("descendant::*/@itemprop")
"""A third of the time of ``descendant::*[@itemprop]``: of 270 elements 14 us instead of 43."""


def beside(root: _Element, around: str) -> str:
    """Return what the page parsed as *root* says beside its main text, a line for each value.

    *around* is the text that it shows and that is not main text. What changes with every request is left out: clock
    times, tokens, URLs. Linear in the size of the page.
    """
    lines = [_CLOCK.sub("", around.lower())] if around else []
    lines += _described(root)
    for script in root.iter("script"):
        if script.text:
            lines += _script(script.get("type", "").lower(), script.text)
    return "\n".join(lines[:MAX_VALUES])


def shown(root: _Element) -> str:
    """Return the last names of the pictures, films and documents that the page parsed as *root* shows, a line each."""
    urls = (element.get("src") or element.get("data-src") or "" for element in root.iter(*_SHOWN))
    names = {url.rpartition("/")[2] for url in urls if not url.startswith("data:")}
    return "\n".join(sorted(names - {""})[:MAX_VALUES])


def hash_of_beside(page: Page) -> int | None:
    """Return 64 bits, signed, of what *page* says beside its main text; ``None`` where that is nothing."""
    return mmh3.hash64(page.beside.encode("utf-8", "surrogatepass"))[0] if page.beside else None


def _described(root: _Element) -> Iterator[str]:
    for meta in root.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").lower()
        if name in _DESCRIBED or name.startswith(_DESCRIBED_PREFIXES):
            yield from _told(name, meta.get("content"))
    names: Any = _MICRODATA(root)
    for name in names:
        element = name.getparent()
        for attribute in ("content", "value", "datetime"):
            yield from _told(name, element.get(attribute))


def _script(kind: str, text: str) -> Iterable[str]:
    """Return the values of a script of that *kind* that holds data."""
    if "json" in kind:
        found = [_parsed(text)] if len(text) <= MAX_JSON else [text]
    elif kind in {"", "module"} or "javascript" in kind:
        found = [_first_value(text, state.end()) for state in _STATE.finditer(text[:MAX_JSON])]
    else:
        return ()
    is_described = kind == "application/ld+json"  # made for search engines: numbers of things stand there, and no keys
    return (line for value in found for line in _values(value, takes_tokens=is_described))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return " ".join(text.split())


def _first_value(text: str, start: int) -> Any:
    try:
        if text[start] == "'":
            end = _QUOTE.search(text, start + 1)
            return None if end is None else json.loads(_ESCAPED.sub(r"\1", text[start + 1 : end.end() - 1]))
        found = _DECODER.raw_decode(text, start)[0]
        return json.loads(found) if isinstance(found, str) else found
    except (ValueError, RecursionError):
        return None


def _values(value: Any, *, takes_tokens: bool) -> Iterator[str]:
    """Yield a line for each scalar of a JSON *value*, in its order."""
    rest = [("", value)]
    for _ in range(MAX_VALUES):
        if not rest:
            return
        name, one = rest.pop()
        if isinstance(one, dict):
            rest += [(key, one[key]) for key in reversed(one) if not _OF_THE_REQUEST.search(key)]
        elif isinstance(one, list):
            rest += [(name, member) for member in reversed(one)]
        else:
            yield from _told(name, one, takes_tokens=takes_tokens)


def _told(name: str, value: Any, *, takes_tokens: bool = False) -> Iterator[str]:
    told = "" if value is None else " ".join(str(value).split())
    if told and not _URL.match(told) and (takes_tokens or not _TOKEN.match(told)):
        yield f"{name}={told}"
