"""The turns of the scheduler: one that fails costs a turn, and not the crawl."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from scrapy_replica.crawldb.contract import StoreError

if TYPE_CHECKING:
    from scrapy_replica.components.extension import ReplicaExtension

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST_FAULTS = 3
"""Turns in a row that fail for a fault of ours after which the crawl ends. A URL may bring one about, and the others
have their turn; where nothing is given out any more Scrapy asks every 5 seconds for ever."""
REST = 1.0
"""Seconds until the next turn after one."""


class Turns:
    """Takes turns of the scheduler, and ends the crawl where it cannot go on.

    :param rest: lets the scheduler be asked again after so many seconds.
    """

    def __init__(self, extension: ReplicaExtension, rest: Callable[[float], None]) -> None:
        self._extension, self._rest = extension, rest
        self._n_faults = 0

    def went_on(self) -> None:
        """Take note that something was given out."""
        self._n_faults = 0

    def run(self, turn: Callable[[], T]) -> T | None:
        """Return what *turn* returns; ``None`` where it fails, or the crawl is at its end."""
        if self._extension.error is not None:
            return None
        try:
            return turn()
        except StoreError as error:
            self._extension.stop(error)
        except Exception as error:
            logger.exception("What is to be fetched next cannot be told")
            self._n_faults += 1
            if self._n_faults >= MOST_FAULTS:
                why = f"what is to be fetched next cannot be told ({type(error).__name__}, see above)"
                self._extension.stop(StoreError(f"{why}: what waits stays in the job"))
            else:
                self._rest(REST)
        return None
