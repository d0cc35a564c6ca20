"""What the two heads of link-aware bring where either words or anchors alone tell the way."""

from __future__ import annotations

import pytest

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.lab.generation.control import ANCHORS, WANTED, WORDS, make_control
from scrapy_replica.lab.strategies import make
from scrapy_replica.lab.visits.figures import figures
from scrapy_replica.lab.visits.visit import visit


@pytest.mark.parametrize(("tells", "least"), [(WORDS, 0.80), (ANCHORS, 0.72)])
def test_the_way_is_learnt_where_one_thing_alone_tells_it(tells: str, least: float) -> None:
    """15 sites, from the first wanted page on, which nothing leads to; best-first knows relevance alone."""
    control = make_control(sites=15, tells=tells)
    relevant = control.collection.relevant(WANTED)
    words = LinkWords(lambda _: 0.05, lambda text: dict.fromkeys(text.split(), 1))
    prefs = []
    for name in ("link-aware", "best-first"):
        order = visit(control.collection, make(name, 0, words), control.relevance)
        prefs.append(figures(order[int(relevant[order].argmax()) :], relevant).pref)
    assert prefs[0] >= least
    assert prefs[1] <= 0.55
