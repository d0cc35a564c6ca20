from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web import text

from scrapy_replica.lab.pages.noise import GoldPage, evaluate, lcs_scores, read_pages, score, side_by_side, words_of
from scrapy_replica.pages.extractor import shipped


def slow_lcs(first, second):
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


class TestLcsScores:
    @given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
    def test_common_words_in_order_over_found_and_gold(self, found, gold):
        precision, recall, f1 = lcs_scores(found, gold)
        if found or gold:
            common = slow_lcs(found, gold)
            assert precision == pytest.approx(common / max(len(found), 1))
            assert recall == pytest.approx(common / max(len(gold), 1))
            assert f1 == pytest.approx(2 * common / (len(found) + len(gold)))
        else:
            assert (precision, recall, f1) == (1, 1, 1)


@pytest.fixture
def folder(tmp_path):
    for kind, name, content in (("html", "1.html", "<body><p>One Two three"), ("gold", "1.txt", "one, two")):
        (tmp_path / "small" / kind).mkdir(parents=True)
        (tmp_path / "small" / kind / name).write_text(content)
    return tmp_path


class TestEvaluate:
    def test_figures_of_the_whole_page(self, folder):
        figures = evaluate(folder, ["whole-page"])
        assert figures["whole-page.small.precision"] == pytest.approx(200 / 3)
        assert figures["whole-page.small.recall"] == 100
        assert figures["whole-page.mean.f1"] == pytest.approx(80)
        assert figures["whole-page.failures"] == 0

    def test_a_failure_is_a_page_with_no_text_and_is_counted(self, folder):
        def broken(html):
            raise RuntimeError("no text")

        result = score(broken, read_pages(folder)[0])
        assert result.has_failed
        assert result.f1 == 0

    def test_one_set_leaves_nothing_to_train_on(self, folder):
        with pytest.raises(ValueError, match="one set only"):
            evaluate(folder, ["learned"])

    def test_a_folder_without_pages_is_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="has no <set>/gold"):
            evaluate(tmp_path)

    def test_the_shipped_extractor_needs_no_other_set(self, folder, tmp_path):
        figures = evaluate(folder, ["learned"], is_leave_set_out=False, picture=tmp_path / "pages.html")
        assert figures["learned.small.recall"] == 100
        assert "small/1" in (tmp_path / "pages.html").read_text()

    def test_side_by_side_marks_what_is_kept_and_what_is_gold(self, tmp_path):
        story = "".join(f"<p>{text(n, 40)} &lt;{n}&gt;.</p>" for n in range(4))
        menu = f"<div class=nav><ul>{'<li><a href=/>Menu</a></li>' * 9}</ul></div>"
        html = f"<body>{menu}<div class=article>{story}<p>{text('late', 40)}</p></div>"
        pages = [GoldPage("small", "1", html.encode(), words_of(f"{text(0, 40)} {text(1, 40)} {text('late', 40)}"))]
        side_by_side(pages, {"small": shipped()}, tmp_path / "pages.html")
        shown = (tmp_path / "pages.html").read_text()
        assert 3 * f"<td class='kept'>{text(0, 40)} &lt;0&gt;.</td>" in shown
        wrong = f"<td class='wrong'>{text(2, 40)} &lt;2&gt;.</td>"
        assert 2 * wrong + wrong.replace("wrong", "") in shown
        assert "<summary>9 blocks left out by all</summary>Menu | Menu" in shown
