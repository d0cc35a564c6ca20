"""robots.txt: which arguments do not matter, how seldom a host wants to be asked, what its pages may be used for."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import load_object
from scrapy.utils.python import to_unicode

from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.usage import RobotsUsage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)

_CLEAN_PARAM = re.compile(r"^[ \t]*clean-param[ \t]*:([^#\r\n]*)", re.IGNORECASE | re.MULTILINE)
MAX_LINES = 100
MOST_DELAY_S = 60.0
"""Seconds between two requests that a ``robots.txt`` can ask for: one that asks for days would end the crawl."""


class CleanParamParser(RobotParser):
    """Parses as the parser that was set before does, and keeps the lines that none of them reads.

    https://yandex.com/support/webmaster/robot-workings/clean-param.html
    """

    def __init__(
        self, parser: RobotParser, clean_params: list[str], delays: dict[str, float], usage: RobotsUsage
    ) -> None:
        self._parser, self._delays = parser, delays
        self._is_told = False
        self.clean_params = clean_params
        """What stands behind each ``Clean-param:``."""
        self.usage = usage

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        previous = load_object(crawler.settings["REPLICA_FALLBACK_ROBOTSTXT_PARSER"])
        lines = _CLEAN_PARAM.findall(robotstxt_body.decode("utf-8", "replace"))
        extension = crawler.get_extension(ReplicaExtension)
        delays = extension.crawl_delays if extension is not None else {}
        parser = previous.from_crawler(crawler, robotstxt_body)
        return cls(parser, [line.strip() for line in lines[:MAX_LINES]], delays, RobotsUsage(robotstxt_body))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        if not self._is_told:
            self._is_told = True
            try:
                self._tell(url, user_agent)
            except Exception as error:  # noqa: BLE001 - of a parser that somebody else wrote; the request goes on
                logger.debug("The delays in the robots.txt of %s cannot be read: %s", url, error)
        return self._parser.allowed(url, user_agent)

    def _tell(self, url: str | bytes, user_agent: str | bytes) -> None:
        """Have the host of *url* asked as seldom as ``Crawl-delay`` and ``Request-rate`` want, a minute at most."""
        delay = self._parser.crawl_delay(user_agent) or 0.0
        rate = getattr(getattr(self._parser, "rp", None), "request_rate", lambda _: None)(to_unicode(user_agent))
        if rate is not None and rate.requests > 0:
            delay = max(delay, rate.seconds / rate.requests)
        host = urlsplit(to_unicode(url)).hostname
        if delay > 0 and host:
            self._delays[host] = min(delay, MOST_DELAY_S)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        return self._parser.crawl_delay(user_agent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)
