from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.context import ContextGraph
from scrapy_replica.focus.distances import Distances
from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.layers import LayerBayes, TopTerms

FAR = 4
graphs = st.lists(st.lists(st.integers(0, 11), max_size=4), min_size=12, max_size=12)
relevants = st.sets(st.integers(0, 11), max_size=4)


def plain_distances(links: dict[int, list[int]], relevant: set[int]) -> dict[int, int]:
    """Distance of each visited page by asking again and again until nothing changes."""
    distance = {page: 0 if page in relevant else FAR for page in links}
    for _ in range(FAR):
        for page, targets in links.items():
            near = min((distance[t] for t in targets if t in distance and t != page), default=FAR) + 1
            distance[page] = min(distance[page], near)
    return distance


class TestDistances:
    @settings(max_examples=60, deadline=None)
    @given(graph=graphs, relevant=relevants, visits=st.permutations(range(12)))
    def test_equal_those_counted_from_scratch(
        self, graph: list[list[int]], relevant: set[int], visits: list[int]
    ) -> None:
        known, seen, numbers = KnownGraph(), {}, {}
        distances = Distances(FAR, known)
        for page in visits:
            numbers[page] = known.visit(str(page))
            distances.visit(known.page, page in relevant)
            distances.link(known.page, known.link([str(target) for target in graph[page]]))
            seen[page] = graph[page]
            assert {p: distances[numbers[p]] for p in seen} == plain_distances(seen, relevant)


class TestContextGraph:
    @settings(max_examples=40, deadline=None)
    @given(graph=graphs, relevant=relevants, visits=st.permutations(range(12)))
    def test_counts_equal_those_of_training_anew(
        self, graph: list[list[int]], relevant: set[int], visits: list[int]
    ) -> None:
        context = ContextGraph(FAR, HMM(FAR + 1, FAR + 1))
        for page in visits:
            context.visit(str(page), {f"w{page}": 2, "all": 1}, 1.0 if page in relevant else 0.0)
            context.link(context.graph.link([str(target) for target in graph[page]]))
        transitions, pages = np.zeros((FAR + 1, FAR + 1)), np.zeros(FAR)
        layers = {page: context.distances[place] for place, page in enumerate(visits, 1)}
        for page, targets in enumerate(graph):
            for target in set(targets) - {page}:
                transitions[layers[page], layers[target]] += 1
        for layer in layers.values():
            if layer < FAR:
                pages[layer] += 1
        assert (context.hmm.transitions == transitions).all()
        assert (context.bayes.pages == pages).all()
        assert (context.hmm.emissions.sum(axis=1) == [list(layers.values()).count(s) for s in range(FAR + 1)]).all()


def learnt() -> tuple[LayerBayes, TopTerms]:
    model, terms = LayerBayes(2), TopTerms()
    for layer, word in ((0, "grape"), (0, "grape"), (1, "index"), (1, "index")):
        document = terms.see({word: 3, "page": 1})
        model.add(layer, *document)
        model.note_threshold(layer, *document)
    return model, terms


class TestLayerBayes:
    def test_puts_a_page_into_the_layer_of_its_words(self) -> None:
        model, terms = learnt()
        assert model.classify(*terms.see({"grape": 3, "page": 1})) == 0
        assert model.classify(*terms.see({"index": 3, "page": 1})) == 1

    def test_a_page_below_the_threshold_is_or_more(self) -> None:
        model, terms = learnt()
        assert model.classify(*terms.see({"other": 3})) == 2

    def test_untrained_says_or_more(self) -> None:
        assert LayerBayes(3).classify(np.array([0]), np.array([1.0])) == 3

    def test_saved_and_loaded(self) -> None:
        model, terms = learnt()
        page = terms.see({"grape": 1, "index": 1})
        again = LayerBayes(2)
        again.restore(model.state())
        assert (again.probabilities(*page) == model.probabilities(*page)).all()
        assert again.classify(*page) == model.classify(*page)

    def test_refuses_no_layers(self) -> None:
        with pytest.raises(ValueError, match="at least one layer"):
            LayerBayes(0)


class TestTopTerms:
    def test_keeps_the_forty_rarest(self) -> None:
        terms = TopTerms()
        common = {f"common{i}": 1 for i in range(50)}
        for _ in range(5):
            terms.see(common)
        numbers, _ = terms.see({**common, "rare": 1})
        assert len(numbers) == 40
        assert terms.ids["rare"] in numbers
