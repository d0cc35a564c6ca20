from __future__ import annotations

from random import Random

import numpy as np
import pytest
from test_manuals import edition, write_manual

from scrapy_replica.lab.manuals.folder import make
from scrapy_replica.lab.replicas import left_out
from scrapy_replica.lab.replicas.replica_crawl import crawl_figures
from scrapy_replica.sites.judge import COLUMNS, Judge, columns_of


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Two sources of three families each, as ``lab manuals`` makes them."""
    sources = []
    for number in range(2):
        packages, out = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("made") / "out"
        editions = [edition(f"s{number}w{n}", version) for n in range(3) for version in ("1.0-1", "2.0-1")]
        for each in editions:
            write_manual(packages / each.name, each.family, each.version, 0.6 if each.version != "1.0-1" else 0.0)
        make(editions, packages, out, number, print)
        sources.append(f"s{number}={out}")
    return sources


@pytest.fixture(scope="module")
def sources(told):
    return left_out.read_sources(told)


def test_what_a_source_is_judged_by_never_knows_it(sources, monkeypatch):
    seen = []

    def spy(table):
        seen.append({host for pair in table.hosts for host in pair})
        return Judge.load()

    monkeypatch.setattr(left_out, "METHODS", {"judge": spy})
    left_out.evaluate(sources, 0, crawls=False)
    own = [{host for pair in source.table.hosts for host in pair} for source in sources]
    assert seen == [set().union(*(other for other in own if other is not one)) for one in own]


def test_mean_worst_and_spread_are_of_the_sources(sources, monkeypatch):
    methods = {name: left_out.METHODS[name] for name in ("judge", "votes")}
    monkeypatch.setattr(left_out, "METHODS", methods)
    figures = left_out.evaluate(sources, 1)
    for method in methods:
        found = [figures[f"{method}.s{n}.auc"] for n in range(2)]
        assert figures[f"{method}.mean.auc"] == pytest.approx(np.mean(found))
        assert figures[f"{method}.worst.auc"] == min(found)
        assert figures[f"{method}.worst.wrong"] == max(figures[f"{method}.s{n}.wrong"] for n in range(2))
        assert figures[f"{method}.spread.auc"] >= 0
    assert figures["judge.mean.auc"] > 0.9
    assert "judge worst" in left_out.table_of(figures)


def test_likeness_alone_has_a_threshold_of_the_other_sources(sources):
    judge = left_out.METHODS["likeness"](sources[0].table)
    scores = judge.scores(sources[1].table.raw)
    np.testing.assert_array_equal(scores, columns_of(sources[1].table.raw)[:, COLUMNS.index("likeness")])
    assert 0.2 < judge.threshold < 0.95


def test_a_draw_keeps_whole_families(sources):
    table = sources[0].table
    drawn = left_out.of_families(table, 0.7, Random(1))
    kept, all_families = (set(each.family.tolist()) - {""} for each in (drawn, table))
    assert (len(kept), len(all_families)) == (2, 3)
    for family in {"", *kept}:
        assert (drawn.family == family).sum() == (table.family == family).sum()


def test_the_curve_knows_ever_more_families(sources):
    figures = left_out.learning_curve(sources, "s1", 1)
    assert {key.rpartition(".")[0] for key in figures} == {"learnt 3.mean", "learnt 3.worst"}
    assert all(figures[f"learnt 3.worst.{key}"] <= figures[f"learnt 3.mean.{key}"] for key in left_out.MEASURES)
    with pytest.raises(ValueError, match="no source is called other"):
        left_out.learning_curve(sources, "other", 1)


def test_the_worst_pairs_are_the_most_mistaken(sources):
    found = [each for each in left_out.worst_pairs(sources, 3) if each[0] == "s0"]
    errors = [1 - score if relation == "replica" else score for _, relation, score, _, _ in found]
    assert len(errors) == 3
    assert errors == sorted(errors, reverse=True)


def test_collections_of_one_name_are_one_source(told):
    first, other = left_out.read_sources([told[0], told[1].replace("s1=", "s0="), told[1]])
    assert (first.name, other.name) == ("s0", "s1")
    assert len(first.webs) == 2
    assert len(set(first.table.family.tolist()) - {""}) == 6


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a=/nowhere"], "does not exist"), (["somewhere"], "NAME=DIR"), ([], "it takes another")],
)
def test_what_is_no_source_is_refused(told, names, message):
    with pytest.raises(ValueError, match=message):
        left_out.read_sources([told[0], *names])


def test_a_verdict_on_hosts_that_the_truth_does_not_list_is_wrong(sources):
    [(truth, pages)] = sources[0].webs
    listed = [row for row in truth if row["relation"] != "replica"]
    assert crawl_figures(listed, pages, Judge.load())["crawl.wrong_blocks"] > 0
