"""What the dynamic model leaves out, and its states beside the true distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_visit_job import archive, command, relevance, web  # noqa: F401 - fixtures

from scrapy_replica.evaluation import visit_states
from scrapy_replica.evaluation.visit_clusters import HmmClusters
from scrapy_replica.evaluation.visit_exact import ExactHmm
from scrapy_replica.evaluation.visit_variants import Variant
from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.rehearsal.collection import Collection
from scrapy_replica.rehearsal.omniscient import Transposed
from scrapy_replica.rehearsal.visit import NO_LIMITS, Limits, visit


class Checked(ExactHmm):
    """Compares what is told of all pages at once with what is told of one after the other."""

    checks = 0

    def _observations(self) -> np.ndarray:
        found = super()._observations()
        if self.graph.page % 40 == 0:
            context = self.context
            wanted = [context._classify(context._probabilities(row)) for row in range(1, self.graph.pages.used)]
            assert found[1:].tolist() == wanted
        return found

    def _inferred(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states, deltas = super()._inferred(observations)
        if not self._reparents and self.graph.page % 40 == 0:
            pages, hmm, wanted = self.graph.pages, self.context.hmm, {}
            for page in range(1, pages.used):
                parent, observation = int(pages["parent"][page]), int(observations[page])
                if pages["distance"][page] < self.max_distance:
                    wanted[page] = self._known(int(pages["distance"][page]))
                else:
                    wanted[page] = hmm.step(wanted[parent], observation) if parent else hmm.start(observation)
                assert deltas[page] == pytest.approx(wanted[page])
                self.checks += 1
        return states, deltas


class TestExact:
    @pytest.mark.parametrize("reparents", [False, True])
    def test_all_at_once_is_one_after_the_other(self, web: Collection, reparents: bool) -> None:  # noqa: F811
        strategy = Checked(reclassifies=True, reparents=reparents)
        order = visit(web, strategy, relevance(web))
        assert len(order) == web.reachable().sum()
        assert strategy.checks > 500 or reparents

    def test_not_followed_it_is_the_dynamic_model(self, web: Collection) -> None:  # noqa: F811
        strategy = ExactHmm(reclassifies=True, reparents=True, is_followed=False)
        assert visit(web, strategy, relevance(web)).tolist() == visit(web, HmmDynamic(), relevance(web)).tolist()
        dynamic, exact = np.array(strategy.states).T
        assert 0 < (dynamic == exact).mean() < 1

    def test_the_command_tells_every_row(
        self,
        archive: Path,  # noqa: F811
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        given = ("--topic", "markov", "--draws", "1", "--examples", "10", "--unlabelled", "100", "--pages", "90")
        code, out, _ = command(capsys, str(archive), *given, "--exact")
        assert code == 0
        assert [line[:24].strip() for line in out.splitlines()[1:]] == [
            "hmm-dynamic",
            "chains inferred anew",
            "all pages reclassified",
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
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        given = ("--topic", "markov", "--draws", "2", "--examples", "10", "--unlabelled", "100", "--pages", "120")
        plot = tmp_path / "states.svg"
        names = ("--strategies", "hmm-static", "hmm-second-order")
        code, out, _ = command(capsys, str(archive), *given, *names, "--states", "--plot", str(plot))
        assert code == 0
        assert out.count("observation - distance") == 2
        assert plot.read_text().startswith("<?xml")
        code, _, error = command(capsys, str(archive), *given, "--strategies", "best-first", "--states")
        assert (code, error.count("\n")) == (2, 1)
        assert "--states needs --strategies" in error


def test_a_limit_of_pages_ends_a_visit(web: Collection) -> None:  # noqa: F811
    assert len(visit(web, HmmDynamic(), relevance(web), Limits(pages=70))) == 70
