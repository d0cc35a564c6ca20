"""Crawls of several processes on one job: they find what one process finds, and lose nothing."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis_server import RedisServer
from shared_crawls import Crawls
from test_live_replicas import site

from scrapy_replica.config import Config


@pytest.fixture(scope="module")
def server():
    with TemporaryDirectory() as folder, RedisServer(Path(folder)) as server:
        yield server


@pytest.fixture
def crawls(server):
    open_ones = []

    def crawls(web, n=2, **more):
        server.clear()
        open_ones.append(Crawls(web, n, server if n > 1 else None, **more))
        return open_ones[-1]

    yield crawls
    for one in open_ones:
        one.__exit__()


def mirrors():
    """Two copies of one work, and another work."""
    sites = [site("http://a.example", "one"), site("http://b.example", "one"), site("http://c.example", "two")]
    return {url: html for pages in sites for url, html in pages.items()}


SEEDS = [f"http://{host}.example/" for host in "abc"]


def verdicts(one):
    return {(verdict.copy, verdict.keeper) for verdict, _ in one.store.verdicts.holding()}


def test_two_processes_reach_the_verdict_that_one_reaches(crawls):
    web = mirrors()
    alone = crawls(web, 1, config=Config(explore=0.0)).run(*SEEDS)
    both = crawls(web, 2, config=Config(explore=0.0)).run(*SEEDS)
    both.listen()
    assert [len(verdicts(one)) for one in (*alone.all, *both.all)] == [1, 1, 1]
    assert all(one.fetched for one in both.all)
    assert len(both.fetched) == len(set(both.fetched))
    print(len(alone.fetched), len(both.fetched))
