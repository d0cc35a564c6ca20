"""Substring substitution rules from a URL list (Bar-Yossef, Keidar, Schonfeld 2009, *Do not crawl in the DUST:
different URLs with similar text*, ACM TWEB 3(1)).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from itertools import combinations

from scrapy_replica.lab.dust.dust_learners.learner import learn_by_host
from scrapy_replica.urls.learners.candidates import tokens_of
from scrapy_replica.urls.learners.evidence import HostEvidence, Transformation
from scrapy_replica.urls.learners.proposing import proposals
from scrapy_replica.urls.rule import Rule, Step

_MAX_RUN = 4
_MAX_BUCKET = 6
"""Substrings in one envelope; a fuller one is a free value, not a rule (the paper's overflowing buckets)."""
_MAX_FORMS = 10_000
_LIMIT = 300


def learn(urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3) -> list[Rule]:
    """Learn rules alpha -> beta: likely by the URL list alone, then refined by the pages' clusters.

    A rule is likely if many envelopes (prefix, suffix) hold both alpha and beta. Rules have no context.
    """
    return learn_by_host(
        urls,
        clusters,
        epsilon,
        lambda host: proposals(host, likely_rules(host, support), epsilon, support, "dustbuster", 0),
    )


def likely_rules(evidence: HostEvidence, support: int) -> list[Transformation]:
    """Return the substitutions that *support* envelopes at least suggest, by the URLs alone, the likeliest first."""
    envelopes: dict[int, set[str]] = defaultdict(set)
    for local in evidence.locals[:_MAX_FORMS]:
        tokens = tokens_of(local)
        for start in range(len(tokens) + 1):
            for end in range(start, min(start + _MAX_RUN, len(tokens)) + 1):
                envelope = hash((tuple(tokens[:start]), tuple(tokens[end:])))
                envelopes[envelope].add("".join(tokens[start:end]))
    support_of: Counter[tuple[str, str]] = Counter()
    for runs in envelopes.values():
        if 1 < len(runs) <= _MAX_BUCKET:
            for shorter, longer in combinations(sorted(runs, key=lambda run: (len(run), run)), 2):
                support_of[longer, shorter] += 1
    likely = [rule for rule, count in support_of.items() if count >= support and rule[0].strip("/?&=;")]
    likely.sort(key=lambda rule: (-support_of[rule], rule))
    return [(Step("replace", source, target),) for source, target in likely[:_LIMIT]]
