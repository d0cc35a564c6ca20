from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus import context as context_module
from scrapy_replica.focus.context import LEAST_TRIED, ContextGraph
from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.known_graph import KnownGraph, layers, tried
from scrapy_replica.focus.layer_model import PENALTY, LayerModel
from scrapy_replica.focus.strategies import layered
from scrapy_replica.focus.strategies.hmm import KNOWN, HmmDynamic, HmmSecondOrder, HmmStatic
from scrapy_replica.focus.strategies.simple import BestFirst
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.focus.top_terms import TopTerms
from scrapy_replica.focus.window import Window
from scrapy_replica.lab.archives.collection import Collection, read_parquet
from scrapy_replica.lab.strategies.hmm_liu import HmmLiu
from scrapy_replica.lab.visits.omniscient import Transposed
from scrapy_replica.lab.visits.visit import Limits, visit
from scrapy_replica.lab.visits.visit_variants import EqualTerms
from scrapy_replica.pages.terms import terms as count_terms
from scrapy_replica.records import Link, Page

FAR = 4
graphs = st.lists(st.lists(st.integers(0, 11), max_size=4), min_size=12, max_size=12)
relevants = st.sets(st.integers(0, 11), max_size=4)
texts = st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 4), max_size=4), min_size=12, max_size=12)
few = settings(max_examples=40)


def back_crawls(graph: list[list[int]], relevant: set[int], visits: list[int]) -> dict[int, int]:
    """Layers as the source writes them: a breadth-first walk over visited pages whenever one is found relevant."""
    layers, links = dict.fromkeys(visits, FAR), dict[int, list[int]]()
    for page in visits:
        if page in relevant:
            layers[page], seen, border = 0, {page}, {page}
            for distance in range(1, FAR):
                border = {each for each, targets in links.items() if border & set(targets)} - seen
                seen |= border
                for each in border:
                    layers[each] = min(layers[each], distance)
        links[page] = graph[page]
    return layers


def shown(strategy: Strategy, graph: list[list[int]], visits: list[int], relevance: Callable[[int], float]) -> None:
    for page in visits:
        strategy.visited(Page(f"u{page}", "a.org", terms={f"w{page % 3}": 1, "all": 2}), relevance(page))
        strategy.scores(Page(f"u{page}", "a.org"), [Link(f"u{target}") for target in graph[page]])


class TestLayers:
    @few
    @given(graph=graphs, relevant=relevants, visits=st.permutations(range(12)))
    def test_are_those_of_a_back_crawl_after_each_relevant_page(
        self, graph: list[list[int]], relevant: set[int], visits: list[int]
    ) -> None:
        known = KnownGraph()
        for page in visits:
            known.visit(str(page))
            known.link([str(target) for target in graph[page]])
        is_relevant = np.array([False, *(page in relevant for page in visits)])
        found = layers(known, is_relevant, FAR)
        assert dict(zip(visits, found[1:].tolist(), strict=True)) == back_crawls(graph, relevant, visits)

    def test_a_page_that_links_to_what_was_found_before_it_gets_nothing_from_that(self) -> None:
        known = KnownGraph()
        for page, links in (("root", []), ("late", ["root"])):
            known.visit(page)
            known.link(links)
        assert layers(known, np.array([False, True, False]), FAR).tolist()[1:] == [0, FAR]

    @few
    @given(graph=graphs, visits=st.permutations(range(12)), visited=st.integers(1, 12), in_vain=relevants)
    def test_tried_is_the_share_of_links_that_were_fetched(
        self, graph: list[list[int]], visits: list[int], visited: int, in_vain: set[int]
    ) -> None:
        context = ContextGraph(FAR, HMM(FAR + 1, FAR + 1))
        for page in visits[:visited]:
            context.visit(str(page), {}, 0.0, 0)
            context.graph.link([str(target) for target in graph[page]])
        for page in in_vain:
            context.unproductive(str(page))
        fetched = in_vain | set(visits[:visited])
        for row, page in enumerate(visits[:visited], 1):
            others = [target for target in graph[page] if target != page]
            share = sum(target in fetched for target in others) / len(others) if others else 1.0
            assert tried(context.graph)[row] == pytest.approx(share)


class TestLearning:
    @few
    @given(graph=graphs, relevant=relevants, visits=st.permutations(range(12)), second=st.booleans())
    def test_counts_are_those_of_pages_whose_links_were_tried(
        self, graph: list[list[int]], relevant: set[int], visits: list[int], second: bool
    ) -> None:
        """Links between them or, in second order, crawl paths, in the layers that are known by now."""
        strategy = (HmmSecondOrder if second else HmmDynamic)(max_distance=FAR)
        shown(strategy, graph, visits[:9], lambda page: 0.9 if page in relevant else 0.1)
        strategy.context.learn()
        seen = visits[:9]
        at, parents = back_crawls(graph, relevant, seen), {}
        for row, page in enumerate(seen, 1):
            parent = int(strategy.graph.pages["parent"][row])
            parents[page] = seen[parent - 1] if parent else None
        known = {
            page
            for page in seen
            if page in relevant
            or sum(target in seen for target in graph[page] if target != page)
            >= LEAST_TRIED * sum(target != page for target in graph[page])
        }
        if second:
            paths = [(parents.get(parents[page]), parents[page], page) for page in seen]
        else:
            paths = [(page, target) for page in seen for target in graph[page] if target != page]
        wanted = np.zeros((FAR + 1,) * (3 if second else 2))
        for path in paths:
            if known.issuperset(path):
                wanted[tuple(at[page] for page in path)] += 1
        assert (strategy.context.hmm.transitions == wanted).all()
        assert strategy.context.hmm.emissions.sum(axis=1).tolist() == [
            sum(at[page] == layer for page in known) for layer in range(FAR + 1)
        ]

    def test_a_page_whose_links_wait_teaches_nothing(self) -> None:
        context = ContextGraph(FAR, HMM(FAR + 1, FAR + 1))
        for page, links in (("way", ["root"]), ("root", []), ("open", ["a", "b"]), ("leaf", [])):
            context.visit(page, {page: 1}, 0.9 if page == "root" else 0.1, 0)
            context.graph.link(links)
        context.learn()
        assert context.hmm.emissions.sum(axis=1).tolist() == [1, 1, 0, 0, 1]
        told = context.probabilities(np.array([1, 2, 3, 4]))
        assert (told[[0, 1, 3]].argmax(axis=1) == [1, 0, FAR]).all()
        assert told[2, 1] == pytest.approx(told[2, FAR], abs=0.01)


class PlainScores:
    """Parents and priorities of chapter 5, in dictionaries."""

    def __init__(self, strategy: HmmStatic) -> None:
        self.strategy = strategy
        self.links: dict[str, list[str]] = {}
        self.parent: dict[str, str] = {}
        self.waits: dict[str, float] = {}

    def score(self, url: str) -> float:
        graph = self.strategy.graph
        return float(graph.pages["score"][graph.pages.row(list(self.links).index(url) + 1)])

    def visit(self, url: str, relevance: float, links: list[str]) -> None:
        strategy = self.strategy
        learns = len(self.links) + 1 >= strategy.context.next_learning
        strategy.visited(Page(url, "a.org", terms={"word": 1, url[-1]: 1}), relevance)
        self.waits.pop(url, None)
        self.links[url] = []
        if learns:
            for each in self.waits:
                if strategy.is_dynamic:
                    self.parent[each] = max((p for p, to in self.links.items() if each in to), key=self.score)
                self.waits[each] = self.score(self.parent[each])
        found = strategy.scores(Page(url, "a.org"), [Link(each) for each in links]).tolist()
        self.links[url] = links
        for each in links:
            if each in self.links:
                continue
            if each not in self.waits or (strategy.is_dynamic and self.score(url) > self.waits[each]):
                self.waits[each], self.parent[each] = self.score(url), url
        offered = {each: score for each, score in zip(links, found, strict=True) if each in self.waits}
        assert all(score <= self.waits[each] for each, score in offered.items())
        assert all(self.waits[each] == score for each, score in strategy.rescored().items() if each not in links)


class TestWaitingLinks:
    @few
    @given(
        graph=graphs,
        relevances=st.lists(st.floats(0, 1), min_size=12, max_size=12),
        visits=st.permutations(range(12)),
        kind=st.sampled_from([HmmStatic, HmmDynamic]),
    )
    def test_are_told_the_scores_of_their_pages_anew_when_the_models_are(
        self, graph: list[list[int]], relevances: list[float], visits: list[int], kind: type[HmmStatic]
    ) -> None:
        """Static: that of the page that found a URL. Dynamic: of the best-scored page that links to it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context_module, "FIRST", 3)
            strategy = kind(alpha=0.5, max_distance=FAR)
            plain = PlainScores(strategy)
            for page in visits:
                plain.visit(f"u{page}", relevances[page], [f"u{target}" for target in dict.fromkeys(graph[page])])
        urls, pages = strategy.graph.urls, strategy.graph.pages
        for url, score in plain.waits.items():
            row = urls.row(urls.find(url))
            parent = int(urls["parent"][row])
            assert urls.urls[urls.row(int(pages["url"][parent]))] == plain.parent[url]
            assert urls["inherited"][row] == score

    def test_moves_are_handed_out_the_best_first(self) -> None:
        strategy = HmmDynamic(max_distance=FAR)
        graph = [[12, 13, 1], [14, 2], [15, 3], [16], *[[]] * 8]
        shown(strategy, graph, [0, 1, 2, 3], lambda page: [0.1, 0.2, 0.3, 0.9][page])
        strategy.context.learn()
        strategy._tell_all()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(layered, "MOST_MOVED", 2)
            moved = [strategy.rescored() for _ in range(4)]
        scores = [score for each in moved for score in each.values()]
        assert [len(each) for each in moved][-1] == 0
        assert scores == sorted(scores, reverse=True)


class TestStates:
    @few
    @given(
        graph=graphs,
        relevant=relevants,
        visits=st.permutations(range(12)),
        kind=st.sampled_from([HmmDynamic, HmmSecondOrder, HmmLiu]),
    )
    def test_state_0_is_that_of_relevant_pages_alone(
        self, graph: list[list[int]], relevant: set[int], visits: list[int], kind: type[HmmStatic]
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context_module, "FIRST", 3)
            strategy = kind(max_distance=FAR)
            shown(strategy, graph, visits, lambda page: 0.9 if page in relevant else 0.1)
        if strategy.context.is_trained:
            near = strategy.graph.pages["near"][1:13]
            assert [page in relevant for page in visits] == (near == 1.0).tolist()

    @few
    @given(graph=graphs, relevant=relevants, visits=st.permutations(range(12)))
    def test_those_of_a_path_are_those_of_the_chain_walked_again(
        self, graph: list[list[int]], relevant: set[int], visits: list[int]
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context_module, "FIRST", 6)
            strategy = HmmDynamic(max_distance=FAR)
            shown(strategy, graph, visits, lambda page: 0.9 if page in relevant else 0.1)
        context, pages = strategy.context, strategy.graph.pages
        strategy._tell_all()
        if not context.is_trained:
            return
        for row in range(1, 13):
            path = [row]
            while (parent := int(pages["parent"][path[0]])) and visits[path[0] - 1] not in relevant:
                path.insert(0, parent)
            emitted = [context.emitted(np.array([each])) for each in path]
            delta = context.hmm.start(emitted[0])
            if visits[path[0] - 1] in relevant:
                delta = np.where(np.arange(FAR + 1) == 0, 0.0, -KNOWN)[None]
            for each in emitted[1:]:
                delta = context.hmm.step(delta, each)
            assert pages["delta"][row] == pytest.approx(delta[0])


def cost(model: LayerModel, rows: np.ndarray, at: np.ndarray, weighs: np.ndarray, weights: np.ndarray) -> float:
    """The printed objective, *weights* with the intercepts as last row."""
    logits = rows @ weights[:-1] + weights[-1]
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return float(-(weighs * logs[np.arange(len(at)), at - 1]).sum() + PENALTY / 2 * (weights[:-1] ** 2).sum())


class TestLayerModel:
    @settings(max_examples=20)
    @given(words=texts, found=st.lists(st.integers(1, 3), min_size=12, max_size=12), is_tfidf=st.booleans())
    def test_no_step_in_any_direction_costs_less(
        self, words: list[dict[str, int]], found: list[int], is_tfidf: bool
    ) -> None:
        terms, at = TopTerms() if is_tfidf else EqualTerms(), np.array(found)
        weighs = np.linspace(0.5, 1.5, 12)
        numbers, counts = np.zeros((12, 4), dtype=np.int64), np.zeros((12, 4), dtype=np.int64)
        for row, text in enumerate(words):
            seen, often = terms.see(text)
            numbers[row, : len(seen)], counts[row, : len(seen)] = seen, often
        model = LayerModel(3, terms)
        for _ in range(20):  # each begins where the one before ended
            model.fit(numbers, counts, at, weighs)
        rows = np.zeros((12, len(model._weights)))
        for row, text in enumerate(words):
            for term, count in text.items():
                holders = sum(term in other for other in words)
                rows[row, terms.ids[term]] = (1 + math.log(count)) * (math.log(13 / holders) if is_tfidf else 1)
            rows[row] /= np.linalg.norm(rows[row]) or 1.0
        weights = np.vstack([model._weights, model._intercepts])
        logits = rows @ weights[:-1] + weights[-1]
        expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        assert model.probabilities(numbers, counts) == pytest.approx(expected)
        least = cost(model, rows, at, weighs, weights)
        for place in np.ndindex(*weights.shape):
            for step in (0.05, -0.05):
                other = weights.copy()
                other[place] += step
                assert cost(model, rows, at, weighs, other) > least - 1e-3

    def test_what_was_learnt_elsewhere_stands_where_pages_say_nothing_else(self) -> None:
        terms = TopTerms()
        for words in ({"near": 1}, {"far": 1}, {"both": 1}):
            terms.see(words)
        one, other = LayerModel(2, terms), LayerModel(2, terms)
        pages, counts = np.array([[0], [1]]), np.ones((2, 1), dtype=np.int64)
        one.fit(pages, counts, np.array([1, 2]), np.full(2, 20.0))
        other.begin_with(one.learnt(np.arange(3)))
        assert (other.probabilities(pages, counts) == one.probabilities(pages, counts)).all()
        other.fit(pages[:1], counts[:1], np.array([2]), np.full(1, 20.0))
        assert other.probabilities(pages, counts).argmax(axis=1).tolist() == [1, 1]

    def test_saved_and_loaded(self) -> None:
        terms = TopTerms()
        terms.see({"x": 1, "y": 1})
        model, again = LayerModel(2, terms), LayerModel(2, terms)
        pages, counts = np.array([[0], [1]]), np.ones((2, 1), dtype=np.int64)
        model.fit(pages, counts, np.array([1, 2]), np.ones(2))
        again.restore(model.state())
        assert (again.probabilities(pages, counts) == model.probabilities(pages, counts)).all()


@cache
def collection(path: Path) -> Collection:
    """One for both topics: reading it takes as long as visiting it."""
    return read_parquet(path, count_terms)


@pytest.mark.shared
class TestTextTellsLayers:
    """AUC of "one or two links away against more" on the 6,000 pages visited after the 1,500 learnt from."""

    @pytest.mark.parametrize(
        ("name", "topic", "least"),
        [("uci", "teaching", 0.7), ("uci", "machine_learning", 0.8), ("emacswiki", "mail", 0.75)],
    )
    def test_far_better_than_chance(self, name: str, topic: str, least: float, shared: Path) -> None:
        pages = collection(shared / "focus" / f"{name}.parquet")
        relevant = pages.relevant(topic)
        true = Transposed(pages).distances(relevant, np.ones(len(pages), dtype=bool), 6)
        true[true < 0] = 6
        relevance = np.where(relevant, 0.9, 0.1)
        order = visit(pages, BestFirst(), relevance, Limits(pages=7_500)).tolist()
        context = ContextGraph(6, HMM(7, 7))
        context.next_learning = 1_500
        told = []
        for place, page in enumerate(order):
            if place == 1_500:
                context.next_learning = 10**9
            context.visit(str(page), pages.terms(page), float(relevance[page]), 0)
            if place < 1_500:
                context.graph.link([str(target) for target in pages.links(page)])
            elif not relevant[page]:
                row = context.graph.pages.row(context.graph.page)
                told.append((true[page] <= 2, context.probabilities(np.array([row]))[0] @ -np.arange(7)))
        near, far = ([score for is_near, score in told if is_near is wanted] for wanted in (np.True_, np.False_))
        ranks = np.searchsorted(np.sort(far), near, "left") + np.searchsorted(np.sort(far), near, "right")
        assert ranks.mean() / 2 / len(far) >= least


class TestWindow:
    @given(most=st.integers(1, 6), count=st.integers(1, 20))
    def test_a_row_knows_its_number(self, most: int, count: int) -> None:
        window = Window(most)
        for _ in range(count):
            window.add()
        assert [window.row(window.number(row)) for row in range(1, window.used)] == list(range(1, window.used))
        assert window.number(window.row(count)) == count


class TestTopTerms:
    def test_keeps_those_that_most_pages_have(self) -> None:
        terms = TopTerms()
        common = {f"common{i}": 1 for i in range(70)}
        for _ in range(5):
            terms.see(common)
        numbers, counts = terms.see({"rare": 1, **common, "common3": 7})
        assert len(numbers) == 64
        assert terms.ids["rare"] not in numbers
        assert set(counts.tolist()) <= {1.0, 7.0}

    def test_terms_of_few_pages_weigh_more(self) -> None:
        terms = TopTerms()
        for page in ({"common": 1}, {"common": 2, "rare": 1}):
            terms.see(page)
        idf = terms.idf(np.array([terms.ids["common"], terms.ids["rare"]]))
        assert idf.tolist() == pytest.approx([math.log(3 / 2), math.log(3)])
