"""What a job knows as tables for other programs: rows of plain values, in the order of their numbers."""

from __future__ import annotations

from typing import NamedTuple


class LinkRow(NamedTuple):
    """A URL and the page that it was first found on. Of further links to it nothing is kept."""

    id: int
    """Number of the URL."""
    source_id: int | None
    """Number of the URL of that page; ``None`` for a seed."""
    source: str | None
    target: str
    host: str
    depth: int
    state: str
    is_demoted: bool
    score: float | None
    """The strategy's; ``None`` where the URL is asked for to decide something."""


class FetchRow(NamedTuple):
    """A fetch and what came of it."""

    id: int
    """Number of the URL."""
    url: str
    host: str
    fetched_at: str
    """ISO 8601, UTC."""
    status: int | None
    error: str | None
    title: str | None
    words: int | None
    relevance: float | None
    """0..1."""
    novelty: str | None
    repeats: str | None
    """URL of the page that it is a duplicate of."""
    search: str | None
    """Whether its site allows it to be found: ``allowed``, ``refused`` or unknown; so for the next three."""
    ai_use: str | None
    train_ai: str | None
    tdm: str | None
    license: str | None
    """URL of its licence."""
    statements: str | None
    """JSON: what its site says of that, pairs of source and value."""


class DecisionRow(NamedTuple):
    """A decision about a URL."""

    id: int
    at: str
    """ISO 8601, UTC."""
    url: str
    host: str
    action: str
    """What was done."""
    wanted: str
    """What the evidence asked for."""
    reason: str
    probability: float
    evidence: str
    """JSON."""
    is_sampled: bool
    outcome: str | None
    """What a fetch showed all the same."""


class HostRow(NamedTuple):
    """A host and what came of it."""

    host: str
    ip: str | None
    fetches: int
    pages: int
    novel: int
    exact_duplicates: int
    near_duplicates: int
    relevant: int
    failed: int
    refused: int
    waiting: int
    dropped: int
    copy_of: str | None
    """Host that is fetched in its place."""
    score: float | None
    """How sure that is, 0..1."""


class HostLink(NamedTuple):
    """Two hosts, and how many URLs of the second were first found on the first."""

    source: str
    target: str
    urls: int


class TextRow(NamedTuple):
    """What a fetched page says, as hashes."""

    id: int
    """Number of the URL."""
    signature: bytes
    host: str
    title: str | None
    beside: int | None
    """Hash of what it says beside its main text."""


class TraceRow(NamedTuple):
    """A URL, and of its page, if it was fetched, what pages are compared by."""

    id: int
    """Number of the URL."""
    url: str
    host: str
    ip: str | None
    signature: bytes | None
    simhash: int | None
    """64 bits as two's complement."""
    words: int | None
    title: str | None
    mark: bytes | None
    neighbours: str | None
    status: int | None
    at: float | None
    """Seconds since the epoch."""
    cluster: int | None
    fetched: bool
