"""What pages in general look like: the unlabelled side of a relevance classifier."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy_replica.records import Terms

LANGUAGES = ("de", "en", "es", "fr", "it", "pt")
"""Languages whose term statistics ship with the package."""


@dataclass(frozen=True, slots=True)
class Background:
    """Unlabelled documents, general term statistics of a language, or both.

    It must not be filled with the pages a good crawl has seen: most of those are on topic. Those that
    :func:`~scrapy_replica.focus.relearning.unlabelled` chooses may be added (:meth:`with_documents`): they show what
    every page of the sites says.
    """

    documents: tuple[Terms, ...] = ()
    """Unlabelled pages; few of them are on topic."""
    frequencies: Mapping[str, float] = field(default_factory=dict)
    """Stem -> share of the running words of the language, stop words among them; sums to at most 1."""

    @classmethod
    def from_documents(cls, documents: Iterable[Terms]) -> Background:
        """Return a background of the user's own unlabelled pages; those without any term are left out."""
        return cls(documents=tuple(terms for terms in documents if terms))

    @classmethod
    def shipped(cls, language: str = "en") -> Background:
        """Return the term statistics of a two-letter *language*. Raises ValueError if there are none."""
        if language not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise ValueError(
                f"REPLICA_DEFAULT_LANGUAGE: there are no term statistics for {language!r}, only for {known}; "
                "give unlabelled pages of that language (REPLICA_BACKGROUND)"
            )
        file = resources.files("scrapy_replica.focus").joinpath("background", f"{language}.npz")
        return cls(frequencies=unpack(file.read_bytes()))

    def with_documents(self, documents: Iterable[Terms]) -> Background:
        """Return the same background with more unlabelled pages."""
        more = tuple(terms for terms in documents if terms)
        return Background(documents=self.documents + more, frequencies=self.frequencies)


def examples_and_others(positives: Sequence[Terms], background: Background) -> tuple[list[Terms], list[Terms]]:
    """Return the examples of a topic and the background's documents that are none of them, each distinct and not empty.

    Raises ValueError when no example has a term.
    """
    examples = _distinct(positives)
    if not examples:
        raise ValueError("no positive example with any text: give at least one page that is on topic")
    others = [terms for key, terms in _distinct(background.documents).items() if key not in examples]
    return list(examples.values()), others


def _distinct(documents: Iterable[Terms]) -> dict[frozenset[tuple[str, int]], Terms]:
    return {frozenset(terms.items()): terms for terms in documents if terms}


def pack(frequencies: Mapping[str, float]) -> bytes:
    """Return stem -> share as NPZ bytes: ``stems`` (uint8, UTF-8, one a line), ``per_million`` (float32)."""
    buffer = io.BytesIO()
    stems = np.frombuffer("\n".join(frequencies).encode(), dtype=np.uint8)
    per_million = np.array([share * 1e6 for share in frequencies.values()], dtype=np.float32)
    np.savez_compressed(buffer, stems=stems, per_million=per_million)
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, float]:
    """Return what :func:`pack` was given, to float32 precision."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        stems = arrays["stems"].tobytes().decode().split("\n")
        shares = (arrays["per_million"].astype(np.float64) / 1e6).tolist()
    return dict(zip(stems, shares, strict=True))
