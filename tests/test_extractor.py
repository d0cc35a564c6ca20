from __future__ import annotations

import io
import statistics
import tarfile
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, html

from scrapy_replica.lab.pages.noise import lcs_scores, words_of
from scrapy_replica.lab.training.train_extractor import parse
from scrapy_replica.pages import extractor
from scrapy_replica.pages.blocks import read_blocks
from scrapy_replica.pages.extractor import best_cut, texts

SENTENCE = "The committee met on Tuesday and agreed, after a long debate, to publish the report in full. "
MENU = "<ul class=menu>" + "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(12)) + "</ul>"
ARTICLE = "".join(f"<p>{SENTENCE * 3}</p>" for _ in range(6))
PAGE = f"<body><nav>{MENU}</nav><div id=content><h1>A report</h1>{ARTICLE}</div><div id=footer>Copyright 2020</div>"


def text_of(markup: str) -> str:
    return texts(html.document_fromstring(markup)).main


class TestMainText:
    def test_the_article_without_the_menu_and_the_footer(self):
        text = text_of(PAGE)
        assert text.count("The committee met") == 18
        assert "Section" not in text
        assert "Copyright" not in text

    def test_an_empty_page_has_no_text(self):
        assert text_of("<body><script>x</script>") == ""

    @pytest.mark.parametrize(
        "markup",
        [
            "<body>word",
            f"<body>{MENU}",
            f"<body><pre>{SENTENCE}</pre>",
            f"<body><table><tr><td>{SENTENCE}</table>",
            f"<my-page><my-text>{SENTENCE}</my-text></my-page>",
            "<body dir=rtl><p>" + "اجتمعت اللجنة يوم الثلاثاء ووافقت على نشر التقرير كاملا. " * 5,
            "<body><p>" + "委员会星期二开会,经过长时间的辩论,同意全文发表报告。" * 5,
            f"<frameset><noframes><body><p>{SENTENCE}",
            f"<body><p aria-hidden=true>{SENTENCE}",
            f"<p>{SENTENCE}" + "<div>" * 100_000,
            f"<p>{SENTENCE}\x0b\x01",
        ],
    )
    def test_a_page_with_any_text_is_never_empty(self, markup):
        assert text_of(markup)

    @pytest.mark.parametrize(
        "markup",
        [
            "<p hidden>{}</p>",
            "<p style='display: none'>{}</p>",
            "<template><p>{}</p></template>",
            "<noscript><p>{}</p></noscript>",
            "<svg><text>{}</text></svg>",
            "<math><mtext>{}</mtext></math>",
        ],
    )
    def test_what_is_not_shown_is_never_kept(self, markup):
        text = text_of(f"<body>{ARTICLE}{markup.format('Not shown at all. ' + SENTENCE)}")
        assert "Not shown" not in text
        assert text.count("The committee met") == 18

    def test_a_tree_100_000_deep(self):
        root = etree.Element("div")
        # lxml climbs from an element that is let go to the nearest one that is held: hold all, let go from below.
        chain = [root]
        for _ in range(100_000):
            chain.append(etree.SubElement(chain[-1], "div"))
        chain[-1].text = SENTENCE
        assert texts(root).main == SENTENCE.strip()
        while chain:
            chain.pop()

    def test_text_in_attributes_is_no_text(self):
        assert text_of(f"<body><img alt='{SENTENCE}'><p title='{SENTENCE}'>word") == "word"

    def test_of_a_page_that_says_it_is_an_article_less_around_it_is_kept(self):
        teaser = "<h3><a href=/>A vote</a></h3><p>The council of town {} will vote on Monday on what to spend.</p>"
        teasers = "".join(f"<div class=card>{teaser.format(n)}</div>" for n in range(8))
        body = f"<body><div id=content><h1>A report</h1>{ARTICLE}</div><div>{teasers}</div>"
        kept = {kind: text_of(f"<meta property=og:type content={kind}>{body}") for kind in ("article", "website")}
        assert all(text.count("The committee met") == 18 for text in kept.values())
        assert kept["article"].count("will vote") < kept["website"].count("will vote")
        assert kept["article"].count("will vote") <= text_of(body).count("will vote")

    @pytest.mark.parametrize(
        ("meta", "declared"),
        [
            ("property=og:type content=article", "article"),
            ("name=og:type content=News.Article", "news.article"),
            ("property=og:type content=website", "website"),
            ("property=og:title content=article", ""),
            ("property=og:type", ""),
            ("content=article", ""),
        ],
    )
    def test_what_a_page_declares_to_be(self, meta, declared):
        assert read_blocks(html.document_fromstring(f"<head><meta {meta}></head><body>word")).declared == declared


def slow_best_cut(scores, words):
    order = sorted(range(len(scores)), key=lambda run: -scores[run])
    total = sum(s * w for s, w in zip(scores, words, strict=True))

    def expected(kept):
        return 2 * sum(scores[r] * words[r] for r in kept) / (sum(words[r] for r in kept) + total)

    return max(expected(order[:n]) for n in range(1, len(order) + 1))


class TestBestCut:
    @settings(max_examples=100)
    @given(st.lists(st.tuples(st.floats(0.01, 1), st.integers(1, 50)), min_size=1, max_size=12))
    def test_no_prefix_promises_more(self, runs):
        scores = np.array([score for score, _ in runs], np.float32)
        words = np.array([count for _, count in runs], np.float32)
        kept = best_cut(scores, words)
        got = 2 * (scores * words)[kept].sum() / (words[kept].sum() + (scores * words).sum())
        assert got == pytest.approx(slow_best_cut(scores.tolist(), words.tolist()), rel=1e-4)


class TestModelFile:
    def test_is_small_and_says_how_it_was_trained(self):
        assert extractor.MODEL_FILE.stat().st_size <= 100_000
        with np.load(extractor.MODEL_FILE, allow_pickle=False) as arrays:
            assert '"pages"' in str(arrays["record"])

    def test_probabilities_are_shares(self):
        scores = extractor.shipped().probabilities(read_blocks(html.document_fromstring(PAGE)))
        assert scores.min() >= 0
        assert scores.max() <= 1


@pytest.fixture(scope="module")
def content(shared):
    """Every sixth page of each set as (set, HTML, words of the gold text)."""
    zstandard = pytest.importorskip("zstandard")
    files: dict[str, bytes] = {}
    with (shared / "content" / "content.tar.zst").open("rb") as packed:
        stream = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(packed).read())
    with tarfile.open(fileobj=stream) as archive:
        for member in archive:
            if member.isfile():
                files[member.name.removeprefix("./")] = archive.extractfile(member).read()
    pages = defaultdict(list)
    for name in sorted(name for name in files if name.endswith(".txt") and "/gold/" in name):
        html_name = name.replace("/gold/", "/html/").removesuffix(".txt") + ".html"
        pages[name.partition("/")[0]].append((files[html_name], words_of(files[name].decode("utf-8", "replace"))))
    return {folder: some[::6] for folder, some in pages.items()}


@pytest.mark.shared
class TestFloors:
    """The shipped model on every sixth page of what it was trained on; docs/noise.rst has it on sets left out."""

    # Measured: .9459, .9663, .9837, .9065. The last was .9107 before pages that declare themselves other than an
    # article kept more: that helps on pages not learned from.
    @pytest.mark.parametrize(
        ("folder", "floor"),
        [("cleaneval", 0.944), ("cleaneval-dev", 0.964), ("scrapinghub", 0.981), ("wcxb-test", 0.905)],
    )
    def test_word_f1(self, content, folder, floor):
        scores = [lcs_scores(words_of(texts(parse(page)).main), gold)[2] for page, gold in content[folder]]
        assert statistics.mean(scores) >= floor
