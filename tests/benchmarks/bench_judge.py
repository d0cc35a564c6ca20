"""Evidence per page, and one pair judged, on 200 made-up hosts of 30 pages with 40 copies among them."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from replica_sites import site

from scrapy_replica.address import host_of
from scrapy_replica.lab.replicas.held import HeldCandidates, HeldDetector
from scrapy_replica.sites.evidence import mark_of, path_of
from scrapy_replica.sites.features import Comparison, features_of
from scrapy_replica.sites.judge import Judge

N_HOSTS, N_PAGES = 200, 30


def pages():
    return [
        page
        for number in range(N_HOSTS)
        for page in site(f"host-{number}.example", f"work {number % 160}", N_PAGES, prefix=f"/p{number % 3}")
    ]


def micros(call, n):
    start = time.process_time()
    call()
    return (time.process_time() - start) / n * 1e6


def test_evidence_per_page():
    found = pages()
    new_urls = {link.url for page in found for link in page.links}
    candidates = HeldCandidates()
    marks = micros(lambda: [mark_of(page) for page in found], len(found))
    known = micros(lambda: [candidates.add_url(host_of(url), path_of(url)) for url in new_urls], len(found))
    added = micros(lambda: [candidates.add_fetched(page) for page in found], len(found))
    print(f"\nmark {marks:.0f} us; page {added:.0f} us (its mark among it), its new URLs {known:.0f} us")
    size = max(len(mark_of(page).pack()) for page in found[:100])
    print(f"stored: {size} bytes a fetched page, 8 a URL that is only known")


def test_one_pair():
    candidates = HeldCandidates()
    for page in pages():
        candidates.add_fetched(page)
    hosts = candidates.hosts
    pairs = [pair for pair in candidates.pairs.values() if pair.is_candidate]
    for pair in pairs:  # the views are what a crawl has in memory
        hosts[pair.first].view(pair.election.winner()[0])
        hosts[pair.second].view(pair.election.winner()[1])
    judge = Judge.load()

    def side_by_side():
        return [Comparison(hosts[pair.first], hosts[pair.second], pair.election.winner()) for pair in pairs]

    fresh = side_by_side()
    features = micros(lambda: [features_of(each) for each in fresh], len(pairs))
    fresh = side_by_side()
    whole = micros(lambda: [judge.score(each) for each in fresh], len(pairs))
    print(f"\n{len(pairs)} pairs: features {features:.0f} us, judged {whole:.0f} us (published: 87 ms)")


def test_detector_per_page():
    found = sorted(pages(), key=lambda page: page.url.rpartition("/")[2])
    detector = HeldDetector(Judge.load())
    print(f"\nobserve {micros(lambda: [detector.add_fetched(page) for page in found], len(found)):.0f} us a page,")
    print(f"{len(detector.verdicts)} copies of 40 found")
