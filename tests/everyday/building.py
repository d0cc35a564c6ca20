"""What ordinary sites are built of: pages with a menu, a text, lists of links and a footer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from html import escape
from typing import Any

from hostile.scenario import KEY
from replica_sites import ENGLISH, LEXICON
from shapes.building import drawn, name_of
from web import HTML

SECTION = 20
"""Articles, products or topics of one section."""

Link = tuple[str, str]
"""URL and what the anchor says."""

title = lru_cache(maxsize=None)(name_of)


@cache
def text(seed: object, words: int = 80) -> str:
    """Words about something: what is rare in them comes back, as in what a person writes."""
    draw = drawn("text", seed)
    subject = draw.sample(LEXICON, 4 + words // 8)
    return " ".join(draw.choice(ENGLISH if draw.random() < 0.4 else subject) for _ in range(words))


def page(
    key: str,
    name: str,
    main: str,
    links: Iterable[Link] = (),
    *,
    menu: Iterable[Link] = (),
    footer: Iterable[Link] = (),
    head: str = "",
    headers: dict[str, str] | None = None,
) -> Any:
    """A page that is the content *key*; a page that nobody wants has none."""
    html = (
        f"<!doctype html><html lang='en'><head><title>{escape(name)}</title>{head}</head><body>"
        f"<header><nav>{anchors(menu)}</nav></header><main><h1>{escape(name)}</h1>{main}</main>"
        f"<aside>{anchors(links)}</aside><footer>{anchors(footer)}<p>All rights reserved.</p></footer></body></html>"
    )
    return 200, {**HTML, **({KEY: key} if key else {}), **(headers or {})}, html


def anchors(links: Iterable[Link]) -> str:
    items = "".join(f'<li><a href="{escape(url)}">{escape(label)}</a></li>' for url, label in links)
    return f"<ul>{items}</ul>" if items else ""


def article(*key: object, words: int = 120) -> str:
    """A text of its own in paragraphs."""
    return "".join(f"<p>{text((*key, part), words // 3).capitalize()}.</p>" for part in range(3))


def related(number: int, n: int) -> list[int]:
    """The three pages that a page links to beside it; all are found from the first."""
    return [(3 * number + k) % n for k in (1, 2, 3)]


def chosen(forms: list[str], *key: object) -> str:
    """One of the *forms* of a URL, as an editor happened to write it in that place."""
    return drawn("form", *key).choice(forms)


def sections(n: int) -> range:
    return range((n + SECTION - 1) // SECTION)


def members(section: int, n: int) -> range:
    return range(SECTION * section, min(n, SECTION * (section + 1)))
