"""A crawl in a hundred jobs, each with the hosts of some registered domains: which repeats can a job tell?

``python tests/benchmarks/bench_partitions.py`` simulates some 500,000 pages on 20,000 hosts. One site in ten is
copied to up to thirty hosts, as in ``bench_mining.py``, most of them of other domains. Each job fetches its hosts by
turns, and now and then all hand their indexes to all (``mine --index``, ``REPLICA_KNOWN``).
"""

from __future__ import annotations

import argparse

import numpy as np

ROW = 24
"""Bytes of a page in an index of what is known."""
OWN_DOMAIN = 0.2
"""Of the copies of a site so many lie on a host of the same domain."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=20_000)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    opts = parser.parse_args()
    rng = np.random.default_rng(opts.seed)
    site_of, domain_of = [], []
    site = 0
    while len(site_of) < opts.hosts:
        copies = int(rng.integers(1, 31)) if rng.random() < 0.1 else 0
        site_of += [site] * (copies + 1)
        domain_of += [
            site,
            *(site if rng.random() < OWN_DOMAIN else 1_000_000 + len(site_of) + k for k in range(copies)),
        ]
        site += 1
    sites, domains = np.array(site_of), np.array(domain_of)
    sizes = np.minimum(5_000, 5 * (1 + rng.pareto(1.1, site))).astype(np.int64)[sites]
    host = np.repeat(np.arange(len(sites)), sizes)
    rank = np.arange(len(host)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    content = sites[host] * 10_000 + rank
    mixed = (domains.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    partition = (mixed % np.uint64(opts.partitions)).astype(np.int64)[host]
    order = np.lexsort((rng.random(len(host)), rank, partition))  # the next page of each host by turns
    turn = np.empty(len(host), np.int64)
    starts = np.searchsorted(partition[order], np.arange(opts.partitions))
    turn[order] = np.arange(len(host)) - starts[partition[order]]
    longest = int(turn.max()) + 1
    first = np.full(int(content.max()) + 1, longest)
    np.minimum.at(first, content, turn)
    is_repeat = np.ones(len(host), bool)
    is_repeat[np.lexsort((turn, content))[np.unique(np.sort(content), return_index=True)[1]]] = False
    print(f"{len(host):,} pages, {len(sites):,} hosts, {is_repeat.sum():,} repeats, {opts.partitions} partitions")
    inside = content * opts.partitions + partition
    own = np.lexsort((turn, inside))
    is_told = np.ones(len(host), bool)
    is_told[own[np.unique(np.sort(inside), return_index=True)[1]]] = False
    print(f"told without exchange: {(is_told & is_repeat).sum() / is_repeat.sum():.3f}")
    for exchanges in (1, 3, 10, 30, 100):
        length = longest / (exchanges + 1)
        known = is_told | ((first[content] // length) < (turn // length))
        told = (known & is_repeat).sum() / is_repeat.sum()
        sent = len(np.unique(content)) * ROW * opts.partitions
        print(f"told with {exchanges} exchanges: {told:.3f} ({sent / 1e9:.2f} GB sent)")


if __name__ == "__main__":
    main()
