"""The tables that the expressions make, by the crawl's own code: slow, and obviously what a crawl does."""

from __future__ import annotations

from scrapy_replica.lab.replicas.held import HeldCandidates
from scrapy_replica.mining.evidence import EvidenceRow, mark_of_row
from scrapy_replica.mining.judgement import PairRow


def candidates_of(rows):
    """Return the candidates of a crawl that met *rows* (of PAGES) in their order, fetched ones first."""
    candidates = HeldCandidates()
    for row in sorted(rows, key=lambda row: not row.fetched):
        if not row.fetched:
            candidates.add_url(row.host, row.path)
        elif row.status in {None, 200}:
            told = {name: getattr(row, name) for name in EvidenceRow._fields}
            candidates.add_mark(row.host, row.path, mark_of_row(EvidenceRow(**told)))
        else:
            candidates.add_url(row.host, row.path)
    return candidates


def pairs_of(candidates):
    """Return the rows of PAIRS and of WEAK."""
    weak = [candidates._made(tuple(key.split("\n")), shared) for key, shared in candidates._weak.items()]
    met = [*candidates.pairs.values(), *weak]
    return [_row(pair) for pair in met if pair.is_candidate], [_row(pair) for pair in met if not pair.is_candidate]


def _row(pair):
    return PairRow(pair.first, pair.second, pair.n_suffixes, pair.n_near, *pair.election.winner())
