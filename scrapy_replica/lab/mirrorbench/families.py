"""Families of manuals from generated webs: works with a text of their own, each in one to three versions."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from random import Random
from urllib.parse import urldefrag

import numpy as np
from lxml import etree

from scrapy_replica.address import host_of
from scrapy_replica.lab.generation.html import Renderer
from scrapy_replica.lab.generation.web import Web
from scrapy_replica.lab.manuals import changes
from scrapy_replica.lab.manuals.packages import Edition
from scrapy_replica.lab.manuals.trees import MAX_RESERVE, Tree

MADE = "made"
"""In place of the registry of a package."""
N_FAMILIES = 40
MAX_PAGES = 80
"""Of a work. With 24, which is enough to judge two hosts, crawls have little left to save after a verdict."""
MIN_PAGES = 24
PAGES_A_FAMILY = 260
"""Pages of the generated web for each family: one host in ten is large enough to be one."""
LICENCE = "CC0-1.0"
VERSIONS = ((1, 0.3), (2, 0.4), (3, 0.3))
"""Versions of a work, with their share of the works."""
_UNSAFE = re.compile(r"[^A-Za-z0-9/.-]+")


def made_families(seed: int, n_families: int = N_FAMILIES, max_pages: int = MAX_PAGES) -> dict[Edition, Tree]:
    """Return the editions of *n_families* made works of at most *max_pages*; the same seed makes the same bytes.

    :raises ValueError: the seed is below 0.
    """
    if seed < 0:
        raise ValueError(f"--seed is {seed}: it must not be below 0")
    trees: dict[Edition, Tree] = {}
    rng = Random(f"families {seed}")
    manuals = list(islice(_manuals(Web(n_families * PAGES_A_FAMILY, seed), max_pages), n_families))
    for number, (name, pages) in enumerate(manuals):
        _, others = manuals[number - 1]
        texts = [text for body in others.values() for text in changes.paragraphs(body)][:200]
        is_told = rng.random() < 0.5
        current = pages
        (versions,) = rng.choices([n for n, _ in VERSIONS], [share for _, share in VERSIONS])
        for version in range(1, versions + 1):
            told = f"{version}.{rng.randrange(10)}"
            if version > 1:
                current = _next_version(current, rng, texts)
            edition = Edition(name, MADE, f"{name}-doc", f"{told}-1", "en", LICENCE)
            named = {path: _titled(body, f"{name} {told}" if is_told else name) for path, body in current.items()}
            trees[edition] = _tree(named)
    return trees


def _manuals(web: Web, max_pages: int) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield name and pages of the hosts that have enough of their own, with links that are relative."""
    renderer = Renderer(web)
    for chunk in web.chunks():
        hosts = web.plan.host_of(np.arange(chunk.first, chunk.stop))
        bodies = list(renderer.pages(chunk))
        for host in np.unique(hosts).tolist():
            if web.plan.core[host] < MIN_PAGES + MAX_RESERVE:
                continue
            first = int(web.plan.host_start[host]) - chunk.first
            urls = chunk.urls[first : first + min(int(web.plan.core[host]), max_pages + MAX_RESERVE)]
            paths = {url: _path(url) for url in urls}
            pages = {paths[url]: _relative(body, url, paths) for url, body in zip(urls, bodies[first:], strict=False)}
            if len(pages) >= MIN_PAGES + MAX_RESERVE:
                own, domain, _ = host_of(urls[0]).split(".")
                yield domain if own == "www" else own, pages


def _path(url: str) -> str:
    """Return the path of a page as the file of a manual."""
    path = url.split("/", 3)[3]
    if not path or path.endswith("/"):
        return f"{path}index.html"
    return _UNSAFE.sub("-", re.sub(r"\.(html?|php)\b", "", path)) + ".html"


def _relative(body: bytes, url: str, paths: dict[str, str]) -> bytes:
    root, origin = etree.fromstring(body, etree.HTMLParser(encoding="utf-8")), url.split("/", 3)[:3]
    for link in root.iter("a"):
        target = "/".join(origin) + urldefrag(link.get("href", "")).url
        if target in paths:
            link.set("href", posixpath.relpath(paths[target], posixpath.dirname(paths[url]) or "."))
        else:
            del link.attrib["href"]
    return etree.tostring(root, method="html", encoding="utf-8")


def _next_version(pages: dict[str, bytes], rng: Random, texts: list[str]) -> dict[str, bytes]:
    """Return the pages of the next version: some as they were, some edited, a few gone."""
    _start, *others = pages
    gone = set(rng.sample(others, len(others) // 12))
    of_pages, of_paragraphs = rng.uniform(0.3, 0.9), rng.uniform(0.2, 0.6)
    return {
        path: changes.edited(body, rng, of_paragraphs, texts) if rng.random() < of_pages else body
        for path, body in pages.items()
        if path not in gone
    }


def _titled(body: bytes, name: str) -> bytes:
    return re.sub(rb"</title>", f" - {name} documentation</title>".encode(), body, count=1)


def _tree(pages: dict[str, bytes]) -> Tree:
    listed = list(pages.items())
    return Tree(dict(listed[:-MAX_RESERVE]), dict(listed[-MAX_RESERVE:]))
