"""Documents drawn by Zipf's law, and the law of their gaps."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.cmdline import execute

from scrapy_replica.lab.archives.direct.gaps import document, exponent_of_gaps


@settings(max_examples=30)
@given(st.integers(1, 40), st.floats(0.5, 3.0), st.integers(0, 100))
def test_a_document_has_so_many_different_terms(length, exponent, seed):
    law = np.cumsum(np.arange(1, 2 * length + 1) ** -exponent)
    found = document(law, length, np.random.default_rng(seed))
    assert len(found) == len(set(found.tolist())) == length
    assert found.tolist() == sorted(found.tolist())
    assert found[0] >= 1
    assert found[-1] <= 2 * length


def test_terms_are_drawn_without_putting_back():
    weights = np.array([8.0, 4.0, 2.0, 1.0])
    chance, drawn = np.random.default_rng(5), Counter()
    for _ in range(4000):
        drawn[tuple(document(np.cumsum(weights), 2, chance).tolist())] += 1
    total = weights.sum()
    for a, b in ((1, 2), (1, 4), (3, 4)):
        first, second = weights[a - 1], weights[b - 1]
        chance_of = first / total * second / (total - first) + second / total * first / (total - second)
        assert drawn[a, b] / 4000 == pytest.approx(chance_of, abs=0.03)


def test_gaps_of_few_terms_fall_faster_than_the_terms():
    assert exponent_of_gaps(10_000, 1.0375, 50, 200) > 1.0375
    assert exponent_of_gaps(10_000, 1.6, 50, 200) < 1.6
    with pytest.raises(ValueError, match="19 terms are too few"):
        exponent_of_gaps(19, 1.0, 10, 1)


def test_command_has_a_row_for_each_exponent(capsys):
    line = [
        "scrapy",
        "replica",
        "lab",
        "archive",
        "gaps",
        "--terms",
        "1000",
        "--documents",
        "50",
        "--exponent",
        "1",
        "1.5",
    ]
    with pytest.raises(SystemExit) as ended:
        execute([*line, "--length", "10", "20"])
    assert ended.value.code == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["terms", "1", "1.5"]
    with pytest.raises(SystemExit):
        execute([*line, "--length", "10", "--json"])
    assert json.loads(capsys.readouterr().out)["figures"]["gaps.1.5.10"] == pytest.approx(
        float(rows[2].split()[1]), abs=1e-4
    )
    with pytest.raises(SystemExit) as ended:
        execute([*line, "--length", "1"])
    assert ended.value.code == 2
