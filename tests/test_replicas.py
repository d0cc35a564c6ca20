from __future__ import annotations

import json

import numpy as np
import pytest

from scrapy_replica.evaluation import replicas
from scrapy_replica.evaluation.replica_crawl import crawl_figures, held_out_crawl_figures
from scrapy_replica.evaluation.replica_pairs import alias_hosts, pages_of_warc, pair_table, read_pages, read_truth
from scrapy_replica.records import Noise
from scrapy_replica.sites.judge import Judge

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "replicas"


@pytest.fixture(scope="module")
def pages(folder):
    return read_pages(folder)


@pytest.fixture(scope="module")
def table(folder, pages):
    return pair_table(read_truth(folder), pages, alias_hosts(folder))


def test_main_text_is_found_as_asked(folder):
    (first, *_) = sorted((folder / "warc").iterdir())
    words = {noise: sum(page.words for page in pages_of_warc(first, noise)) for noise in Noise}
    assert words[Noise.NONE] > max(words[Noise.CETD], words[Noise.LEARNED])


class TestTable:
    def test_every_replica_is_a_candidate_where_the_published_rule_misses_a_quarter(self, table):
        assert table.is_candidate[table.is_replica].all()
        assert table.is_published_candidate[table.is_replica].mean() < 0.8
        assert table.is_candidate.sum() < 1300

    def test_folds_keep_families_together(self, table, folder):
        family = {(row["host_a"], row["host_b"]): row["family"] for row in read_truth(folder)}
        folds = {}
        for pair, fold, relation in zip(table.hosts, table.fold, table.relation, strict=True):
            if relation != "unrelated":
                folds.setdefault(family[pair], set()).add(int(fold))
        assert all(len(found) == 1 for found in folds.values())


@pytest.fixture(scope="module")
def figures(table, pages):
    return replicas.figures_of(table, pages)


class TestFigures:
    """Floors on data/replicas (5,082 pairs, 49 replicas, 217 near misses), five folds by family."""

    def test_judge(self, figures):
        assert figures["judge.auc_near_miss"] >= 0.995
        assert figures["judge.f1"] >= 0.95
        assert figures["judge.tpr_at_fpr_0.001"] >= 0.95
        assert figures["judge.recall_alias"] == 1.0

    def test_the_published_features_fail_on_these_mirrors(self, figures):
        assert figures["published.auc_near_miss"] < 0.8
        assert figures["normpaths.auc_near_miss"] < 0.7
        assert figures["judge.auc_near_miss"] > figures["bound.auc_near_miss"]

    def test_shipped_model_is_not_stale(self, table):
        trained, shipped = replicas.trained_on(table.raw, table.is_replica), Judge.load()
        assert shipped.threshold == pytest.approx(trained.threshold, abs=0.02)
        assert np.abs(shipped.scores(table.raw) - trained.scores(table.raw)).max() < 0.1


class TestCrawl:
    def test_copies_are_blocked_early_and_nothing_else(self, folder, pages, table):
        truth = read_truth(folder)
        for figures in (crawl_figures(truth, pages, Judge.load()), held_out_crawl_figures(truth, pages, table)):
            assert figures["crawl.wrong_blocks"] == 0
            assert figures["crawl.decided"] >= 0.8
            assert figures["crawl.median_pages_before_verdict"] <= 10
            assert figures["crawl.saved_of_oracle"] >= 0.6


class TestEvaluate:
    def test_names_every_figure(self, figures):
        for method in ("pu", "nu", "pu_nu", "normpaths", "bsvm", "bound", "published", "judge"):
            for key in ("auc_near_miss", "auc_all", "precision", "recall", "f1", "tpr_at_fpr_0", "tpr_at_fpr_0.001"):
                assert f"{method}.{key}" in figures
            for key in ("tpr_at_fpr_0.005", "rdr_10", "rdr_100", "rdr_1000", "rr_at_fpr_0.001"):
                assert f"{method}.{key}" in figures
        assert json.loads(json.dumps(figures)) == figures

    def test_takes_a_model_as_it_is(self, table, pages):
        found = replicas.figures_of(table, pages, judge=Judge.load())
        assert found["judge.auc_near_miss"] >= 0.995
        assert "pu.f1" not in found

    def test_learns_from_another_folder(self, table):
        # the same pairs stand in for another folder: what was learnt there is applied as it is
        scores, called = replicas.out_of_fold(replicas.judge_scores, table, table)
        judge = replicas.trained_on(table.raw, table.is_replica)
        np.testing.assert_allclose(scores, judge.scores(table.raw))
        assert (called == (scores >= judge.threshold)).all()
