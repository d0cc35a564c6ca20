"""What the dynamic model leaves out, and its states beside the true distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_visit_job import archive, command, relevance, web  # noqa: F401 - fixtures

from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.lab.archives.collection import Collection
from scrapy_replica.lab.visits import visit_states
from scrapy_replica.lab.visits.omniscient import Transposed
from scrapy_replica.lab.visits.visit import NO_LIMITS, Limits, visit
from scrapy_replica.lab.visits.visit_clusters import HmmClusters
from scrapy_replica.lab.visits.visit_exact import Beside, ExactHmm
from scrapy_replica.lab.visits.visit_variants import Variant


class TestExact:
    def test_states_by_all_parents_are_the_smallest_of_each(self, web: Collection) -> None:  # noqa: F811
        """But for pages on cycles whose states go on changing, and those the page visited last links to."""
        strategy = ExactHmm(relearns=False, reparents=True)
        order = visit(web, strategy, relevance(web), Limits(pages=150))
        context, hmm, pages = strategy.context, strategy.context.hmm, strategy.graph.pages
        place = {page: row for row, page in enumerate(order.tolist(), 1)}
        near = 1 - hmm.state_of(pages["delta"][:151].reshape(151, -1)) / 6
        settled = []
        for page, row in place.items():
            parents = [place[other] for other in order.tolist() if other != page and page in web.links(other)]
            emitted = context.emitted(np.array([row]))
            if relevance(web)[page] > 0.5 or not parents:
                continue
            given = [int(hmm.state_of(hmm.step(pages["delta"][[each]], emitted))[0]) for each in parents]
            settled.append(min(given) == round((1 - near[row]) * 6))
        assert len(settled) > 80
        assert np.mean(settled) > 0.75

    def test_learning_after_every_page_is_another_order(self, web: Collection) -> None:  # noqa: F811
        limits = Limits(pages=200)
        exact = visit(web, ExactHmm(relearns=True, reparents=False), relevance(web), limits)
        assert exact.tolist() != visit(web, HmmDynamic(), relevance(web), limits).tolist()

    def test_beside_the_dynamic_model_it_orders_nothing(self, web: Collection) -> None:  # noqa: F811
        strategy, limits = Beside(ExactHmm(relearns=False, reparents=True)), Limits(pages=150)
        order = visit(web, strategy, relevance(web), limits)
        assert order.tolist() == visit(web, HmmDynamic(), relevance(web), limits).tolist()
        dynamic, exact = np.array(strategy.states).T
        assert 0 < (dynamic == exact).mean() < 1
        same = Beside(ExactHmm(relearns=False, reparents=False))
        visit(web, same, relevance(web), limits)
        assert same.states
        assert all(one == other for one, other in same.states)

    def test_the_command_tells_every_row(
        self,
        archive: Path,  # noqa: F811
    ) -> None:
        given = ("--topic", "markov", "--draws", "1", "--examples", "10", "--unlabelled", "100", "--pages", "90")
        code, out, _ = command(str(archive), *given, "--exact")
        assert code == 0
        assert [line[:24].strip() for line in out.splitlines()[1:]] == [
            "hmm-dynamic",
            "learnt after every page",
            "all parents",
            "both",
            "layers and clusters",
        ]


def test_clusters_are_observed_beside_layers(web: Collection) -> None:  # noqa: F811
    strategy = HmmClusters()
    assert len(visit(web, strategy, relevance(web))) == web.reachable().sum()
    pages = strategy.graph.pages
    clusters, layers = pages["cluster"][1 : pages.used], pages["layer"][1 : pages.used]
    assert set(clusters.tolist()) <= set(range(1, 6))
    strategy._count_clusters()
    wanted = (1 + ((layers == 0) & (clusters == 2)).sum()) / (5 + (layers == 0).sum())
    assert strategy._log[0, 2] == pytest.approx(np.log(wanted))


class TestStates:
    def test_distances_are_the_shortest_ways_to_the_topic(self, web: Collection) -> None:  # noqa: F811
        relevant = web.relevant("markov")
        wanted = np.where(relevant, 0, 99)
        for _ in range(6):
            wanted = np.array(
                [min([wanted[page], *(wanted[t] + 1 for t in web.links(page))]) for page in range(len(web))]
            )
        found = Transposed(web).distances(relevant, np.ones(len(web), dtype=bool), 6)
        assert found.tolist() == [each if each < 6 else -1 for each in wanted.tolist()]

    def test_states_observations_and_distances_of_a_visit(self, web: Collection) -> None:  # noqa: F811
        variant = Variant("hmm-dynamic")
        found = visit_states.states(web, web.relevant("markov"), relevance(web), variant, NO_LIMITS)
        assert len({len(column) for column in found.values()}) == 1
        told = visit_states.figures(found)
        assert told["state_distance.mean"] == pytest.approx((found["state"] - found["distance"]).mean())
        assert (found["state"][found["distance"] == 0] == 0).all()

    def test_the_command_draws_them(
        self,
        archive: Path,  # noqa: F811
        tmp_path: Path,
    ) -> None:
        given = ("--topic", "markov", "--draws", "2", "--examples", "10", "--unlabelled", "100", "--pages", "120")
        plot = tmp_path / "states.svg"
        names = ("--strategies", "hmm-static", "hmm-second-order")
        code, out, _ = command(str(archive), *given, *names, "--states", "--plot", str(plot))
        assert code == 0
        assert out.count("observation - distance") == 2
        assert plot.read_text().startswith("<?xml")
        code, _, error = command(str(archive), *given, "--strategies", "best-first", "--states")
        assert (code, error.count("\n")) == (2, 1)
        assert "--states needs --strategies" in error


def test_a_limit_of_pages_ends_a_visit(web: Collection) -> None:  # noqa: F811
    assert len(visit(web, HmmDynamic(), relevance(web), Limits(pages=70))) == 70
