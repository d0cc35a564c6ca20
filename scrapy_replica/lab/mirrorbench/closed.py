"""Hosts joined to a closed web: one seed leads to all pages, and no link to a page that is not there."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from urllib.parse import unquote, urljoin

from lxml import etree

from scrapy_replica.lab.manuals.hosts import NEARLY, Host, Served

STATED, MISSTATED = 0.3, 0.25
"""Share of the copies, and of the near misses, whose pages name another host's as canonical."""
REDIRECTING = 0.15
"""Share of the copies of whose URLs some redirect to the original."""
SECURE, DEFAULTED = 0.2, 0.05
"""Share of the hosts that answer by https as by http, and of those whose https is a page of the server's."""
PORTAL = "portal.example"
LISTED = 40
"""Hosts that one page of the portal lists."""
DEEP = 2
"""Links of the portal to pages of each host, beside that to its start page."""
_GONE = (
    "//script | //style | //link | //base | //iframe | //frame | //form | //object"
    " | //meta[@http-equiv or @name='robots']"
)
_UNSAFE = re.compile(r"[^A-Za-z0-9/._~-]+")


@dataclass(frozen=True)
class Answer:
    """What a URL of the web is answered with.

    Attributes:
        content: What is there, one for all copies.
        text: Digest of the words that its body shows, but for links that only close the web.
        is_edited: A stale copy has other paragraphs; *content* is that of the original all the same.
        location: Where a 301 leads; a page has none.
    """

    url: str
    content: str
    text: str
    is_edited: bool = False
    body: bytes = b""
    location: str = ""


@dataclass
class Site:
    """One host of the web.

    Attributes:
        canonical: Host that its pages name as canonical, truly or not; or nothing.
        redirects: URLs that redirect.
        https: ``same`` where it answers by https as well what it answers by http, ``other`` where all that is
            answered by https is one page of the server's; or nothing.
    """

    name: str
    kind: str
    answers: list[Answer] = field(default_factory=list)
    canonical: str = ""
    redirects: int = 0
    https: str = ""
    made_of: Host | None = None
    replica_of: str = ""


def closed(hosts: Sequence[Host], rng: Random) -> list[Site]:
    """Return the sites of *hosts*, whose content the first host of each site had first, and the portal as the last."""
    first = {host.edition.name: host for host in hosts if host.kind == "original"}
    latest = {host.edition.family: host for host in hosts if host.kind == "original"}
    sites = []
    for host in hosts:
        original, site = first[host.edition.name], Site(host.name, host.kind, made_of=host)
        is_copy = host.kind not in NEARLY and host is not original
        site.replica_of = original.name if is_copy else ""
        # Sites of a work in several versions mostly name the latest one as canonical, whatever differs.
        named = latest[host.edition.family] if host is original else original
        drawn = rng.random()
        if named is not host and drawn < (STATED if is_copy else MISSTATED):
            site.canonical = named.name
        is_redirecting = is_copy and STATED <= drawn < STATED + REDIRECTING
        share = rng.uniform(0.3, 0.6) if is_redirecting else 0.0
        site.answers = list(_Closer(host, original, named if site.canonical else None).answers(rng, share))
        site.redirects = sum(bool(answer.location) for answer in site.answers)
        sites.append(site)
    for site in sites:
        _answer_by_https(site, rng)
    return [*sites, _portal(sites, rng)]


def _answer_by_https(site: Site, rng: Random) -> None:
    """Add what a site answers by https, if it does; links are relative and stay there."""
    drawn, answers = rng.random(), site.answers
    if drawn < SECURE:
        site.https = "same"
        site.answers = [*answers, *(replace(answer, url=_secure(answer.url)) for answer in answers)]
    elif drawn < SECURE + DEFAULTED:
        site.https = "other"
        root = _parsed(
            b"<html><head><title>It works</title></head><body><p>This server has no site here yet.</body></html>"
        )
        page = Answer("", "default/https", text_digest(root), body=_written(root))
        asked = [answers[0], *rng.sample(answers[1:], min(DEEP, len(answers) - 1))]
        site.answers = [*answers, *(replace(page, url=_secure(answer.url)) for answer in asked)]


def _secure(url: str) -> str:
    return f"https{url.removeprefix('http')}"


class _Closer:
    """Closes one host: links lead to its own pages alone, and from its start page to all of them."""

    def __init__(self, host: Host, original: Host, canonical: Host | None) -> None:
        self._host = host
        self._originals = {page.content: _url(original, path) for path, page in original.pages.items()}
        self._canonical: Mapping[str, str] = {}
        if canonical is not None:
            # Copies name the pages that they have from there; others name the same place, whatever is there.
            is_copy = canonical is original and host.kind not in NEARLY
            self._canonical = self._originals if is_copy else _by_place(canonical)
        self._pages: dict[str, Served] = {}
        for path, page in host.pages.items():
            self._pages.setdefault(_url(host, path), page)

    def answers(self, rng: Random, redirecting: float) -> Iterator[Answer]:
        start, *others = self._pages
        moved = {url: self._originals.get(self._pages[url].content, "") for url in others if rng.random() < redirecting}
        roots = {url: _parsed(page.body) for url, page in self._pages.items()}
        links = {url: set() if moved.get(url) else self._close(url, root) for url, root in roots.items()}
        texts = {url: text_digest(root) for url, root in roots.items()}
        self._add_links(start, roots, _unreached(start, links))
        for url, page in self._pages.items():
            if target := moved.get(url):
                yield Answer(url, page.content, "", location=target)
                continue
            self._state_canonical(roots[url], page)
            yield Answer(url, page.content, texts[url], page.is_edited, _written(roots[url]))

    def _close(self, url: str, root: etree._Element) -> set[str]:
        """Take away what is not in the web; return the pages of the host that *root* links to."""
        for element in _found(root, _GONE):
            above = element.getparent()
            if above is not None:
                element.tail, tail = None, element.tail
                _append_text(element, above, tail)
                above.remove(element)
        for element in _found(root, "//*[@src]"):
            del element.attrib["src"]
        found = set()
        for link in _found(root, "//*[@href]"):
            link.attrib.pop("rel", "")  # nofollow
            target = self._target(url, link.get("href", ""))
            if target is None:
                del link.attrib["href"]
                continue
            link.set("href", _relative(target, url))
            found.add(target)
        return found

    def _target(self, url: str, href: str) -> str | None:
        try:
            target = urljoin(url, href.strip()).partition("#")[0].partition("?")[0]
        except ValueError:
            return None
        if not target.startswith(f"http://{self._host.name}/"):
            return None
        target = _url(self._host, unquote(target.split("/", 3)[3]))
        return next((known for known in (target, f"{target}index.html") if known in self._pages), None)

    def _add_links(self, start: str, roots: Mapping[str, etree._Element], targets: Sequence[str]) -> None:
        frame = roots[start].find("body")
        if not targets:
            return
        if frame is None:  # a frameset
            frame = etree.SubElement(roots[start], "body")
        listed = etree.SubElement(frame, "ul")
        for target in targets:
            link = etree.SubElement(etree.SubElement(listed, "li"), "a", href=_relative(target, start))
            link.text = _title(roots[target]) or target.rpartition("/")[2]

    def _state_canonical(self, root: etree._Element, page: Served) -> None:
        target = self._canonical.get(page.content) or self._canonical.get(page.content.partition("/")[2])
        head = root.find("head")
        if target and head is not None:
            etree.SubElement(head, "link", rel="canonical", href=target)


def _by_place(host: Host) -> dict[str, str]:
    """Return the URLs of a host by the places of its pages in their edition."""
    return {page.content.partition("/")[2]: _url(host, path) for path, page in host.pages.items()}


def _unreached(start: str, links: Mapping[str, set[str]]) -> list[str]:
    """Return pages that with links to them make all pages reachable from *start*."""
    reached, found = _reach({start}, links, set()), []
    for url in links:
        if url not in reached:
            found.append(url)
            reached |= _reach({url}, links, reached)
    return found


def _reach(waiting: set[str], links: Mapping[str, set[str]], known: set[str]) -> set[str]:
    found: set[str] = set()
    while waiting:
        found |= waiting
        waiting = {target for url in waiting for target in links[url]} - found - known
    return found


def _portal(sites: Sequence[Site], rng: Random) -> Site:
    """The site that lists all others: their start pages, and some pages deep in them."""
    linked: list[str] = []
    for site in sites:
        for scheme in ("http:", "https:"):
            urls = [answer.url for answer in site.answers if answer.url.startswith(scheme)]
            linked += [*urls[:1], *rng.sample(urls[1:], min(DEEP, max(0, len(urls) - 1)))]
    rng.shuffle(linked)
    parts = [linked[place : place + LISTED * (1 + DEEP)] for place in range(0, len(linked), LISTED * (1 + DEEP))]
    names = [f"http://{PORTAL}/list-{number}.html" for number in range(1, len(parts) + 1)]
    portal = Site(PORTAL, "portal")
    pages = {f"http://{PORTAL}/index.html": names, **dict(zip(names, parts, strict=True))}
    for url, targets in pages.items():
        items = "".join(f'<li><a href="{target}">{target.split("/", 2)[2]}</a></li>' for target in targets)
        title = f"Manuals, {posixpath.basename(url).partition('.')[0]}"
        body = f"<html><head><title>{title}</title></head><body><h1>{title}</h1><ul>{items}</ul></body></html>"
        root = _parsed(body.encode())
        portal.answers.append(
            Answer(url, f"{PORTAL}/{posixpath.basename(url)}", text_digest(root), body=_written(root))
        )
    return portal


def text_digest(root: etree._Element) -> str:
    """Return a digest of the words that the body of a page shows."""
    words = " ".join(" ".join(map(str, _found(root, "//body//text()"))).split())
    return hashlib.sha1(words.encode("utf-8", "replace")).hexdigest()[:16]


def _url(host: Host, path: str) -> str:
    return f"http://{host.name}/{_UNSAFE.sub('_', path)}"


def _relative(target: str, url: str) -> str:
    """Return the link from *url* to *target* of the same host; what is a file there may be named as a folder is."""
    (folder, name), here = posixpath.split(target.split("/", 3)[3]), posixpath.dirname(url.split("/", 3)[3])
    return posixpath.join(posixpath.relpath(folder or ".", here or "."), name).removeprefix("./")


def _title(root: etree._Element) -> str:
    title = root.find(".//title")
    return " ".join((title.text or "").split()) if title is not None else ""


def _found(root: etree._Element, path: str) -> list[etree._Element]:
    found: list[etree._Element] = root.xpath(path)  # type: ignore[assignment]
    return found


def _append_text(element: etree._Element, above: etree._Element, text: str | None) -> None:
    """Keep the *text* behind an element that is taken away."""
    before = element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (text or "")
    else:
        above.text = (above.text or "") + (text or "")


def _parsed(body: bytes) -> etree._Element:
    root: etree._Element | None = etree.fromstring(body, etree.HTMLParser(remove_comments=True, remove_pis=True))
    return root if root is not None else etree.fromstring("<html><body></body></html>", etree.HTMLParser())


def _written(root: etree._Element) -> bytes:
    return etree.tostring(root, method="html", encoding="utf-8", doctype="<!DOCTYPE html>")
