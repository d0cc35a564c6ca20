"""What a store keeps of URLs that are asked for again: the contract's records and what is asked of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_replica.words.phrases import passed


class History(NamedTuple):
    """What asking for a URL showed so far; times are seconds since the epoch."""

    url: int
    """Id of the URL."""
    payload: bytes | None = None
    """Its request where it is more than a plain GET."""
    etag: str | None = None
    last_modified: str | None = None
    body: int | None = None
    """Signed 64-bit hash of the body last sent; ``None`` where there was none."""
    content: bytes | None = None
    """Stands for what counts of it: its main text, or where it redirects to; ``None`` where it never had a page."""
    size: int = 0
    """Bytes of that body, as sent."""
    visits: int = 0
    """That brought it, or word that it is as it was."""
    changes: int = 0
    """Visits that found it changed."""
    first_at: float = 0.0
    seen_at: float = 0.0
    """When its body was sent last."""
    checked_at: float = 0.0
    """When it was visited last."""
    believed: int = 0
    """Visits since its body was sent, all answered by 304."""
    unchanged_s: float = 0.0
    """Sum of the times between visits that found no change, seconds."""
    changed: tuple[float, ...] = ()
    """Times between visits that found a change, seconds; the last few."""
    misses: int = 0
    """Visits in a row that brought nothing."""
    absences: int = 0
    """Of these and those between them the ones that said that there is no page: 404 or 410."""
    gone_at: float | None = None
    """Since when there is no page."""
    terms: int | None = None
    """Under which a callback was through with that body, signed 64-bit hash; ``None`` where none was."""
    kept: bytes | None = None
    """SHA-1 of that body, as sent, if it is kept as WARC."""
    page: int | None = None
    """Signed 64-bit hash of what its last page said and of its URL without session ids; ``None``: it had none."""
    items: frozenset[int] = frozenset()
    """Hashes of the items that the callback gave of that page, word by word but for session ids."""


class Done(NamedTuple):
    """A URL that may be asked for again."""

    history: History
    host: str
    depth: int
    """Links from the seeds; 0 for a seed."""


LAST_ROUND = "revisits"
"""Key of the pass over the job that was begun last."""


@dataclass
class Pass:
    """One pass over the URLs of a job."""

    number: int = 0
    began_at: float = 0.0
    """Seconds since the epoch."""
    after: int | None = 0
    """Id of the last URL that was looked at whether it is due; ``None`` when all were."""
    tested: list[int] = field(default_factory=list)
    """Ids of URLs that were answered by 304 and are to be asked for again without a condition."""
    doubted: list[str] = field(default_factory=list)
    """Hosts whose answers by 304 are taken back."""
    counts: dict[str, int] = field(default_factory=dict)
    """What came of it, by the names of the statistics."""
    is_over: bool = True

    @classmethod
    def load(cls, state: bytes | None) -> Pass:
        """Return what :meth:`dump` made; one that never began of ``None``."""
        return cls(**json.loads(state)) if state is not None else cls()

    def dump(self) -> bytes:
        """Return it as bytes to be stored."""
        return json.dumps(vars(self)).encode()

    def in_words(self) -> str:
        """Return what came of it; empty where nothing was asked for."""
        return passed(self.number, self.counts, is_over=self.is_over)
