"""What happens to a page on another host: chrome around it, another theme, edited paragraphs, another work's text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from lxml import etree

_MENUS = (
    ("Home", "About this mirror", "Other manuals", "Contact", "Report a problem"),
    ("Startseite", "Handbücher", "Impressum", "Datenschutz", "Fragen und Antworten"),
    ("Accueil", "Documentation", "Nous écrire", "Plan du site"),
    ("Index", "Library", "Courses", "Staff", "Opening hours", "Help desk", "Sign in"),
)
_FOOTERS = (
    "This copy is kept by volunteers and comes without any warranty.",
    "Gehostet vom Rechenzentrum. Alle Angaben ohne Gewähr.",
    "Hébergé par l'association; les marques appartiennent à leurs propriétaires.",
    "All rights belong to the authors. Pages are refreshed every night. Terms of use apply.",
)
_AROUND = re.compile(r"(?i)nav|sidebar|header|footer|related|menu|breadcrumb|toctree|topbar|copyright")
_TITLE_END = re.compile(r"\s+[|·\u2014\u2013-]\s+[^|·\u2014\u2013]*$")
_PARAGRAPHS = "//p | //li[not(.//p)] | //dd[not(.//p)] | //td[not(.//p)] | //pre | //div[@class='block']"
_MIN_PARAGRAPH = 40
"""Characters from which a paragraph can be edited."""


def chrome(body: bytes, style: int) -> bytes:
    """Return the page between the header and footer of design *style*."""
    root = _parsed(body)
    frame = root.find("body")
    if frame is None:
        return body
    menu = "".join(f"<li><a href='/~{place}.html'>{word}</a></li>" for place, word in enumerate(_MENUS[style % 4]))
    head = f"<div class='site-head'><h2>{_MENUS[style % 4][1]} {style}</h2><ul>{menu}</ul></div>"
    frame.insert(0, _fragment(head))
    frame.append(_fragment(f"<div class='site-foot'><p>{_FOOTERS[style // 4 % 4]}</p></div>"))
    return _written(root)


def theme(body: bytes, style: int) -> bytes:
    """Return the page as another generator of sites renders it: other markup, menus and end of the title."""
    root = _parsed(body)
    most = len(_text(root)) / 2  # a frame that holds most of the page is no menu
    for element in _found(root, "//body//nav | //body//header | //body//footer | //body//*[@class or @id or @role]"):
        told = " ".join(element.get(name, "") for name in ("class", "id", "role"))
        above = element.getparent()
        is_around = element.tag in {"div", "ul", "p"} and _AROUND.search(told) is not None
        if above is None or not (is_around or element.tag in {"nav", "header", "footer"}):
            continue
        if len(_text(element)) < most:
            above.remove(element)
    for element in _found(root, "//body//*"):
        for name in ("class", "id", "role", "style"):
            element.attrib.pop(name, "")
    if style % 2:
        _retitle(root, _MENUS[style % 4][1])
    return chrome(_written(root), style)


def edited(body: bytes, rng: Random, share: float, others: Sequence[str]) -> bytes:
    """Return the page with *share* of its paragraphs left out, or with one of *others* in their place."""
    root = _parsed(body)
    for element in _paragraphs(root):
        if rng.random() < share:
            _replace_text(element, rng.choice(others) if others and rng.random() < 0.7 else "")
    return _written(root)


def renamed(body: bytes, name: str, other: str) -> bytes:
    """Return the page with *other* wherever it says *name*."""
    return re.sub(rf"(?i)(?<![/\w.-]){re.escape(name)}(?![/\w-]|\.\w)".encode(), other.encode(), body)


def with_text_of(body: bytes, other: bytes) -> bytes:
    """Return the page with the paragraphs of *other* in place of its own: one template around another work."""
    root, texts = _parsed(body), paragraphs(other)
    for place, element in enumerate(_paragraphs(root)):
        _replace_text(element, texts[place] if place < len(texts) else "")
    frame = root.find("body")
    if frame is not None:
        frame.append(_fragment("".join(f"<p>{_escaped(text)}</p>" for text in texts[-8:])))
    return _written(root)


def paragraphs(body: bytes) -> list[str]:
    """Return the texts of the page's paragraphs."""
    return [_text(element) for element in _paragraphs(_parsed(body))]


def bare_links(body: bytes) -> bytes:
    """Return the page with links to ``x.html`` written as ``x``."""
    return re.sub(rb"""(?i)(\bhref=["']?(?![a-z]+:)[^"'#?> ]+)\.x?html?\b""", rb"\1", body)


def _paragraphs(root: etree._Element) -> list[etree._Element]:
    return [element for element in _found(root, _PARAGRAPHS) if len(_text(element)) >= _MIN_PARAGRAPH]


def _found(root: etree._Element, path: str) -> list[etree._Element]:
    found: list[etree._Element] = root.xpath(path)  # type: ignore[assignment]
    return found


def _text(element: etree._Element) -> str:
    return " ".join(map(str, element.itertext())).strip()


def _replace_text(element: etree._Element, text: str) -> None:
    tail = element.tail
    element.clear()
    element.text, element.tail = text, tail


def _retitle(root: etree._Element, site: str) -> None:
    title = root.find(".//title")
    if title is not None and title.text:
        title.text = f"{_TITLE_END.sub('', title.text.strip())} | {site}"


def _parsed(body: bytes) -> etree._Element:
    root: etree._Element | None = etree.fromstring(body, etree.HTMLParser(recover=True))
    return etree.fromstring(b"<html><body></body></html>", etree.HTMLParser()) if root is None else root


def _fragment(html: str) -> etree._Element:
    found = etree.fromstring(f"<html><body><div>{html}</div></body></html>", etree.HTMLParser()).find("body/div")
    assert found is not None
    return found


def _written(root: etree._Element) -> bytes:
    return etree.tostring(root, method="html", encoding="utf-8")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
