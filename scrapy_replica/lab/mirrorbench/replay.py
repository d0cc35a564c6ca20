#!/usr/bin/env python3
"""Serves a split of MirrorBench over HTTP, as a proxy: replay.py BENCH/test [--port 8080] [--out fetches.jsonl].

Needs Python 3.10 and nothing else. Any crawler reaches all hosts through the proxy, http_proxy=http://127.0.0.1:8080
and https_proxy the same, with the certificate in BENCH/replay.pem or without asking for one; one that resolves all
names to 127.0.0.1 is answered by its Host header. Each request is a line of the log, which score.py reads.
"""

from __future__ import annotations

import argparse
import gzip
import json
import ssl
import sys
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import unquote


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Replay:
    """The answers of a web: a WARC file, read through its CDXJ index, and the log of what was asked for.

    :raises OSError: *folder* has no index or WARC file, or *log* is there already.
    """

    def __init__(self, folder: Path, log: Path | None = None) -> None:
        self._places: dict[str, tuple[Path, int, int]] = {}
        with (folder / "index.cdxj").open(encoding="utf-8") as lines:
            for line in lines:
                told = json.loads(line.split(" ", 2)[2])
                self._places[told["url"]] = folder / told["filename"], int(told["offset"]), int(told["length"])
        self.hosts = {url.split("/")[2] for url in self._places}
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log.open("x", 1, encoding="utf-8") if log else None  # a line at once: it may be killed
        self._lock = Lock()
        self.requests = 0

    def answer(self, url: str) -> Answer:
        """Return what *url* is answered with."""
        place = self._places.get(url)
        return self._read(*place) if place else Answer(404, [("Content-Type", "text/plain")], b"not in the web\n")

    def log(self, url: str, status: int) -> None:
        """Note a request and how it is answered."""
        with self._lock:
            self.requests += 1
            if self._log is not None:
                self._log.write(json.dumps({"url": url, "status": status}) + "\n")

    def _read(self, file: Path, offset: int, length: int) -> Answer:
        with file.open("rb") as archive:
            archive.seek(offset)
            record = gzip.decompress(archive.read(length))
        _, head, rest = record.split(b"\r\n\r\n", 2)
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        kept = [(name, value) for name, value in headers if name.lower() != "content-length"]
        return Answer(int(first.split()[1]), kept, rest.removesuffix(b"\r\n\r\n"))

    def close(self) -> None:
        if self._log is not None:
            self._log.close()


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD, of absolute URLs and of paths with a Host header; the rest with 405."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    """Seconds after which a connection ends on which nothing is asked."""
    server: Server
    scheme = "http"

    def do_GET(self) -> None:
        self._send(self.server.replay.answer(self._url()))

    do_HEAD = do_GET  # noqa: N815 - named by the library

    def _refuse(self) -> None:
        self.close_connection = True  # a body may follow
        self._send(Answer(405, [("Allow", "GET, HEAD"), ("Content-Type", "text/plain")], b"GET and HEAD alone\n"))

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse  # noqa: N815

    def do_CONNECT(self) -> None:
        """Go on by TLS, as the host that is asked for."""
        self.send_response_only(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.scheme, self.close_connection = "https", False

    def finish(self) -> None:
        super().finish()
        if self.scheme == "https":
            self.connection.close()

    def _url(self) -> str:
        url = self.path if "://" in self.path else f"{self.scheme}://{self.headers.get('Host', '')}{self.path}"
        scheme, _, rest = url.partition("#")[0].partition("://")
        host, _, path = rest.partition("/")
        return f"{scheme.lower()}://{host.lower().removesuffix(':80').removesuffix(':443')}/{unquote(path)}"

    def _send(self, answer: Answer) -> None:
        self.server.replay.log(self._url(), answer.status)
        self.send_response_only(answer.status, responses.get(answer.status))
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the log has each request."""


class Server(ThreadingHTTPServer):
    """Serves *replay* on this machine alone; port 0 takes a free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, replay: Replay, port: int, certificate: Path) -> None:
        self.replay = replay
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate)
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, *_: object) -> None:
        """Say nothing of a client that went away."""


def serve(folder: Path, port: int, log: Path | None) -> int:
    """Serve until interrupted.

    :raises OSError: *folder* is no split, *log* is there already, or the port is taken.
    :raises ValueError: there is no such port.
    """
    if not 0 <= port <= 65_535:
        raise ValueError(f"--port is {port}: it must be 0 to 65535")
    replay = Replay(folder, log)
    with Server(replay, port, folder / ".." / "replay.pem") as server:
        proxy = f"http://127.0.0.1:{server.server_port}"
        told = f"{len(replay.hosts)} hosts are behind the proxy {proxy}; Ctrl-C ends it\n"
        sys.stdout.write(
            f"{told}  http_proxy={proxy} https_proxy={proxy} YOUR CRAWLER, from the URL in {folder / 'seeds.txt'}\n"
        )
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stdout.write(f"\n{replay.requests:,} requests were answered" + (f": {log}\n" if log else "\n"))
        finally:
            replay.close()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Serves a split of MirrorBench over HTTP, as a proxy.")
    parser.add_argument("split", type=Path, help="folder with index.cdxj, as BENCH/test")
    parser.add_argument("--port", type=int, default=8080, help="on 127.0.0.1 (8080)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="new file for the requests, as RESULTS/test/fetches.jsonl"
    )
    told = parser.parse_args()
    try:
        return serve(told.split, told.port, told.out)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"replay.py: {error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
