from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replica_sites import site
from test_features import evidence

from scrapy_replica.lab.measures import auc, precision_recall_f1, rdr, tpr_at_fpr
from scrapy_replica.lab.replicas.replica_baselines import BiasedSVM, normpaths
from scrapy_replica.lab.replicas.replica_crawl import oracle_savings
from scrapy_replica.lab.replicas.replica_web import candidate_pairs, make_web
from scrapy_replica.sites.evidence import HostEvidence
from scrapy_replica.sites.probes import choose, moved


class TestNormPaths:
    def test_by_hand(self):
        pages = {"a": [("/", 1), ("/x", 2)], "b": [("/", 1), ("/x", 2)], "c": [("/", 1), ("/x", 3)]}
        assert normpaths(pages) == pytest.approx({("a", "b"): 1 / 3 + 1 / 2, ("a", "c"): 1 / 3, ("b", "c"): 1 / 3})

    def test_lists_above_100_hosts_are_left_out(self):
        assert normpaths({f"h{number}": [("/", 1)] for number in range(101)}) == {}


class TestBiasedSVM:
    def test_unlabelled_twins_of_positives_stand_above_the_rest(self):
        rng = np.random.default_rng(0)
        values = np.concatenate([rng.normal(2, 0.5, (60, 2)), rng.normal(0, 0.5, (300, 2))])
        values[5, 0] = np.nan
        obvious = np.array([1] * 20 + [0] * 340)
        scores = BiasedSVM().fit(values, obvious).scores(values)
        assert auc(scores[20:], np.array([True] * 40 + [False] * 300)) > 0.98

    def test_one_positive_is_enough_to_train(self):
        values = np.array([[1.0], [0.0], [0.1], [0.2]])
        assert BiasedSVM().fit(values, np.array([1, 0, 0, 0])).scores(values).argmax() == 0

    def test_without_a_positive_all_are_alike(self):
        values = np.array([[1.0], [0.0], [0.1]])
        assert BiasedSVM().fit(values, np.array([0, 0, -1])).scores(values).tolist() == [0.0, 0.0, 0.0]


class TestProbes:
    def test_known_urls_first_and_nothing_twice(self):
        source = evidence("a.example", site("a.example", "w", 8))
        target = evidence("b.example", site("b.example", "w", 2, prefix="/m"))
        target.add_path("m/chapter-5", "/m/chapter-5.html")
        probes = choose(source, target, ("", "m"), 3, {"m/chapter-3"})
        assert (probes[0].normal, probes[0].path) == ("m/chapter-5", "/m/chapter-5.html")
        assert probes[0].is_known
        assert len(probes) == len({probe.normal for probe in probes}) == 3
        assert not {"m/chapter-3", "m/chapter-1", "m"} & {probe.normal for probe in probes}

    def test_guesses_keep_the_extension(self):
        source = evidence("a.example", site("a.example", "w", 3))
        probe = choose(source, HostEvidence("b.example"), ("", "m"), 1, set())[0]
        assert not probe.is_known
        assert probe.path in ("/m/chapter-1.html", "/m/chapter-2.html", "/m/")

    @pytest.mark.parametrize(
        ("path", "prefixes", "expected"),
        [
            ("/a/b.html?x=1", ("a", "m/n"), "/m/n/b.html?x=1"),
            ("/a/b.html", ("a", ""), "/b.html"),
            ("/b.html", ("", "m"), "/m/b.html"),
            ("/a", ("a", ""), "/"),
            ("/ab/c", ("a", ""), None),
        ],
    )
    def test_moved(self, path, prefixes, expected):
        assert moved(path, *prefixes) == expected


scored = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=40).filter(
    lambda pairs: len({label for _, label in pairs}) == 2
)


class TestMeasures:
    @given(scored)
    def test_auc_is_the_share_of_ordered_pairs(self, pairs):
        scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
        wins = [(p > n) + (p == n) / 2 for p in scores[labels] for n in scores[~labels]]
        assert auc(scores.astype(float), labels) == pytest.approx(sum(wins) / len(wins))

    @given(scored, st.sampled_from([0.0, 0.1, 0.5]))
    def test_tpr_is_the_best_recall_within_the_rate(self, pairs, max_fpr):
        scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
        best = max(
            (scores[labels] >= t).mean()
            for t in [*scores, 99]
            if int((scores[~labels] >= t).sum()) <= int(max_fpr * (~labels).sum())
        )
        assert tpr_at_fpr(scores.astype(float), labels, max_fpr) == pytest.approx(best)

    def test_rdr_is_the_mean_over_draws(self):
        rng = random.Random(0)
        negatives = [rng.random() for _ in range(30)]
        scores = np.array([0.8, *negatives])
        labels = np.array([True] + [False] * 30)
        draws = [1 / (1 + sum(n >= 0.8 for n in rng.sample(negatives, 10))) for _ in range(20_000)]
        assert rdr(scores, labels, 10) == pytest.approx(sum(draws) / len(draws), abs=0.01)
        assert rdr(scores, labels, None) == 1 / (1 + sum(n >= 0.8 for n in negatives))

    def test_precision_recall_f1(self):
        called, labels = np.array([True, True, False, False]), np.array([True, False, True, True])
        assert precision_recall_f1(called, labels) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
        assert precision_recall_f1(np.zeros(4, dtype=bool), labels) == (0.0, 0.0, 0.0)

    def test_auc_of_one_class_is_unknown(self):
        assert math.isnan(auc(np.array([1.0]), np.array([True])))


class TestOracle:
    def test_keeps_the_largest_and_one_page_of_each_copy(self):
        savings = oracle_savings([("a", "b"), ("b", "c"), ("x", "y")], {"a": 10, "b": 20, "c": 5, "x": 3, "y": 3})
        assert savings == 9 + 4 + 2


class TestSyntheticWeb:
    def test_the_seed_decides(self):
        first, second = make_web(60, 7), make_web(60, 7)
        assert (first.pages, first.ips) == (second.pages, second.ips)
        assert make_web(60, 8).pages != first.pages

    def test_candidates_share_a_path_or_a_signature(self):
        web = make_web(80, 1)
        for a, b in candidate_pairs(web):
            assert {x for page in web.pages[a] for x in page} & {x for page in web.pages[b] for x in page}
