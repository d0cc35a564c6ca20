"""Published learners of DUST rules beside the crawl's own, behind one contract (see ``learner.Learner``)."""

from __future__ import annotations

from scrapy_replica.lab.dust.dust_learners import (
    bar_yossef,
    dasgupta,
    dustbuster,
    duster,
    lei,
    pairwise,
    pattern_tree,
    rewrite,
)
from scrapy_replica.lab.dust.dust_learners.learner import Learner, RowLearner
from scrapy_replica.urls.learners import combined

LEARNERS: dict[str, Learner] = {
    "rewrite": rewrite.learn,
    "duster": duster.learn,
    "pattern_tree": pattern_tree.learn,
    "pairwise": pairwise.learn,
    "dustbuster": dustbuster.learn,
    "combined": combined.learn,
}

DESCRIBED: dict[str, RowLearner] = {
    "dasgupta_2008": dasgupta.learn,
    "lei_2010": lei.learn,
    "bar_yossef_2009": bar_yossef.learn,
}
"""Learners as published, which need more than the contract of the others or have rules of another kind."""
