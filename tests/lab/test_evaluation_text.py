from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scrapy.cmdline import execute

from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.lab.texts import text, text_crawl

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
    def test_svmc_without_a_strong_negative_says_yes_to_everything(self) -> None:
        pytest.importorskip("sklearn")
        words = [{f"w{number % 3}": 1, f"w{(number + (number % 5 == 0)) % 3}": 1} for number in range(400)]
        rows = [{**each, f"n{number}": 1} for number, each in enumerate(words)]
        parts = text.divide(rows, [number % 5 == 0 for number in range(400)], SPLIT, 0)
        found = text.measure("1-dnf", parts)
        assert (found["precision"], found["recall"], found["own_f1"]) == (pytest.approx(42 / 232), 1.0, 0.0)

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


@pytest.fixture
def newsgroups(tmp_path: Path) -> Path:
    """A file like 20 Newsgroups: 760 posts on hockey, 5,800 others, of eight words each."""
    pa = pytest.importorskip("pyarrow")
    chance = np.random.default_rng(1)
    groups = ["rec.sport.hockey"] * 760 + ["talk.politics"] * 5800
    sport, other = [f"puck{c}" for c in "abcdefghijklmnop"], [f"tax{c}{d}" for c in "abcdefgh" for d in "abcdefgh"]
    texts = [
        " ".join(["the", *chance.choice(other, 5), *chance.choice(sport if "hockey" in group else other, 3)])
        for group in groups
    ]
    file = tmp_path / "posts.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"newsgroup": groups, "text": texts}), file)
    return file


class TestEvaluate:
    def test_figures_beside_the_published_ones_and_the_split(self, newsgroups: Path) -> None:
        result = text.evaluate(newsgroups, ["bprtfidf-strict", "elkan-noto"], splits=2)
        values = result["figures"]
        assert {name: size for name, size in values.items() if name.startswith("split.")} == {
            "split.labelled": 300,
            "split.unlabelled": 3000,
            "split.hidden": 300,
            "split.validation_positive": 100,
            "split.validation_other": 1280,
            "split.test_positive": 60,
            "split.test_other": 1780,
        }
        assert values["bprtfidf-strict.published"] == 0.87
        assert values["bprtfidf-strict-with-stop-words.published"] == 0.85
        assert 0.0 < values["bprtfidf-strict.f1_sd"] < 0.2
        assert values["elkan-noto.f1"] > 0.9
        assert values["elkan-noto-with-stop-words.own_f1"] > 0.8
        printed = text.table(result)
        assert "300 labelled, 3000 unlabelled (hiding 300)" in printed
        assert "validation 100 / 1280, test 60 / 1780, means over 2 splits" in printed
        assert len(printed.splitlines()) == 3 + 4
        assert max(map(len, printed.splitlines())) <= 80

    def test_a_mean_is_that_of_the_splits(self, newsgroups: Path) -> None:
        rows = text._read(newsgroups)
        labels = [group == "rec.sport.hockey" for group in rows["newsgroup"]]
        documents = [text.count_terms(each) for each in rows["text"]]
        parts = [text.divide(documents, labels, text.NEWSGROUPS, seed) for seed in range(2)]
        alone = [text.measure("bprtfidf-strict", each)["f1"] for each in parts]
        found = text.evaluate(newsgroups, ["bprtfidf-strict"], 2, [True])["figures"]
        assert found["bprtfidf-strict.f1"] == pytest.approx(sum(alone) / 2)
        assert found["bprtfidf-strict.f1_sd"] == pytest.approx(abs(alone[0] - alone[1]) / 2**0.5)

    def test_no_splits_are_refused(self, newsgroups: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as end:
            execute(["scrapy", "replica", "lab", "text", str(newsgroups), "--splits", "0"])
        assert end.value.code == 2
        assert "--splits is 0: it must be at least 1" in capsys.readouterr().err

    def test_without_scikit_learn_the_extra_is_named_in_one_line(
        self, newsgroups: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("sklearn", "sklearn.svm", "scipy", "scipy.sparse"):
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(SystemExit) as end:
            execute(["scrapy", "replica", "lab", "text", str(newsgroups)])
        assert end.value.code == 2
        error = capsys.readouterr().err
        assert "needs scikit-learn: pip install 'scrapy-replica[lab]'" in error
        assert error.count("\n") == 1


class TestCrawl:
    """A site of 300 pages, every tenth on the topic, in its own words."""

    @pytest.fixture
    def crawled(self, tmp_path: Path) -> Path:
        pa = pytest.importorskip("pyarrow")
        chance = np.random.default_rng(2)
        labels = [page % 10 == 3 for page in range(300)]
        words = [[f"markov{letter}" for letter in "abcdefgh"], [f"plant{letter}" for letter in "abcdefghijklmnop"]]
        columns = {
            "url": [f"http://a.org/{page}" for page in range(300)],
            "text": [" ".join([*chance.choice(words[not yes], 5), chance.choice(words[1])]) for yes in labels],
            "outlinks": [chance.integers(0, 300, 8).tolist() for _ in range(300)],
            "anchors": [["link"] * 8] * 300,
            "topics": [["ml"] if yes else [] for yes in labels],
        }
        written = pa.table(columns).replace_schema_metadata({"seeds": "[0]"})
        pytest.importorskip("pyarrow.parquet").write_table(written, tmp_path / "crawl.parquet")
        return tmp_path / "crawl.parquet"

    def test_models_that_know_the_topic_rank_it_first(
        self, crawled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("sklearn")
        monkeypatch.setitem(text.MODELS, "mean", Blind)
        found = text_crawl.evaluate(crawled, "ml", ["bprtfidf-strict", "bprtfidf", "mean"], draws=2)["figures"]
        assert found["bprtfidf-strict.average_precision"] == 1.0
        assert found["mean.average_precision"] == pytest.approx(15 / 285)
        assert found["bprtfidf.pref"] > found["mean.pref"]
        with pytest.raises(SystemExit) as end:
            execute(["scrapy", "replica", "lab", "text", str(crawled), "--topic", "ml", "--splits", "1"])
        assert not end.value.code
        printed = capsys.readouterr().out.splitlines()
        assert printed[0] == "crawl.parquet, topic ml (30 pages), 1 draws"
        assert {line.split()[0] for line in printed[2:]} == {*text_crawl.CRAWLED}
        assert max(map(len, printed)) <= 80


class Blind(Relevance):
    """To whom all pages are alike."""

    def relevance(self, terms: Mapping[str, int]) -> float:
        return 0.3


@pytest.mark.shared
class TestAccuracy:
    """F1 with stop words taken out, the split of seed 0; measured figures stand behind the floors."""

    @pytest.mark.parametrize(
        ("file", "floors"),
        [
            (
                "20news_bydate",
                {"cosine": 0.92, "bprtfidf-strict": 0.94, "bprtfidf": 0.90, "elkan-noto": 0.94, "mean": 0.93},
            ),
            ("webkb", {"cosine": 0.73, "bprtfidf-strict": 0.61, "bprtfidf": 0.73, "elkan-noto": 0.78, "mean": 0.76}),
        ],
    )  # .949 .955 .915 .954 .946; .756 .636 .745 .805 .782
    def test_floors(self, shared: Path, file: str, floors: dict[str, float]) -> None:
        figures = text.evaluate(shared / "text" / f"{file}.parquet", list(floors), 1, [True])["figures"]
        assert {name: figures[f"{name}.f1"] for name, floor in floors.items() if figures[f"{name}.f1"] < floor} == {}
