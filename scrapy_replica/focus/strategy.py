"""The contract of a visiting strategy: which link comes next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from scrapy_replica.focus.state import from_pieces, in_pieces
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.records import Link, Page


class Part(NamedTuple):
    """One of the numbers whose weighted sum a score is."""

    name: str
    value: float
    weight: float


class Account(NamedTuple):
    """How a score comes about."""

    parts: Sequence[Part]
    page: str | None = None
    """URL of the page that it is inherited from, where one of those that link to the URL counts most."""
    log_odds: Sequence[Sequence[Part]] = ()
    """How each part comes about whose value is a share of an online model: their sum is its log odds."""


class Distance(NamedTuple):
    """How many links a fetched page lies from a relevant one."""

    estimated: int | None
    """What the models said when it was fetched; ``None`` where they had learnt nothing yet."""
    known: int
    """What the pages fetched since say."""
    far: int
    """From here on a distance means "or more", which is also what is said of a page that leads nowhere yet."""


class Needs(NamedTuple):
    """What a crawl has for a strategy that it makes."""

    seed: int
    """For those that draw lots."""
    words: LinkWords | None
    """What reads the links' own words; ``None`` without a topic."""

    def read(self, name: str) -> LinkWords:
        """Return :attr:`words`, for the strategy called *name*, which needs them.

        :raises ValueError: there is no topic.
        """
        if self.words is None:
            raise ValueError(f"REPLICA_STRATEGY: {name} needs a topic: give examples, or choose breadth-first")
        return self.words


class Strategy(ABC):
    """Scores the links of visited pages; the waiting URL with the highest score is fetched next.

    Among equal scores the one found first is taken, so a strategy that always answers 0 is breadth-first. The same
    object serves the live scheduler and the simulated visit: it sees pages and links only, never the crawl database,
    a clock or a source of randomness that was not handed in. It is a function of the pages it was shown: the same pages
    in the same order give the same scores, and so do those after a checkpoint to one that loaded it, which is how the
    state of a crawl that was stopped is had back.
    """

    name: ClassVar[str]
    """The spelling of ``REPLICA_STRATEGY`` and of ``--strategy``."""
    warms_up: ClassVar[bool] = True
    """The first pages are fetched breadth-first, because scores mean little before some pages are known."""
    needs_topic: ClassVar[bool] = True
    """Without examples of a topic it has nothing to go by."""
    remembers: ClassVar[bool] = True
    """Scores depend on earlier pages: it is saved now and then, and shown the pages since on resumption."""
    reads_links: ClassVar[bool] = True
    """Words or hosts of URLs, or anchors, count; else a URL only says which page is meant, and need not be made."""

    @classmethod
    def made(cls, needs: Needs) -> Self:  # noqa: ARG003 - most need nothing
        """Return a new strategy, made with what it *needs*.

        :raises ValueError: the crawl has not what it needs.
        """
        return cls()

    def visited(self, page: Page, relevance: float) -> None:  # noqa: B027 - most strategies need not listen
        """Take note of a fetched *page* of the given *relevance* (0..1); called once a fetch, before its scores."""

    def unproductive(self, url: str) -> None:  # noqa: B027 - most strategies need not listen
        """Take note that fetching *url* brought nothing new: no page, or a copy of one that was fetched before.

        A copy is shown to :meth:`visited` after that, as every page is.
        """

    @abstractmethod
    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        """Return the score of each of the *links* of *page*, the page visited last; finite floats, shape (n,)."""

    def rescored(self) -> dict[str, float]:
        """Return new scores of URLs found earlier (URL -> score) since the last call: waiting ones are moved."""
        return {}

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:  # noqa: ARG002 - nothing to add
        """Return the present scores of waiting *urls* that are about to be fetched; ``None`` if theirs still stand.

        Asked of the few best before one of them is taken: a URL whose score has fallen below that of others goes back
        to wait. Far cheaper than rescoring all that waits after every page.
        """
        return None

    def account(self, url: str, score: float, relevance: float) -> Account | None:  # noqa: ARG002
        """Return how the present score of *url* comes about; ``None`` where nothing can be told.

        *score* is what it was entered with, *relevance* that of the page that it was found on.
        """
        return None

    def distance(self, url: str) -> Distance | None:  # noqa: ARG002 - most estimate none
        """Return the distance of the fetched page at *url*; ``None`` where none is estimated."""
        return None

    def distances_told(self) -> Mapping[str, int]:
        """Return how good the estimates were: pages whose distance is known by now, and how many of them were right.

        Empty where no distance is estimated.
        """
        return {}

    def learnt(self) -> dict[str, Any]:
        """Return what holds on other sites as well: parts as :func:`~scrapy_replica.focus.state.pack` has them."""
        return {}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:  # noqa: B027 - most have nothing to take
        """Take what :meth:`learnt` of a strategy returned, as far as it is of use; this one must be fresh.

        Raises ``ValueError`` where it was learnt with other settings.
        """

    def save(self) -> Iterator[bytes]:
        """Return the state as it is now, in pieces of at most some hundred kB, each made when it is asked for."""
        return in_pieces(self.state())

    def load(self, pieces: Iterable[bytes]) -> None:
        """Take what :meth:`save` of another object of the same class returned; this one must be fresh."""
        self.restore(from_pieces(pieces))

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: arrays, lists of texts, what JSON can hold, or mappings of these.

        They stay as they are.
        """
        if self.remembers:
            raise NotImplementedError(f"{type(self).__name__} remembers pages and must say how it is saved")
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: B027 - most have nothing to take
        """Take what :meth:`state` returned."""
