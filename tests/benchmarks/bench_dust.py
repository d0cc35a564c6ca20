"""DUST: canonicalising beside w3lib, trap tests per link, learning time and memory as the crawl grows."""

from __future__ import annotations

import statistics
import time
import tracemalloc

import pytest
from w3lib.url import canonicalize_url

from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.rule import Rule, Step
from scrapy_replica.urls.rulebook import RuleBook
from scrapy_replica.urls.traps import Traps

ROUNDS = 5
URLS = [f"http://h{i % 50}.org/wiki/page{i}?id={i}&k{i % 20}=v&sort=asc" for i in range(5_000)]


def microseconds(call):
    """Median CPU microseconds per URL."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for url in URLS:
            call(url)
        rounds.append((time.process_time() - started) / len(URLS) * 1e6)
    return statistics.median(rounds)


class TestPerUrl:
    def test_rule_book_of_a_thousand_rules(self):
        spread = RuleBook(Rule(f"h{i % 50}.org", (), (Step("drop", f"k{i // 50}"),)) for i in range(1_000))
        one_host = RuleBook(Rule("h0.org", (), (Step("drop", f"k{i}"),)) for i in range(1_000))
        peer = microseconds(canonicalize_url)
        for name, book in (("50 hosts", spread), ("one host", one_host)):
            own = microseconds(book.canonical)
            print(f"\ncanonical, 1,000 rules on {name}: {own:.1f} us/URL; w3lib {peer:.1f} ({own / peer:.2f} x)")

    def test_traps(self):
        traps = Traps()
        for url in URLS:
            traps.observe(url, False)
        asked, told = microseconds(traps.is_trap), microseconds(lambda url: traps.observe(url, False))
        print(f"\nTraps.is_trap: {asked:.2f} us, observe {told:.2f} us")


def generated(count):
    """URLs of hosts of up to 20,000 pages: session ids, sort orders, and values that matter."""
    urls, clusters = [], []
    for i in range(count // 4):
        host, page = f"h{i // 5_000}.example", i % 5_000
        for j in range(4):
            urls.append(f"http://{host}/s{page % 7}/item{page}?id={page}&sid={i}{j}&o={'asc' if j % 2 else 'desc'}")
            clusters.append((host, page) if page % 7 else (host, page, j % 2))
    return urls, clusters


@pytest.mark.parametrize("count", [10_000, 40_000, 160_000, 1_000_000])
def test_learning_grows_no_worse_than_n_log_n(count):
    urls, clusters = generated(count)
    started = time.process_time()
    rules = combined.learn(urls, clusters)
    seconds = time.process_time() - started
    print(f"\n{count:>9} URLs: {seconds:.1f} s, {seconds / count * 1e6:.0f} us/URL, {len(rules)} rules")


def test_memory_of_learning():
    urls, clusters = generated(40_000)
    tracemalloc.start()
    combined.learn(urls, clusters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\nlearning 40,000 URLs: peak {peak / 1e6:.0f} MB beside the URLs")
