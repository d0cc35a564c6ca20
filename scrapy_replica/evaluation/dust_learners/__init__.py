"""Published learners of DUST rules beside the crawl's own, behind one contract (see ``learner.Learner``)."""

from __future__ import annotations

from scrapy_replica.evaluation.dust_learners import dustbuster, duster, pairwise, pattern_tree, rewrite
from scrapy_replica.evaluation.dust_learners.learner import Learner
from scrapy_replica.urls.learners import combined

LEARNERS: dict[str, Learner] = {
    "rewrite": rewrite.learn,
    "duster": duster.learn,
    "pattern_tree": pattern_tree.learn,
    "pairwise": pairwise.learn,
    "dustbuster": dustbuster.learn,
    "combined": combined.learn,
}
