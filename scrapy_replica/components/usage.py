"""What sites say may be done with their pages, as each page was fetched: robots.txt, headers and the page itself."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse

from scrapy_replica import usage
from scrapy_replica.components.extract import tree_of
from scrapy_replica.usage import RobotsUsage, Statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Request, Response
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings

OF_PAGE = (usage.META_ROBOTS, usage.META_TDM_RESERVATION, usage.META_TDM_POLICY, usage.PAGE_LICENSE)
"""Sources that are part of the body."""
OF_HEADERS = (*usage.FIELDS, usage.X_ROBOTS_TAG, usage.HEADER_LICENSE)
_TDM = {name.removeprefix("meta "): name for name in (usage.META_TDM_RESERVATION, usage.META_TDM_POLICY)}


class UsageStatements:
    """Hears what each robots.txt says that the crawl asks for, and reads the rest of each response; asks for nothing.

    Invariant: whatever a site sends, there is a list of statements, none of which was made up.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._is_robots_obeyed = settings.getbool("ROBOTSTXT_OBEY")
        self._user_agent: str | None = settings["ROBOTSTXT_USER_AGENT"] or None
        self._default: str = settings["USER_AGENT"] or ""
        self._robots: dict[str, RobotsUsage] = {}
        """Network location -> its robots.txt, which Scrapy keeps as well."""

    def add_robots(self, parser: RobotParser, request: Request) -> None:
        """Take up the robots.txt that *request* asked for."""
        said = getattr(parser, "usage", None)
        if isinstance(said, RobotsUsage):
            self._robots[urlsplit(request.url).netloc] = said

    def of(self, response: Response) -> tuple[Statement, ...]:
        """Return what is said about the page that *response* is."""
        own = self._of_html(response) if isinstance(response, HtmlResponse) else ()
        return usage.kept((*self._of_server(response), *own))

    def again(self, response: Response, before: Sequence[Statement]) -> tuple[Statement, ...]:
        """Return what is said by now about a page that is as it was, of which *before* was said.

        A 304 need not repeat the headers of the page.
        """
        stays = (*OF_PAGE, *OF_HEADERS) if response.status != 200 else OF_PAGE
        return usage.kept((*self._of_server(response), *(one for one in before if one.source in stays)))

    def _robot(self, response: Response) -> str:
        assert response.request is not None
        sent = response.request.headers.get("User-Agent")
        return self._user_agent or (self._default if sent is None else sent.decode("latin-1"))

    def _of_server(self, response: Response) -> Iterator[Statement]:
        """Yield what robots.txt and headers say."""
        assert response.request is not None
        robot, robots = self._robot(response), self._robots.get(urlsplit(response.url).netloc)
        if robots is not None:
            if self._is_robots_obeyed and not response.request.meta.get("dont_obey_robotstxt"):
                yield Statement(usage.ROBOTS, usage.ALLOWED)
            yield from robots.statements(response.url, robot)
        headers = response.headers
        fields = {name: b", ".join(headers.getlist(name)).decode("latin-1") for name in usage.FIELDS if name in headers}
        tags = [value.decode("latin-1") for value in headers.getlist("X-Robots-Tag")]
        if fields or tags:
            yield from usage.header_statements(fields, tags, response.url, _token(robot))

    def _of_html(self, response: HtmlResponse) -> Iterator[Statement]:
        root = tree_of(response)
        names = {"robots": usage.META_ROBOTS, _token(self._robot(response)): usage.META_ROBOTS, **_TDM}
        # To walk over the links of a page as well takes 50 us.
        has_license = any(word in response.body for word in (b"license", b"LICENSE", b"License"))
        for element in root.iter("meta", "link", "a") if has_license else root.iter("meta"):
            if element.tag == "meta":
                source = names.get((element.get("name") or "").strip().lower())
                if source is not None:
                    yield Statement(source, (element.get("content") or "").strip())
            elif "license" in (element.get("rel") or "").lower().split():
                place = element.get("href") or ""
                yield from usage.license_at(usage.PAGE_LICENSE, _base_of(response), place)


def _base_of(response: HtmlResponse) -> str:
    try:
        return response.urljoin("")
    except ValueError:
        return response.url


def _token(user_agent: str) -> str:
    """Return the product token of a ``User-Agent``, lower-case."""
    return user_agent.partition("/")[0].strip().lower()
