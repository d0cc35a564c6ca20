from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from scrapy_replica.focus import elkan_noto
from scrapy_replica.focus.background import Background
from scrapy_replica.focus.elkan_noto import FOLDS, ElkanNoto, fit_logistic
from scrapy_replica.focus.linear import Matrix, term_idf, term_matrix
from scrapy_replica.numeric import sigmoid

Terms = Mapping[str, int]

HOCKEY = [{"puck": 2, "goal": 1, f"name{i}": 1} for i in range(12)]
REST = [{"tax": 2, "vote": 1, f"town{i}": 1} for i in range(60)]


def fitted(positives: Sequence[Terms], unlabelled: Sequence[Terms]) -> ElkanNoto:
    model = ElkanNoto()
    model.fit(positives, Background.from_documents(unlabelled))
    return model


def drawn(chance: random.Random, share: float) -> Terms:
    """Return a page of 60 words, this *share* of them of the topic."""
    return Counter(f"{'topic' if chance.random() < share else 'any'}{chance.randrange(40)}" for _ in range(60))


class TestElkanNoto:
    def test_finds_the_positives_hidden_in_the_unlabelled(self) -> None:
        model = fitted(HOCKEY[:6], HOCKEY[6:] + REST)
        assert all(model.relevance(terms) > 0.5 for terms in HOCKEY)
        assert all(model.relevance(terms) < 0.5 for terms in REST)

    def test_against_few_pages_others_are_not_relevant(self) -> None:
        """c / 2 says yes to all but 2 %: against few pages g is near .5 for all that have no word of the topic."""
        chance = random.Random(1)
        examples, others = ([drawn(chance, share) for _ in range(n)] for n, share in ((20, 0.3), (230, 0.05)))
        model = fitted(examples[:10], others[:30])
        assert np.mean([model.relevance(terms) > 0.5 for terms in others[30:]]) < 0.2
        assert np.mean([model.relevance(terms) > 0.5 for terms in examples[10:]]) > 0.9

    @pytest.mark.parametrize("most", [30, 600], ids=["few", "many"])
    def test_the_line_lies_between_what_was_held_out(self, most: int) -> None:
        """Beside many others at c / 2, beside few in the middle between positives and the median of others."""
        linear = pytest.importorskip("sklearn.linear_model")
        chance = random.Random(1)
        positives, others = ([drawn(chance, share) for _ in range(n)] for n, share in ((20, 0.6), (most, 0.0)))
        documents = [*positives, *others]
        matrix = term_matrix(documents, term_idf(documents))
        dense = np.zeros(matrix.shape)
        dense[matrix.rows, matrix.columns] = matrix.values
        labels = np.arange(len(documents)) < len(positives)
        fold = np.where(labels, np.arange(len(documents)), np.arange(len(documents)) - len(positives)) % FOLDS
        odds = np.zeros(len(documents))
        for out in (fold == number for number in range(FOLDS)):
            peer = linear.LogisticRegression(class_weight="balanced", tol=1e-8).fit(dense[~out], labels[~out])
            odds[out] = peer.decision_function(dense[out])
        half = np.mean([sigmoid(each) for each in odds[labels]]) / 2
        lines = np.array([np.log(half / (1 - half)), (odds[labels].mean() + np.median(odds[~labels])) / 2])
        assert lines.argmax() == (most < 100)
        whole = linear.LogisticRegression(class_weight="balanced", tol=1e-8).fit(dense, labels)
        model = fitted(positives, others)
        for terms, each in zip(documents, whole.decision_function(dense), strict=True):
            assert model.relevance(terms) == pytest.approx(sigmoid(each - lines.max()), abs=0.01)

    def test_one_example_is_enough(self) -> None:
        model = fitted(HOCKEY[:1], REST + HOCKEY[5:6])
        assert model.relevance(HOCKEY[3]) > model.relevance(REST[3])


class TestFitLogistic:
    def test_agrees_with_scikit_learn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(elkan_noto, "TOLERANCE", 1e-6)
        linear = pytest.importorskip("sklearn.linear_model")
        chance = np.random.default_rng(3)
        dense = chance.random((80, 6)) * (chance.random((80, 6)) < 0.5)
        labels = (dense[:, 0] + 0.3 * chance.random(80) > 0.5).astype(float)
        rows, columns = np.nonzero(dense)
        matrix = Matrix(rows, columns, dense[rows, columns], dense.shape)
        weights, intercept = fit_logistic(matrix, labels, np.ones(len(labels)))
        peer = linear.LogisticRegression(C=1.0, class_weight="balanced", tol=1e-8).fit(dense, labels)
        assert weights == pytest.approx(peer.coef_[0], abs=1e-3)
        assert intercept == pytest.approx(peer.intercept_[0], abs=1e-3)


def test_a_link_without_a_text_is_no_bad_link():
    on = [{"kernel": 3, "svm": n} for n in range(1, 9)]
    off = [{word: 3, "cup": n} for word in ("football", "opera", "garden") for n in range(1, 20)]
    model = ElkanNoto()
    model.fit(on, Background(documents=off, frequencies={}))
    assert model.relevance({"football": 2, "opera": 1}) < model.relevance({}) < model.relevance({"kernel": 2, "svm": 1})
