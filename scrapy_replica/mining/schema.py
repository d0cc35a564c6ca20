"""The tables that pass between inputs, engines and the judgement; Parquet on the disk.

Types are those of Arrow. What an input does not know is null. A Parquet file of a user's has ``url``, ``host`` and
``path`` at least; the engine fills what else it lacks with nulls.

.. code-block:: none

   inputs ──▶ PAGES, LINKS ──▶ expressions ──▶ PAIRS, WEAK, ROWS, READERS, CLUSTERS, URLS ──▶ judgement ──▶ outputs

``expressions.TABLES`` has a function for each table, ``pairs``, ``weak``, ``rows``, ``readers``, ``clusters`` and
``urls``, in the order in which they are made: of :class:`~scrapy_replica.mining.collection.CollectionTables` to an Ibis
expression, which the engine writes.
"""

from __future__ import annotations

PAGES = {
    "url": "string",
    "host": "string",  # as address.host_of: lower case, with a port that is not the scheme's own
    "path": "string",  # with the query, as it stands in the URL
    "ip": "string",
    "signature": "binary",  # 16 bytes; equal for equal texts
    "simhash": "int64",  # 64 bits as two's complement; null where there are too few words to tell
    "words": "int32",  # null: not known, and taken for enough
    "title": "string",
    "mark": "binary",  # PageMark.pack
    "neighbours": "string",  # Neighbours.to_json
    "status": "int32",  # null: 200
    "at": "double",  # seconds since the epoch
    "cluster": "int64",  # that a crawl gave to pages of one host
    "fetched": "bool",  # false: a URL that links lead to; known, and nothing more
}
"""Pages of a collection. A URL may come more than once: a fetched row counts before others, then the later one."""

LINKS = {
    "host": "string",
    "domain": "string",  # registered domain of another host that links to it
}
"""Who links to whom, each pair once for each input; for the choice of the host that is kept."""

PAIRS = {
    "first": "string",  # < second
    "second": "string",
    "n_suffixes": "int32",  # path suffixes in common, of those sampled (CandidatePairs)
    "n_near": "int32",  # texts in common whose simhashes lie within 6 bits
    "first_prefix": "string",  # winner of the Election, "" without votes
    "second_prefix": "string",
    "first_listed": "int32",  # suffixes of each host that went into the lists (Met.n_listed)
    "second_listed": "int32",
}
"""Candidate pairs: two suffixes or one near text in common. Any order."""

WEAK = PAIRS
"""Pairs that share one suffix only, at most 1,000 of them, drawn by a hash: negatives to learn from."""

ROWS = PAGES
"""Pages of the hosts in PAIRS and WEAK, in order of host, then path; each URL once, fetched or not.

Of a host of more than 1,000 URLs a sample by the hash of the last segment of the normalised path, which mirrors draw
alike (as ``sample_hash``, with any hash that both engines have), so that no host has more than 4,000 rows. The sample
is cut at powers of two, so that the smaller sample of two hosts is that of the other one, thinned.
"""

READERS = LINKS
"""The links to hosts in PAIRS, each once, at most 100 of a host; any order."""

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
}
"""For DUST rules: fetched pages of hosts that hold a page twice, in order of host; at most 50,000 of a host."""
