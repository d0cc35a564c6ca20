from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from command_line import replica
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from web import text

pytest.importorskip("sklearn")

from scrapy_replica.lab.pages.form_changes import few
from scrapy_replica.lab.pages.form_results import LabelledPage, read_framed, read_pages, visible_elements
from scrapy_replica.lab.replicas.five_attributes import PUBLISHED, Confusion, attributes, confusion
from scrapy_replica.pages.hidden_web import node_features, own_matches
from scrapy_replica.pages.noise import composite_text_densities, count
from scrapy_replica.pages.text_tree import read_text_tree

TABLE_4_4 = {
    "e4s": (98.3, 98.4, 98.3),
    "missing": (99.7, 99.7, 99.6),
    "pubs": (99.8, 99.8, 99.8),
    "drinkgenius": (99.8, 99.8, 99.8),
    "onlinerace": (99.2, 99.2, 99.2),
    "posteritati": (99.7, 99.7, 99.6),
    "book": (97.5, 98.3, 97.5),
    "career": (98.7, 98.5, 98.5),
    "mldb": (96.6, 95.6, 95.9),
}
"""Published precision, recall and F1, weighted over both classes."""


class TestConfusion:
    @pytest.mark.parametrize("data_set", PUBLISHED)
    def test_the_published_matrices_give_the_published_measures(self, data_set):
        found = Confusion(*PUBLISHED[data_set]).measures()
        measured = [round(100 * found[f"weighted_{measure}"], 1) for measure in ("precision", "recall", "f1")]
        assert measured == list(TABLE_4_4[data_set])

    @given(st.lists(st.tuples(st.booleans(), st.booleans())))
    def test_counts_elements_one_by_one(self, elements):
        found, truth = (np.array([element[side] for element in elements], dtype=bool) for side in (0, 1))
        counted = {"NN": 0, "NC": 0, "CC": 0, "CN": 0}
        for called, is_content in elements:
            counted["NC"[is_content] + "NC"[called]] += 1
        assert list(confusion(found, truth)) == list(counted.values())


class TestAttributes:
    def test_are_the_five_of_the_document(self):
        root = html.document_fromstring(
            "<body><p>nome <b>nome aprovado</b></p><div><a href=/>Julia nome</a> text</div>"
        )
        tree = read_text_tree(root)
        rows = node_features(tree, own_matches(tree, {"nome", "aprovado"}))
        found = attributes(LabelledPage("v-s", tree, rows, np.zeros(5, dtype=bool)))
        density = dict(zip(tree.tags, composite_text_densities(count(tree)).tolist(), strict=True))
        assert found == pytest.approx(
            np.array(
                [
                    [density["body"], density["p"] + density["div"], 1 / 2 + 2 / 3 + 1 / 3, 0, 0],
                    [density["p"], density["b"], 1 + 2 / 2, 1, 1],
                    [density["b"], 0, 2, 2, 2],
                    [density["div"], density["a"], 1 / 2, 0, 1],
                    [density["a"], 0, 1, 1, 2],
                ]
            )
        )
        below = attributes(LabelledPage("v-s", tree, rows, np.zeros(5, dtype=bool)), over_descendants=True)
        assert below[0, 1] == pytest.approx(sum(density.values()) - density["body"])
        assert below[:, [0, 2, 3, 4]].tolist() == found[:, [0, 2, 3, 4]].tolist()


def test_elements_are_those_of_the_text_tree():
    root = html.document_fromstring(
        "<body><div style='display: none'><p>x</div><script>y</script><!-- z --><p>a<b>b</b></p><my-box>c</my-box>"
    )
    assert [element.tag for element in visible_elements(root)] == read_text_tree(root).tags


def council(folder, name, n_pages=3):
    """A site whose pages list twelve records under a menu."""
    site = folder / "councils" / name
    for part in ("pages", "truth"):
        (site / part).mkdir(parents=True)
    (site / "queries.csv").write_text("field,value,assigned_from\nstreet,oak,form\n")
    for n in range(n_pages):
        menu = "".join(f"<li><a href=/{i}>Menu {i}</a></li>" for i in range(15))
        rows = "".join(f"<tr><td>{text((name, n, i), 9)}</td><td>Oak street {i}</td></tr>" for i in range(12))
        page = f"<body><ul>{menu}</ul><table>{rows}</table><div>{'<p>x</p>' * 20}</div>"
        (site / "pages" / f"{n}.html").write_text(page)
        (site / "truth" / f"{n}.json").write_text(json.dumps({"records": [{"record_xpath": "//tr"}]}))


def detail(folder, name):
    """A site whose one page has a record amid its menu."""
    site = folder / "swde" / name
    for part in ("pages", "truth"):
        (site / part).mkdir(parents=True)
    menu = "".join(f"<li>Home {i}" for i in range(40))
    (site / "pages" / "0.html").write_text(f"<body><ul>{menu}</ul><div><h1>A car</h1><p>Its price</div><p>Imprint")
    (site / "truth" / "0.json").write_text(json.dumps({"attr_lca_xpath": "//div"}))


class TestChanges:
    def test_few_records_or_a_frame_of_another_site(self, tmp_path):
        council(tmp_path, "a-one")
        detail(tmp_path, "cars")
        for pages, n_records in ((read_pages(tmp_path, few), (1, 2, 3)), (read_framed(tmp_path), (12, 12, 12))):
            assert [page.is_content.sum() for page in pages] == [3 * n for n in n_records]
        tags = read_framed(tmp_path)[0].tree.tags
        assert tags.count("li") == 40
        assert "h1" not in tags
        assert tags[-1] == "p"


command = partial(replica, "lab", "forms")


class TestCommand:
    def test_figures_of_every_split_site_and_vendor(self, tmp_path):
        for name in ("a-one", "a-two", "b-one"):
            council(tmp_path, name)
        code, out, _ = command(tmp_path, "--json")
        figures = json.loads(out)["figures"]
        assert code == 0
        n_content, n_noise = 3 * 3 * 12 * 3, 3 * 3 * (1 + 1 + 30 + 1 + 1 + 20)
        for split in ("site", "vendor"):
            groups = (
                [f"five.{split}"],
                [f"five.{split}.a", f"five.{split}.b"],
                [f"five.{split}.a-{s}" for s in ("one", "two")],
            )
            sums = [
                [sum(figures[f"{group}.{field}"] for group in names) for field in Confusion._fields] for names in groups
            ]
            assert sums[0] == sums[1]
            assert sums[2] == [figures[f"five.{split}.a.{field}"] for field in Confusion._fields]
            assert (sums[0][0] + sums[0][1], sums[0][2] + sums[0][3]) == (n_noise, n_content)
            assert figures[f"five.{split}.content_f1"] > 0.9
        judged = sum(figures[f"five.rows.{field}"] for field in Confusion._fields)
        assert judged == pytest.approx(0.34 * (n_content + n_noise), abs=3)
        assert figures["published.book.content_f1"] == pytest.approx(2 * 11 / (2 * 11 + 9 + 266))

        code, out, _ = command(tmp_path)
        assert code == 0
        assert max(map(len, out.splitlines())) <= 80
        assert "the same, sum over descendants" in out
        assert [line.split()[1:5] for line in out.splitlines() if line.startswith("book ")] == [
            ["15,438", "9", "11", "266"]
        ]

    @pytest.mark.parametrize(("names", "says"), [(["a-one"], "one site only"), (["a-one", "a-two"], "one vendor only")])
    def test_nothing_to_leave_out_is_one_line(self, tmp_path, names, says):
        for name in names:
            council(tmp_path, name, n_pages=1)
        code, out, error = command(tmp_path)
        assert (code, out) == (2, "")
        assert says in error
        assert error.count("\n") == 1
