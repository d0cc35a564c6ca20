"""A web on this machine that answers by HTTP, on many hosts (127.0.0.x), and notes who asked for what, and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

Page = Callable[[str, bytes], tuple[int, dict[str, str], str]]
"""(URL, body of the request) -> status, headers, body."""


class Asked(NamedTuple):
    """A request as it came."""

    at: float
    """Seconds, of a clock that only grows."""
    who: str
    """Its user agent."""
    url: str
    method: str


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asked was killed."""


class LocalWeb:
    """Pages of *page*, each answered after *seconds*."""

    def __init__(self, page: Page, seconds: float = 0.0) -> None:
        self.asked: list[Asked] = []
        self._page, self._seconds = page, seconds
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                web._answer(self)

            do_POST = do_GET  # noqa: N815 - the library's name

            def log_message(self, *_: object) -> None:
                pass

        self._server = Server(("0.0.0.0", 0), Handler)  # all of 127.0.0.0/8
        self.port = self._server.server_address[1]

    def host(self, number: int) -> str:
        """The host of that number, from 1 on."""
        return f"127.0.0.{number}:{self.port}"

    def url(self, number: int, path: str = "") -> str:
        return f"http://{self.host(number)}/{path}"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        at = time.monotonic()
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        url = f"http://{handler.headers['Host']}{handler.path}"
        self.asked.append(Asked(at, handler.headers.get("User-Agent", ""), url, handler.command))
        time.sleep(self._seconds)
        status, headers, text = self._page(url, body)
        data = text.encode()
        try:
            handler.send_response(status)
            for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            pass  # who asked was killed

    @contextmanager
    def serving(self) -> Iterator[LocalWeb]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
