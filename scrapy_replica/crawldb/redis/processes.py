"""The processes of a job."""

from __future__ import annotations

import json
from collections import Counter

from scrapy_replica.crawldb.reader import Process
from scrapy_replica.crawldb.redis.errors import understanding
from scrapy_replica.crawldb.redis.server import Server

PAGES = "replica/page/observed"
"""Which of the statistics is the number of pages."""


def processes(server: Server) -> list[Process]:
    key = server.key
    who, stats, alive, lead, time = server.run_many(
        [
            ["HGETALL", key("processes")],
            ["HGETALL", key("stats")],
            ["ZRANGE", key("alive"), 0, -1, "WITHSCORES"],
            ["GET", key("lead")],
            ["TIME"],
        ]
    )
    names = dict(zip(who[::2], who[1::2], strict=True))
    counts = dict(zip(stats[::2], stats[1::2], strict=True))
    now = int(time[0]) + int(time[1]) / 1e6
    with understanding(server.address):
        return [
            Process(
                names.get(one, b"?").decode("utf-8", "replace"),
                max(0.0, now + server.address.lease_s - float(until) / 1000),
                one == lead,
                int(dict(json.loads(counts.get(one, b"{}"))).get(PAGES, 0)),
            )
            for one, until in zip(alive[::2], alive[1::2], strict=True)
            if float(until) / 1000 >= now
        ]


def sums(server: Server) -> dict[str, float]:
    """Return the sums of the statistics that the processes of the job told, those that are gone included."""
    found: Counter[str] = Counter()
    with understanding(server.address):
        for told in server.run("HVALS", server.key("stats")):
            found.update(dict(json.loads(told)))
    return dict(found)
