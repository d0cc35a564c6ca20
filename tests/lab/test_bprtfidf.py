from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest
import Stemmer
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.bprtfidf import EMPTY_WORDS, FEWEST_POSITIVES, PSEUDO_DOCUMENTS, RAREST, BPrTFIDF
from scrapy_replica.lab.training.build_background import WORD

Terms = Mapping[str, int]
STEMMER = Stemmer.Stemmer("english")
NETWORK = ["router", "packet", "socket", "protocol", "latenc", "gateway", "subnet"]
CHROME = ["home", "contact", "menu", "copyright"]
OTHER = [stem for stem in list(Background.shipped("en").frequencies)[100:] if stem not in {*NETWORK, *CHROME}][:300]


def page(words: Sequence[str], length: int, seed: int) -> dict[str, int]:
    lot = Random(seed)
    return dict(Counter(lot.choice(words) for _ in range(length)) + Counter(CHROME))


def on_topic(seed: int, length: int = 60) -> dict[str, int]:
    return dict(Counter(page(NETWORK, length, seed)) + Counter(page(OTHER, 2 * length, seed)))


def off_topic(seed: int, length: int = 180) -> dict[str, int]:
    return page(OTHER, length, 10_000 + seed)


def fitted(n: int = 8, documents: int = 300, statistics: bool = False) -> BPrTFIDF:
    background = Background.from_documents(off_topic(i) for i in range(documents))
    if statistics:
        background = Background.shipped("en").with_documents(background.documents)
    model = BPrTFIDF()
    model.fit([on_topic(i) for i in range(n)], background)
    return model


def reference(positives: Sequence[Terms], background: Background, terms: Terms) -> float:
    """Pr[x in P] by the equations, term by term, for fewer than five examples."""

    def share(term: str, document: Terms) -> float:
        if term not in document:
            return 0.0
        return (1 + math.log(document[term])) / sum(1 + math.log(count) for count in document.values())

    n = len(positives)
    result = 0.0
    for term, count in terms.items():
        s_p = sum(share(term, document) for document in positives)
        s_u = sum(share(term, document) for document in background.documents) * n / FEWEST_POSITIVES
        if background.frequencies:
            s_u += PSEUDO_DOCUMENTS * n * max(background.frequencies.get(term, 0.0), RAREST)
        if s_p:
            holders = sum(term in document for document in positives) / n
            result += s_p / (s_p + s_u) * math.sqrt(holders) * (1 + math.log(count))
    return result / (EMPTY_WORDS + sum(1 + math.log(count) for count in terms.values()))


DOCUMENT = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 2000), min_size=1)


class TestEquations:
    @settings(max_examples=60)
    @given(
        st.lists(DOCUMENT, min_size=1, max_size=4),
        st.lists(DOCUMENT, max_size=5),
        st.dictionaries(st.sampled_from("abcdef"), st.floats(1e-7, 0.1)),
        DOCUMENT,
    )
    def test_as_the_slow_reference(
        self, positives: list[Terms], documents: list[Terms], frequencies: dict[str, float], terms: Terms
    ) -> None:
        keys = [frozenset(each.items()) for each in positives + documents]
        assume(len(set(keys)) == len(keys) and (documents or frequencies))
        background = Background(tuple(documents), frequencies)
        model = BPrTFIDF()
        model.fit(positives, background)
        b = (1 + model.p) / (1 - model.p)
        in_p = reference(positives, background, terms)
        expected = min(1.0, max(0.0, (1 + b * in_p - (1 - in_p)) / 2))
        assert model.relevance(terms) == pytest.approx(expected)

    def test_relevant_from_the_line_that_p_gives(self) -> None:
        model = fitted()
        assert model.relevance({"router": 1}) <= 0.5 < model.relevance(on_topic(99))
        assert model.p < 1


class TestRelevance:
    @pytest.mark.parametrize(("n", "documents", "statistics"), [(8, 300, False), (8, 60, True), (8, 0, True)])
    def test_separates_the_topic(self, n: int, documents: int, statistics: bool) -> None:
        model = fitted(n, documents, statistics)
        good = [model.relevance(on_topic(i)) for i in range(100, 120)]
        bad = [model.relevance(off_topic(i)) for i in range(1000, 1020)]
        assert min(good) > max(bad)
        assert sum(each > 0.5 for each in good) >= 6
        assert max(bad) <= 0.5

    def test_one_example_ranks(self) -> None:
        model = fitted(1)
        assert model.relevance(on_topic(50)) > 5 * model.relevance(off_topic(1050))

    @pytest.mark.parametrize("terms", [{}, {"neverseen": 5}, {OTHER[2]: 3, "zzz": 1}])
    def test_nothing_known_is_not_relevant(self, terms: Terms) -> None:
        assert fitted().relevance(terms) < 0.1

    def test_one_word_page_is_less_than_a_page_of_many(self) -> None:
        model = fitted()
        assert model.relevance({"router": 1}) < 0.5 * model.relevance(dict.fromkeys(NETWORK, 1))

    def test_words_of_every_page_of_the_site_do_not_count(self) -> None:
        chrome = dict.fromkeys(CHROME, 3)
        assert fitted(8, 300).relevance(chrome) == 0.0
        assert fitted(8, 60, True).relevance(chrome) < 0.9 * fitted(8, 0, True).relevance(chrome)

    def test_0_to_1_even_for_huge_pages(self) -> None:
        model = fitted()
        assert model.relevance(dict.fromkeys(NETWORK, 10**9)) == 1.0

    def test_unfitted_finds_nothing(self) -> None:
        assert BPrTFIDF().relevance(on_topic(1)) == 0.0


class TestExamples:
    def test_none(self) -> None:
        with pytest.raises(ValueError, match="no positive example"):
            BPrTFIDF().fit([], Background.shipped("en"))
        with pytest.raises(ValueError, match="no positive example"):
            BPrTFIDF().fit([{}, {}], Background.shipped("en"))

    def test_empty_background(self) -> None:
        with pytest.raises(ValueError, match="background is empty"):
            BPrTFIDF().fit([on_topic(1)], Background())

    def test_background_of_nothing_but_the_examples(self) -> None:
        with pytest.raises(ValueError, match="background is empty"):
            BPrTFIDF().fit([on_topic(1)], Background.from_documents([on_topic(1)]))

    def test_duplicates_count_once(self) -> None:
        background = Background.from_documents(off_topic(i) for i in range(50))
        once, often = BPrTFIDF(), BPrTFIDF()
        once.fit([on_topic(1), on_topic(2)], background)
        often.fit([on_topic(1), on_topic(2), *[on_topic(1)] * 9], background)
        assert once.save() == often.save()

    def test_examples_in_the_background_are_not_background(self) -> None:
        documents = [off_topic(i) for i in range(50)]
        clean, mixed = BPrTFIDF(), BPrTFIDF()
        clean.fit([on_topic(1)], Background.from_documents(documents))
        mixed.fit([on_topic(1)], Background.from_documents([*documents, on_topic(1)]))
        assert clean.save() == mixed.save()

    def test_stem_of_one_example_is_chance_among_many(self) -> None:
        background = Background.from_documents(off_topic(i) for i in range(50))
        model = BPrTFIDF()
        model.fit([{**on_topic(i), **({"oncela": 50} if i == 0 else {})} for i in range(8)], background)
        assert model.relevance({"oncela": 50}) == 0.0


class TestState:
    def test_goes_on_from_saved_state(self) -> None:
        model, again = fitted(), BPrTFIDF()
        again.load(model.save())
        assert again.p == pytest.approx(model.p)
        assert again.relevance(on_topic(70)) == pytest.approx(model.relevance(on_topic(70)))

    def test_is_json_of_bounded_size(self) -> None:
        model = BPrTFIDF()
        model.fit([{f"w{i}": 1 for i in range(30_000)}], Background.shipped("en"))
        assert len(json.loads(model.save())["weights"]) == 20_000


def average_precision(scores: list[float], relevant: list[bool]) -> float:
    """Mean precision at the ranks of the relevant pages."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    hits, total = 0, 0.0
    for rank, i in enumerate(order, 1):
        if relevant[i]:
            hits += 1
            total += hits / rank
    return total / hits


def stems(text: str) -> dict[str, int]:
    words = (word for word in WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS)
    return dict(Counter(STEMMER.stemWords(list(words))))


@pytest.fixture(scope="module")
def crawl(shared: Path) -> list[dict[str, Any]]:
    table = parquet.read_table(shared / "focus" / "uci.parquet", columns=["id", "text", "topics", "depth"])
    return [row for row in table.to_pylist() if row["text"]]


@pytest.fixture(scope="module")
def judged(crawl: list[dict[str, Any]]) -> list[tuple[Terms, list[str]]]:
    return [(stems(row["text"]), row["topics"]) for row in crawl if row["id"] % 4 == 0]


@pytest.fixture(scope="module")
def backgrounds(crawl: list[dict[str, Any]]) -> dict[str, Background]:
    others = [row for row in crawl if row["id"] % 4]
    first = sorted((row for row in others if row["depth"] >= 0), key=lambda row: row["depth"])[:60]
    shipped = Background.shipped("en")
    return {
        "shipped": shipped,
        "shipped and first 60 pages": shipped.with_documents(stems(row["text"]) for row in first),
        "3,000 pages": Background.from_documents(stems(row["text"]) for row in Random(7).sample(others, 3000)),
    }


@pytest.mark.shared
class TestUniversityCrawl:
    """``focus/uci.parquet``: 30 examples of a topic from three quarters of the pages, ranking every fourth page."""

    @pytest.mark.parametrize(
        ("background", "floors"),
        [
            ("shipped", {"machine_learning": 0.50, "teaching": 0.60, "courses": 0.66}),
            ("shipped and first 60 pages", {"machine_learning": 0.62, "teaching": 0.62, "courses": 0.72}),
            ("3,000 pages", {"machine_learning": 0.70, "teaching": 0.66, "courses": 0.74}),
        ],
    )
    def test_average_precision(
        self,
        crawl: list[dict[str, Any]],
        judged: list[tuple[Terms, list[str]]],
        backgrounds: dict[str, Background],
        background: str,
        floors: dict[str, float],
    ) -> None:
        for topic, floor in floors.items():
            candidates = [row for row in crawl if row["id"] % 4 and topic in row["topics"]]
            precisions = []
            for draw in range(3):
                examples = [stems(row["text"]) for row in Random(draw).sample(candidates, 30)]
                model = BPrTFIDF()
                model.fit(examples, backgrounds[background])
                scores = [model.relevance(terms) for terms, _ in judged]
                precisions.append(average_precision(scores, [topic in topics for _, topics in judged]))
            assert mean(precisions) >= floor, topic
