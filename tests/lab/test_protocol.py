from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from test_manuals import edition, write_manual

from scrapy_replica.lab.manuals.folder import make
from scrapy_replica.lab.replicas import protocol
from scrapy_replica.lab.training.train_judge import calibration, judge_of_sources


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Three sources of five families each, as ``lab manuals`` makes them."""
    sources = []
    for number in range(3):
        packages, out = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("made") / "out"
        editions = [edition(f"s{number}w{n}", version) for n in range(5) for version in ("1.0-1", "2.0-1")]
        for each in editions:
            write_manual(packages / each.name, each.family, each.version, 0.6 if each.version != "1.0-1" else 0.0)
        make(editions, packages, out, number, print)
        sources.append(f"s{number}={out}")
    return sources


@pytest.fixture(scope="module")
def sources(told):
    return protocol.read_sources(told)


def test_what_a_source_is_judged_by_never_knows_it(sources, monkeypatch):
    seen = []

    def spy(tables):
        seen.append([id(table) for table in tables])
        return judge_of_sources(tables)

    monkeypatch.setattr(protocol, "METHODS", {"judge": spy})
    monkeypatch.setattr(protocol, "WEIGHTS", ())
    protocol.evaluate(sources, 0, crawls=False)
    own = [id(source.table) for source in sources]
    assert seen == [[other for other in own if other != one] for one in own]


def test_mean_worst_and_spread_are_of_the_sources(sources, monkeypatch):
    monkeypatch.setattr(protocol, "WEIGHTS", ())
    figures = protocol.evaluate(sources, 2)
    for method in protocol.METHODS:
        found = [figures[f"{method}.s{n}.auc"] for n in range(3)]
        assert figures[f"{method}.mean.auc"] == pytest.approx(np.mean(found))
        assert figures[f"{method}.worst.auc"] == min(found)
        assert figures[f"{method}.worst.wrong"] == max(figures[f"{method}.s{n}.wrong"] for n in range(3))
        assert figures[f"{method}.spread.auc"] >= 0
    assert figures["judge.mean.auc"] > 0.9
    assert "judge" in protocol.table_of(figures)


def test_a_draw_keeps_whole_families(sources):
    table = sources[0].table
    drawn = protocol.of_families(table, 0.6, Random(1))
    kept, all_families = (set(each.family.tolist()) - {""} for each in (drawn, table))
    assert len(kept) == 3
    assert len(all_families) == 5
    assert (drawn.family == "").sum() == (table.family == "").sum()
    for family in kept:
        assert (drawn.family == family).sum() == (table.family == family).sum()


def test_the_curve_knows_ever_more_families(sources):
    figures = protocol.learning_curve(sources, "s1", 1)
    assert {key.split(".")[1] for key in figures} == {"5"}
    with pytest.raises(ValueError, match="no source is called other"):
        protocol.learning_curve(sources, "other", 1)


def test_the_worst_pairs_are_the_most_mistaken(sources):
    found = [each for each in protocol.worst_pairs(sources, 3) if each[0] == "s0"]
    errors = [1 - score if relation == "replica" else score for _, relation, score, _, _ in found]
    assert errors == sorted(errors, reverse=True)


def test_it_takes_three_names(told):
    with pytest.raises(ValueError, match="it takes three"):
        protocol.read_sources(told[:2])
    with pytest.raises(ValueError, match="NAME=DIR"):
        protocol.read_sources(["somewhere"])
    with pytest.raises(ValueError, match="does not exist"):
        protocol.read_sources(["a=/nowhere"])


def test_votes_alone_have_the_threshold_of_votes(sources):
    judge = protocol.METHODS["votes"]([source.table for source in sources[1:]])
    assert judge.threshold_for(1.0) == judge.threshold == 0.5
    assert replace(judge, threshold=0.6).threshold_for(0.0) > 0.6


class TestCalibration:
    def test_it_finds_the_odds_that_made_the_labels(self):
        rng = np.random.default_rng(0)
        evidence = rng.normal(0, 2, 40_000)
        labels = rng.random(40_000) < 1 / (1 + np.exp(-(2 * evidence)))
        intercept, slope = calibration(evidence, labels, np.zeros(40_000, dtype=np.int64))
        assert intercept == pytest.approx(0.0, abs=0.1)
        assert slope == pytest.approx(2.0, abs=0.1)

    def test_it_stays_finite_where_all_pairs_are_parted_or_one_kind_is_missing(self):
        evidence = np.array([-2.0, -1.0, 1.0, 2.0])
        groups = np.zeros(4, dtype=np.int64)
        for labels in (evidence > 0, evidence > 9):
            assert all(map(math.isfinite, calibration(evidence, labels, groups)))

    def test_a_large_source_does_not_outvote_a_small_one(self):
        rng = np.random.default_rng(1)
        small, large = rng.normal(0, 1, 200), rng.normal(0, 1, 200)
        labels = [small > 0.8, large > -0.8]
        once = calibration(np.concatenate([small, large]), np.concatenate(labels), np.repeat([0, 1], 200))
        often = calibration(
            np.concatenate([small, np.tile(large, 20)]),
            np.concatenate([labels[0], np.tile(labels[1], 20)]),
            np.repeat([0, 1], [200, 4000]),
        )
        assert often == pytest.approx(once, rel=1e-6)
