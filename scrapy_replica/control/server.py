"""The web server of the control page."""

from __future__ import annotations

import asyncio
import errno
import json
import signal
import sys
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn

from aiohttp import web

from scrapy_replica.control.feed import Feed
from scrapy_replica.control.guard import Guard, add_headers
from scrapy_replica.report import page

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_replica.control.feed import Job

FOLDER = files(__package__).joinpath("static")
STATIC = {
    "/": (FOLDER.joinpath("page.html").read_text("utf-8"), "text/html"),
    "/page.js": (FOLDER.joinpath("page.js").read_text("utf-8"), "text/javascript"),
    "/page.css": (FOLDER.joinpath("page.css").read_text("utf-8"), "text/css"),
    "/report.js": (page.SCRIPT, "text/javascript"),
    "/report.css": (page.STYLE, "text/css"),
}
"""Path -> what lies there, and its type."""
MAX_ORDER_BYTES = 64 * 1024
MAX_LISTENERS = 16
"""Pages open at one time."""
BEAT_SECONDS = 15
"""Time after which an open page is told that nothing is new, so that a dead one is noticed."""


class ControlServer:
    """Serves one job.

    Args:
        job: The job.
        token: The secret in the page's address.
        address: Host name or address to listen at.
    """

    def __init__(self, job: Job, token: str, address: str) -> None:
        self._job, self._address = job, address
        self.feed = Feed(job)
        """Is to run while the application does."""
        self.app = web.Application(middlewares=[Guard(token, address).middleware], client_max_size=MAX_ORDER_BYTES)
        self.app.on_response_prepare.append(add_headers)
        for path, (text, kind) in STATIC.items():
            self.app.router.add_get(path, _answering(text, kind), allow_head=False)
        self.app.router.add_get("/vega.js", _library, allow_head=False)
        self.app.router.add_get("/api/events", self._events, allow_head=False)
        self.app.router.add_post("/api/orders", self._order)

    async def run(self, port: int, opened: Callable[[int], None]) -> None:
        """Serve until a signal ends it; *opened* is told the port once the page can be opened.

        :raises ValueError: nothing can be served there: one line that says why.
        """
        runner = web.AppRunner(self.app, access_log=None, handle_signals=False, shutdown_timeout=0.5)
        await runner.setup()
        look = asyncio.create_task(self.feed.run())
        try:
            await self._listen(runner, port)
            opened(runner.addresses[0][1])
            await _signalled()
        finally:
            look.cancel()
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner, port: int) -> None:
        try:
            await web.TCPSite(runner, self._address, port).start()
        except OSError as error:
            _refuse(error, self._address, port)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self.feed.n_listeners >= MAX_LISTENERS:
            return web.Response(status=503, text=f"{MAX_LISTENERS} pages are open; close one\n")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with self.feed.listening() as listener, suppress(ConnectionError):
            while True:
                try:
                    news = await asyncio.wait_for(listener.news(), BEAT_SECONDS)
                except asyncio.TimeoutError:
                    news = {}
                told = "".join(f"event: {section}\ndata: {text}\n\n" for section, text in news.items())
                await response.write((told or ": nothing new\n\n").encode())
        return response

    async def _order(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            return web.Response(status=415, text="an order is JSON\n")
        try:
            kind, what = _parsed(await request.read())
            order_id, command = await asyncio.to_thread(self._job.give_order, kind, what)
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        self.feed.ordered()
        return web.json_response({"id": order_id, "command": command})


def _answering(text: str, kind: str) -> Callable[[web.Request], Any]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type=kind)

    return answer


async def _library(_: web.Request) -> web.Response:
    return web.Response(text=await asyncio.to_thread(page.library), content_type="text/javascript")


def _parsed(body: bytes) -> tuple[str, dict[str, Any]]:
    """Return kind and object of the order that is the JSON *body*.

    :raises ValueError: it is none.
    """
    try:
        order = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("an order is JSON") from None
    if not isinstance(order, dict) or not isinstance(order.get("kind"), str) or not isinstance(order.get("what"), dict):
        raise ValueError('an order is {"kind": ..., "what": {...}}')
    return order["kind"], order["what"]


def _refuse(error: OSError, address: str, port: int) -> NoReturn:
    if error.errno == errno.EADDRINUSE:
        raise ValueError(f"port {port} is taken, maybe by another serve; --port 0 takes a free one") from None
    raise ValueError(f"cannot listen at {address}, port {port}: {error.strerror or error}") from None


async def _signalled() -> None:
    """Wait for Ctrl-C, or for what else asks a process to end."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if sys.platform == "win32":
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(ended.set))
        else:
            loop.add_signal_handler(number, ended.set)
    await ended.wait()
