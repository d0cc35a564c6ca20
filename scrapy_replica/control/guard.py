"""Who may talk to the control page: whoever has its token, from the page itself, under a name that is ours.

A page of another site that is open in the same browser can send requests here. So the token travels in a header, which
other sites cannot set, and not in a cookie, which a browser sends to all ports of a host; ``Origin`` must be our own;
and the host asked for must be an address or ``localhost``, because whoever owns another name can make it mean this
machine (DNS rebinding).
"""

from __future__ import annotations

import hmac
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Server": "scrapy-replica",
}
"""Sent with every answer: nothing but our own script and style runs, nobody frames the page, nothing of it is kept."""

HOST = re.compile(r"(\[(?P<address>[^]]+)\]|(?P<name>[^]:[]+))(:\d+)?")
"""A ``Host`` header."""

API = "/api/"
"""Begins the paths that read or steer the crawl."""

NEEDS_TOKEN = "this page opens at the address that 'scrapy replica serve' printed, with its token\n"  # noqa: S105


class Guard:
    """Refuses what does not come from the page.

    Args:
        token: The secret in the page's address.
        name: Host name that was asked for where the server listens, allowed beside addresses and ``localhost``.
    """

    def __init__(self, token: str, name: str) -> None:
        self._token, self._name = token.encode(), name

    @property
    def middleware(self) -> Callable[..., Awaitable[web.StreamResponse]]:
        """What aiohttp asks before it answers."""

        @web.middleware
        async def guarded(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            why = self._refusal(request)
            return await handler(request) if why is None else web.Response(status=403, text=why)

        return guarded

    def _refusal(self, request: web.Request) -> str | None:
        if not self._is_own_name(request.host):
            return "asked for under a foreign host name\n"
        if request.path == "/":
            return None if self._is_token(request.query.get("token", "")) else NEEDS_TOKEN
        if not request.path.startswith(API):
            return None
        if request.headers.get("Origin", own := f"{request.scheme}://{request.host}") != own:
            return "asked for by a foreign origin\n"
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return "asked for by a foreign site\n"
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        return None if kind == "Bearer" and self._is_token(token) else NEEDS_TOKEN

    def _is_token(self, told: str) -> bool:
        return hmac.compare_digest(told.encode("utf-8", "surrogateescape"), self._token)

    def _is_own_name(self, host: str) -> bool:
        parts = HOST.fullmatch(host)
        if parts is None:
            return False
        name = parts["address"] or parts["name"]
        try:
            ip_address(name)
        except ValueError:
            return name.lower() in {"localhost", self._name.lower()}
        return True


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Add :data:`HEADERS` to an answer before it is sent."""
    response.headers.update(HEADERS)
