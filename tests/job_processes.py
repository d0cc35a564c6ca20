"""Processes of one crawl, the web that they fetch, and what they leave."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from pathlib import Path

from forked import Program
from local_web import LocalWeb
from web import page

TARGET = Path(__file__).parent / "processes_target.py"
HOSTS = 40


def links_of(number, pages):
    return [n for n in (3 * number + 1, 3 * number + 2, 3 * number + 3, number // 2, number // 3) if n < pages]


class NumberedWeb(LocalWeb):
    """Pages 0 to *pages* - 1, over *hosts* hosts, that link to each other."""

    def __init__(self, pages, hosts=HOSTS, seconds=0.0, status=None):
        super().__init__(self._page_of, seconds)
        self.pages, self.hosts, self._status = pages, hosts, status or {}

    def of(self, number):
        return self.url(1 + number % self.hosts, str(number))

    @property
    def whole(self):
        return {self.of(number) for number in range(self.pages)}

    def _page_of(self, url, body):
        name = url.rpartition("/")[2]
        links = map(self.of, links_of(int(name), self.pages)) if name.isdigit() else ()
        return self._status.get(url, 200), {}, page(links, seed=(url, body))

    def fetched(self):
        return Counter(asked.url for asked in self.asked)


class Process:
    """One process of a crawl, and what it leaves."""

    def __init__(self, spider, folder, name, settings, **arguments):
        self.items, self.log, self.name = folder / f"{name}.jsonl", folder / f"{name}.log", name
        self._folder = folder
        settings = {
            "FEEDS": {str(self.items): {"format": "jsonl"}},
            "LOG_FILE": str(self.log),
            "USER_AGENT": name,
            "CONCURRENT_REQUESTS": 4,
            "RETRY_TIMES": 1,
            **settings,
        }
        self._command = [TARGET, spider, json.dumps(settings), json.dumps(arguments)]
        self.start()

    def start(self):
        self.process = Program(*self._command)

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Kill it, if it runs."""
        if self.process.poll() is None:
            self.send(signal.SIGKILL)
        self.process.wait()

    def ended(self, seconds=120):
        """Wait for its end, and return its statistics."""
        try:
            out, error = self.process.communicate(timeout=seconds)
        except AssertionError:
            print(self.name, self.log.read_text() if self.log.exists() else "without a log")
            raise
        self.code = self.process.poll()
        self.told = error + (self.log.read_text() if self.log.exists() else "")
        return json.loads(out) if out else {}

    @property
    def found(self):
        """Its items."""
        return [json.loads(line) for line in self.items.read_text().splitlines()] if self.items.exists() else []


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)


def end_all(*processes):
    stats = [process.ended() for process in processes]
    for process in processes:
        assert process.code == 0, process.told
        assert "Traceback" not in process.told, process.told
    return stats
