"""What one DUST rule changes: the fetched URLs, by what it makes of them, and the pages that it takes for one."""

from __future__ import annotations

from collections.abc import Container, Mapping, Set
from functools import lru_cache
from typing import NamedTuple

from scrapy_replica.crawl.urls.contents import callback_in
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule
from scrapy_replica.urls.rulebook import RuleBook

MAX_URLS = 5_000
"""URLs remembered of one rule; the first goes first: a page and its image are fetched within a short while."""

FORMS_CACHED = 20_000
"""Forms of which it is known what a rule makes of them, over all rules, 5 MB: four of five are asked for again."""


class _Changed(NamedTuple):
    """A fetched URL that the rule changes."""

    form: str
    cluster: int | None
    url_id: int


class Pages(NamedTuple):
    """Two pages that the rule takes for one."""

    form: str
    """Of the URL that it changes."""
    url_id: int
    image: str
    cluster: int | None
    """Of the page fetched last; ``None`` for little text, or a document."""
    other: int | None
    """Cluster of the page before."""
    other_form: str
    """Form of the page before."""
    callback: int
    is_image_known: bool
    """The image itself is one of the two."""

    @property
    def is_same(self) -> bool:
        return self.cluster == self.other


class ChangedUrls:
    """The fetched URLs that a rule changes, one for each image."""

    def __init__(self, rule: Rule) -> None:
        self._book = RuleBook([rule])
        self._by_image: dict[str, _Changed] = {}

    def __len__(self) -> int:
        return len(self._by_image)

    @property
    def images(self) -> Set[str]:
        """What the rule makes of them."""
        return self._by_image.keys()

    @property
    def forms(self) -> list[str]:
        """One of those for each image."""
        return [changed.form for changed in self._by_image.values()]

    def image(self, form: str) -> str | None:
        return _image(self._book, form)

    def taken(self, form: str) -> tuple[str, ...]:
        """Return what of *form* the rule takes away or changes."""
        image = self.image(form)
        if image is None:
            return ()
        before, after = parse(form), parse(image)
        kept = {after.path, *(after.arguments or ())}
        return tuple(part for part in (before.path, *(before.arguments or ())) if part not in kept)

    def pair(self, form: str, cluster: int | None, url_id: int, known: Mapping[str, int | None]) -> Pages | None:
        """Return what the page at *form* makes a pair with, among those *known*; take note of the page."""
        image = self.image(form)
        before = self._by_image.get(form if image is None else image)
        this = _Changed(form, cluster, url_id)
        if image is not None and (before is None or before.cluster is None):
            self._remember(image, this)
        if image is not None and image in known:
            return _pages(this, image, cluster, known[image], image, is_image_known=True)
        if before is None:
            return None
        other = known.get(before.form) or before.cluster
        if image is None:
            return _pages(before, form, cluster, other, before.form, is_image_known=True)
        return _pages(this, image, cluster, other, before.form, is_image_known=False)

    def _remember(self, image: str, changed: _Changed) -> None:
        if len(self._by_image) >= MAX_URLS:
            del self._by_image[next(iter(self._by_image))]
        self._by_image[image] = changed

    def spelling_of(self, image: str) -> str | None:
        """Return a form that was fetched and that the rule changes to *image*, if it remembers one."""
        changed = self._by_image.get(image)
        return None if changed is None else changed.form

    def id_of(self, form: str) -> int | None:
        changed = self._by_image.get(self.image(form) or form)
        return changed.url_id if changed is not None and changed.form == form else None

    def forms_without(self, fetched: Container[str]) -> list[str]:
        """Return the forms whose image is none of those *fetched*."""
        return [changed.form for image, changed in self._by_image.items() if image not in fetched]


@lru_cache(FORMS_CACHED)
def _image(book: RuleBook, form: str) -> str | None:
    image, applied = book.canonical(form)
    return image if applied else None


def _pages(
    changed: _Changed, image: str, cluster: int | None, other: int | None, other_form: str, *, is_image_known: bool
) -> Pages:
    callback = callback_in(changed.cluster or cluster or other or 0)
    return Pages(changed.form, changed.url_id, image, cluster, other, other_form, callback, is_image_known)
