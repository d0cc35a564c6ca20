from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import replica

from scrapy_replica.lab.visits import visits


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    chance = np.random.default_rng(2)
    size = 300
    on_topic = [page % 10 == 3 for page in range(size)]
    columns = {
        "url": [f"http://a.org/{'ml' if yes else 'x'}/{page}" for page, yes in enumerate(on_topic)],
        "text": ["markov chain model" if yes else f"garden flower plant{page}" for page, yes in enumerate(on_topic)],
        "outlinks": [chance.integers(0, size, 8).tolist() for _ in range(size)],
        "topics": [["ml"] if yes else [] for yes in on_topic],
    }
    columns["anchors"] = [["link"] * len(row) for row in columns["outlinks"]]
    table = pa.table(columns).replace_schema_metadata({"seeds": json.dumps([0])})
    parquet.write_table(table, tmp_path / "crawl.parquet")
    return tmp_path / "crawl.parquet"


class TestEvaluate:
    def test_every_strategy_beside_its_bounds(self, crawl: Path, tmp_path: Path) -> None:
        names = ("breadth-first", "best-first-anchors", "omniscient")
        result = visits.evaluate(crawl, "ml", names, draws=2, labelled=5, background=100, cache=tmp_path)
        values = result["figures"]
        assert values["omniscient.pref"] >= values["best-first-anchors.pref"] > values["breadth-first.pref"]
        assert values["omniscient.pref_min"] <= values["omniscient.pref"] <= values["omniscient.pref_max"]
        assert set(result["curves"]) == set(names)
        again = visits.evaluate(crawl, "ml", names, draws=2, labelled=5, background=100, cache=tmp_path)
        changing = {key for key in values if key.endswith((".seconds", ".peak_mb"))}
        assert {k: v for k, v in again["figures"].items() if k not in changing} == {
            k: v for k, v in values.items() if k not in changing
        }
        assert "best-first-anchors" in visits.table(result)

    def test_a_topic_alone_is_learnt_from_the_pages_of_the_visit(self, crawl: Path, tmp_path: Path) -> None:
        names = ("breadth-first", "best-first-anchors", "link-aware")
        result = visits.evaluate(crawl, "ml", names, draws=2, labelled=5, background=0, cache=tmp_path)
        values = result["figures"]
        assert values["link-aware.pref"] > values["breadth-first.pref"] + 0.1
        assert result["inputs"]["background"] == 0
        again = visits.evaluate(crawl, "ml", names[2:], draws=2, labelled=5, background=0, cache=tmp_path)["figures"]
        assert again["link-aware.pref"] == values["link-aware.pref"]

    def test_a_topic_of_one_page_is_refused(self, crawl: Path) -> None:
        collection = visits.read(crawl)
        with pytest.raises(ValueError, match="at least two"):
            visits.draw(collection, np.arange(300) == 4, 0, 5, 100)

    def test_a_file_that_is_no_crawl_is_refused(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"url": ["a"]}), tmp_path / "x.parquet")
        with pytest.raises(ValueError, match="not a labelled crawl"):
            visits.evaluate(tmp_path / "x.parquet", "ml")


class TestSignFlip:
    def test_three_equal_signs_give_a_quarter(self) -> None:
        assert visits.sign_flip_p(np.array([0.1, 0.2, 0.1])) == 0.25

    def test_no_difference_gives_one(self) -> None:
        assert visits.sign_flip_p(np.zeros(4)) == 1.0


@pytest.mark.shared
class TestAccuracy:
    def test_link_aware_beats_best_first_on_mdn(self, shared: Path) -> None:
        names = ("link-aware", "best-first-anchors")
        values = visits.evaluate(shared / "focus" / "mdn_archived.parquet", "build_dev", names, draws=1)["figures"]
        assert values["link-aware.pref"] >= 0.90  # .92 measured, best-first with anchors .87
        # .018 measured; above .02 before a return waited until most of what lies behind a page is explored.
        assert values["link-aware.over.best-first-anchors.pref"] > 0.015


evaluate = partial(replica, "lab")


class TestCommand:
    NAMES = ("--strategies", "breadth-first", "link-aware", "omniscient", "--draws", "2")

    def test_json_has_the_figures_and_the_plot_is_drawn(self, crawl: Path, tmp_path: Path) -> None:
        plot = tmp_path / "curves.png"
        arguments = (str(crawl), "--topic", "ml", *self.NAMES, "--json", "--plot", str(plot))
        code, out, _ = evaluate("visits", *arguments)
        result = json.loads(out)
        assert code == 0
        assert result["figures"]["omniscient.pref"] >= result["figures"]["link-aware.pref"]
        assert result["inputs"]["topic"] == "ml"
        assert plot.read_bytes().startswith(b"\x89PNG")

    def test_a_cap_bounds_the_visit(self, crawl: Path) -> None:
        code, out, _ = evaluate("visits", str(crawl), "--topic", "ml", *self.NAMES, "--cap-host", "100")
        assert code == 0
        assert "pages visited, at most 100 a host" in out
        assert "link-aware" in out

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("--topic", "mll"), "mll"),
            (("--topic", "ml", "--strategies", "worst-first"), "there is no strategy 'worst-first'"),
            (("--topic", "ml", "--draws", "0"), "--draws is 0"),
            (("--topic", "ml", "--examples", "0"), "--examples is 0"),
            (("--topic", "ml", "--unlabelled", "-1"), "--unlabelled is -1"),
        ],
    )
    def test_wrong_arguments_are_one_line(self, crawl: Path, arguments: tuple[str, ...], says: str) -> None:
        code, out, error = evaluate("visits", str(crawl), *arguments)
        assert (code, out) == (2, "")
        assert says in error
        assert error.count("\n") == 1

    def test_text_refuses_another_table(self, crawl: Path) -> None:
        code, _, error = evaluate("text", str(crawl))
        assert code == 2
        assert "neither 20 Newsgroups nor WebKB" in error
