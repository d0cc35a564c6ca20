"""The tables that pass between inputs, engines and the judgement; Parquet on the disk.

Types are those of Arrow. What an input does not know is null; a Parquet file of a user lacks whole columns, which the
engine fills with nulls (``fetched`` with true).
"""

from __future__ import annotations

PAGES = {
    "url": "string",
    "host": "string",  # as address.host_of: lower case, with a port that is not the scheme's own
    "path": "string",  # with the query, as it stands in the URL
    "ip": "string",
    "signature": "binary",  # 16 bytes; equal for equal texts
    "simhash": "int64",  # 64 bits as two's complement; null where there are too few words to tell
    "words": "int32",
    "title": "string",
    "mark": "binary",  # PageMark.pack
    "neighbours": "string",  # Neighbours.to_json
    "status": "int32",
    "at": "double",  # seconds since the epoch
    "cluster": "int64",  # that a crawl gave to pages of one host
    "fetched": "bool",  # false: a URL that links lead to; known, and nothing more
}
"""Pages of a collection. A URL may come more than once: a fetched row counts before others, then the later one."""

PAIRS = {
    "first": "string",  # < second
    "second": "string",
    "n_suffixes": "int32",  # path suffixes in common, of those sampled (Candidates)
    "n_near": "int32",  # texts in common whose simhashes lie within 6 bits
    "first_prefix": "string",  # winner of the Election, "" without votes
    "second_prefix": "string",
}
"""Candidate pairs: two suffixes or one near text in common. Pairs of a weaker kind are in ``weak``, see below."""

WEAK = PAIRS
"""Pairs that share one suffix only, at most 1,000 of them: obvious negatives for recalibration."""

BATCHES = {
    "batch": "int32",
    "host": "string",
}
"""Which hosts are looked at together; a host may be in several batches. Made by the judgement from the pairs."""

ROWS = {"batch": "int32", **PAGES}
"""Pages of the hosts of the batches, in order of batch and host; one row for each normalised path.

Of a host of more than 1,000 paths a sample by the hash of the last segment, which mirrors draw alike.
"""

READERS = {
    "host": "string",
    "domain": "string",  # registered domain of a host that links to it
}

CLUSTERS = {
    "cluster": "int64",
    "url": "string",
    "host": "string",
}
"""Dup-clusters of at least two URLs: equal signatures, or simhashes within 3 bits; in order of cluster."""

URLS = {
    "host": "string",
    "url": "string",
    "cluster": "int64",  # of this host's pages: the crawl's own where known, else by signature
    "n_urls": "int64",  # fetched pages of the host
}
"""For DUST rules: fetched pages of hosts that hold a page twice, in order of host; at most 50,000 of a host."""
