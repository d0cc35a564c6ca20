"""The URLs of a web: names of hosts, paths of directories, prefixes of mirrors, arguments that do not matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scrapy_replica.lab.generation.plan import CALENDAR, DUST, FACET, Plan
from scrapy_replica.lab.generation.vocabulary import Vocabulary, pseudo_word
from scrapy_replica.numeric import IntArray

PREFIXES = ("", "/mirror", "/pub/mirrors/{name}", "/~{name}", "/archive/2009")
FACET_NAMES = ("color", "size", "sale", "stock", "new", "used", "gift")
_STYLES = 4
_DOMAIN = 3
"""Hosts of a domain."""


class Addresses:
    """Names hosts and pages; *titles* gives the anchor texts that are the titles of pages."""

    def __init__(self, plan: Plan, vocabulary: Vocabulary, titles: Callable[[IntArray], IntArray]) -> None:
        self._plan, self._titles = plan, titles
        self._words = [text.split()[0] for text in vocabulary.anchors]

    def host(self, host: int) -> str:
        """Return scheme and name of a host, as ``http://www.badoku.example``."""
        is_mirror = self._plan.original[host] != host
        domain = host if is_mirror or host % _DOMAIN == 0 else host - host % _DOMAIN
        place = "www" if domain == host else _name(host)
        return f"{'https' if host % 5 == 2 else 'http'}://{place}.{_name(domain)}.example"

    def urls(self, hosts: range) -> list[str]:
        """Return the URLs of all pages of *hosts*, whose mirrors are among them."""
        plan, found = self._plan, list[str]()
        first = int(plan.host_start[hosts.start])
        paths: list[str] = []  # of all pages from the first, without the host
        for host in hosts:
            is_own = plan.original[host] == host
            own = self._paths(host) if is_own else self._mirror_paths(host, paths, first)
            paths += own
            root = self.host(host)
            found += [root + path for path in own]
        return found

    def _paths(self, host: int) -> list[str]:
        plan, start, core = self._plan, int(self._plan.host_start[host]), int(self._plan.core[host])
        pages = np.arange(start, start + core)
        words = [self._words[title] for title in self._titles(pages).tolist()]
        directories = range(plan.first_directory[host], plan.first_directory[host + 1])
        span = slice(directories.start, directories.stop)
        firsts, parents = plan.directory_first[span].tolist(), plan.directory_parent[span].tolist()
        sizes, style = plan.directory_size[span].tolist(), _STYLE[(host * 7 + plan.seed) % _STYLES]
        own: list[str] = []
        folders: list[str] = []
        for place, index in enumerate(firsts):
            parent = folders[parents[place] - directories.start] if place else ""
            folder = f"{parent}{words[index - start]}-{place}/" if place else "/"
            folders.append(folder)
            own.append(folder)
            offset = index - start
            own += [style(folder, words[offset + number], number) for number in range(1, sizes[place])]
        return own + self._others(host, own)

    def _others(self, host: int, own: list[str]) -> list[str]:
        """Other names of pages, and traps."""
        plan = self._plan
        first, begin, stop = (
            int(plan.host_start[host]),
            int(plan.host_start[host] + plan.core[host]),
            int(plan.host_start[host + 1]),
        )
        found, seen, counts = list[str](), set(own), [0, 0]
        kinds, sources = plan.kind[begin:stop].tolist(), (plan.source[begin:stop] - first).tolist()
        for number, (kind, source) in enumerate(zip(kinds, sources, strict=True)):
            if kind == DUST:
                url = other_name(own[source], begin + number)
                if url in seen:
                    url = with_argument(own[source], f"sessionid={_token(begin + number)}")
                seen.add(url)
            else:
                place, counts[kind == FACET] = counts[kind == FACET], counts[kind == FACET] + 1
                url = trap_path(kind, place)
            found.append(url)
        return found

    def _mirror_paths(self, host: int, before: list[str], first: int) -> list[str]:
        plan = self._plan
        start, stop = int(plan.host_start[host]), int(plan.host_start[host + 1])
        name = _name(int(plan.original[host]))
        prefix = PREFIXES[host * 13 % len(PREFIXES)].format(name=name)
        paths = [prefix + before[source - first] for source in plan.source[start:stop].tolist()]
        if host % 4:
            return paths
        return [paths[0], *(with_argument(path, f"sid={_token(start + n)}") for n, path in enumerate(paths[1:], 1))]


def _name(host: int) -> str:
    return pseudo_word(4_335 + host * 11 % 350_000) + ("" if host < 350_000 else str(host // 350_000))


def _token(number: int) -> str:
    return f"{(number + 1) * 0x9E3779B97F4A7C15 % 2**64:016x}"


_STYLE: tuple[Callable[[str, str, int], str], ...] = (
    lambda folder, word, number: f"{folder}{word}-{number}.html",
    lambda folder, word, number: f"{folder}{word}-{number}",
    lambda folder, word, number: f"{folder}page.php?id={number}&t={word}",
    lambda folder, word, number: f"{folder}{number}/{word}.htm",
)


def with_argument(path: str, argument: str) -> str:
    """Return *path* with one argument more."""
    return f"{path}{'&' if '?' in path else '?'}{argument}"


def other_name(path: str, number: int) -> str:
    """Return another name of the page at *path*: an argument that does not matter, an index page, a slash."""
    kind = number * 7 % 5
    if path.endswith("/") and kind < 3:
        return path + ("index.html", "index.php", "index.htm")[kind]
    if kind == 3 and "?" not in path and "." not in path.rpartition("/")[2]:
        return path + "/"
    if kind == 4:
        return with_argument(path, f"utm_source=rss&date=2009-{number % 12 + 1:02}-{number % 28 + 1:02}")
    if kind == 2:
        return with_argument(path, "print=1")
    return with_argument(path, f"sessionid={_token(number)}")


def trap_path(kind: int, place: int) -> str:
    """Return the path of the *place*-th page of a trap."""
    if kind == CALENDAR:
        return f"/calendar?month={2001 + place // 12}-{place % 12 + 1:02}"
    chosen = [f"{name}=1" for bit, name in enumerate(FACET_NAMES) if place >> bit & 1]
    return "/list" + ("?" + "&".join(chosen) if chosen else "")
