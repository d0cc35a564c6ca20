"""From a response to its ``Page``, the record of what one page says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import mmh3
from lxml import etree

from scrapy_replica.address import host_of
from scrapy_replica.pages import extractor, noise
from scrapy_replica.pages.beside import FEW_WORDS, beside, shown
from scrapy_replica.pages.extractor import Texts
from scrapy_replica.pages.facts import facts_of
from scrapy_replica.pages.forms import page_forms
from scrapy_replica.pages.links import Base, page_links
from scrapy_replica.pages.simhash import simhash_of, token_hashes
from scrapy_replica.pages.terms import terms
from scrapy_replica.records import Noise, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_replica.usage import Statement

_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_MAX_TITLE_CHARACTERS = 500

EXTRACTORS: dict[Noise, Callable[[etree._Element], Texts]] = {
    Noise.CETD: noise.texts,
    Noise.LEARNED: extractor.texts,
    Noise.NONE: extractor.whole_text,
}


def page_from_tree(
    root: etree._Element,
    url: str,
    *,
    encoding: str = "utf-8",
    redirected_from: tuple[str, ...] = (),
    ip: str | None = None,
    language_default: str = "en",
    extract: Callable[[etree._Element], Texts] | None = extractor.texts,
    for_terms: Callable[[str], str] | None = None,
    statements: tuple[Statement, ...] = (),
) -> Page:
    """Return the :class:`Page` at *url* from *root*, its tree as lxml parsed it, which is not changed.

    *encoding* is that of the response: queries of its links are quoted in it. Terms are those of the page's language,
    *language_default* (ISO 639-1) where it states none. *extract* finds the main text, see :data:`EXTRACTORS`; without
    it the text is not read. *for_terms* returns what of it terms are taken of, by default the whole. Linear in the size
    of the page; no content makes it fail.
    """
    head = _Head(root, url, encoding)
    links, other_links = page_links(root, head.base)
    page = Page(
        url=url,
        host=host_of(url),
        title=head.title,
        language=_language(root) or head.language,
        canonical=head.canonical,
        shortlink=head.shortlink,
        alternates=tuple(head.alternates),
        redirected_from=redirected_from,
        links=links,
        other_links=other_links,
        forms=page_forms(root, head.base.absolute),
        ip=ip,
        is_read=False,
        statements=statements,
    )
    if extract is None:
        return page
    return _read(page, root, extract(root), for_terms, page.language or language_default)


def _read(
    page: Page, root: etree._Element, texts: Texts, for_terms: Callable[[str], str] | None, language: str
) -> Page:
    """Return *page* with what its *texts* say."""
    text, around, is_whole = texts
    tokens, told = token_hashes(text), beside(root, around)
    return replace(
        page,
        text=text,
        terms=terms(text if for_terms is None else for_terms(text), language),
        words=len(tokens),
        # What is read in part only is known by all that it holds.
        signature=text_signature(text if is_whole else all_text(root).decode()),
        simhash=simhash_of(tokens) if len(tokens) else None,
        beside=told if len(tokens) >= FEW_WORDS else f"{told}\n{shown(root)}".strip(),
        facts=facts_of(text, around, told),
        is_read=True,
    )


def page_from_body(
    body: bytes,
    url: str,
    *,
    redirected_from: tuple[str, ...] = (),
    ip: str | None = None,
    statements: tuple[Statement, ...] = (),
) -> Page:
    """Return the :class:`Page` of a response that is no HTML: known by the 128-bit mmh3 of its *body* alone."""
    signature = mmh3.hash_bytes(body) if body else None
    return Page(
        url=url,
        host=host_of(url),
        signature=signature,
        redirected_from=redirected_from,
        ip=ip,
        is_html=False,
        statements=statements,
    )


class _Head:
    """What the elements of the head say, wherever the page has put them; the first of each kind counts."""

    def __init__(self, root: etree._Element, url: str, encoding: str) -> None:
        self.title: str | None = None
        self.language: str | None = None
        self.canonical: str | None = None
        self.shortlink: str | None = None
        self.alternates: list[tuple[str, str]] = []
        self.base = Base(url, encoding)
        link_elements: list[etree._Element] = []
        is_base_known = False
        for element in root.iter("title", "base", "meta", "link"):
            tag = element.tag
            if tag == "link":
                link_elements.append(element)
            elif tag == "title" and self.title is None:
                self.title = " ".join((element.text or "").split())[:_MAX_TITLE_CHARACTERS] or None
            elif tag == "meta" and self.language is None:
                self.language = _meta_language(element)
            elif tag == "base" and not is_base_known and element.get("href"):
                reference = self.base.absolute(element.get("href", ""))
                self.base = Base(reference, encoding) if reference else self.base
                is_base_known = True
        for element in link_elements:  # a base may stand behind the links it holds for
            self._read_link(element)

    def _read_link(self, element: etree._Element) -> None:
        relations = element.get("rel", "").lower().split()
        reference = element.get("href")
        if not reference or not relations:
            return
        if "canonical" in relations and self.canonical is None:
            self.canonical = self.base.absolute(reference)
        if "shortlink" in relations and self.shortlink is None:
            self.shortlink = self.base.absolute(reference)
        language = element.get("hreflang")
        if language and "alternate" in relations:
            target = self.base.absolute(reference)
            if target:
                self.alternates.append((language.strip().lower(), target))


def _language(root: etree._Element) -> str | None:
    html = next(root.iter("html"), root)
    return _two_letters(html.get("lang") or html.get("xml:lang") or html.get(_XML_LANG))


def _meta_language(meta: etree._Element) -> str | None:
    name = (meta.get("http-equiv") or meta.get("name") or "").lower()
    return _two_letters(meta.get("content")) if name in {"content-language", "language"} else None


def _two_letters(tag: str | None) -> str | None:
    """Return the primary subtag of a language *tag* such as ``pt-BR`` if it has two letters."""
    primary = (tag or "").strip().lower().replace("_", "-").partition("-")[0]
    return primary if len(primary) == 2 and primary.isascii() and primary.isalpha() else None


def all_text(root: etree._Element) -> bytes:
    """Return all text below *root*, that of scripts and styles as well, as UTF-8."""
    return etree.tostring(root, method="text", encoding="utf-8")


def text_signature(text: str) -> bytes | None:
    """Return the 128-bit mmh3 of *text*, white space and case folded; ``None`` where it says nothing."""
    folded = " ".join(text.lower().split())
    return mmh3.hash_bytes(folded.encode("utf-8", "surrogatepass")) if folded else None
