"""The add-on: one line in ``ADDONS`` sets everything up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self


class Addon:
    """Put it into ``ADDONS``: ``{"scrapy_replica.Addon": 500}``.

    Every setting is set at the priority of add-ons, so whatever the user set stays. A fingerprinter that was set
    before, by the user or by another add-on, is wrapped; another scheduler stays in use, and then the add-on decides
    and demotes through Scrapy's own hooks, without its frontier.

    In ``observe`` mode without a topic and a strategy of the user's choice, Scrapy's own scheduler and order hold.

    Commands that look at single pages (``shell``, ``fetch``, ``view``, ``parse``, ``check``, ``bench``) run without the
    add-on and without the JOBDIR: what they fetch is no part of the crawl that is kept there.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Set everything up.

        :raises RefusedError: a setting is wrong, or the JOBDIR cannot be made.
        """
        # Classes that Scrapy deprecates look at all modules there are, for each frame of the stack: 50 ms less before
        # ours are there.
        from scrapy.core.downloader import contextfactory  # noqa: F401, PLC0415

        # Commands as `scrapy list` load this class, and pay for nothing else of the package.
        from scrapy_replica.components.composition import compose  # noqa: PLC0415

        compose(settings, self._crawler)
