"""Coming back: a web that changes is crawled again and again, by Scrapy from scratch and by ``--revisit``.

The web is made on the spot and served on this machine, by a proxy that answers for its own hosts only: one tells of
changes by ETag, one by Last-Modified, one says nothing, and one hands out an ETag that never changes. Between two
crawls its pages change, each at a rate of its own, some go and some come. All files lie in ``demo/changing_web/``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

FOLDER = Path("demo") / "changing_web"
HOSTS = ("etag.example", "date.example", "silent.example", "liar.example")
SCRAPY = (sys.executable, "-m", "scrapy")
LOCAL = ("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8", "-s", "ROBOTSTXT_OBEY=False")
WORDS = [a + b + c for a in ("ba", "de", "ki", "lo", "mu", "no") for b in ("ran", "sti", "vol") for c in ("ter", "s")]
SPREAD = 1.5
"""Of the logarithm of the rates at which pages change."""


class Cost(NamedTuple):
    """What one crawl cost, and what it found."""

    requests: int
    megabytes: float
    """Of bodies sent."""
    cpu_s: float
    found: int
    """Pages that changed, came or went since the last crawl, and that it saw so."""


class ChangingWeb:
    """The web, served from a thread while the context is open.

    *rate* is that of the median page: changes a minute.
    """

    def __init__(self, pages: int, rate: float) -> None:
        self._random = random.Random(1)
        self.versions = {f"http://{HOSTS[n % len(HOSTS)]}/{n // len(HOSTS)}": 0 for n in range(pages)}
        self.rates = {url: rate * math.exp(self._random.gauss(0, SPREAD)) for url in self.versions}
        self.changed_at = dict.fromkeys(self.versions, 1_000_000_000)
        self.news: set[str] = set()
        """URLs that changed, came or went since the last crawl."""
        self.seen: set[str] = set()
        self.requests = self.bytes = 0
        self._changed_at = time.monotonic()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.web = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def proxy_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ChangingWeb:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def change(self) -> None:
        """Let pages change as often as they would have in the time since they last did."""
        now = time.monotonic()
        passed, self._changed_at = (now - self._changed_at) / 60, now
        self.news = {url for url in self.versions if self._random.random() > math.exp(-self.rates[url] * passed)}
        for url in list(self.news):
            self.versions[url] += 1
            self.changed_at[url] += 3600
        leaves = [url for url in self.versions if int(urlsplit(url).path[1:]) > len(self.versions) // 8]
        for url in self._random.sample(leaves, len(leaves) // 100):
            del self.versions[url]
            self.news.add(url)
        for host in HOSTS:
            new = f"http://{host}/{max(int(urlsplit(url).path[1:]) for url in self.rates if host in url) + 1}"
            self.versions[new], self.rates[new], self.changed_at[new] = 0, 0.1, 1_000_000_000
            self.versions[f"http://{host}/0"] += 1  # the front page leads to it
            self.changed_at[f"http://{host}/0"] += 3600
            self.news |= {new, f"http://{host}/0"}

    def links(self, url: str) -> list[str]:
        number, base = int(urlsplit(url).path[1:]), url.rpartition("/")[0]
        near = [f"{base}/{child}" for child in range(8 * number + 1, 8 * number + 9)]
        last = max(int(urlsplit(one).path[1:]) for one in self.rates if one.startswith(base))
        return [*(one for one in near if one in self.rates), *([f"{base}/{last}"] if number == 0 else [])]

    def body(self, url: str) -> bytes:
        text = [words(url, 300), words((url, self.versions[url]), 100)]
        links = "".join(f'<li><a href="{link}">{words(link, 3)}</a></li>' for link in self.links(url))
        paragraphs = "".join(f"<p>{one}.</p>" for one in text)
        frame = f"<style>{words('frame', 1500)}</style>"
        html = f"<title>{words(url, 4)}</title>{frame}<body><article>{paragraphs}</article><ul>{links}</ul></body>"
        return f'<!DOCTYPE html><html lang="en">{html}</html>'.encode()

    def validators(self, url: str) -> dict[str, str]:
        """The headers by which the host of *url* tells of changes."""
        host = urlsplit(url).hostname
        if host == "etag.example":
            return {"ETag": f'"{self.versions[url]}"'}
        if host == "date.example":
            return {"Last-Modified": formatdate(self.changed_at[url], usegmt=True)}
        return {"ETag": '"always"'} if host == "liar.example" else {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        web: ChangingWeb = self.server.web  # type: ignore[attr-defined]
        web.requests += 1
        url = self.path
        is_there = url in web.versions
        told = web.validators(url) if is_there else {}
        asked = {"ETag": self.headers["If-None-Match"], "Last-Modified": self.headers["If-Modified-Since"]}
        is_known = any(asked[name] == value for name, value in told.items())
        body = b"" if is_known else web.body(url) if is_there else b"not here"
        if not is_known:
            web.seen.add(url)
        web.bytes += len(body)
        self.send_response(304 if is_known else 200 if is_there else 404)
        for name, value in {**told, "Content-Type": "text/html; charset=utf-8", "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def words(seed: object, count: int) -> str:
    return " ".join(random.Random(str(seed)).choices(WORDS, k=count))


def crawled(web: ChangingWeb, command: list[str]) -> Cost:
    """Crawl *web* as *command* says."""
    web.requests = web.bytes = 0
    web.seen = set()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "http_proxy": web.proxy_url, "no_proxy": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(web.requests, web.bytes / 1e6, cpu_s, len(web.news & web.seen))


def main() -> None:
    parser = argparse.ArgumentParser(description="crawl a web that changes again and again, and compare")
    parser.add_argument("--pages", type=int, default=600, help="pages of the web at first")
    parser.add_argument("--passes", type=int, default=4, help="times to come back")
    parser.add_argument("--rate", type=float, default=0.1, help="changes of the median page in a minute")
    parser.add_argument("--chance", type=float, default=0.02, help="REPLICA_REVISIT_CHANCE")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with ChangingWeb(options.pages, options.rate) as web:
        seeds = ",".join(f"http://{host}/0" for host in HOSTS)
        spider = str(Path(__file__).with_name("plain_spider.py"))
        plain = [*SCRAPY, "runspider", spider, "-a", f"seeds={seeds}", *LOCAL, "-L", "ERROR"]
        job = [*SCRAPY, "replica", "crawl", seeds, "--job", str(FOLDER / "job"), *LOCAL, "-L", "ERROR"]
        job += ["-s", f"REPLICA_REVISIT_CHANCE={options.chance}"]
        crawled(web, job)
        rows = []
        for _ in range(options.passes):
            web.change()
            rows.append((len(web.news), crawled(web, plain), crawled(web, [*job, "--revisit"])))
    if options.json:
        print(json.dumps([[news, plain._asdict(), again._asdict()] for news, plain, again in rows]))
        return
    print(f"{'':6}{'news':>5}  {'from scratch, with Scrapy':^31}  {'--revisit':^31}")
    print(f"{'':11}" + f"  {'requests':>9}{'MB':>7}{'CPU s':>7}{'found':>8}" * 2)
    for number, (news, *costs) in enumerate(rows, 1):
        told = "".join(f"  {one.requests:>9}{one.megabytes:>7.2f}{one.cpu_s:>7.1f}{one.found:>8}" for one in costs)
        print(f"{number:>6}{news:>5}{told}")


if __name__ == "__main__":
    main()
