"""What lay behind the links that were followed, against a slow obvious reference."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.focus.credit import GAMMA, LEAST, WAIT, Credit
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.strategies import make
from scrapy_replica.focus.strategies.link_aware import GAMMA as WEIGHT
from scrapy_replica.generation.control import ANCHORS, WANTED, WORDS, make_control
from scrapy_replica.rehearsal.figures import figures
from scrapy_replica.rehearsal.visit import visit


def walked(seed: int, pages: int) -> tuple[KnownGraph, Credit, dict[str, str], dict[str, float]]:
    """Visit pages of a random web; return also who found each URL first, and the relevance of the pages visited."""
    chance, graph = random.Random(seed), KnownGraph()
    credit, finder, relevance = Credit(graph), {}, {}
    waiting = ["0"]
    while waiting and len(relevance) < pages:
        url = waiting.pop(chance.randrange(len(waiting)))
        relevance[url] = chance.choice((0.1, 0.1, 0.1, 0.4, 0.6, 0.9))
        graph.visit(url)
        credit.fetched(graph.urls.row(graph.urls.find(url)), relevance[url])
        targets = list(dict.fromkeys(str(chance.randrange(60)) for _ in range(chance.randrange(5))))
        rows = graph.urls.rows(graph.link(targets))
        credit.found(rows[graph.urls["page"][rows] == 0])
        for target in targets:
            if target not in relevance and target not in finder:
                finder[target] = url
                waiting.append(target)
    return graph, credit, finder, relevance


class TestCredit:
    @given(seed=st.integers(0, 10_000), pages=st.integers(1, 60))
    def test_is_the_best_discounted_relevance_of_what_was_newly_found(self, seed: int, pages: int) -> None:
        graph, credit, finder, relevance = walked(seed, pages)

        def behind(url: str) -> float:
            below = [each for each in relevance if finder.get(each) == url]
            own = [relevance[each] for each in below if relevance[each] > 0.5]
            return max([0.0, *own, *(GAMMA * behind(each) for each in below)])

        for url in relevance:
            page = int(graph.urls["page"][graph.urls.row(graph.urls.find(url))])
            assert credit.of(page) == pytest.approx(behind(url), abs=LEAST)
            waiting = {graph.urls.urls[row] for row in credit.untried(page).tolist()}
            assert waiting == {each for each in finder if finder[each] == url and each not in relevance}

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
        assert credit.of(2) == 0.0

    def test_each_page_is_due_once(self) -> None:
        graph = KnownGraph()
        credit, due = Credit(graph), []
        for number in range(100):
            graph.visit(str(number))
            credit.fetched(graph.urls.row(number + 1), 0.0)
            due += credit.due()
        assert due == list(range(1, 101 - WAIT))


class TestTwoHeads:
    @pytest.mark.parametrize(("tells", "least", "plain"), [(WORDS, 0.70, 0.60), (ANCHORS, 0.65, 0.60)])
    def test_the_way_is_learnt_where_one_thing_alone_tells_it(self, tells: str, least: float, plain: float) -> None:
        """15 sites; best-first knows relevance alone, which tells nothing here."""
        control = make_control(sites=15, tells=tells)
        relevant = control.collection.relevant(WANTED)
        words = LinkWords(lambda _: 0.05, lambda text: dict.fromkeys(text.split(), 1))
        prefs = [
            figures(visit(control.collection, make(name, 0, words), control.relevance), relevant).pref
            for name in ("link-aware", "best-first")
        ]
        assert prefs[0] >= least
        assert prefs[1] <= plain

    def test_both_heads_are_told_and_sum_to_the_score(self) -> None:
        control = make_control(sites=4)
        strategy = make("link-aware", 0, LinkWords(lambda _: 0.05, lambda text: dict.fromkeys(text.split(), 1)))
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
