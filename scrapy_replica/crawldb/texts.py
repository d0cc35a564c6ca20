"""What a store keeps for questions to a person: texts of some pages, and what was said of pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


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
