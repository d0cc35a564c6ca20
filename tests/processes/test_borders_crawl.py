"""``REPLICA_PRIVATE_ADDRESSES`` in crawls of this machine: no request goes to what lies inside."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import forked
import pytest
from test_borders import SPELLINGS

REACTORLESS = ("-s", "TWISTED_REACTOR_ENABLED=False", "-s", "TELNETCONSOLE_ENABLED=False")
NAMES = """
import socket

ask, ask_all = socket.gethostbyname, socket.getaddrinfo
known = lambda name: "127.0.0.2" if str(name).endswith("inside.test") else name
socket.gethostbyname = lambda name: ask(known(name))
socket.getaddrinfo = lambda name, *more, **how: ask_all(known(name), *more, **how)
"""
"""Settings under which a name of the web lies inside."""


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.headers["Host"], self.path))
        status, headers, body = self.server.pages.get(self.path, (200, {}, "<p>page</p>"))
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(address):
        server = ThreadingHTTPServer((address, 0), Site)
        server.daemon_threads = True
        server.pages, server.asked = {}, []
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def crawl(tmp_path, seed, *options):
    """Crawl with names that lie inside; returns the URLs of the pages."""
    (tmp_path / "names.py").write_text(NAMES)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        "SCRAPY_SETTINGS_MODULE": "names",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])]),
    }
    items = tmp_path / "items.jsonl"
    items.unlink(missing_ok=True)
    quick = ("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8", "-s", "RETRY_ENABLED=False")
    more = ("-o", items, "--json", "--scope", "any", *quick, *options)
    done = forked.run("scrapy", "replica", "crawl", seed, *more, env=environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["url"] for line in items.read_text().splitlines()]


class TestCrawl:
    @pytest.fixture
    def inside(self, serve):
        """A service that is none of the crawl's business, on every address of this machine."""
        return serve("")

    @pytest.fixture
    def site(self, serve, inside):
        """A site that links to it in every way."""
        site = serve("127.0.0.1")
        port = inside.server_port
        links = [f"http://{name}:{port}/{number}" for number, name in enumerate(SPELLINGS)]
        links += ["/own", "/moved", "/moved-to-name", "ftp://127.0.0.1/x", "file:///etc/passwd"]
        site.pages = {
            "/": (200, {}, "".join(f'<a href="{link}">x</a>' for link in links)),
            "/moved": (302, {"Location": f"http://127.0.0.2:{port}/moved"}, ""),
            "/moved-to-name": (302, {"Location": f"http://inside.test:{port}/moved"}, ""),
        }
        return site

    @pytest.mark.parametrize("options", [(), REACTORLESS], ids=["reactor", "reactorless"])
    def test_nothing_inside_is_asked(self, tmp_path, site, inside, options):
        seed = f"http://127.0.0.1:{site.server_port}"
        urls = crawl(tmp_path, f"{seed}/", "--job", str(tmp_path / "job"), *options)
        assert sorted(urls) == [f"{seed}/", f"{seed}/own"]
        assert inside.asked == []

    def test_the_user_may_let_it(self, tmp_path, site, inside):
        crawl(tmp_path, f"http://127.0.0.1:{site.server_port}/", "-s", "REPLICA_PRIVATE_ADDRESSES=True")
        asked = {path for _, path in inside.asked}
        unknown = {"LOCALHOST.", "[::ffff:127.0.0.2]"}  # to this machine's resolver
        assert asked >= {f"/{number}" for number, name in enumerate(SPELLINGS) if name not in unknown}
        assert "/moved" in asked

    @pytest.mark.parametrize("options", [(), REACTORLESS], ids=["reactor", "reactorless"])
    def test_a_seed_s_name_is_fetched_wherever_it_lies(self, tmp_path, serve, options):
        site = serve("127.0.0.2")
        site.pages["/"] = (200, {}, '<a href="/more">x</a>')
        seed = f"http://inside.test:{site.server_port}"
        assert sorted(crawl(tmp_path, f"{seed}/", *options)) == [f"{seed}/", f"{seed}/more"]

    def test_a_crawl_that_goes_on_knows_its_seeds(self, tmp_path, serve):
        site = serve("127.0.0.1")
        site.pages["/"] = (200, {}, "".join(f'<a href="/{number}">x</a>' for number in range(9)))
        seed, job = f"http://127.0.0.1:{site.server_port}", ("--job", str(tmp_path / "job"))
        first = crawl(tmp_path, f"{seed}/", "--max-pages", "3", "-s", "CONCURRENT_REQUESTS=1", *job)
        assert len({*first, *crawl(tmp_path, f"{seed}/", *job)}) == 10

    def test_a_proxy_may_lie_inside(self, tmp_path, serve):
        proxy = serve("127.0.0.1")
        proxy.pages["http://far.example/"] = (200, {}, '<a href="http://127.0.0.1:1/">x</a><a href="/b">x</a>')
        middleware = "-s", 'DOWNLOADER_MIDDLEWARES={"proxy.Proxy": 740}'
        lines = ("class Proxy:", "    def process_request(self, request):", "        request.meta['proxy'] = ADDRESS")
        address = f"ADDRESS = 'http://127.0.0.1:{proxy.server_port}'"
        (tmp_path / "proxy.py").write_text("\n".join([address, *lines]) + "\n")
        assert sorted(crawl(tmp_path, "http://far.example/", *middleware)) == [
            "http://far.example/",
            "http://far.example/b",
        ]
