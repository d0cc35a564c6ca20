"""What a store keeps of URLs that are asked for again: the contract's records and what is asked of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


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


class Revisits(Protocol):
    """One history for each URL that a plain request can ask for again, and the hosts that are doubted."""

    def of(self, url_id: int) -> History | None:
        """Return the history of the URL of that id; ``None`` if there is none."""

    def enter(self, history: History) -> None:
        """Keep *history* in place of an earlier one of its URL."""

    def done_after(self, url_id: int, most: int) -> list[Done]:
        """Return the histories of at most so many URLs that are done, and where they lie, in the order of ids."""

    def forget_terms(self, url_ids: Iterable[int]) -> None:
        """Take note that no callback is through with the pages of the URLs of these ids."""

    def changes_of_hosts(self) -> Mapping[str, tuple[int, int, float]]:
        """Return for each host its visits beyond the first to each URL, those that found a change, and the seconds."""

    def believed_of(self, host: str, most: int) -> list[History]:
        """Return the histories of at most so many URLs of *host* whose last visit was answered by 304."""

    def is_doubted(self, host: str) -> bool:
        """Tell whether a page of *host* changed and its ETag and Last-Modified did not."""

    def doubt(self, host: str) -> None:
        """Keep that this is so of *host*."""
