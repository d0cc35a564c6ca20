"""What a store keeps of fetched pages: the contract's records and what is asked of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class PageRow(NamedTuple):
    """What tells a duplicate from another page."""

    url_id: int
    url: str
    host: str
    title: str | None
    signature: bytes | None = None
    beside: int | None = None
    """Hash of what it says beside its main text."""


Judgement: TypeAlias = tuple[bytes | None, str, PageRow | None]
"""Signature, novelty and twin of a page."""


class HostPage(NamedTuple):
    """A fetch as those need it that know a host by its pages."""

    url_id: int
    url: str
    parent: int | None
    """Id of the URL that it was found on."""
    fetched_at: float
    status: int | None
    is_news: bool | None
    mark: bytes | None
    neighbours: str | None
    content: int | None
    cluster: int | None
    aliases: str | None
    leads: bytes | None


class HeardPage(NamedTuple):
    """A fetch as a process hears of it that did not make it."""

    url_id: int
    url: str
    key: int | None
    host: str
    depth: int
    fetched_at: float
    status: int | None
    title: str | None
    words: int | None
    simhash: int | None
    relevance: float | None
    novelty: str | None
    mark: bytes | None
    neighbours: str | None
    content: int | None
    cluster: int | None
    aliases: str | None
    leads: bytes | None


class TextPlace(NamedTuple):
    """Where a text stands on some host."""

    host_id: int
    host: str
    url: str
    words: int


class Fetched(NamedTuple):
    """The outcome of a fetch."""

    url: int
    """Id of the URL."""
    fetched_at: float
    status: int | None = None
    error: str | None = None
    signature: bytes | None = None
    simhash: int | None = None
    words: int | None = None
    title: str | None = None
    relevance: float | None = None
    novelty: str | None = None
    twin: int | None = None
    is_news: bool | None = None
    size: int | None = None
    """Bytes of the body as they came over the network."""
    beside: int | None = None
    """Hash of what the page says beside its main text, signed."""


class Trace(NamedTuple):
    """What a page is held against another by."""

    signature: bytes | None
    simhash: int | None
    words: int
    novelty: str
    is_news: bool | None
    mark: bytes | None
    beside: int | None = None


GONE = (404, 410)
"""Statuses that say that there is no page."""

NOT_MODIFIED = 304

MISSING = 400
"""From this status on there is no page to stand for another."""


def is_absent(status: int | None) -> bool:
    """Tell whether a *status* says that there is no page of its own at a URL: it is gone, or leads elsewhere.

    304 is about the page that was there before.
    """
    return status is not None and status != NOT_MODIFIED and (status in GONE or 300 <= status < MISSING)


class Pages(Protocol):
    """One record for each URL that was fetched, with its fingerprints and what it turned out to be."""

    def enter(self, page: Fetched) -> None:
        """Keep the outcome of a fetch; an earlier one of the same URL is replaced.

        Where that was a page and this is one, its traces, content and leads stay until they are set anew.
        """

    def set_mark(self, url_id: int, mark: bytes, neighbours: str | None = None) -> None:
        """Keep the traces by which the page is compared with those of other hosts.

        Without *neighbours* those that are kept stay.
        """

    def judge(self, url_id: int, relevance: float) -> None:
        """Give a page another relevance."""

    def set_news(self, url_id: int) -> None:
        """Keep that the page was worth a fetch after all."""

    def forget_marks(self, host: str) -> None:
        """Forget the traces of the pages of a host."""

    def set_content(
        self, url_id: int, content: int | None, cluster: int | None, aliases: str | None, leads: bytes
    ) -> None:
        """Keep what the page is on its host, its other URLs (JSON), and where it was the first to lead."""

    def leads(self, url_id: int) -> bytes | None:
        """Return where the page of that URL was the first to lead; ``None`` where that is not known."""

    def of_host(self, host: str) -> list[HostPage]:
        """Return every fetch on *host*, in their order."""

    def heard(self, url_ids: Sequence[int]) -> list[HeardPage]:
        """Return the fetches of the URLs of those ids, in that order; what was never fetched is left out."""

    def found_on(self, host: str, most: int) -> list[str]:
        """Return other hosts, at most *most*, whose pages a URL fetched on *host* was first found on."""

    def has_page(self, url_id: int) -> bool:
        """Tell whether that URL was fetched with a status of 200 before."""

    def has_failed(self, url_id: int) -> bool:
        """Tell whether that URL was fetched and brought no page: no response, or another status than 200."""

    def judgement(self, url_id: int) -> Judgement | None:
        """Return (signature, novelty, twin) of the page of that URL as last fetched; ``None`` if it was not."""

    def news(self, url_id: int) -> tuple[str, bool | None] | None:
        """Return the host of the page of that URL and whether it was worth a fetch; ``None`` if it brought none."""

    def trace(self, url_id: int) -> Trace | None:
        """Return the traces of the page of that URL; ``None`` if it brought none."""

    def by_signature(self, signature: bytes, limit: int = 8) -> list[PageRow]:
        """Return pages with that signature, first fetched first."""

    def by_simhash(self, simhash: int, limit: int = 8) -> list[PageRow]:
        """Return pages with exactly that simhash, first fetched first."""

    def text_places(self, simhash: int, most: int) -> list[TextPlace]:
        """Return one page of each host that has one with exactly that simhash, at most *most*."""

    def text_urls(self, simhash: int, host_id: int, most: int) -> list[str]:
        """Return URLs of the pages with exactly that simhash on a host, at most *most*."""

    def simhashes(self) -> NDArray[np.uint64]:
        """Return the simhash of every page, shape (n,)."""

    def count(self, most: int) -> int:
        """Return the number of pages fetched with a status of 200, or *most* if there are more."""
