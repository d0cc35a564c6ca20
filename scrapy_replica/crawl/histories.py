"""Histories of URLs that are asked for again: what a visit makes of one, and what is to be expected of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_replica.crawldb.revisits import Done, History
from scrapy_replica.freshness.change_rate import Changes, chances, pooled, rates

MAX_CHANGED = 16
"""Times between visits that found a change which are kept of a URL; then the older half is forgotten, and half of the
time without a change."""


class Expected:
    """Chances that pages changed, by their own histories and those of all pages of their hosts.

    :param hosts: host -> visits beyond the first to each URL, those that found a change, and the seconds.
    """

    def __init__(self, hosts: Mapping[str, tuple[int, int, float]]) -> None:
        self._every, self._hosts = pooled({name: Changes(*sums) for name, sums in hosts.items()})

    def chances(self, pages: Sequence[Done], now: float) -> list[float]:
        """Return the chance of each of *pages* to have changed by *now*.

        1 where nothing was ever visited twice.
        """
        if not self._every.visits:
            return [1.0] * len(pages)
        hosts = [self._hosts.get(page.host, self._every) for page in pages]
        changed = np.zeros((len(pages), MAX_CHANGED))
        for row, page in zip(changed, pages, strict=True):
            row[: len(page.history.changed)] = page.history.changed
        unchanged = np.array([page.history.unchanged_s for page in pages])
        share, interval = np.array([[host.share, host.interval] for host in hosts]).T
        age = np.array([now - page.history.checked_at for page in pages])
        return [float(chance) for chance in chances(rates(changed, unchanged, share, interval), age)]


def timed(history: History, seconds: float, *, is_changed: bool) -> History:
    """Return *history* with a visit so many *seconds* after the one before."""
    if not is_changed:
        return history._replace(unchanged_s=history.unchanged_s + seconds)
    changed, unchanged = (*history.changed, seconds), history.unchanged_s
    if len(changed) > MAX_CHANGED:
        changed, unchanged = changed[-MAX_CHANGED // 2 :], unchanged / 2
    return history._replace(changed=changed, unchanged_s=unchanged)


def unbelieved(history: History) -> History:
    """Return *history* as it was when the body was last sent."""
    return history._replace(
        visits=history.visits - history.believed,
        believed=0,
        unchanged_s=max(0.0, history.unchanged_s - (history.checked_at - history.seen_at)),
        checked_at=history.seen_at,
    )
