"""Learners of DUST rules, one module each, behind one contract (see ``proposing.Learner``)."""

from __future__ import annotations

from scrapy_replica.urls.learners import combined, dustbuster, duster, pairwise, pattern_tree, rewrite
from scrapy_replica.urls.learners.proposing import Learner

LEARNERS: dict[str, Learner] = {
    "rewrite": rewrite.learn,
    "duster": duster.learn,
    "pattern_tree": pattern_tree.learn,
    "pairwise": pairwise.learn,
    "dustbuster": dustbuster.learn,
    "combined": combined.learn,
}
