"""robots.txt: the lines that tell which arguments do not matter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

_CLEAN_PARAM = re.compile(r"^[ \t]*clean-param[ \t]*:([^#\r\n]*)", re.IGNORECASE | re.MULTILINE)
MAX_LINES = 100


class CleanParamParser(RobotParser):
    """Parses as the parser that was set before does, and keeps the ``Clean-param`` lines, which none of them reads.

    https://yandex.com/support/webmaster/robot-workings/clean-param.html
    """

    def __init__(self, parser: RobotParser, clean_params: list[str]) -> None:
        self._parser = parser
        self.clean_params = clean_params
        """What stands behind each ``Clean-param:``."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        previous = load_object(crawler.settings["REPLICA_FALLBACK_ROBOTSTXT_PARSER"])
        lines = _CLEAN_PARAM.findall(robotstxt_body.decode("utf-8", "replace"))
        return cls(previous.from_crawler(crawler, robotstxt_body), [line.strip() for line in lines[:MAX_LINES]])

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        return self._parser.allowed(url, user_agent)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        return self._parser.crawl_delay(user_agent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)
