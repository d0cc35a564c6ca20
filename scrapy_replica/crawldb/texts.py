"""What a store keeps for questions to a person: texts of some pages, and what was said of pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol


class Text(NamedTuple):
    """A page that a person may be asked about."""

    url_id: int
    worth: float
    """How much an answer would teach; the least go first where there is no more room."""
    excerpt: str
    """Beginning of the main text, as the site wrote it."""
    terms: Mapping[str, int]
    """Stem -> count."""


class Kept(NamedTuple):
    """A text that is kept, without what it says."""

    url_id: int
    host: str
    worth: float


class Question(NamedTuple):
    """A page as a person is asked about it."""

    url: str
    host: str
    title: str | None
    excerpt: str
    terms: Mapping[str, int]


class Mark(NamedTuple):
    """What a person said of a page."""

    url: str
    is_relevant: bool
    terms: Mapping[str, int]


class Texts(Protocol):
    """Texts of pages that a person may be asked about, whether they are on the topic, and the answers."""

    def enter(self, text: Text) -> None:
        """Keep the *text* of a page, in the place of an earlier one."""

    def drop(self, url_ids: Iterable[int]) -> None:
        """Forget texts."""

    def kept(self) -> list[Kept]:
        """Return the texts that are kept, without what they say."""

    def after(self, url_id: int, most: int) -> list[Text]:
        """Return at most so many texts of pages with a greater id, in the order of their ids."""

    def set_worths(self, worths: Sequence[tuple[int, float]]) -> None:
        """Give texts another worth: pairs of id and worth."""

    def terms(self, url_id: int) -> Mapping[str, int] | None:
        """Return the terms of the page of that URL; ``None`` where none are kept here."""

    def terms_at(self, url: str) -> Mapping[str, int] | None:
        """Return the same for a URL. It reads all texts."""

    def said_of(self, url: str) -> bool | None:
        """Return what a person said of the page at *url*; ``None`` if nothing. It reads all marks."""

    def questions(self) -> list[Question]:
        """Return the pages that can be asked about."""

    def mark(self, url_id: int, terms: Mapping[str, int], *, is_relevant: bool) -> None:
        """Keep what a person said of a page, in the place of what was said of it before."""

    def marks(self) -> list[Mark]:
        """Return what was said of pages, in the order of their ids."""
