"""A crawl that begins with what others have learnt, on sites of one make."""

from __future__ import annotations

import numpy as np

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.lab.archives.collection import Collection, build
from scrapy_replica.lab.generation.control import WANTED, make_control
from scrapy_replica.lab.strategies import make
from scrapy_replica.lab.visits.visit import visit
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

SITES = 10


def cut(whole: Collection, kept: BoolArray, seeds: list[int]) -> Collection:
    """Return the *kept* pages with the links between them."""
    old = np.flatnonzero(kept).tolist()
    new = {page: number for number, page in enumerate(old)}
    pages = ((whole.urls[page], "", whole.terms(page)) for page in old)
    links = (zip(whole.links(page), whole.anchors(page), strict=True) for page in old)
    rows = [[(new[target], anchor) for target, anchor in row if target in new] for row in links]
    labels = {WANTED: [new[page] for page in whole.labels[WANTED].tolist() if page in new]}
    return build(pages, rows, [new[seed] for seed in seeds], labels)


def third(site: Collection, order: IntArray) -> int:
    """Return how many pages were visited until the third wanted one."""
    return int(np.flatnonzero(site.relevant(WANTED)[order])[2]) + 1


def test_a_model_of_eight_sites_halves_the_way_on_a_new_one() -> None:
    """Pages to the third wanted page of 187, mean of two new sites; of three webs 46 instead of 108."""
    control = make_control(SITES)
    whole, hosts = control.collection, np.asarray(control.collection.host_numbers)
    fronts = [int(np.flatnonzero(hosts == site)[0]) for site in range(SITES)]
    words = LinkWords(lambda _: 0.05, lambda text: dict.fromkeys(text.split(), 1))

    def relevance(kept: BoolArray) -> FloatArray:
        return control.relevance[kept]

    others = make("link-aware", 0, words)
    visit(cut(whole, hosts < SITES - 2, fronts[:3]), others, relevance(hosts < SITES - 2))
    found: list[tuple[int, int]] = []
    for number in (SITES - 2, SITES - 1):
        site = cut(whole, hosts == number, [fronts[number]])
        begun, fresh = make("link-aware", 0, words), make("link-aware", 0, words)
        begun.begin_with(others.learnt())
        orders = (visit(site, each, relevance(hosts == number), warm_up=0) for each in (begun, fresh))
        found.append(tuple(third(site, order) for order in orders))
    with_model, without = np.array(found).T
    assert with_model.mean() < 0.5 * without.mean()
