"""Requests that do not belong to the crawl: what callbacks give, and where redirects lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_replica.address import host_of
from scrapy_replica.components.flight import may_leave
from scrapy_replica.crawl.scope import out_of_scope

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scrapy import Request

    from scrapy_replica.crawl.scope import CrawlScope
    from scrapy_replica.decision import Decision
    from scrapy_replica.records import Page


def belongs(scope: CrawlScope, request: Request, found_on: str) -> bool:
    """Tell whether *request*, of a callback for the host *found_on*, belongs to the crawl; count it if it does not."""
    outside = None if may_leave(request) else scope.outside(request.url, host_of(request.url))
    if outside is not None:
        scope.leave_out(outside, request.url, found_on)
    return outside is None


def outsiders(scope: CrawlScope, page: Page, requests: Sequence[Request], own: Collection[str]) -> set[int]:
    """Return the ids of those *requests* of a callback that do not belong to the crawl.

    Of those for the *own* links of *page* it tells more: in which language they are.
    """
    if scope.is_open:
        return set()
    links = scope.links_of(page)
    return {
        id(request)
        for request in requests
        if not may_leave(request)
        and not (links.has(request.url) if request.url in own else belongs(scope, request, page.host))
    }


def leaving(scope: CrawlScope, request: Request) -> Decision | None:
    """Return the decision about a *request* that no page links to, as of a redirect, if it leaves the scope.

    Seeds and what they redirect to belong to the crawl.
    """
    if not request.meta.get("depth") or may_leave(request):
        return None
    outside = scope.outside(request.url, host_of(request.url))
    if outside is None:
        return None
    scope.count(outside)
    via = request.meta.get("redirect_urls")
    return out_of_scope(outside, **({"redirected from": via[-1]} if via else {}))
