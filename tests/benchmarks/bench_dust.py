"""DUST: canonicalising beside w3lib, trap tests per link, learning time and memory up to a million URLs."""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import sys
import time

import pytest
from w3lib.url import canonicalize_url

from scrapy_replica.lab.dust.dust_learners import DESCRIBED, LEARNERS
from scrapy_replica.lab.dust.dust_splits import Row
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
        asked, told = microseconds(traps.trap), microseconds(lambda url: traps.observe(url, False))
        print(f"\nTraps.trap: {asked:.2f} us, observe {told:.2f} us")


def generated(count, pages_of_a_host):
    """URLs with session ids, sort orders, and values that matter, four to a page."""
    urls, clusters = [], []
    for i in range(count // 4):
        host, page = f"h{i // pages_of_a_host}.example", i % pages_of_a_host
        for j in range(4):
            urls.append(f"http://{host}/s{page % 7}/item{page}?id={page}&sid={i}{j}&o={'asc' if j % 2 else 'desc'}")
            clusters.append((host, page) if page % 7 else (host, page, j % 2))
    return urls, clusters


def learning(name, count, pages_of_a_host=5_000):
    """Learn in a process of its own; CPU seconds, peak memory in MB, and rules."""
    command = [sys.executable, __file__, name, str(count), str(pages_of_a_host)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.parametrize("name", [*LEARNERS, *DESCRIBED])
def test_learning_from_forty_thousand(name):
    seconds, megabytes, rules = learning(name, 40_000)
    print(f"\n{name}, 40,000 URLs of two hosts: {seconds:.1f} s (target 20), peak {megabytes:.0f} MB, {rules} rules")


@pytest.mark.parametrize(("name", "pages_of_a_host"), [("combined", 5_000), ("combined", 25), ("combined", 250_000)])
def test_learning_grows_no_worse_than_n_log_n(name, pages_of_a_host):
    first = None
    print(f"\n{name}, {4 * pages_of_a_host:,} URLs a host")
    for count in (40_000, 200_000, 1_000_000):
        seconds, megabytes, rules = learning(name, count, pages_of_a_host)
        cost = seconds / (count * math.log(count))
        first = first or cost
        grown = f"{cost / first:.2f} x n log n from {40_000:,}"
        print(f"  {count:>9,}: {seconds:6.1f} s, {grown}, peak {megabytes:.0f} MB, {rules} rules", flush=True)
        assert megabytes < 1_000


def learn(name, count, pages_of_a_host):
    urls, clusters = generated(count, pages_of_a_host)
    rows = [Row(u, c[0], f"{c[0]} {c[1:]}", "", 300 + c[1]) for u, c in zip(urls, clusters, strict=True)]
    started = time.process_time()
    rules = DESCRIBED[name](rows) if name in DESCRIBED else LEARNERS[name](urls, clusters)
    seconds = time.process_time() - started
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(rules)


if __name__ == "__main__":
    print(json.dumps(learn(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
