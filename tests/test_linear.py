from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.focus.linear import LinearModel, term_idf, term_matrix
from scrapy_replica.numeric import sigmoid

DOCUMENTS = st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 2000)), min_size=1, max_size=12)


class TestMatrix:
    @given(DOCUMENTS)
    def test_as_the_model_counts_page_by_page(self, documents: list[dict[str, int]]) -> None:
        idf = term_idf(documents)
        weights = np.random.default_rng(len(documents)).normal(size=len(idf))
        model = LinearModel(idf, weights.tolist(), 0.5)
        margins = [model.margin(document) for document in documents]
        values = term_matrix(documents, idf).times(weights) + 0.5
        known = [bool(document.keys() & idf.keys()) for document in documents]
        assert [value for value, k in zip(values, known, strict=True) if k] == pytest.approx(
            [margin for margin, k in zip(margins, known, strict=True) if k]
        )
        assert all(margin == -math.inf for margin, k in zip(margins, known, strict=True) if not k)

    @given(DOCUMENTS, st.data())
    def test_take_is_the_matrix_of_the_chosen_documents(
        self, documents: list[dict[str, int]], data: st.DataObject
    ) -> None:
        idf = term_idf(documents)
        chosen = data.draw(st.lists(st.integers(0, len(documents) - 1), unique=True))
        taken = term_matrix(documents, idf).take(np.array(chosen, dtype=np.int64))
        expected = term_matrix([documents[i] for i in chosen], idf)
        weights = np.arange(1.0, len(idf) + 1)
        assert taken.shape == expected.shape
        assert taken.times(weights) == pytest.approx(expected.times(weights))
        residuals = np.arange(1.0, len(chosen) + 1)
        assert taken.transposed_times(residuals) == pytest.approx(expected.transposed_times(residuals))


class TestIdf:
    def test_terms_of_one_document_or_of_most_are_left_out(self) -> None:
        documents = [{"all": 1, "two": 1}, {"all": 2, "two": 1}, {"all": 1, "one": 9}, {"all": 1}, {"all": 1}]
        assert term_idf(documents) == {"two": pytest.approx(math.log(6 / 3) + 1)}


class TestSigmoid:
    @pytest.mark.parametrize(("margin", "value"), [(-math.inf, 0), (-1e6, 0), (0, 0.5), (1e6, 1)])
    def test_of_any_size(self, margin: float, value: float) -> None:
        assert sigmoid(margin) == value
