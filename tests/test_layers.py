from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus import known_graph
from scrapy_replica.focus.context import ContextGraph
from scrapy_replica.focus.distances import Distances
from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.layers import LayerBayes, TopTerms
from scrapy_replica.focus.strategies.hmm import KNOWN, HmmDynamic, HmmStatic
from scrapy_replica.focus.window import Window
from scrapy_replica.records import Link, Page

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


texts = st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 4), max_size=4), min_size=12, max_size=12)


class PlainLayers:
    """Layers, naive Bayes, thresholds and observations as the source writes them, from scratch at every step."""

    def __init__(self, is_tfidf: bool) -> None:
        self.is_tfidf = is_tfidf
        self.links: dict[int, list[int]] = {}
        self.relevant: set[int] = set()
        self.terms: dict[int, dict[str, int]] = {}
        self.weights: dict[int, dict[str, float]] = {}
        self.layers: dict[int, int] = {}
        self.observations: dict[int, int] = {}
        self.samples: dict[int, float] = {}
        self.unclear: set[int] = set()
        """Pages so near to a border that rounding decides their observation."""

    def visit(self, page: int, terms: dict[str, int], is_relevant: bool) -> None:
        self.terms[page], self.links[page] = terms, []
        total, pages = sum(terms.values()), len(self.terms)
        holders = {term: sum(term in other for other in self.terms.values()) for term in terms}
        self.weights[page] = {
            term: count / total * math.log((1 + pages) / holders[term]) if self.is_tfidf else count
            for term, count in terms.items()
        }
        self.layers[page] = FAR
        self.classify(page)
        self.relevant |= {page} if is_relevant else set()
        self.follow()

    def link(self, page: int, targets: list[int]) -> None:
        self.links[page] = targets
        self.follow()

    def follow(self) -> None:
        before, self.layers = self.layers, plain_distances(self.links, self.relevant)
        moved = [page for page, layer in self.layers.items() if layer != before[page]]
        for page in moved:
            self.samples[page] = self.probabilities(page)[self.layers[page]]
        for page in moved:
            self.classify(page)

    def probabilities(self, page: int) -> list[float]:
        vocabulary = len({term for terms in self.terms.values() for term in terms})
        logs = []
        for layer in range(FAR):
            members = [each for each, at in self.layers.items() if at == layer]
            mass = math.fsum(weight for each in members for weight in self.weights[each].values())
            logs.append(math.log(1 + len(members)))
            for term, weight in self.weights[page].items():
                own = math.fsum(self.weights[each].get(term, 0) for each in members)
                logs[-1] += weight * math.log((1 + own) / (vocabulary + mass))
        total = math.fsum(math.exp(each - max(logs)) for each in logs)
        return [math.exp(each - max(logs)) / total for each in logs]

    def sigma(self, layer: int) -> float:
        return min((self.samples[page] for page, at in self.layers.items() if at == layer), default=0.0)

    def classify(self, page: int) -> None:
        self.observations[page] = FAR
        self.unclear.discard(page)
        if all(layer == FAR for layer in self.layers.values()):
            return
        probabilities = self.probabilities(page)
        best = max(range(FAR), key=lambda layer: probabilities[layer])
        if probabilities[best] > self.sigma(best):
            self.observations[page] = best
        gaps = [abs(probabilities[best] - other) for other in (*probabilities[:best], *probabilities[best + 1 :])]
        if min(*gaps, abs(probabilities[best] - self.sigma(best))) < 1e-6:
            self.unclear.add(page)


class TestAgainstTheSource:
    @settings(max_examples=40, deadline=None)
    @given(graph=graphs, relevant=relevants, words=texts, visits=st.permutations(range(12)), is_tfidf=st.booleans())
    def test_sigma_and_classes_equal_those_made_from_scratch(
        self, graph: list[list[int]], relevant: set[int], words: list[dict[str, int]], visits: list[int], is_tfidf: bool
    ) -> None:
        context, plain = ContextGraph(FAR, HMM(FAR + 1, FAR + 1), is_tfidf), PlainLayers(is_tfidf)
        numbers = {page: number for number, page in enumerate(visits, 1)}
        for page in visits:
            context.visit(str(page), words[page], 1.0 if page in relevant else 0.0)
            plain.visit(page, words[page], page in relevant)
            context.link(context.graph.link([str(target) for target in graph[page]]))
            plain.link(page, graph[page])
            assert [context.thresholds[layer] for layer in range(FAR)] == pytest.approx(
                [plain.sigma(layer) for layer in range(FAR)], rel=1e-4
            )
            found = {each: int(context.graph.pages["observation"][numbers[each]]) for each in plain.layers}
            assert {each: found[each] for each in found if each not in plain.unclear} == {
                each: at for each, at in plain.observations.items() if each not in plain.unclear
            }

    def test_the_page_that_sets_sigma_is_itself_or_more(self) -> None:
        """The source prints <=, layer 0 is no exception."""
        context = ContextGraph(FAR, HMM(FAR + 1, FAR + 1))
        context.visit("only", {"x": 1}, 1.0)
        assert context.thresholds[0] > 0.0
        assert context.graph.pages["observation"][1] == FAR

    def test_a_page_that_left_a_layer_sets_its_sigma_no_more(self) -> None:
        context = ContextGraph(FAR, HMM(FAR + 1, FAR + 1))
        context.visit("root", {"x": 3}, 1.0)
        context.visit("hub", {"y": 3}, 0.0)
        context.link(context.graph.link(["root"]))
        context.visit("far", {"z": 3}, 0.0)
        context.link(context.graph.link(["hub", "new root"]))
        assert context.thresholds[2] > 0.0
        context.visit("new root", {"x": 2}, 1.0)
        assert (context.distances[3], context.thresholds[2]) == (1, 0.0)

    def test_nor_does_one_that_was_forgotten(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(known_graph, "MOST_PAGES", 3)
            context = ContextGraph(FAR, HMM(FAR + 1, FAR + 1))
            context.visit("root", {"x": 3}, 1.0)
            for number in range(3):
                assert context.thresholds[0] > 0.0
                context.visit(f"other {number}", {"y": 1}, 0.0)
            assert context.thresholds[0] == 0.0


class PlainVisit:
    """Parents and priorities of chapter 5, in dictionaries; the model's own A and B give the steps."""

    def __init__(self, strategy: HmmStatic) -> None:
        self.strategy = strategy
        self.parent: dict[str, str] = {}
        self.priority: dict[str, float] = {}
        self.offered: dict[str, float] = {}
        """The best score so far, which a waiting URL keeps."""
        self.delta: dict[str, np.ndarray] = {}
        self.layers: dict[str, int] = {}
        self.visited: set[str] = set()

    def visit(self, url: str, relevance: float, links: list[str]) -> None:
        strategy, hmm = self.strategy, self.strategy.context.hmm
        strategy.visited(Page(url, "a.org", terms={"word": 1, url[-1]: 1}), relevance)
        context = strategy.context
        observation = int(context.graph.pages["observation"][context.graph.page])
        self.visited.add(url)
        self.give_states()
        if relevance > 0.5:
            distance = 0
            self.delta[url] = known(0)
        else:
            parent = self.parent.get(url)
            self.delta[url] = hmm.step(self.delta[parent], observation) if parent else hmm.start(observation)
            distance = hmm.state(self.delta[url])
        self.layers[url] = context.distances[context.graph.page]
        nearness = (FAR - distance) / FAR if context.is_trained else 0.0
        sigma = strategy.alpha * nearness + (1 - strategy.alpha) * relevance if context.is_trained else relevance
        scores = strategy.scores(Page(url, "a.org"), [Link(each) for each in links]).tolist()
        self.give_states()
        for each, score in zip(links, scores, strict=True):
            if each in self.visited:
                continue
            if each not in self.priority or (strategy.is_dynamic and sigma > self.priority[each]):
                self.priority[each], self.parent[each] = sigma, url
            assert max(score, self.offered.get(each, 0.0)) == pytest.approx(self.priority[each])
            self.offered[each] = self.priority[each]

    def give_states(self) -> None:
        """Pages whose layer changed have a known state."""
        context = self.strategy.context
        for url, layer in self.layers.items():
            row = context.graph.urls.row(context.graph.urls.find(url))
            now = context.distances[int(context.graph.urls["page"][row])]
            if now != layer:
                self.layers[url], self.delta[url] = now, known(now)


def known(state: int) -> np.ndarray:
    delta = np.full(FAR + 1, -KNOWN)
    delta[state] = 0.0
    return delta


class TestParents:
    @settings(max_examples=40, deadline=None)
    @given(
        graph=graphs,
        relevances=st.lists(st.floats(0, 1), min_size=12, max_size=12),
        visits=st.permutations(range(12)),
        kind=st.sampled_from([HmmStatic, HmmDynamic]),
    )
    def test_priorities_and_parents_are_those_of_the_source(
        self, graph: list[list[int]], relevances: list[float], visits: list[int], kind: type[HmmStatic]
    ) -> None:
        """Static: the page that found a URL. Dynamic: a better-scored page that links to it, until it is visited."""
        strategy = kind(alpha=0.5, max_distance=FAR)
        plain = PlainVisit(strategy)
        for page in visits:
            plain.visit(f"u{page}", relevances[page], [f"u{target}" for target in dict.fromkeys(graph[page])])
        urls, pages = strategy.graph.urls, strategy.graph.pages
        for url, parent in plain.parent.items():
            number = int(urls["parent"][urls.row(urls.find(url))])
            assert urls.urls[urls.row(int(pages["url"][number]))] == parent


def learnt() -> tuple[LayerBayes, TopTerms]:
    terms = TopTerms(is_tfidf=False)
    model = LayerBayes(2, terms)
    for layer, word in ((0, "grape"), (0, "grape"), (1, "index"), (1, "index")):
        model.add(layer, *terms.see({word: 3, "page": 1}))
    return model, terms


class TestLayerBayes:
    def test_puts_a_page_into_the_layer_of_its_words(self) -> None:
        model, terms = learnt()
        assert model.probabilities(*terms.see({"grape": 3, "page": 1})).argmax() == 0
        assert model.probabilities(*terms.see({"index": 3, "page": 1})).argmax() == 1

    def test_words_that_no_layer_has_count_the_same_whenever_they_were_numbered(self) -> None:
        model, terms = learnt()
        terms.see({"early": 1, **{f"w{i}": 1 for i in range(3000)}, "late": 1})
        early, late = terms.ids["early"], terms.ids["late"]
        weights = np.array([3.0])
        assert model.probabilities(np.array([early]), weights) == pytest.approx(
            model.probabilities(np.array([late]), weights)
        )

    def test_untrained_says_nothing(self) -> None:
        assert LayerBayes(3, TopTerms()).probabilities(np.array([0]), np.array([1.0])).tolist() == [1 / 3] * 3

    def test_saved_and_loaded(self) -> None:
        model, terms = learnt()
        page = terms.see({"grape": 1, "index": 1})
        again = LayerBayes(2, terms)
        again.restore(model.state())
        assert (again.probabilities(*page) == model.probabilities(*page)).all()

    def test_refuses_no_layers(self) -> None:
        with pytest.raises(ValueError, match="at least one layer"):
            LayerBayes(0, TopTerms())


class TestWindow:
    @given(most=st.integers(1, 6), count=st.integers(1, 20))
    def test_a_row_knows_its_number(self, most: int, count: int) -> None:
        window = Window(most)
        for _ in range(count):
            window.add()
        assert [window.row(window.number(row)) for row in range(1, window.used)] == list(range(1, window.used))
        assert window.number(window.row(count)) == count


class TestTopTerms:
    def test_keeps_the_forty_rarest(self) -> None:
        terms = TopTerms()
        common = {f"common{i}": 1 for i in range(50)}
        for _ in range(5):
            terms.see(common)
        numbers, _ = terms.see({**common, "rare": 1})
        assert len(numbers) == 40
        assert terms.ids["rare"] in numbers

    def test_weighs_by_tfidf_or_counts(self) -> None:
        for is_tfidf, expected in ((True, [2 / 8 * math.log(3 / 1), 6 / 8 * math.log(3 / 2)]), (False, [2.0, 6.0])):
            terms = TopTerms(is_tfidf)
            terms.see({"common": 1})
            numbers, weights = terms.see({"rare": 2, "common": 6})
            assert dict(zip(numbers.tolist(), weights.tolist(), strict=True)) == pytest.approx(
                {terms.ids["rare"]: expected[0], terms.ids["common"]: expected[1]}
            )
