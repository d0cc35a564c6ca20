"""Sites of one make, on which an estimated distance must pay."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import replica

from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.focus.strategies.simple import BestFirst
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.archives.direct import DirectArchive
from scrapy_replica.lab.generation.control import ANCHORS, BOTH, WANTED, WORDS, Control, make_control
from scrapy_replica.lab.visits.figures import figures
from scrapy_replica.lab.visits.omniscient import Transposed, omniscient_order
from scrapy_replica.lab.visits.visit import visit
from scrapy_replica.numeric import FloatArray, IntArray

generate = partial(replica, "lab", "generate")


@pytest.fixture(scope="module")
def words() -> Control:
    return make_control()


class TrueDistance(BestFirst):
    """sigma of the HMM strategies with the distance that no visit can know."""

    name = "true-distance"

    def __init__(self, control: Control) -> None:
        self._distance = distances(control)

    def visited(self, page, relevance):  # type: ignore[no-untyped-def]
        self._sigma = 0.5 * (1 - min(self._distance[int(page.url)], 6) / 6) + 0.5 * relevance

    def scores(self, page, links) -> FloatArray:  # type: ignore[no-untyped-def]
        return np.full(len(links), self._sigma)


def distances(control: Control) -> IntArray:
    pages = control.collection
    return Transposed(pages).distances(pages.relevant(WANTED), np.ones(len(pages), dtype=bool))


def found(control: Control, strategy: Strategy | None, share: float) -> float:
    """Return the share of the wanted pages found after *share* of the visit; without a strategy by the labels."""
    relevant = control.collection.relevant(WANTED)
    if strategy is None:
        order = omniscient_order(control.collection, relevant)
    else:
        order = visit(control.collection, strategy, control.relevance)
    return figures(order, relevant).found_at(share)


class TestMaking:
    def test_the_wanted_pages_lie_as_deep_as_asked_for_on_every_site(self) -> None:
        for depth, pages in ((2, 37), (3, 187), (4, 937)):
            control = make_control(sites=4, depth=depth)
            assert len(control.collection) == 4 * pages
            assert control.collection.reachable().all()
            fronts = [page for page, url in enumerate(control.collection.urls) if url.endswith("/")]
            assert distances(control)[fronts].tolist() == [depth] * 4

    def test_one_seed_gives_one_control(self) -> None:
        one, same, other = (make_control(sites=3, seed=seed) for seed in (1, 1, 2))
        assert (one.relevance == same.relevance).all()
        assert one.collection.page(9) == same.collection.page(9)
        assert one.collection.page(9) != other.collection.page(9)

    def test_anchors_tell_the_way_where_words_do_not(self) -> None:
        control = make_control(sites=3, tells=ANCHORS)
        pages, distance = control.collection, distances(control)
        for near, anchor in ((2, "delta"), (1, "blue"), (0, "item")):
            for page in np.flatnonzero(distance == near + 1).tolist():
                said = dict(zip(pages.links(page), pages.anchors(page), strict=True))
                assert {said[target] for target in said if distance[target] == near} == {anchor}
        kinds = {term.rpartition("x")[0] for term in pages.vocabulary if term.startswith("place")}
        assert kinds == {"place0x0", "place1x1", "place2x2", "place3x3"}  # pages of a level have the same words

    def test_words_tell_the_way_where_anchors_do_not(self) -> None:
        for tells, anchors in ((WORDS, {"more"}), (BOTH, {"delta", "blue", "item", "partner", "home"})):
            pages = make_control(sites=3, tells=tells).collection
            said = {anchor for page in range(len(pages)) for anchor in pages.anchors(page)}
            assert anchors <= said if tells == BOTH else anchors == said

    def test_only_wanted_pages_speak_of_the_topic_where_relevance_is_binary(self) -> None:
        for binary, speaking in ((1.0, 0), (0.5, 2), (0.0, 4)):
            control = make_control(sites=4, binary=binary)
            told = [any(term.startswith("topic") for term in control.collection.terms(page)) for page in range(748)]
            far = np.array(told) & (distances(control) > 0)
            assert len(set(np.flatnonzero(far) // 187)) == speaking
            assert ((control.relevance > 0.5) == control.collection.relevant(WANTED)).all()

    def test_the_command_writes_an_archive(self, tmp_path: Path) -> None:
        out = tmp_path / "control"
        done = generate("--control", "both", "--sites", 4, "--depth", 2, "--seed", 3, "--out", out, "--json")
        assert json.loads(done.out)["figures"] == {"pages": 148, "hosts": 4, "topic.wanted": 20}
        made, wanted = DirectArchive(out), make_control(4, 2, tells=BOTH, seed=3).collection
        assert [made.page(page) for page in range(148)] == [wanted.page(page) for page in range(148)]
        assert (made.relevant(WANTED) == wanted.relevant(WANTED)).all()

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--control", "words", "--sites", 2, "--out", "x"), "--sites is 2: it must be 3 to 10,000"),
            (("--control", "words", "--depth", 5, "--out", "x"), "--depth is 5"),
            (("--control", "words", "--binary", 2, "--out", "x"), "--binary is 2"),
            (("--control", "words"), "give --out"),
            (("--control", "words", "--pages", 9, "--out", "x"), "not --pages"),
        ],
    )
    def test_wrong_options_are_told_in_one_line(self, arguments: tuple[str, ...], told: str) -> None:
        code, _, error = generate(*arguments)
        assert (code, error.count("\n")) == (2, 1)
        assert told in error


class TestOrders:
    """Where only the words of pages tell the way."""

    def test_who_knows_the_distance_finds_all_in_the_first_tenth(self, words: Control) -> None:
        assert found(words, None, 0.1) == 1.0
        assert found(words, TrueDistance(words), 0.1) == 1.0

    def test_relevance_alone_finds_no_more_than_chance(self, words: Control) -> None:
        assert found(words, BestFirst(), 0.1) == pytest.approx(0.10, abs=0.05)
        assert found(words, BestFirst(), 0.2) == pytest.approx(0.23, abs=0.05)

    def test_relevance_is_enough_where_it_is_graded(self) -> None:
        assert found(make_control(sites=15, binary=0.0), BestFirst(), 0.2) >= 0.9

    def test_the_estimated_distance_finds_nearly_all_in_the_first_fifth(self, words: Control) -> None:
        assert found(words, HmmDynamic(), 0.2) >= 0.9
