from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.strategies.simple import BestFirst, BreadthFirst
from scrapy_replica.focus.strategy import FloatArray, Strategy
from scrapy_replica.lab.archives.collection import Collection, build
from scrapy_replica.lab.visits.figures import figures
from scrapy_replica.lab.visits.omniscient import omniscient_order
from scrapy_replica.lab.visits.visit import Limits, learning_visit, registered_domain, visit
from scrapy_replica.records import Link, Page

graphs = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=10, max_size=10)


def collection(graph: Sequence[Sequence[int]], hosts: Sequence[str] = ("a.org",)) -> Collection:
    pages = [(f"http://{hosts[i % len(hosts)]}/{i}", "", {"word": 1}) for i in range(len(graph))]
    return build(pages, [[(target, f"to {target}") for target in row] for row in graph], [0], {"CategoryMail": [1]})


class Plan(Strategy):
    """Scores by number; lowers one URL as it comes up, moves another afterwards."""

    name = "plan"

    def __init__(self, plan: dict[str, float], now: dict[str, float], moved: dict[str, float]) -> None:
        self.plan, self.now, self.moved = plan, now, moved

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        return np.array([self.plan[link.url[-1]] for link in links])

    def rescored(self) -> dict[str, float]:
        moved, self.moved = self.moved, {}
        return {f"http://a.org/{name}": score for name, score in moved.items()}

    def scores_now(self, urls: Sequence[str]) -> FloatArray:
        return np.array([self.now.get(url[-1], self.plan[url[-1]]) for url in urls])


class TestVisit:
    def test_highest_score_first_and_first_found_among_equals(self) -> None:
        graph = [[1, 2, 3, 4], [], [], [], []]
        plan = Plan({"0": 0, "1": 1, "2": 5, "3": 1, "4": 9}, {}, {})
        assert visit(collection(graph), plan, np.zeros(5), warm_up=0).tolist() == [0, 4, 2, 1, 3]

    def test_a_waiting_page_is_raised_by_a_better_parent_never_lowered(self) -> None:
        graph = [[1, 2, 3, 4], [4], [4], [], []]
        relevance = np.array([0.5, 0.9, 0.1, 0.0, 0.0])
        order = visit(collection(graph), BestFirst(), relevance, warm_up=0).tolist()
        assert order == [0, 1, 4, 2, 3]

    def test_rescored_pages_move_both_ways(self) -> None:
        plan = Plan({"0": 0, "1": 3, "2": 2, "3": 1}, {"1": -5.0}, {"1": -5.0})
        assert visit(collection([[1, 2, 3], [], [], []]), plan, np.zeros(4), warm_up=0).tolist() == [0, 2, 3, 1]

    def test_a_score_that_fell_sends_the_page_back(self) -> None:
        plan = Plan({"0": 0, "1": 3, "2": 2, "3": 1}, {"1": 1.5}, {})
        assert visit(collection([[1, 2, 3], [], [], []]), plan, np.zeros(4), warm_up=0).tolist() == [0, 2, 1, 3]

    def test_warm_up_is_breadth_first(self) -> None:
        plan = Plan({str(i): float(i) for i in range(6)}, {}, {})
        graph = [[1, 2, 3], [4, 5], [], [], [], []]
        assert visit(collection(graph), plan, np.zeros(6), warm_up=4).tolist() == [0, 1, 2, 3, 5, 4]

    def test_limits(self) -> None:
        graph = [[1, 2, 3, 4, 5], [], [], [], [], []]
        hosts = ("www.a.org", "b.org", "x.a.org")
        found = collection(graph, hosts)
        assert len(visit(found, BreadthFirst(), np.zeros(6), Limits(pages=4))) == 4
        assert visit(found, BreadthFirst(), np.zeros(6), Limits(per_host=1)).tolist() == [0, 1, 2]
        assert visit(found, BreadthFirst(), np.zeros(6), Limits(per_domain=1)).tolist() == [0, 1]

    def test_self_links_and_double_links_count_once(self) -> None:
        assert visit(collection([[0, 1, 1], [0, 1]]), BreadthFirst(), np.zeros(2)).tolist() == [0, 1]

    def test_a_score_that_is_no_number_is_refused(self) -> None:
        with pytest.raises(ValueError, match="finite"):
            visit(collection([[1], []]), Plan({"1": float("nan")}, {}, {}), np.zeros(2))

    def test_relevance_that_is_no_number_counts_as_none(self) -> None:
        assert len(visit(collection([[1], []]), BestFirst(), np.array([np.nan, 1.0]))) == 2


class Late:
    """A topic whose model finds page 4 relevant, and the way to it, only after it was learnt again."""

    def __init__(self) -> None:
        self.given: list[list[int]] = []
        self.words = LinkWords(lambda _: 0.0, lambda text: {text: 1})

    def new_strategy(self) -> Strategy:
        return BestFirst()

    def learn(self, pages: Sequence[int]) -> None:
        self.given.append(list(pages))

    def relevance(self, page: int) -> float:
        return 0.9 if self.given and page == 2 else 0.1


class TestLearningVisit:
    def test_what_waits_is_scored_by_what_was_learnt_of_the_pages_so_far(self) -> None:
        topic, graph = Late(), [[1, 2, 3], [5, 6], [4], [7, 8], [], [], [], [], []]
        order = learning_visit(collection(graph), topic, warm_up=4).tolist()
        assert order == [0, 1, 2, 3, 4, 5, 6, 7, 8]
        assert topic.given == [[0, 1, 2, 3]]
        assert learning_visit(collection(graph), Late(), warm_up=0).tolist() == [0, 1, 2, 3, 5, 6, 4, 7, 8]

    def test_the_warm_up_knows_no_scores_that_were_moved(self) -> None:
        class Moving(BestFirst):
            reads_links = True

            def rescored(self) -> dict[str, float]:
                return {"http://a.org/3": 9.0}

        topic = Late()
        topic.new_strategy = Moving  # type: ignore[method-assign]
        assert learning_visit(collection([[1, 2, 3, 4], [], [], [], []]), topic, warm_up=3).tolist() == [0, 1, 2, 3, 4]


class TestOmniscient:
    def test_goes_the_nearest_way(self) -> None:
        relevant = np.array([False, False, False, False, True])
        graph = [[1, 2], [3], [4], [], []]
        assert omniscient_order(collection(graph), relevant).tolist()[:3] == [0, 2, 4]

    @settings(max_examples=60)
    @given(graph=graphs, relevant=st.sets(st.integers(0, 9), max_size=4), scores=st.lists(st.floats(0, 1), min_size=10))
    def test_takes_every_relevant_page_that_waits_at_once(
        self, graph: list[list[int]], relevant: set[int], scores: list[float]
    ) -> None:
        mask = np.isin(np.arange(10), list(relevant))
        found = collection(graph)
        order = omniscient_order(found, mask).tolist()
        assert sorted(order) == np.flatnonzero(found.reachable()).tolist()
        for at, page in enumerate(order):
            waiting = {t for p in order[:at] for t in graph[p]} - set(order[:at])
            assert mask[page] or not any(mask[t] for t in waiting)


class TestFigures:
    @settings(max_examples=60)
    @given(st.lists(st.booleans(), min_size=1, max_size=30))
    def test_pref_equals_its_definition(self, labels: list[bool]) -> None:
        relevant = np.array(labels)
        measured = figures(np.arange(len(labels)), relevant)
        before = sum(labels[:i].count(False) for i, label in enumerate(labels) if label)
        wanted = 1 - before / (len(labels) * sum(labels)) if any(labels) else 1.0
        assert measured.pref == pytest.approx(wanted)
        assert measured.found.tolist() == [sum(labels[: i + 1]) for i in range(len(labels))]

    def test_hand_example(self) -> None:
        measured = figures(np.array([2, 0, 1, 3]), np.array([True, False, True, False]))
        assert measured.pref == 1.0
        assert measured.f1.tolist() == pytest.approx([2 / 3, 1.0, 0.8, 2 / 3])
        assert measured.harvest.tolist() == pytest.approx([1, 1, 2 / 3, 0.5])
        assert measured.found_at(0.25) == 0.5

    def test_ignored_pages_count_neither_way(self) -> None:
        relevant, ignored = np.array([False, True, True]), np.array([True, False, True])
        assert figures(np.arange(3), relevant, ignored).found.tolist() == [1]

    def test_none_relevant_and_all_relevant(self) -> None:
        nothing = figures(np.arange(3), np.zeros(3, dtype=bool))
        assert (nothing.pref, nothing.f1_area, nothing.found_at(0.5)) == (1.0, 0.0, 0.0)
        assert figures(np.arange(3), np.ones(3, dtype=bool)).pref == 1.0


class TestCollection:
    def test_topic_by_a_word_of_its_label(self) -> None:
        assert collection([[1], []]).labels_of("mail") == ["CategoryMail"]

    def test_unknown_topic_names_what_there_is(self) -> None:
        with pytest.raises(ValueError, match="CategoryMail"):
            collection([[1], []]).relevant("cooking")

    def test_page_as_the_crawl_sees_it(self) -> None:
        page = collection([[1, 0, 1], []]).page(0)
        assert page.terms == {"word": 1}
        assert page.links == (Link("http://a.org/1", "to 1", 0),)


def test_registered_domain() -> None:
    assert registered_domain("www.ics.uci.edu") == "uci.edu"
    assert registered_domain("a.b.co.uk") == "b.co.uk"
    assert registered_domain("localhost") == "localhost"
