"""Strategies and the models below them beside what their sources say, done the slow way from scratch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.known_graph import layers
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.focus.top_terms import TopTerms
from scrapy_replica.lab.strategies import context_graph, make, pagerank, soft_focus
from scrapy_replica.lab.strategies.context_graph import CappedContextGraph
from scrapy_replica.lab.strategies.layer_bayes import LayerBayes
from scrapy_replica.lab.strategies.lsi import Clusters, hashed, kmeans
from scrapy_replica.lab.strategies.pagerank import PageRank
from scrapy_replica.lab.strategies.q_learning import BORDERS, GAMMA, QLearning
from scrapy_replica.lab.strategies.soft_focus import SoftFocus, distil
from scrapy_replica.records import Link, Page

SIZE = 12
few = settings(max_examples=30)


class Web(NamedTuple):
    """Pages 0..11 on three hosts, the order in which they are visited, and their relevance."""

    links: list[list[int]]
    order: list[int]
    relevance: list[float]

    def visited_by(self, steps: int) -> list[int]:
        return self.order[:steps]

    def known_links(self, steps: int) -> list[tuple[int, int]]:
        return [(u, v) for u in self.order[:steps] for v in self.links[u]]


def url(page: int) -> str:
    return f"http://h{page % 3}.org/{'abcd'[page % 4]}/{'xyz'[page % 3]}{page}"


def page_of(web: Web, page: int) -> Page:
    return Page(
        url(page), f"h{page % 3}.org", links=tuple(Link(url(v), f"to {'pqrs'[v % 4]}") for v in web.links[page])
    )


@st.composite
def webs(draw: st.DrawFn) -> Web:
    targets = st.lists(st.integers(0, SIZE - 1), max_size=5, unique=True)
    links = [[v for v in draw(targets) if v != u] for u in range(SIZE)]
    order = draw(st.permutations(range(SIZE)))[: draw(st.integers(1, SIZE))]
    return Web(links, order, draw(st.lists(st.floats(0, 1, width=16), min_size=SIZE, max_size=SIZE)))


class Waiting:
    """What waits, as a crawl keeps it: a link raises a URL, what the strategy moves has the score it says."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.scores: dict[str, float] = {}
        self.gone: set[str] = set()

    def show(self, page: Page, relevance: float) -> list[float]:
        self.scores.pop(page.url, None)
        self.gone.add(page.url)
        self.strategy.visited(page, relevance)
        scores = self.strategy.scores(page, page.links).tolist()
        for link, score in zip(page.links, scores, strict=True):
            if link.url not in self.gone:
                self.scores[link.url] = max(score, self.scores.get(link.url, -math.inf))
        for moved, score in self.strategy.rescored().items():
            assert moved not in self.gone
            self.scores[moved] = score
        return scores


class TestPageRank:
    @few
    @given(webs())
    def test_ranks_solve_the_equations(self, web: Web) -> None:
        """r = .9 (M r + what pages without links hand to all) + .1, over all URLs found; ranks sum to their number."""
        steps = len(web.order)
        found = sorted({*web.order, *(v for _, v in web.known_links(steps))})
        place, n = {page: k for k, page in enumerate(found)}, len(found)
        matrix = np.full((n, n), 1.0 / n)
        for u in web.order:
            if web.links[u]:
                matrix[:, place[u]] = 0.0
                for v in web.links[u]:
                    matrix[place[v], place[u]] = 1.0 / len(web.links[u])
        expected = np.linalg.solve(np.eye(n) - 0.9 * matrix, np.full(n, 0.1))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pagerank, "STEPS", 300)
            strategy = PageRank()
            strategy._next = steps
            for page in web.order[:-1]:
                strategy.visited(page_of(web, page), 0.0)
                strategy.scores(page_of(web, page), page_of(web, page).links)
            last = page_of(web, web.order[-1])
            strategy.visited(last, 0.0)
            strategy.scores(last, last.links)
            moved = strategy.rescored()
        waiting = [page for page in found if page not in web.order]
        assert moved == pytest.approx({url(page): expected[place[page]] for page in waiting}, rel=1e-6)


def plain_hubs(edges: Sequence[tuple[int, int]], relevance: Sequence[float], steps: int) -> list[float]:
    """Weighted HITS page by page: an edge counts by the relevance of its other end."""
    hubs = [1.0] * len(relevance)
    for _ in range(steps):
        authorities = [sum(hubs[u] * relevance[u] for u, v in edges if v == page) for page in range(len(hubs))]
        authorities = [each / max(*authorities, 1e-12) for each in authorities]
        hubs = [sum(authorities[v] * relevance[v] for u, v in edges if u == page) for page in range(len(hubs))]
        hubs = [each / max(*hubs, 1e-12) for each in hubs]
    return hubs


class TestHits:
    @few
    @given(webs())
    def test_hubs_are_those_of_the_equations(self, web: Web) -> None:
        edges = [(u, v) for u in range(SIZE) for v in web.links[u]]
        sources, targets = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        found = distil(sources, targets, np.array(web.relevance))
        assert found.tolist() == pytest.approx(plain_hubs(edges, web.relevance, soft_focus.STEPS), abs=1e-9)

    @few
    @given(webs(), st.sampled_from(["soft-focus", "hard-focus"]))
    def test_the_waiting_links_of_the_best_hub_are_raised(self, web: Web, name: str) -> None:
        """Links within a host make no hub, and a page that was not visited is no authority."""
        strategy, steps = make(name), len(web.order)
        assert isinstance(strategy, SoftFocus)
        for page in web.order[:-1]:
            Waiting(strategy).show(page_of(web, page), web.relevance[page])
        strategy._next = steps
        relevance = [web.relevance[page] if page in web.order else 0.0 for page in range(SIZE)]
        edges = [(u, v) for u, v in web.known_links(steps) if u % 3 != v % 3]
        hubs = plain_hubs(edges, np.float32(relevance).astype(float).tolist(), soft_focus.STEPS)
        best = [u for u in web.order if hubs[u] > 1.0 - 1e-9]
        assume(len(best) < 2)  # of two equally good ones rounding decides
        raised = {v: 0.0 for u in best for v in web.links[u] if v not in web.order}
        for v in raised:
            nearest = max(relevance[u] for u in best if v in web.links[u])
            raised[v] = 1.0 + (nearest if name == "soft-focus" else float(nearest > 0.5))
        last = page_of(web, web.order[-1])
        strategy.visited(last, web.relevance[web.order[-1]])
        strategy.scores(last, last.links)
        assert strategy.rescored() == pytest.approx({url(v): score for v, score in raised.items()}, abs=1e-3)

    @few
    @given(webs(), st.sampled_from(["soft-focus", "hard-focus"]))
    def test_a_link_is_worth_its_page_or_its_pages_class(self, web: Web, name: str) -> None:
        waiting = Waiting(make(name))
        for page in web.order:
            worth = web.relevance[page] if name == "soft-focus" else float(web.relevance[page] > 0.5)
            assert waiting.show(page_of(web, page), web.relevance[page]) == [worth] * len(web.links[page])


class TestHotQueue:
    @few
    @given(webs(), st.sampled_from(["hot-queue", "hot-queue-random"]))
    def test_hot_is_within_three_links_of_a_relevant_page_as_known_by_now(self, web: Web, name: str) -> None:
        waiting, drawn = Waiting(make(name, 3)), make("random", 3)
        for steps, page in enumerate(web.order, 1):
            waiting.show(page_of(web, page), web.relevance[page])
            links = web.known_links(steps)
            away = {each: 0 for each in web.visited_by(steps) if web.relevance[each] > 0.5}
            border = deque(away)
            while border:
                u = border.popleft()
                for v in (v for source, v in links if source == u and v not in away):
                    away[v] = away[u] + 1
                    border.append(v)
            expected = {}
            for v in {v for _, v in links} - {*web.visited_by(steps)}:
                rank = max(web.relevance[u] for u, target in links if target == v)
                if name == "hot-queue-random":
                    rank = float(drawn.scores(page_of(web, page), [Link(url(v))])[0])
                expected[url(v)] = rank + (away.get(v, 9) <= 3)
            assert waiting.scores == pytest.approx(expected)

    def test_what_grows_hot_beyond_the_bound_is_moved_after_the_next_pages(self) -> None:
        """Also where the crawl was resumed between them."""
        strategy = make("hot-queue")
        hubs = [Page(f"http://a.org/{i}", "a.org", links=(Link(f"http://a.org/{i}/x"),)) for i in range(1500)]
        waiting = Waiting(strategy)
        for page in hubs:
            waiting.show(page, 0.1)
        waiting.show(Page("http://a.org/", "a.org", links=tuple(Link(page.url) for page in hubs)), 0.9)
        assert 400 < sum(score > 1.0 for score in waiting.scores.values()) < 1500
        waiting.strategy = make("hot-queue")
        waiting.strategy.load(strategy.save())
        for i in range(3):
            waiting.show(Page(f"http://a.org/end{i}", "a.org"), 0.1)
        assert all(score > 1.0 for score in waiting.scores.values())


def words_of(link: Link) -> dict[str, int]:
    return words().terms(link)  # type: ignore[return-value]


def words() -> LinkWords:
    return LinkWords(
        lambda terms: 0.25 + len(terms) / 100, lambda text: {w: text.split().count(w) for w in text.split()}
    )


class PlainQ:
    """Q over the tree of the links that were followed, and naive Bayes, both from scratch for each link."""

    def __init__(self) -> None:
        self.children: dict[str, list[str]] = {}
        self.reward: dict[str, float] = {}
        self.read: dict[str, dict[str, int]] = {}
        self.vocabulary: set[str] = set()

    def q(self, here: str) -> float:
        followed = [self.q(child) for child in self.children.get(here, ()) if child in self.reward]
        return self.reward[here] + GAMMA * max([0.0, *followed])

    def score(self, link: Link) -> float:
        terms = words_of(link)
        bins: list[list[str]] = [[] for _ in range(len(BORDERS) + 1)]
        for each in self.reward:
            if each in self.read:
                bins[sum(self.q(each) > border for border in BORDERS)].append(each)
        odds = []
        for members in bins:
            sums = {t: sum(self.read[each].get(t, 0) for each in members) for t in self.vocabulary}
            share = 1.0 + len(members)
            for term, count in terms.items():
                share *= ((1 + sums[term]) / (len(self.vocabulary) + sum(sums.values()))) ** count
            odds.append(share)
        means = [sum(map(self.q, members)) / max(1, len(members)) for members in bins]
        return sum(o * mean for o, mean in zip(odds, means, strict=True)) / sum(odds)

    def visit(self, page: Page, relevance: float) -> list[float]:
        self.reward[page.url] = 1.0 if relevance > 0.5 else -1.0
        is_trained = any(each in self.read for each in self.reward)
        scores = []
        for link in page.links:
            if link.url not in self.read and link.url not in self.reward:
                self.read[link.url] = words_of(link)
                self.vocabulary |= self.read[link.url].keys()
                self.children.setdefault(page.url, []).append(link.url)
            known = link if link.url in self.read else Link("http://h0.org/", "")
            scores.append(self.score(known) if is_trained else 0.25 + len(words_of(link)) / 100)
        return scores


class TestQLearning:
    @few
    @given(webs())
    def test_scores_are_the_expected_discounted_rewards(self, web: Web) -> None:
        strategy, plain = QLearning(words()), PlainQ()
        for page in web.order:
            here = page_of(web, page)
            strategy.visited(here, web.relevance[page])
            assert strategy.scores(here, here.links).tolist() == pytest.approx(
                plain.visit(here, web.relevance[page]), abs=5e-3
            )

    def test_q_of_a_chain_that_leads_to_relevant_pages(self) -> None:
        """-1 + .5 (1 + .5 * 1) for the page before two relevant ones; what leads there by two links is -1."""
        strategy = QLearning(words())
        chain = [f"http://a.org/{name}" for name in ("seed", "far", "near", "good", "better")]
        for here, target, relevance in zip(chain, [*chain[1:], None], [0.1, 0.1, 0.1, 0.9, 0.9], strict=True):
            links = (Link(target, "on"),) if target else ()
            page = Page(here, "a.org", links=links)
            strategy.visited(page, relevance)
            strategy.scores(page, links)
        values = [float(strategy._urls["q"][strategy._urls.row(strategy._urls.find(here))]) for here in chain]
        assert values == [-1.0, -1.0, -0.25, 1.5, 1.0]


class TestTunnelling:
    @few
    @given(webs())
    def test_score_is_that_of_the_best_path(self, web: Web) -> None:
        """Half from the page, half from the best page before it; halved for each poor page in a row beyond five."""
        waiting, score, run = Waiting(make("tunnelling")), dict[int, float](), dict[int, int]()
        for steps, page in enumerate(web.order):
            parents = [u for u in web.visited_by(steps) if page in web.links[u]]
            run[page] = 0 if web.relevance[page] > 0.5 else 1 + min((run[u] for u in parents), default=0)
            before = max((score[u] for u in parents), default=0.0)
            score[page] = (web.relevance[page] + before) / 2 * 0.5 ** max(0, run[page] - 5)
            found = waiting.show(page_of(web, page), web.relevance[page])
            assert found == pytest.approx([score[page]] * len(web.links[page]))

    def test_five_poor_pages_are_followed_and_each_more_halves(self) -> None:
        strategy, scores = make("tunnelling"), []
        for step in range(8):
            page = Page(f"http://a.org/{step}", "a.org", links=(Link(f"http://a.org/{step + 1}"),))
            strategy.visited(page, 0.4)
            scores.append(float(strategy.scores(page, page.links)[0]))
        smooth = [0.4 * (1 - 0.5 ** (step + 1)) for step in range(5)]
        assert scores[:5] == pytest.approx(smooth)
        assert scores[5] == pytest.approx((0.4 + smooth[4]) / 2 / 2)
        assert scores[6] == pytest.approx((0.4 + scores[5]) / 2 / 4)


documents = st.lists(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 5), min_size=1), min_size=6, max_size=12
)


class TestLsi:
    @few
    @given(documents)
    def test_places_are_those_of_the_decomposition(self, pages: list[dict[str, int]]) -> None:
        """q~ = Sigma U^T q: X X^T = U Sigma^2 U^T of the matrix of terms and pages, rows of all terms in use."""
        names = sorted({term for page in pages for term in page})
        idf = {t: math.log((1 + len(pages)) / (1 + sum(t in page for page in pages))) for t in names}

        def column(page: dict[str, int]) -> np.ndarray:
            row = np.array([(1 + math.log(page[t])) * idf[t] if t in page else 0.0 for t in names])
            return row / (np.linalg.norm(row) or 1.0)

        x = np.stack([column(page) for page in pages], axis=1)
        squares, u = np.linalg.eigh(x @ x.T)
        expected = (np.sqrt(np.maximum(squares, 0.0))[:, None] * u.T) @ x
        clusters = Clusters.of(pages)
        rows = np.stack([hashed(page) for page in pages]) * clusters._idf
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        found = (rows / np.where(norms > 0, norms, 1.0)) @ clusters._basis
        assert found @ found.T == pytest.approx(expected.T @ expected, abs=1e-6)  # the places, but for a rotation

    @few
    @given(documents, st.integers(1, 5))
    def test_centres_are_the_means_of_what_is_nearest_to_them(self, pages: list[dict[str, int]], most: int) -> None:
        points = np.stack([hashed(page)[np.flatnonzero(sum(map(hashed, pages)))] for page in pages])
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        centres = kmeans(points, most)
        assert len(centres) == min(most, len(pages))
        members: list[list[np.ndarray]] = [[] for _ in centres]
        for point in points:
            away = [math.dist(point, centre) for centre in centres]
            if sorted(away)[:2][-1] - min(away) > 1e-6 or len(away) == 1:
                members[away.index(min(away))].append(point)
            else:
                return  # two centres are equally near: either may have it
        for centre, own in zip(centres, members, strict=True):
            if own:
                mean = np.mean(own, axis=0)
                assert centre == pytest.approx(mean / np.linalg.norm(mean), abs=1e-4)


class TestNaiveBayes:
    @few
    @given(
        st.lists(st.tuples(st.integers(0, 2), st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3))), max_size=8),
        st.dictionaries(st.sampled_from("abcde"), st.integers(1, 3), min_size=1),
        st.integers(0, 8),
    )
    def test_probabilities_are_the_smoothed_shares(
        self, pages: list[tuple[int, dict[str, int]]], page: dict[str, int], taken_back: int
    ) -> None:
        """(1 + |T_c|) / (|C| + |T|), times for each term (1 + its count in c) / (W + all counts in c), in fractions."""
        terms = TopTerms()
        model = LayerBayes(3, terms)
        seen = [(layer, terms.see(words)) for layer, words in pages]
        numbers = terms.see(page)
        for layer, document in seen:
            model.add(layer, *document)
        for layer, document in seen[:taken_back]:
            model.add(layer, *document, -1.0)
        kept = pages[taken_back:]
        vocabulary = len({term for _, words in pages for term in words} | page.keys())
        products = []
        for layer in range(3):
            own = [words for at, words in kept if at == layer]
            total = sum(sum(words.values()) for words in own)
            product = Fraction(1 + len(own), 3 + len(kept))
            for term, count in page.items():
                product *= Fraction(1 + sum(words.get(term, 0) for words in own), vocabulary + total) ** count
            products.append(product)
        expected = [float(product / sum(products)) for product in products]
        assert model.probabilities(*numbers).tolist() == pytest.approx(expected if kept else [1 / 3] * 3)


def capped_layers(web: Web, most: int) -> tuple[CappedContextGraph, list[int]]:
    """Return what has seen *web* in its order, with graphs of *most* pages a layer, and its layers in that order."""
    context = CappedContextGraph(4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context_graph, "PAGES_A_LAYER", most)
        for page in web.order:
            context.visit(url(page), {}, web.relevance[page], 0)
            context.graph.link([url(v) for v in web.links[page]])
    return context, context.layers()[1:].tolist()


class TestContextGraphsOfThreeHundredPages:
    @few
    @given(webs(), st.integers(1, 3))
    def test_a_layer_has_the_pages_visited_last_and_no_more(self, web: Web, most: int) -> None:
        _, found = capped_layers(web, most)
        expected = dict.fromkeys(web.order, 4)
        for place, root in enumerate(web.order):
            if web.relevance[root] <= 0.5:
                continue
            expected[root], seen, border = 0, {root}, {root}
            for layer in range(1, 4):
                before = [page for page in web.order[:place] if border & set(web.links[page]) and page not in seen]
                border = set(before[-most:])
                seen |= border
                expected.update({page: min(expected[page], layer) for page in border})
        assert found == [expected[page] for page in web.order]

    @few
    @given(webs())
    def test_below_three_hundred_they_are_those_of_whole_back_crawls(self, web: Web) -> None:
        context, found = capped_layers(web, 300)
        is_relevant = np.array([False, *(web.relevance[page] > 0.5 for page in web.order)])
        assert found == layers(context.graph, is_relevant, 4)[1:].tolist()
