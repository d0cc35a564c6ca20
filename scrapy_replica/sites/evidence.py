"""What is known of a host: the marks of its pages, its known paths, its name, address and neighbours."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from zlib import crc32

import mmh3

from scrapy_replica.address import origin_of
from scrapy_replica.records import Page
from scrapy_replica.sites.alignment import relative
from scrapy_replica.sites.language import guess_language
from scrapy_replica.sites.sketch import BINS, MOST_NUMBERS, jaccards, numbers_in_common, numbers_sketch, sketch

MIN_WORDS = 20
"""Pages of fewer words are not compared, unless a callback made items of them."""
SAME_PAGE_BITS = 10
"""Bits in which the simhashes of one page on two hosts may differ."""
MAX_PATHS = 1000
"""Known paths kept per host, a sample by the hash of the last segment that mirrors draw alike."""
MAX_PAGES = 2000
"""Page marks kept per host."""
SAME_NUMBERS = 0.5
"""Jaccard coefficient of their numbers from which two pages may be one. Pages of real copies have some numbers of their
own: they were rendered anew, restyled or revised."""
MOSTLY = 0.8
"""Share of a page's text, as estimated, that is nearly all of it: at 61 words beside 129 its standard error is .09."""
_MAX_VIEWS = 8
ESTABLISHED = 10
"""Pages after which a host is no newcomer."""
_NUMBER = re.compile(r"\d+(?:\.\d+)*(?:\.?(?:a|b|rc|dev)\d+)?")
"""A number, or a version as one: 3.2.1 and 4.1, 2.0 and 2.17.6rc1 are numbers in one place."""
_NAMED = re.compile(r"(.+)\s(?:[-\u2013\u2014|\u00b7\u2022\u00bb\u00ab:/]|::)\s\D*")
"""A title that may end with the name of its host: what stands there and has a number may be a version or a year."""
_BARE_BITS = 0xFFFF
_FORMAT = struct.Struct("<QQIIHI2sHIQBB")


@dataclass(frozen=True, slots=True)
class PageMark:
    """The traces of one page that tell copies from other pages; 112 to 144 bytes packed."""

    simhash: int | None
    signature: int
    """First 64 bits of the exact signature, 0 where there is none."""
    title: int
    """Hash of the folded title, 0 where there is none."""
    title_pattern: int
    """The same with every number and version in it made equal."""
    bare_title: int
    """16 bits of the hash of the title without its last part, where that may be the name of the host; else 0."""
    words: int
    language: str | None
    sketch: bytes | None
    links: int = 0
    """Links to its own host, at most 65,535."""
    offers: int | None = 0
    """Hash of the prices that it states and of what it says of stock, 0 where it does not; ``None`` where nobody knows
    what it states."""
    numbers: bytes = b""
    """Sketch of the numbers of its main text."""
    around: bytes = b""
    """Sketch of the numbers around its main text, where that has none."""
    items: int = 0
    """Hash of the items that a callback made of it, 0 where it made none so far."""

    @property
    def tells(self) -> bool:
        """Whether it tells what page it is of: by enough text, or by what a callback made of little."""
        return self.simhash is not None and (self.words >= MIN_WORDS or self.items != 0)

    def pack(self) -> bytes:
        """Return the mark as stored; the inverse of :meth:`unpack`."""
        head = _FORMAT.pack(
            self.simhash or 0,
            self.signature,
            self.title,
            self.title_pattern,
            self.bare_title,
            min(self.words, 2**31 - 1) << 1 | (self.simhash is not None),
            (self.language or "").encode("ascii"),
            self.links,
            self.offers or 0,
            self.items,
            len(self.numbers),
            len(self.around),
        )
        return head + self.numbers + self.around + (self.sketch or b"")

    @classmethod
    def unpack(cls, packed: bytes) -> PageMark:
        if len(packed) < _FORMAT.size:
            raise ValueError(f"a page mark of {len(packed)} bytes")
        simhash, signature, title, pattern, bare_title, words, language, links, offers, items, n_main, n_around = (
            _FORMAT.unpack_from(packed)
        )
        start = _FORMAT.size + n_main
        end = start + n_around
        if max(n_main, n_around) > 2 * MOST_NUMBERS or len(packed) not in (end, end + BINS):
            raise ValueError(f"a page mark of {len(packed)} bytes")
        return cls(
            simhash if words & 1 else None,
            signature,
            title,
            pattern,
            bare_title,
            words >> 1,
            language.rstrip(b"\0").decode("ascii") or None,
            packed[end:] or None,
            links,
            offers,
            packed[_FORMAT.size : start],
            packed[start:end],
            items,
        )


def mark_of(page: Page) -> PageMark:
    title, title_pattern, bare_title = marks_of_title(page.title or "")
    language = guess_language(page.text)
    if language is None and page.language and re.fullmatch("[a-z]{2}", page.language[:2].lower()):
        language = page.language[:2].lower()
    return PageMark(
        simhash=page.simhash,
        signature=int.from_bytes(page.signature[:8], "little") if page.signature else 0,
        title=title,
        title_pattern=title_pattern,
        bare_title=bare_title,
        words=page.words,
        language=language,
        sketch=sketch(page.text),
        links=_own_links(page),
        offers=_hash32("\n".join(sorted(page.facts.offers))),
        numbers=numbers_sketch(page.facts.numbers),
        around=numbers_sketch(page.facts.numbers_around),
    )


def marks_of_title(title: str) -> tuple[int, int, int]:
    """Return the hashes of a folded *title*, of that with every number and version in it made equal, and 16 bits
    of that without its last part, where that may be the name of the host; 0 for what is empty.
    """
    folded = " ".join(title.lower().split())
    named = _NAMED.fullmatch(folded)
    bare = _hash32(named[1]) & _BARE_BITS if named is not None else 0
    return _hash32(folded), _hash32(_NUMBER.sub("0", folded)), bare


def have_one_title(a: PageMark, b: PageMark) -> bool:
    """Tell whether two pages have one title, but for the name of the host of one of them.

    Where both have such a part it is no frame of a copy: manuals of two works say "About - Name" alike.
    """
    pairs = ((a.title, b.bare_title), (b.title, a.bare_title))
    return a.title == b.title or any(bare and title & _BARE_BITS == bare for title, bare in pairs)


def have_one_text(a: PageMark, b: PageMark) -> bool:
    """Tell whether two pages have one main text as a whole, whatever of it is taken for the frame of their hosts."""
    return a.signature == b.signature != 0


def _own_links(page: Page) -> int:
    origin = f"{origin_of(page.url)}/"
    return min(sum(link.url.startswith(origin) for link in page.links), 2**16 - 1)


def state_others(a: PageMark, b: PageMark) -> bool:
    """Tell whether two main texts state other prices or stock, or mostly other numbers; not where one states none."""
    if a.offers and b.offers and a.offers != b.offers:
        return True
    return bool(a.numbers and b.numbers) and numbers_in_common(a.numbers, b.numbers) < SAME_NUMBERS


def is_same_page(a: PageMark, b: PageMark) -> bool:
    """Tell whether two marks are of one page, small edits allowed."""
    if state_others(a, b):
        return False
    if min(a.words, b.words) < MIN_WORDS and a.items and b.items:
        return a.items == b.items
    if have_one_text(a, b):
        return True
    if a.simhash is None or b.simhash is None:
        return False
    if (a.simhash ^ b.simhash).bit_count() <= SAME_PAGE_BITS:
        return True
    return a.sketch is not None and b.sketch is not None and float(jaccards([a.sketch], [b.sketch])[0]) >= 0.5


def is_said_by(a: PageMark, b: PageMark) -> bool:
    """Tell whether nearly all that *a* says stands on the page of *b*, which may say more: the menus of its host, say.

    A page of which a fifth is new, as in another release of a manual, is one of its own.
    """
    if have_one_text(a, b) or a.sketch is None or b.sketch is None:
        return is_same_page(a, b)
    jaccard = float(jaccards([a.sketch], [b.sketch])[0])
    return not state_others(a, b) and jaccard * (a.words + b.words) >= MOSTLY * (1 + jaccard) * a.words


def _hash32(text: str) -> int:
    return (mmh3.hash(text.encode("utf-8", "surrogatepass"), signed=False) or 1) if text else 0


def path_of(url: str) -> str:
    """Return path and query of an absolute URL; eight times faster than urlsplit."""
    start = url.find("/", url.find("//") + 2)
    query = url.find("?")
    if start < 0 or 0 <= query < start:
        return "/" + url[query:] if query >= 0 else "/"
    end = url.find("#")
    return url[start:] if end < 0 else url[start:end]


class HostEvidence:
    """Everything the judge asks of one host.

    Invariant: ``pages`` (to marks) and ``paths`` (to the path and query as the URL has them) are keyed by normalised
    paths; the views are what they would be if built anew.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages: dict[str, PageMark] = {}
        self.paths: dict[str, str] = {}
        self.n_pages = 0
        self.origin: str | None = None
        """``scheme://host[:port]`` of its first page, of a known URL as long as there is none."""
        self.first_seen = math.inf
        """When its first page was fetched."""
        self.established = math.inf
        """When its tenth page was fetched."""
        self.missing: set[str] = set()
        """Normalised paths that were asked for where no page is: it is gone, or they lead elsewhere."""
        self.redirects: dict[str, str] = {}
        """Normalised paths that lead elsewhere, and the places that they lead to."""
        self.canonical_to: Counter[str] = Counter()
        self.alternates_to: Counter[str] = Counter()
        self.is_https = False
        self.sample_below = 2**32
        self._views: dict[str, tuple[dict[str, PageMark], set[str]]] = {}
        self._n_fetches = 0

    @property
    def weight(self) -> int:
        """Roughly the bytes that it takes in memory."""
        paths = len(self.paths) * (1 + len(self._views)) + len(self.redirects)
        return 2000 + 700 * len(self.pages) + 250 * paths

    def add_fetch(self, at: float) -> None:
        """Take note that a page was fetched *at* some time, after those before."""
        self.first_seen = min(self.first_seen, at)
        self._n_fetches += 1
        if self._n_fetches == ESTABLISHED:
            self.established = at

    def add_missing(self, path: str) -> None:
        """Take note that there is no page at the normalised *path*, unless there was one."""
        if path not in self.pages and len(self.missing) < MAX_PATHS:
            self.missing.add(path)

    def add_redirect(self, path: str, place: str) -> None:
        """Take note that the normalised *path* leads to a *place*, as :mod:`.redirects` has it."""
        if len(self.redirects) < MAX_PATHS:
            self.redirects[path] = place

    def add_path(self, path: str, raw: str | None = None) -> bool:
        """Take note of a known normalised *path*, *raw* in its URL; False if known or outside the sample."""
        if path in self.paths or sample_hash(path) >= self.sample_below:
            return False
        self.paths[path] = raw if raw is not None else "/" + path
        for prefix, (_, known) in self._views.items():
            rest = relative(path, prefix)
            if rest is not None:
                known.add(rest)
        if len(self.paths) > MAX_PATHS:
            self._thin()
        return True

    def _thin(self) -> None:
        while len(self.paths) > MAX_PATHS // 2 and self.sample_below > 1:
            self.sample_below //= 2
            self.paths = {path: raw for path, raw in self.paths.items() if sample_hash(path) < self.sample_below}
        self._views.clear()

    def add_page(self, path: str, mark: PageMark) -> None:
        """Take note of the fetched page at the normalised *path*; a second fetch replaces the first."""
        self.n_pages += path not in self.pages
        self.missing.discard(path)
        self.redirects.pop(path, None)
        if len(self.pages) >= MAX_PAGES and path not in self.pages:
            return
        self._put(path, mark)

    def _put(self, path: str, mark: PageMark) -> None:
        self.pages[path] = mark
        for prefix, (pages, _) in self._views.items():
            rest = relative(path, prefix)
            if rest is not None:
                pages[rest] = mark

    def add_items(self, path: str, items: int) -> None:
        """Take note of the *items*, hashed, that a callback made of the page at the normalised *path*."""
        mark = self.pages.get(path)
        if mark is not None:
            self._put(path, replace(mark, items=items))

    def forget_pages(self) -> None:
        """Forget what was told of pages; their paths stay known."""
        self.pages.clear()
        self.n_pages = 0
        self.missing.clear()
        self.redirects.clear()
        self.canonical_to.clear()
        self.alternates_to.clear()
        self._views.clear()

    def view(self, prefix: str) -> tuple[Mapping[str, PageMark], AbstractSet[str]]:
        """Return the page marks and the known paths below *prefix* by relative path; kept up to date, do not change."""
        if not prefix:
            return self.pages, self.paths.keys()
        view = self._views.get(prefix)
        if view is None:
            if len(self._views) >= _MAX_VIEWS:
                self._views.pop(next(iter(self._views)))
            view = self._views[prefix] = (dict(_below(self.pages.items(), prefix)), self._known_below(prefix))
        return view

    def _known_below(self, prefix: str) -> set[str]:
        found = (relative(path, prefix) for path in self.paths)
        return {rest for rest in found if rest is not None}


def _below(pages: Iterable[tuple[str, PageMark]], prefix: str) -> Iterable[tuple[str, PageMark]]:
    for path, mark in pages:
        rest = relative(path, prefix)
        if rest is not None:
            yield rest, mark


def sample_hash(path: str) -> int:
    """Return the 32-bit hash by which known paths are sampled: of the last segment, so prefixes do not matter."""
    return crc32(path.rpartition("/")[2].encode("utf-8", "surrogatepass"))
