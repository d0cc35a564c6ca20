"""Processor time until the first callback of a crawl runs, with the add-on beside without it, by turns."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

ROUNDS = 11
TARGET = 0.15
PAGE = "<title>One</title>" + "<p>A page whose text says a thing or two of networks and of trees.</p>" * 20


class TimedSpider(Spider):
    name = "timed"
    custom_settings: ClassVar = {"LOG_ENABLED": False}

    def parse(self, response):
        print(time.process_time())


def main(url: str, add_on: str) -> None:
    settings = {"ADDONS": {"scrapy_replica.Addon": 500}} if add_on == "True" else {}
    process = AsyncCrawlerProcess(settings)
    process.crawl(TimedSpider, start_urls=[url])
    process.start()


def measured(url: str, *, add_on: bool) -> float:
    command = [sys.executable, __file__, url, str(add_on)]
    kept = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=kept).stdout)


def test_start(tmp_path, figures):
    (tmp_path / "index.html").write_text(PAGE, encoding="ascii")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        for add_on in (False, True):
            measured(url, add_on=add_on)  # the first compiles
        rounds = [[measured(url, add_on=add_on) for add_on in (False, True)] for _ in range(ROUNDS)]
        server.shutdown()
    plain, ours = map(statistics.median, zip(*rounds, strict=True))
    figures.add("start to the first callback; plain", ours, "s", f"+{TARGET} s", peer=plain)


if __name__ == "__main__":
    main(*sys.argv[1:])
