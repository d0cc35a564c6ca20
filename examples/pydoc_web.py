"""A small web of real text, made on the spot: pydoc's pages of this Python installation, served under several hosts.

Run it by hand, and point a crawler's ``http_proxy`` at it::

    python examples/pydoc_web.py --port 8080

The server is a forward proxy that answers for its own hosts only (502 for all others), so that many host names on port
80 need neither DNS nor root. Some hosts are mirrors of each other, some hand out several URLs for one page, and the
library's calendar never ends. Needs the standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import html
import itertools
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import parse_qs, urlsplit

from pydoc_pages import EXAMPLES, NETWORKING, load_pages


class Truth(NamedTuple):
    """What a URL of the web really is."""

    page: str | None
    """The same for all URLs of one page, whatever the host; None where there is no page."""
    is_trap: bool
    is_networking: bool


class Host(NamedTuple):
    collection: str
    prefix: str = ""
    style: str = "plain"
    """How its links are spelt: plain, sessions, parameters or slashes."""


HOSTS = {
    "docs.pydoc.example": Host("library"),
    "www.docs.pydoc.example": Host("library", style="sessions"),
    "mirror.library.example": Host("library", style="slashes"),
    "archive.other.example": Host("library", "/python/docs"),
    "packages.pydoc.example": Host("packages", style="parameters"),
    "topics.pydoc.example": Host("topics", style="slashes"),
}


class PydocWeb:
    """The web, served from a thread while the context is open.

    Everything follows from *seed* and the installation, except that each response has session ids of its own.
    """

    def __init__(self, port: int = 0, cache: Path | None = None, modules_limit: int = 500, seed: int = 0) -> None:
        self.pages = load_pages(cache, modules_limit)
        self.hosts = tuple(HOSTS)
        self.seeds = [f"http://{name}{host.prefix}/" for name, host in HOSTS.items()]
        self._seed = seed
        self._responses = itertools.count()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.web = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def proxy_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> PydocWeb:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def truth(self, url: str) -> Truth:
        """What *url* is, by how the web was made."""
        parts = urlsplit(url)
        host = HOSTS.get(parts.hostname or "")
        page = self._route(host, parts.path, parts.query) if host else None
        if host is None or page is None:
            return Truth(None, False, False)
        kind, _, name = page.partition("/")
        is_networking = kind == "pages" and host.collection != "topics" and bool(NETWORKING.match(name))
        return Truth(f"{host.collection}/{page}", kind == "calendar", is_networking)

    def write_topic(self, folder: Path) -> None:
        """Write the texts of eight modules on networking, as examples of the topic."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in EXAMPLES:
            if name in self.pages["library"]:
                text = html.unescape(re.sub(r"<[^>]+>", " ", self.pages["library"][name]))
                (folder / f"{name}.txt").write_text(re.sub(r"[ \t\xa0]+", " ", text), encoding="utf-8")

    def response(self, url: str) -> tuple[int, str, str]:
        """Status, content type and body for *url*."""
        parts = urlsplit(url)
        name = parts.hostname or ""
        if name not in HOSTS:
            return 502, "text/plain", "this proxy answers for the hosts of its own web only\n"
        if parts.path == "/robots.txt":
            return 200, "text/plain", "User-agent: *\nDisallow:\n"
        host = HOSTS[name]
        page = self._route(host, parts.path, parts.query)
        if page is None:
            return 404, "text/html; charset=utf-8", "<!DOCTYPE html><title>Not found</title><p>Not found.</p>"
        depth = parts.path.removeprefix(host.prefix).count("/") - 1
        return 200, "text/html; charset=utf-8", self._page(name, page, _Links(self, host, page, "../" * depth))

    def _route(self, host: Host, path: str, query: str) -> str | None:
        """The page (``index``, ``letters/x``, ``pages/name``, ``calendar/year/month``) behind a path, if any."""
        if not (path or "/").startswith(host.prefix + "/"):
            return "front" if host.prefix and path in {"", "/"} else None
        local, names = path.removeprefix(host.prefix).strip("/"), self.pages[host.collection]
        kind, _, name = local.removesuffix(".html").partition("/")
        if local == "view":
            kind, name = "pages", parse_qs(query).get("module", [""])[0]
        if local in {"", "index.html"}:
            return "index"
        if (kind == "pages" and name in names) or (kind == "letters" and name in self.letters(host.collection)):
            return f"{kind}/{name}"
        return local if re.fullmatch(r"calendar/\d+/(0[1-9]|1[0-2])", local) else None

    def letters(self, collection: str) -> dict[str, list[str]]:
        """First letter -> names of the collection."""
        return {
            letter: list(group)
            for letter, group in itertools.groupby(
                sorted(self.pages[collection], key=_by_letter), lambda n: n[0].lower()
            )
        }

    def _page(self, name: str, page: str, links: _Links) -> str:
        kind, _, rest = page.partition("/")
        collection = links.host.collection
        title, main = f"{rest} - Python {collection}" if rest else f"Python {collection}", ""
        if kind == "pages":
            main = links.resolve(self.pages[collection][rest])
        elif kind == "letters":
            main = links.listing(self.letters(collection)[rest])
        elif kind == "calendar":
            title, main = f"Calendar {rest}", links.calendar(rest)
        elif kind == "front":
            main = f'<p><a href="{links.host.prefix}/">A copy of the Python library</a></p>'
        else:
            main = "<p>Pages by first letter.</p>"
        others = (
            ""
            if kind == "calendar"
            else " ".join(f'<a href="{seed}">{urlsplit(seed).hostname}</a>' for seed in self.seeds)
        )
        nav = "" if kind == "front" else links.navigation(list(self.letters(collection)))
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title></head>\n'
            f"<body>\n<nav>{nav}</nav>\n<main><h1>{html.escape(title)}</h1>\n{main}\n</main>\n"
            f"<footer>Copy: {name}. All: {others}</footer>\n</body></html>\n"
        )

    def next_session(self) -> str:
        return self.digest(str(next(self._responses)))[:16]

    def digest(self, text: str) -> str:
        """Random-looking, and the same for the same seed."""
        return hashlib.sha256(f"{self._seed} {text}".encode()).hexdigest()


def _by_letter(name: str) -> tuple[str, str]:
    return name[0].lower(), name


class _Links:
    """Spells the links of one response as its host does."""

    def __init__(self, web: PydocWeb, host: Host, page: str, up: str) -> None:
        self.web, self.host, self.page, self.up = web, host, page, up
        self.query = f"?sid={web.next_session()}" if host.style == "sessions" else ""

    def is_odd(self, target: str) -> bool:
        """Whether this page uses the second spelling of *target*."""
        return int(self.web.digest(f"{self.page} {target}")[:2], 16) % 2 == 1

    def module(self, name: str) -> str:
        if self.host.style == "parameters":
            pairs = [f"module={name}", "lang=en"]
            return f"{self.up}view?{'&amp;'.join(pairs[::-1] if self.is_odd(name) else pairs)}"
        return f"{self.up}pages/{name}.html{self.query}"

    def letter(self, letter: str) -> str:
        slash = "/" if self.host.style == "slashes" and self.is_odd(letter) else ""
        return f"{self.up}letters/{letter}{slash}{self.query}"

    def resolve(self, text: str) -> str:
        """*text* with its ``@name`` links spelt out; without a link where there is no such page."""
        names = self.web.pages[self.host.collection]

        def spelt(match: re.Match[str]) -> str:
            return f' href="{self.module(match[1])}"' if match[1] in names else ""

        return re.sub(r' href="@([^"]*)"', spelt, text)

    def listing(self, names: list[str]) -> str:
        return "<ul>" + "".join(f'<li><a href="{self.module(name)}">{name}</a></li>\n' for name in names) + "</ul>"

    def calendar(self, month: str) -> str:
        number = int(month[:-3]) * 12 + int(month[-2:]) - 1
        links = [
            (word, divmod(max(number + step, 0), 12))
            for word, step in (("Previous", -1), ("Next", 1), ("Next year", 12))
        ]
        return " ".join(
            f'<a href="{self.up}calendar/{year}/{month + 1:02}{self.query}">{word}</a>' for word, (year, month) in links
        )

    def navigation(self, letters: list[str]) -> str:
        home = f"{self.up}index.html" if self.is_odd("index") else self.up or "./"
        links = [("Home", home + self.query), *((letter, self.letter(letter)) for letter in letters)]
        if self.host.collection == "library":
            links.append(("Calendar", f"{self.up}calendar/2026/01{self.query}"))
        return " ".join(f'<a href="{target}">{text}</a>' for text, target in links)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128
    web: PydocWeb


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout: ClassVar[float] = 10

    def do_GET(self) -> None:
        url = self.path if "://" in self.path else f"http://{self.headers.get('Host', '')}{self.path}"
        status, kind, text = self.server.web.response(url)
        body, etag = text.encode(), f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'
        if status == 200 and self.headers.get("If-None-Match") == etag:
            status, body = 304, b""
        self.send_response(status)
        self.send_header("ETag", etag)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815  (the base class calls it so)

    def do_CONNECT(self) -> None:
        self.send_error(502, "http only")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
        """Keep quiet: the crawler logs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--cache", type=Path, help="folder that keeps the pages for the next time")
    parser.add_argument("--modules-limit", type=int, default=500)
    parser.add_argument("--topic", type=Path, help="write the examples of the topic into this folder")
    options = parser.parse_args()
    with PydocWeb(options.port, options.cache, options.modules_limit) as web:
        if options.topic:
            web.write_topic(options.topic)
        print(f"http_proxy={web.proxy_url}", *web.seeds, sep="\n", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
