from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, html

from scrapy_replica.pages.hidden_web import (
    MAX_ELEMENTS,
    MAX_LEVELS,
    hidden_web_text,
    own_matches,
    query_scores,
)
from scrapy_replica.pages.text_tree import read_text_tree

EXAMPLE = """<body><p> Nome do candidato aprovado </p><table><tr id="tr1"><td id="td1"> Julia </td>
<td id="td2"> Marcelo </td></tr><tr id="tr2"><td id="td3"> Silvia </td></tr></table></body>"""
QUERY = {"nome", "marcelo", "bruno", "amanda", "aprovado", "s", "n"}


class TestQueryScore:
    def test_the_worked_example_of_the_document(self):
        root = html.document_fromstring(EXAMPLE)
        tree = read_text_tree(root)
        scores = query_scores(tree.parents, own_matches(tree, QUERY))
        names = [element.get("id") or element.tag for element in root.find("body").iter()]
        expected = {"body": 1.25, "p": 2, "table": 1 / 3, "tr1": 0.5, "td1": 0, "td2": 1, "tr2": 0, "td3": 0}
        assert dict(zip(names, scores.tolist(), strict=True)) == pytest.approx(expected)

    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 3)), min_size=1, max_size=40))
    def test_is_the_sum_over_all_texts_below(self, nodes):
        parents = [-1] + [draw % place for place, (draw, _) in enumerate(nodes[1:], 1)]
        matches = np.array([float(count) for _, count in nodes])

        def slow(entry):
            total = 0.0
            for below in range(len(parents)):
                levels, at = 1, below
                while at not in {entry, -1}:
                    at, levels = parents[at], levels + 1
                if at == entry and levels <= MAX_LEVELS:
                    total += matches[below] / levels
            return total

        assert query_scores(parents, matches).tolist() == pytest.approx([slow(entry) for entry in range(len(parents))])


class TestHiddenWebText:
    def test_a_page_without_text_has_no_content(self):
        assert hidden_web_text(html.document_fromstring("<body><img src=x>"), QUERY) == ""

    @pytest.mark.parametrize(
        "markup",
        [
            "<body>marcelo",
            "<a href=/>Marcelo</a>" * 500,
            "<pre>nome marcelo</pre>" * 50,
            "<table>" + "<tr><td>مرحبا بالعالم<td>漢字漢字" * 50,
            "<my-record><my-cell>marcelo</my-cell></my-record>" * 50,
            "<svg><text>x</text></svg><math><mi>y</mi></math><template>z</template><noscript>u</noscript>",
            "<div>" * 100_000 + "marcelo",
            "<!-- x --><?y z?><p hidden>a<p aria-hidden=true>b<p style='display:none'>c",
            "<td></p></div><tr>marcelo</table>" * 50,
        ],
    )
    def test_odd_pages_are_read_and_not_changed(self, markup):
        root = etree.fromstring(markup, etree.HTMLParser(huge_tree=True))
        before = etree.tostring(root)
        assert isinstance(hidden_web_text(root, QUERY), str)
        assert etree.tostring(root) == before

    def test_a_page_of_too_many_elements_is_not_judged(self):
        rows = "<tr><td>Marcelo Silva aprovado<td>nome do candidato" * 40
        small, large = (
            html.document_fromstring(f"<body><table>{rows}</table><p>{'<b></b>' * n}") for n in (10, MAX_ELEMENTS)
        )
        assert "Marcelo" in hidden_web_text(small, QUERY)
        assert hidden_web_text(large, QUERY) == ""
