from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.background import Background
from scrapy_replica.lab.texts.bprtfidf_strict import StrictBPrTFIDF

Terms = Mapping[str, int]
DOCUMENT = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1)


def share(word: str, document: Terms) -> float:
    return document.get(word, 0) / sum(document.values())


def memberships(positive: Sequence[Terms], unlabelled: Sequence[Terms], x: Terms) -> tuple[float, float]:
    """Pr[x in P] and Pr[x in U], word by word, as printed."""
    result = [0.0, 0.0]
    for side, documents in enumerate((positive, unlabelled)):
        for word in x:
            everywhere = sum(share(word, z) for z in [*positive, *unlabelled])
            if everywhere:
                result[side] += sum(share(word, y) for y in documents) / everywhere * share(word, x)
    return result[0], result[1]


def probability(p: float, in_p: float, in_u: float) -> float:
    return (1 + (1 + p) / (1 - p) * in_p - in_u) / 2


def search(positive: Sequence[Terms], unlabelled: Sequence[Terms]) -> float:
    """p by linear search on every fifth document, with a model of the others."""
    trained = [x for i, x in enumerate(positive) if i % 5], [x for i, x in enumerate(unlabelled) if i % 5]
    pair = [[memberships(*trained, x) for x in side[::5]] for side in (positive, unlabelled)]
    best = 0.0, -1.0
    for step in range(1000):
        p = step / 1000
        said = [[(1 + p) / (1 - p) * in_p > in_u for in_p, in_u in side] for side in pair]
        answered = sum(map(sum, said)) / sum(map(len, said))
        measure = (sum(said[0]) / len(said[0])) ** 2 / answered if answered else 0.0
        if measure > best[1] + 1e-12:
            best = p, measure
    return best[0]


class TestEquations:
    @settings(max_examples=25)
    @given(st.lists(DOCUMENT, min_size=5, max_size=8), st.lists(DOCUMENT, min_size=6, max_size=12), DOCUMENT)
    def test_as_the_slow_reference(self, positive: list[Terms], unlabelled: list[Terms], x: Terms) -> None:
        keys = [frozenset(each.items()) for each in positive + unlabelled]
        assume(len(set(keys)) == len(keys))
        model = StrictBPrTFIDF()
        model.fit(positive, Background.from_documents(unlabelled))
        expected = search(positive, unlabelled)
        assume(abs(model.p - expected) < 0.0015)  # where b Pr[x in P] equals Pr[x in U] rounding decides
        expected = probability(model.p, *memberships(positive, unlabelled, x))
        assert model.relevance(x) == pytest.approx(min(1.0, max(0.0, expected)))

    def test_p_is_the_lowest_that_tells_the_validation_pair_apart(self) -> None:
        """A word of one example in two against one of each document: b = 2 U(w) / P(w) = 4 is where yes begins."""
        positive = [{"topic": 1, "all": 1 + i} for i in range(10)]
        unlabelled = [{"all": 20 + i} for i in range(20)]
        model = StrictBPrTFIDF()
        model.fit(positive, Background.from_documents(unlabelled))
        assert model.p == pytest.approx(search(positive, unlabelled), abs=0.0015)
        assert [model.relevance(each) > 0.5 for each in (positive[0], unlabelled[0])] == [True, False]

    def test_a_word_that_nobody_has_speaks_for_neither(self) -> None:
        model = StrictBPrTFIDF()
        model.fit([{"topic": 1}], Background.from_documents([{"else": 1}, {"other": 1}]))
        assert model.relevance({"unknown": 7}) == 0.5
        assert model.relevance({"topic": 1, "unknown": 1}) > 0.5 > model.relevance({"else": 1, "unknown": 1})
