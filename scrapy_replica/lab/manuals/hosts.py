"""Made hosts that serve manuals: originals, copies of every kind, and hosts that are nearly copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from random import Random

from scrapy_replica.lab.manuals import changes
from scrapy_replica.lab.manuals.packages import Edition
from scrapy_replica.lab.manuals.trees import Tree

COPIES = ("alias", "prefix", "chrome", "theme", "stale", "partial", "superset", "bare")
"""Kinds of copies, in turn over all families; all but aliases may lie under another prefix, too."""
NEARLY = ("quote", "template", "fork")
"""Kinds of made near misses, in turn; versions and translations of a work are real ones."""
_MIN_LENT = 4
_PREFIXES = ("", "", "docs/", "manual/", "pub/doc/{family}/", "{family}/", "~mirror/{family}/html/")
_VERSIONED = ("docs/{version}/", "{version}/", "{family}-{version}/")
_SYLLABLES = ("ba", "co", "di", "fe", "gu", "lo", "ma", "ni", "po", "ra", "se", "ti", "vo", "xa", "ze", "qui")
_LABELS = ("www", "docs", "m", "mirror")
_TOPS = ("example", "test", "org.example", "net.example", "edu.test")


@dataclass(frozen=True)
class Served:
    """One page of a host.

    Attributes:
        body: HTML.
        content: What all copies of the page have in common: its edition and path there.
        is_edited: Paragraphs were changed.
    """

    body: bytes
    content: str
    is_edited: bool = False


@dataclass(frozen=True)
class Host:
    """One made host.

    Attributes:
        name: Of the host.
        edition: What it serves, changed or not.
        site: Name of its site; hosts of one site are replicas.
        kind: ``original``, or one of ``COPIES`` or ``NEARLY``.
        pages: By path (without the first slash), the start page first.
        also: Family that further pages are of, or nothing.
    """

    name: str
    edition: Edition
    site: str
    kind: str
    pages: Mapping[str, Served]
    also: str = ""


class Maker:
    """Makes the hosts of all families; the same seed makes the same hosts.

    :raises ValueError: fewer than two families have pages for hosts that quote or have more than a copy.
    """

    def __init__(self, trees: Mapping[Edition, Tree], seed: int) -> None:
        self._rng = Random(seed)
        self._copies, self._nearly = cycle(COPIES), cycle(NEARLY)
        self._families: dict[str, list[Edition]] = {}
        self._trees = trees
        for edition in trees:
            self._families.setdefault(edition.family, []).append(edition)
        reserves = {edition.family: _served(tree.reserve, f"{edition.name}+") for edition, tree in trees.items()}
        self._lenders = {family: pages for family, pages in reserves.items() if len(pages) >= _MIN_LENT}
        if len(self._lenders) < 2:
            raise ValueError("fewer than two families of manuals were brought that have pages to lend to other hosts")
        self._names: set[str] = set()

    def hosts(self) -> Iterator[Host]:
        """Yield an original of every edition, two or three copies a family and mostly a made near miss."""
        for family, editions in self._families.items():
            for edition in editions:
                pages = self._placed(edition, self._of(edition), own=True)
                yield Host(self._name(edition, own=True), edition, edition.name, "original", pages)
            for _ in range(self._rng.choice((2, 2, 3))):
                yield self._copy(self._rng.choice(editions))
            if self._rng.random() < 0.75:
                yield self._near_miss(family, self._rng.choice(editions))

    def _copy(self, edition: Edition) -> Host:
        rng, kind, also = self._rng, next(self._copies), ""
        pages = self._of(edition)
        style = rng.randrange(16)
        if kind in {"chrome", "theme"}:
            change = changes.chrome if kind == "chrome" else changes.theme
            pages = {path: replace(page, body=change(page.body, style)) for path, page in pages.items()}
        elif kind == "stale":
            pages = self._stale(edition, self._some(pages, rng.uniform(0.8, 1.0)), rng.uniform(0.05, 0.3), 0.2)
        elif kind == "partial":
            pages = self._some(pages, rng.uniform(0.4, 0.8))
        elif kind == "superset":
            also, reserve = self._other(edition.family)
            pages |= {f"local/{path}": page for path, page in reserve.items()}
        elif kind == "bare":
            pages = {_bare(path): replace(page, body=changes.bare_links(page.body)) for path, page in pages.items()}
        placed = pages if kind == "alias" else self._placed(edition, pages)
        return Host(self._name(edition), edition, edition.name, kind, placed, also)

    def _near_miss(self, family: str, edition: Edition) -> Host:
        rng, kind = self._rng, next(self._nearly)
        pages, also = self._of(edition), ""
        name = self._name(edition)
        if kind == "fork":
            other = self._word(3).capitalize()
            forked = _served({path: changes.renamed(page.body, family, other) for path, page in pages.items()}, name)
            pages = self._stale(edition, self._some(forked, 0.9), rng.uniform(0.5, 1.0), rng.uniform(0.4, 0.8))
        else:
            also, reserve = self._other(family)
            if kind == "quote":
                pages = reserve | self._some(pages, rng.uniform(0.15, 0.4), keep_start=False)
            else:
                texts = [page.body for page in reserve.values()]
                filled = {path: changes.with_text_of(page.body, rng.choice(texts)) for path, page in pages.items()}
                pages = _served(filled, name)
        return Host(name, edition, name, kind, self._placed(edition, pages), also)

    def _of(self, edition: Edition) -> dict[str, Served]:
        return _served(self._trees[edition].pages, edition.name)

    def _some(self, pages: Mapping[str, Served], share: float, *, keep_start: bool = True) -> dict[str, Served]:
        """Return *share* of the pages, the start page among them."""
        start, *others = pages
        n_others = round(share * len(others))
        chosen = {*self._rng.sample(others, n_others), *([start] if keep_start else [])}
        return {path: page for path, page in pages.items() if path in chosen}

    def _stale(
        self, edition: Edition, pages: Mapping[str, Served], of_pages: float, of_paragraphs: float
    ) -> dict[str, Served]:
        """Return the pages, of which *of_pages* have *of_paragraphs* changed into ones of another work."""
        _, reserve = self._other(edition.family)
        texts = [text for page in reserve.values() for text in changes.paragraphs(page.body)][:200]

        def edited(page: Served) -> Served:
            if self._rng.random() >= of_pages:
                return page
            return Served(changes.edited(page.body, self._rng, of_paragraphs, texts), page.content, is_edited=True)

        return {path: edited(page) for path, page in pages.items()}

    def _other(self, family: str) -> tuple[str, dict[str, Served]]:
        """Return another family, and pages of it that no host serves as its site."""
        name = self._rng.choice([name for name in self._lenders if name != family])
        return name, dict(self._lenders[name])

    def _placed(self, edition: Edition, pages: Mapping[str, Served], *, own: bool = False) -> dict[str, Served]:
        """Return the pages below a prefix; an original's may tell its version."""
        choices: Sequence[str] = (*_PREFIXES, *_VERSIONED) if own else _PREFIXES
        version = edition.version.partition(":")[2] or edition.version
        told = {"family": edition.family, "version": version.partition("-")[0].partition("+")[0]}
        prefix = self._rng.choice(choices).format(**told)
        if own and edition.language != "en" and self._rng.random() < 0.5:
            prefix += f"{edition.language}/"
        return {prefix + path: page for path, page in pages.items()}

    def _name(self, edition: Edition, *, own: bool = False) -> str:
        while True:
            first = edition.family.replace(".", "-").replace("+", "p") if own else self._word(3)
            name = f"{self._rng.choice(_LABELS)}.{first}{self._word(2)}.{self._rng.choice(_TOPS)}"
            if name not in self._names:
                self._names.add(name)
                return name

    def _word(self, syllables: int) -> str:
        return "".join(self._rng.choices(_SYLLABLES, k=syllables))


def _served(pages: Mapping[str, bytes], source: str) -> dict[str, Served]:
    return {path: Served(body, f"{source}/{path}") for path, body in pages.items()}


def _bare(path: str) -> str:
    stem, _, end = path.rpartition(".")
    return stem if end in {"html", "htm", "xhtml"} else path
