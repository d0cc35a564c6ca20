"""What lay behind the links that were followed, against a slow obvious reference."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.credit import EXPLORED, GAMMA, LEAST, Credit
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.link_features import CHANCE_WEIGHTS, FREE, RETURN_WEIGHTS
from scrapy_replica.focus.link_head import DenseModel, LinkHead, shares
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.outcomes import CHANCE, RETURN
from scrapy_replica.focus.strategies.link_aware import GAMMA as WEIGHT
from scrapy_replica.focus.strategies.link_aware import RISEN, LinkAware
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.generation.control import ANCHORS, BOTH, make_control
from scrapy_replica.lab.visits.visit import Limits, Visit, visit
from scrapy_replica.records import Link, Page

Told = list[tuple[str, float]]


def link_aware() -> LinkAware:
    return LinkAware(LinkWords(lambda _: 0.05, lambda text: dict.fromkeys(text.split(), 1)))


def walked(
    seed: int, pages: int, beside: Strategy | None = None
) -> tuple[KnownGraph, Credit, dict[str, str], dict[str, float], Told]:
    """Visit pages of a random web; return also who found each URL first, the relevance of the pages visited, and the
    returns that were told, in order. A strategy *beside* is shown the same pages. Nothing links to the first one.
    """
    chance, graph = random.Random(seed), KnownGraph()
    credit, finder, relevance = Credit(graph), {}, {}
    told: Told = []
    waiting = ["0"]
    while waiting and len(relevance) < pages:
        url = waiting.pop(chance.randrange(len(waiting)))
        relevance[url] = chance.choice((0.1, 0.1, 0.1, 0.4, 0.6, 0.9))
        graph.visit(url)
        told += [(name(graph, page), value) for page, value in credit.fetched(row_of(graph, url), relevance[url])]
        targets = list(dict.fromkeys(str(chance.randrange(1, 60)) for _ in range(chance.randrange(5))))
        rows = graph.urls.rows(graph.link(targets))
        told += [(name(graph, page), 0.0) for page in credit.found(rows[graph.urls["page"][rows] == 0])]
        for target in targets:
            if target not in relevance and target not in finder:
                finder[target] = url
                waiting.append(target)
        if beside:
            page = Page(url, "", terms={f"w{int(url) % 7}": 1}, links=tuple(map(Link, targets)))
            beside.visited(page, relevance[url])
            beside.scores(page, page.links)
    return graph, credit, finder, relevance, told


def row_of(graph: KnownGraph, url: str) -> int:
    return graph.urls.row(graph.urls.find(url))


def name(graph: KnownGraph, page: int) -> str:
    return graph.urls.urls[graph.urls.row(int(graph.pages["url"][graph.pages.row(page)]))]


def return_of(graph: KnownGraph, page: int) -> float:
    return float(graph.pages["return"][graph.pages.row(page)])


class TestCredit:
    @given(seed=st.integers(0, 10_000), pages=st.integers(1, 60))
    def test_is_the_best_discounted_relevance_of_what_was_newly_found(self, seed: int, pages: int) -> None:
        graph, _, finder, relevance, _ = walked(seed, pages)

        def behind(url: str) -> float:
            below = [each for each in relevance if finder.get(each) == url]
            own = [relevance[each] for each in below if relevance[each] > 0.5]
            return max([0.0, *own, *(GAMMA * behind(each) for each in below)])

        for url in relevance:
            page = int(graph.urls["page"][row_of(graph, url)])
            assert return_of(graph, page) == pytest.approx(behind(url), abs=LEAST)

    @given(seed=st.integers(0, 10_000), pages=st.integers(1, 60))
    def test_nothing_is_told_before_most_links_were_tried(self, seed: int, pages: int) -> None:
        graph, _, finder, relevance, told = walked(seed, pages)
        last = dict(told)
        for url in relevance:
            below = [each for each in finder if finder[each] == url]
            is_explored = sum(each in relevance for each in below) >= EXPLORED * len(below)
            value = return_of(graph, int(graph.urls["page"][row_of(graph, url)]))
            assert (url in last) == (is_explored or value > 0.0)
            assert last.get(url, value) == pytest.approx(value)
            assert sum(each == url and not value for each, value in told) <= 1

    def test_what_was_known_before_earns_no_credit(self) -> None:
        graph = KnownGraph()
        credit = Credit(graph)
        for url, targets in (("a", ["b", "x"]), ("b", ["x"])):
            graph.visit(url)
            credit.fetched(graph.urls.row(graph.urls.find(url)), 0.1)
            rows = graph.urls.rows(graph.link(targets))
            credit.found(rows[graph.urls["page"][rows] == 0])
        graph.visit("x")
        assert credit.fetched(graph.urls.row(graph.urls.find("x")), 0.9) == [(1, pytest.approx(0.9))]
        assert return_of(graph, 2) == 0.0

    def test_fetches_in_vain_count_as_tried_and_copies_tell_nothing(self) -> None:
        graph = KnownGraph()
        credit = Credit(graph)
        graph.visit("a")
        rows = graph.urls.rows(graph.link(["b", "c"]))
        assert credit.found(rows) == []
        assert credit.tried(row_of(graph, "b")) == []
        assert credit.tried(row_of(graph, "c")) == [1]
        graph.visit("copy")
        credit.ignore()
        assert credit.found(graph.urls.rows(graph.link([]))) == []


class TestTwoHeads:
    @settings(max_examples=25)
    @given(seed=st.integers(0, 10_000), pages=st.integers(1, 60))
    def test_each_learns_its_own_outcome_alone(self, seed: int, pages: int) -> None:
        """The chance the relevance of each page fetched, the return what is told of it: no error of the chance."""
        strategy = link_aware()
        learnt: dict[int, list[float]] = {id(head.model): [] for head in strategy.heads}

        def learn(model: DenseModel, features: np.ndarray, outcome: float, logit: float) -> None:
            learnt[id(model)].append(outcome)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DenseModel, "learn", learn)
            _, _, _, relevance, told = walked(seed, pages, strategy)
        chance, returned = learnt.values()
        assert chance == [share for url, share in relevance.items() if url != "0"]
        assert returned == pytest.approx([value for url, value in told if url != "0"])

    @pytest.mark.parametrize("which", [CHANCE, RETURN])
    def test_a_nearness_that_tells_all_is_believed_after_a_hundred_outcomes(self, which: int) -> None:
        """Held back by its start the true distance would move it by .1 alone."""
        head = LinkHead((CHANCE_WEIGHTS, RETURN_WEIGHTS)[which], FREE[which])
        places, chance = [head.names.index(name) for name in ("bias", "nearness")], random.Random(1)

        def link(nearness: float) -> np.ndarray:
            features = np.zeros((1, len(head.names)))
            features[0, places] = 1.0, nearness
            return features

        for _ in range(100):
            nearness = float(chance.random() < 0.5)
            features = link(nearness)
            head.model.learn(features[0], nearness, float(head.model.logits(features)[0]))
        near, far = (shares(head.model.logits(link(nearness)))[0] for nearness in (1.0, 0.0))
        assert near - far > 0.4

    def test_all_that_waits_is_told_its_score_anew_when_words_are_learnt(self) -> None:
        control, strategy = make_control(sites=4, tells=BOTH), link_aware()
        under_way, waits = Visit(control.collection, strategy, control.relevance), dict[str, float]()
        for _ in range(76):  # the words are learnt at 60 and at 75 pages, what waits is told after the next one
            number = under_way.best()
            assert under_way.admits(number)
            scores, moved = under_way.show(number)
            links = control.collection.page(number).links
            waits |= {link.url: score for link, score in zip(links, scores.tolist(), strict=True)} | moved
            under_way.enter(number, scores, moved)
        visited = {control.collection.urls[number] for number in under_way.order.tolist()}
        urls = [url for url in waits if url not in visited]
        now = strategy.scores_now(urls)
        assert now is not None
        assert len(urls) > 100
        assert (now <= RISEN * np.array([waits[url] for url in urls]) + 1e-6).all()
        pages, words = strategy.graph.pages, strategy.features
        for row in range(1, pages.used):
            terms = 1 + pages["term"][row][pages["count"][row] > 0].astype(np.int64)[None]
            said = [float(head.page_words.log_odds(terms)[0]) for head in words.heads]
            assert pages["word_odds"][row].tolist() == pytest.approx(said, abs=1e-4)
        assert np.abs(pages["word_odds"][1 : pages.used]).max() > 0.1

    def test_a_page_hands_on_what_was_said_of_the_link_to_it(self) -> None:
        control = make_control(sites=4, tells=ANCHORS)
        strategy = link_aware()
        under_way = Visit(control.collection, strategy, control.relevance)
        pairs: list[tuple[float, float]] = []
        while under_way.pages < 200:
            number = under_way.best()
            url = control.collection.urls[number]
            before = strategy.account(url, 0.0, 0.0)
            assert under_way.admits(number)
            under_way.enter(number, *under_way.show(number))
            below = [strategy.account(link.url, 0.0, 0.0) for link in control.collection.page(number).links]
            odds = before.log_odds[1] if before else []
            said = sum(each.value * each.weight for each in odds if each.name != "bias")
            pairs += [
                (said, {each.name: each.value for each in account.log_odds[0]}["way"])
                for account in below
                if account and account.page == url
            ]
        assert len(pairs) > 100
        assert np.mean([way == pytest.approx(said, abs=1e-3) for said, way in pairs]) > 0.8

    def test_both_heads_are_told_and_sum_to_the_score(self) -> None:
        control = make_control(sites=4)
        strategy = link_aware()
        order = visit(control.collection, strategy, control.relevance)
        url = control.collection.urls[int(order[-1])]
        account = strategy.account(url, 0.0, 0.0)
        assert account is not None
        chance, behind = account.parts
        assert (chance.name, behind.name, behind.weight) == ("chance", "return", WEIGHT)
        now = strategy.scores_now([url])
        assert now is not None
        assert now[0] == pytest.approx(chance.value + WEIGHT * behind.value)
        for part, odds in zip(account.parts, account.log_odds, strict=True):
            assert part.value == pytest.approx(1 / (1 + np.exp(-sum(each.value * each.weight for each in odds))))

    def test_another_crawl_takes_the_words_and_weighs_them_as_at_the_start(self) -> None:
        kept, terms = np.arange(3), np.array([[1, 2, 3]])
        learnt, fresh = (
            LinkHead({"bias": 0.0, "page_words": 1.0, "link_words": 0.5}, ("page_words",)) for _ in range(2)
        )
        learnt.page_words.fit(np.array([[1], [2]]), np.ones(2), np.array([1.0, 0.0]))
        learnt.model.weights = np.array([-2.0, 0.1, 0.2])
        fresh.begin_with(learnt.learnt(kept))
        assert fresh.model.weights.tolist() == [-2.0, 1.0, 0.5]
        assert fresh.page_words.log_odds(terms) == pytest.approx(learnt.page_words.log_odds(terms))
        assert fresh.page_words.log_odds(terms[:, :1]) > 0.0

    def test_nearness_loses_its_weight_where_it_says_nothing(self) -> None:
        """Anchors alone tell the way; held by its start, as it was in the chance, the weight would be .5 still."""
        control = make_control(sites=4, tells=ANCHORS)
        strategy = link_aware()
        order = visit(control.collection, strategy, control.relevance, Limits(pages=400))
        account = strategy.account(control.collection.urls[int(order[-1])], 0.0, 0.0)
        assert account is not None
        for odds in account.log_odds:
            assert {each.name: each.weight for each in odds}["nearness"] < 0.3
