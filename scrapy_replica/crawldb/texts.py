"""What a store keeps for questions to a person: texts of some pages, and what was said of pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

RELEVANCE, PAIR = "relevance", "pair"
"""What is asked about a page: whether it is on the topic; whether it is on one site with another."""


class Text(NamedTuple):
    """A page that a person may be asked about."""

    url_id: int
    worth: float
    """How much an answer would teach; the least go first where there is no more room."""
    excerpt: str
    """Beginning of the main text, as the site wrote it."""
    terms: Mapping[str, int]
    """Stem -> count; empty where nothing is to be learnt from it."""


class Kept(NamedTuple):
    """A text that is kept, without what it says."""

    url_id: int
    host: str
    worth: float


class Mark(NamedTuple):
    """What a person said of a page."""

    url: str
    is_relevant: bool
    terms: Mapping[str, int]


class Texts(Protocol):
    """Texts of pages that a person may be asked about, by what is asked, and the answers on relevance."""

    def enter(self, why: str, text: Text) -> None:
        """Keep the *text* of a page, in the place of an earlier one for the same question."""

    def drop(self, why: str, url_ids: Iterable[int]) -> None:
        """Forget texts."""

    def kept(self, why: str) -> list[Kept]:
        """Return the texts kept for a question, without what they say."""

    def after(self, why: str, url_id: int, most: int) -> list[Text]:
        """Return at most so many texts of pages with a greater id, in the order of their ids."""

    def set_worths(self, why: str, worths: Sequence[tuple[int, float]]) -> None:
        """Give texts another worth: pairs of id and worth."""

    def terms(self, url_id: int) -> Mapping[str, int] | None:
        """Return the terms of the page of that URL; ``None`` where none are kept here."""

    def mark(self, url_id: int, terms: Mapping[str, int], *, is_relevant: bool) -> None:
        """Keep what a person said of a page, in the place of what was said of it before."""

    def marks(self) -> list[Mark]:
        """Return what was said of pages, in the order of their ids."""
