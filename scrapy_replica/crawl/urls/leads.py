"""Where the pages of a host lead to, by which pages of one text are told apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

import mmh3
import numpy as np

from scrapy_replica.records import Link, Page
from scrapy_replica.urls.interchange import priors

_NUMBER = re.compile(r"\d+")
_DEFAULT_PAGE = re.compile(r"/(?:(?:index|default|home)(?:\.\w+)?/?)?$")
_KINDS = ("prior campaign", "prior referrer", "prior session")
"""Kinds of shipped guesses at arguments that say where a link stands, or who follows it."""

Lead = tuple[int, int]
"""A place that a page leads to: 32-bit hashes of it as it stands, and as it lies beside the page."""


def leads_of(page: Page) -> dict[Lead, str]:
    """Return each place that *page* leads to, and a URL there: host, path and words of the link.

    Not its arguments, which hold session ids, nor numbers in its words, which count; but where several links of the
    page have one path and one text, as "details" in a listing, their arguments tell them apart, without those that all
    have and that are not in the path of the page (a list may get a new number each time that it is fetched), and those
    that may say where a link stands or who follows it, where the others tell as many apart. Nor how its
    path is spelt, nor ``www.``: a server that ignores case, or has both names, leads each time to what seems new, and
    every rule about it ends. Below another directory (a version, a session), or with other arguments of its own, a page
    leads to the same places beside it. A path that names the page itself, as where to come back to, is the same for all
    names of the page.
    """
    own, arguments = _path(page.url), frozenset(_arguments(page.url))
    folder = own.split("/")[:-1]
    found: dict[Lead, list[str]] = {}
    for link in (*page.links, *page.other_links):
        found.setdefault(_place(link, own, folder), []).append(link.url)
    leads = {}
    for place, urls in found.items():
        given = [frozenset(_arguments(url)) for url in urls] if len(urls) > 1 else []
        if len(set(given)) <= 1:  # one link, or one by several names of the host
            leads[place] = urls[0]
            continue
        shared = frozenset.intersection(*given)
        ignored = frozenset(one for one in shared if one.partition("=")[2] not in own)
        guessed = frozenset(one for of_link in given for one in of_link if one.partition("=")[0] in guessed_names())
        if len({of_link - guessed for of_link in given}) == len(set(given)):
            ignored |= guessed
        leads.update((_told(place, url, ignored, arguments), url) for url in urls)
    return leads


@lru_cache(1)
def guessed_names() -> frozenset[str]:
    """Return the names of arguments that may say where a link stands, or who follows it."""
    return frozenset(rule.transformation[0].key for rule in priors() if rule.learnt_from in _KINDS)


def _place(link: Link, own: str, folder: list[str]) -> Lead:
    """Return where *link* leads, on the page at the path *own* in *folder*, whatever its arguments."""
    path, words, it = _read(link.url, link.text)
    back = own[own.find("/") :]
    if "%" in path and len(back) > 1:
        path = unquote(path).lower().replace(back, "")
        it = _at(path, words)
    name = own.rstrip("/")
    # With a slash at its end the page lies below itself.
    beside = f"0/{name.rpartition('/')[2]}" if path.rstrip("/") == name else _beside(path, own, folder)
    return it, _at(beside, words)


# Three of four links stand on the pages before as well.
@lru_cache(maxsize=4096)
def _read(url: str, text: str) -> tuple[str, str, int]:
    """Return the path of a link, its words without numbers, and the hash of both."""
    path, words = _path(url), _NUMBER.sub("0", text)
    return path, words, _at(path, words)


def _at(path: str, words: str) -> int:
    return _hashed(f"{_DEFAULT_PAGE.sub('', path)}\n{words}")


def _told(place: Lead, url: str, shared: frozenset[str], own: frozenset[str]) -> Lead:
    """Return *place* with the arguments of *url* that are not *shared*, beside the page without its *own*."""
    (it, beside), arguments = place, [one for one in _arguments(url) if one not in shared]
    others = [argument for argument in arguments if argument not in own]
    return _hashed("&".join(arguments), it), _hashed("&".join(others), beside)


def _arguments(url: str) -> list[str]:
    return sorted(url.partition("?")[2].split("&"))


def _beside(path: str, own: str, folder: list[str]) -> str:
    """Return how *path* lies to *own*, which is in *folder*: how many folders up and what follows.

    ``/amp/`` for ``/amp/x`` beside ``/x``.
    """
    name = own.partition("/")[2]
    if name and path != own and path.endswith(f"/{name}"):
        return path.removesuffix(name)
    parts = path.split("/")
    common = 0
    for mine, its in zip(folder, parts[:-1], strict=False):
        if mine != its:
            break
        common += 1
    return f"{len(folder) - common}/{'/'.join(parts[common:])}"


def _path(url: str) -> str:
    """Return host and path of *url*, in small letters and without ``www.``."""
    return url.partition("://")[2].partition("?")[0].partition(";")[0].lower().removeprefix("www.")


def _hashed(told: str, seed: int = 0) -> int:
    number: int = mmh3.hash(told.encode("utf-8", "surrogatepass"), seed, signed=False)
    return number


def pack_leads(leads: Sequence[Lead]) -> bytes:
    return np.array(leads, dtype="<u4").tobytes()


def unpack_leads(packed: bytes) -> list[Lead]:
    return [*map(tuple, np.frombuffer(packed, dtype="<u4").reshape(-1, 2).tolist())]
