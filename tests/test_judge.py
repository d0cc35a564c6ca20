from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replica_sites import GERMAN, site
from test_features import compared

from scrapy_replica.lab.measures import best_f1_threshold
from scrapy_replica.lab.training.train_judge import trained_on
from scrapy_replica.mining.obvious import labels_of, retrained, threshold_at, with_threshold_for
from scrapy_replica.sites.features import features_of
from scrapy_replica.sites.judge import (
    COLUMNS,
    MAJORITY,
    RAW,
    Judge,
    columns_of,
    likeness_of,
)

JUDGE = Judge.load()
share = st.floats(0, 1) | st.just(math.nan)
row = st.tuples(*[share] * 7, st.sampled_from([0.0, 1.0, math.nan]), st.sampled_from([1.0, math.nan]))


def training(n=200, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.3
    raw = np.where(labels[:, None], rng.uniform(0.85, 1, (n, len(RAW))), rng.uniform(0, 0.5, (n, len(RAW))))
    raw[:, RAW.index("tnum")] = 0.0
    raw[:, RAW.index("vmark")] = raw[:, RAW.index("hreflang")] = np.nan
    return raw, labels


class TestShipped:
    def test_a_copy_passes_and_others_do_not(self):
        mine = site("a.example", "w")
        judge = JUDGE
        assert judge.score(compared(mine, site("b.example", "w"))) > judge.threshold_for(1.0)
        assert judge.score(compared(mine, site("b.example", "w", edit=0.03))) > judge.threshold
        assert judge.score(compared(mine, site("b.example", "v"))) < 0.5 * judge.threshold  # two sites, for a detector

    def test_translations_and_other_versions_do_not_pass(self):
        mine = site("a.example", "w", title=" 3.5")
        for other in (site("b.example", "w", words=GERMAN), site("b.example", "w", title=" 3.6", edit=0.01)):
            assert JUDGE.score(compared(mine, other)) < JUDGE.threshold

    def test_hreflang_speaks_against(self):
        pair = compared(site("a.example", "w"), site("b.example", "w"))
        before = JUDGE.score(pair)
        pair.first.alternates_to["b.example"] += 1
        assert JUDGE.score(pair) < JUDGE.threshold < before

    def test_hosts_that_are_hardly_known_take_more(self):
        assert JUDGE.threshold_for(0.1) > JUDGE.threshold_for(0.5) > JUDGE.threshold_for(1.0) == JUDGE.threshold

    def test_three_pages_of_a_copy_pass_and_ten_of_other_texts_under_equal_titles_do_not(self):
        first, copy, other = (site(f"{name}.example", seed, 10) for name, seed in (("a", "w"), ("b", "w"), ("c", "v")))
        assert JUDGE.score(compared(first[:3], copy[:3])) > JUDGE.threshold_for(0.1)
        titled = [dataclasses.replace(each, title=mine.title) for each, mine in zip(other, first, strict=True)]
        assert JUDGE.score(compared(first, titled)) < JUDGE.threshold


class TestJudge:
    @given(st.lists(row, min_size=1, max_size=10))
    def test_one_pair_scores_as_a_batch_does(self, rows):
        raw = np.array(rows, dtype=float)
        judge = trained_on(*training())
        codes = judge.intervals.codes(columns_of(raw))
        for values, code in zip(columns_of(raw), codes, strict=True):
            assert judge.intervals.code(values.tolist()) == code.tolist()

    def test_score_equals_scores(self):
        for other in (site("b.example", "w"), site("b.example", "w", edit=0.2), site("b.example", "v"), []):
            pair = compared(site("a.example", "w"), other)
            raw = np.array([features_of(pair)])
            assert JUDGE.score(pair) == pytest.approx(JUDGE.scores(raw)[0], abs=1e-12)
            assert likeness_of(pair) == pytest.approx(columns_of(raw)[0, COLUMNS.index("likeness")], abs=1e-12)

    def test_survives_json(self, tmp_path):
        judge = retrained(trained_on(*training()), training(seed=1)[0], np.where(training(seed=1)[1], 1, -1))
        judge.save(tmp_path / "judge.json")
        back = Judge.load(tmp_path / "judge.json")
        raw = training(seed=2)[0]
        assert (back.scores(raw) == judge.scores(raw)).all()
        assert back.threshold == judge.threshold

    def test_another_format_is_refused_with_what_to_do(self):
        data = {**JUDGE.to_dict(), "format": 99}
        with pytest.raises(ValueError, match="train it again"):
            Judge.from_dict(json.loads(json.dumps(data)))

    def test_retraining_keeps_what_was_known(self):
        raw, labels = training()
        judge = trained_on(raw, labels)
        crawl, crawl_labels = training(seed=1)
        obvious = np.where(crawl_labels, 1, -1)
        obvious[::2] = 0
        again = retrained(judge, crawl, obvious)
        assert again.lac.cube.counts.sum() == len(raw) + (obvious != 0).sum()
        assert ((again.scores(crawl) >= judge.threshold) == crawl_labels).all()

    def test_what_is_obvious_in_a_collection_decides_of_pairs_alike(self):
        judge = trained_on(*training())
        doubtful = np.array([[0.8] * 5 + [0.9, 0.0, np.nan, np.nan]])
        for label in (1, -1):
            again = retrained(judge, doubtful.repeat(200, axis=0), np.full(200, label))
            assert (again.scores(doubtful) >= judge.threshold) == (label == 1)

    def test_where_the_rules_say_yes_the_likeness_orders_pairs_of_equal_votes(self):
        raw = np.array([[1.0, near, near, near, 0.97, 0.99, 0.0, np.nan, np.nan] for near in (0.9, 0.95, 0.99)])
        assert len(np.unique(JUDGE.lac.alpha(JUDGE.intervals.codes(columns_of(raw))))) == 1
        assert JUDGE.scores(raw) == pytest.approx(columns_of(raw)[:, COLUMNS.index("likeness")])
        assert (np.diff(JUDGE.scores(raw)) > 0).all()

    def test_where_the_rules_say_no_a_pair_is_no_replica_however_alike(self):
        raw, labels = training()
        judge = trained_on(raw, ~labels)
        assert columns_of(raw[labels])[:, COLUMNS.index("likeness")].min() > judge.threshold
        assert (judge.scores(raw[labels]) <= MAJORITY).all()

    def test_threshold_is_only_raised(self):
        raw, labels = training()
        judge = trained_on(raw, labels)
        assert with_threshold_for(judge, raw[~labels]).threshold == judge.threshold
        raised = with_threshold_for(judge, raw[labels])
        assert raised.threshold > judge.scores(raw[labels]).max()
        assert with_threshold_for(judge, raw[:0]) is judge

    def test_likeness_is_the_mean_of_what_speaks_for_times_what_is_left_by_what_speaks_against(self):
        other_version = [0.9, 0.8, 0.6, 0.8, 0.6, 0.9, 0.5, 1.0, np.nan]
        unknown = [0.9, *[np.nan] * 8]
        likeness = columns_of(np.array([other_version, unknown]))[:, COLUMNS.index("likeness")]
        assert likeness == pytest.approx([(0.9 + 0.8 + 0.7 + 0.6) / 4 * 0.9 * 0.5 * 0.7, 0.9 / 4 * 0.9])

    def test_the_weakest_part_knows_texts_by_the_better_of_two_measures(self):
        restyled = [0.9, 0.1, 0.6, 0.8, 0.8, 0.9, 0.0, np.nan, np.nan]
        renamed = [0.9, 0.1, 0.6, 0.8, 0.2, 0.9, 0.0, np.nan, np.nan]
        assert columns_of(np.array([restyled, renamed]))[:, COLUMNS.index("weakest")] == pytest.approx([0.7, 0.2])


class TestThresholds:
    def test_best_f1_lies_between_the_scores_it_parts(self):
        scores = np.array([0.9, 0.8, 0.4, 0.3])
        assert best_f1_threshold(scores, np.array([True, True, False, False])) == pytest.approx(0.6)

    def test_equal_scores_fall_on_one_side(self):
        scores = np.array([0.9, 0.5, 0.5, 0.1])
        threshold = best_f1_threshold(scores, np.array([True, True, False, False]))
        assert threshold in (pytest.approx(0.7), pytest.approx(0.3))

    @given(st.lists(st.integers(0, 20), min_size=1, max_size=50), st.sampled_from([0.0, 0.05, 0.3]))
    def test_false_positive_rate_is_kept(self, scores, max_fpr):
        values = np.array(scores, dtype=float)
        assert (values >= threshold_at(values, max_fpr)).mean() <= max_fpr


class TestLabels:
    def test_table(self):
        copy = [1.0, 0.9, 0.9, 0.95, 0.95, 0.97, 0.0, np.nan, np.nan]
        version = [1.0, 0.9, 0.9, 0.95, 0.02, 0.97, 0.9, np.nan, np.nan]
        foreign = [1.0, 0.1, 0.1, 0.1, 0.1, 0.3, 0.0, np.nan, np.nan]
        unknown = [np.nan] * 9
        raw = np.array([copy, copy, version, foreign, unknown, unknown])
        aligned = np.array([8, 4, 8, 8, 0, 0])
        candidate = np.array([True, True, True, True, True, False])
        assert labels_of(raw, aligned, candidate).tolist() == [1, 0, 0, -1, 0, -1]
