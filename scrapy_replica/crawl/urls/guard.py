"""The guard against traps: budgets of novel pages, and the shapes that traps have."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_replica.config import Config
from scrapy_replica.decision import Reason
from scrapy_replica.urls.budgets import NoveltyBudgets
from scrapy_replica.urls.traps import TrapKind, Traps, shape


class Guard:
    """Tells where no more is to be fetched because nothing new comes of it.

    Two witnesses make it certain: the shape of a trap, and a row of pages without news (half of
    ``REPLICA_TRAP_CREDIT``) where it lies.
    """

    def __init__(self, config: Config, pages: object) -> None:
        self._budgets = NoveltyBudgets(config.trap_credit, config.host_budget, config.path_budget)
        self._traps = Traps(max(1, config.trap_credit // 2)) if config.trap_credit else None

    def forget(self, host: str) -> None:
        pass

    def count(self, url: str, host: str, *, is_novel: bool | None) -> None:
        """Take note that *url* was fetched; *is_novel* is ``None`` where the page is too short to tell."""
        self._budgets.count(url, is_novel=is_novel)
        if self._traps is not None and (is_novel is not None or shape(url) is TrapKind.REVISIONS):
            self._traps.observe(url, bool(is_novel))

    def bars(self, url: str) -> tuple[Reason, Mapping[str, object], bool] | None:
        """Return why *url* is not to be fetched, the evidence and whether it is certain; ``None`` if it may be."""
        kind = self._traps.is_trap(url) if self._traps is not None else None
        if kind is not None and kind is not TrapKind.NO_NEWS:
            return Reason.TRAP_BUDGET, {"kind": kind.value}, True
        spent = self._budgets.spent(url)
        if spent is not None:
            reason, prefix, is_certain = spent
            if reason is not Reason.TRAP_BUDGET:
                return reason, {"prefix": prefix}, is_certain
            return reason, {"kind": (kind or shape(url) or TrapKind.NO_NEWS).value, "prefix": prefix}, is_certain
        if kind is not None:
            return Reason.TRAP_BUDGET, {"kind": kind.value}, False
        return None
