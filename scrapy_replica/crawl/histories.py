"""Histories of URLs that are asked for again: what a visit makes of one, and what is to be expected of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_replica.crawldb.revisits import Done, History
from scrapy_replica.freshness.answer import Answer
from scrapy_replica.freshness.change_rate import Changes, chances, pooled, rates

MAX_ABSENCES = 3
"""Answers that there is no page after which a URL is asked for in few of the passes."""
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


def after_page(before: History, answer: Answer, now: float, *, is_changed: bool) -> History:
    is_first = before.content is None
    after = before._replace(
        etag=answer.validators.etag,
        last_modified=answer.validators.last_modified,
        body=answer.body,
        content=answer.content,
        size=answer.size or before.size,
        visits=before.visits + 1,
        changes=before.changes + is_changed,
        first_at=now if is_first else before.first_at,
        seen_at=now,
        checked_at=now,
        believed=0,
        misses=0,
        absences=0,
        gone_at=None,
        callback_fingerprint=answer.callback_fingerprint,
        kept=answer.kept,
        page=before.page if answer.page is None else answer.page,
        items=before.items if answer.page is None else answer.items,
    )
    return after if is_first else with_interval(after, now - before.checked_at, is_changed=is_changed)


def after_miss(before: History, now: float, *, is_gone: bool) -> History:
    """Return *before* with a visit that brought no page, because there is none or for another reason."""
    # What never was a page is asked for once more.
    is_unknown = is_gone and not before.visits and not before.misses
    return before._replace(
        misses=before.misses + 1,
        absences=MAX_ABSENCES - 1 if is_unknown else before.absences + is_gone,
        gone_at=before.gone_at or (now if is_gone else None),
        checked_at=before.checked_at if before.visits else now,
    )


def after_not_modified(before: History, now: float) -> History:
    unchanged_s = before.unchanged_s + now - before.checked_at
    return before._replace(
        visits=before.visits + 1, believed=before.believed + 1, unchanged_s=unchanged_s, checked_at=now
    )


def with_interval(history: History, seconds: float, *, is_changed: bool) -> History:
    """Return *history* with a visit so many *seconds* after the one before."""
    if not is_changed:
        return history._replace(unchanged_s=history.unchanged_s + seconds)
    changed, unchanged = (*history.changed, seconds), history.unchanged_s
    if len(changed) > MAX_CHANGED:
        changed, unchanged = changed[-MAX_CHANGED // 2 :], unchanged / 2
    return history._replace(changed=changed, unchanged_s=unchanged)


def without_not_modified(history: History) -> History:
    """Return *history* as it was when the body was last sent."""
    return history._replace(
        visits=history.visits - history.believed,
        believed=0,
        unchanged_s=max(0.0, history.unchanged_s - (history.checked_at - history.seen_at)),
        checked_at=history.seen_at,
    )
