from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scrapy_replica.evaluation import text

SPLIT = text.Split("label", "yes", 20, 100, 10, 8, 40, None)


def documents() -> tuple[list[dict[str, int]], list[bool]]:
    chance = np.random.default_rng(0)
    labels = [page % 5 == 0 for page in range(400)]
    rows = []
    for label in labels:
        words = chance.choice(40, 8, replace=False) + (0 if label else 25)
        rows.append({f"w{word}": int(chance.integers(1, 4)) for word in words})
    return rows, labels


class TestDivide:
    def test_parts_are_disjoint_and_of_the_stated_sizes(self) -> None:
        rows = [{str(number): 1} for number in range(400)]
        labels = [number % 5 == 0 for number in range(400)]
        parts = text.divide(rows, labels, SPLIT, 1)
        pieces = (parts.positive, parts.unlabelled, parts.validation_positive, parts.validation_other, parts.test)
        assert [len(piece) for piece in pieces] == [20, 100, 8, 40, 400 - 168]
        assert len({next(iter(terms)) for piece in pieces for terms in piece}) == 400
        hidden = sum(int(next(iter(terms))) % 5 == 0 for terms in parts.unlabelled)
        assert hidden == 10
        assert int(parts.is_positive.sum()) == 80 - 38

    def test_too_few_positives_are_refused(self) -> None:
        with pytest.raises(ValueError, match="too few"):
            text.divide([{}] * 30, [True] * 30, SPLIT, 0)


class TestClassifiers:
    @pytest.mark.parametrize("name", list(text.MODELS))
    def test_separates_two_vocabularies(self, name: str) -> None:
        pytest.importorskip("sklearn")
        assert text.measure(name, text.divide(*documents(), SPLIT, 0))["f1"] > 0.6

    def test_unknown_name_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no classifier"):
            text.measure("best", text.divide(*documents(), SPLIT, 0))


class TestBestLine:
    def test_prefers_recall_bought_cheaply(self) -> None:
        assert text.best_line(np.array([0.9, 0.8, 0.1]), np.linspace(0, 0.5, 50)) == 0.8


@pytest.mark.shared
class TestAccuracy:
    @pytest.mark.parametrize(("file", "floor"), [("20news_bydate", 0.93), ("webkb", 0.77)])
    def test_regression_reaches_its_floor(self, shared: Path, file: str, floor: float) -> None:
        result = text.evaluate(shared / "text" / f"{file}.parquet", ["elkan-noto"], stop_words=[True])
        assert result["figures"]["elkan-noto.f1"] >= floor  # .95 and .80 measured
