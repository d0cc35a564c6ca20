"""``scrapy replica lab calibrate``: pairs and their weights, thresholds, and what a person gets."""

from __future__ import annotations

import csv
import io
import json
import random
import sys
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command_line import replica
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scrapy.settings import Settings
from web import page, record, text

from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.lab.calibration import figures, pairs
from scrapy_replica.lab.calibration.disagreements import as_page, as_row, disagreements
from scrapy_replica.lab.calibration.figures import LEGACY_DISTANCE, Reference
from scrapy_replica.lab.calibration.pairs import Pairs, draw, thinned
from scrapy_replica.lab.calibration.prints import PageText, Prints
from scrapy_replica.lab.commands.texts import Texts


def prints_of(texts, min_words=1):
    prints = Prints(io.BytesIO(), min_words)
    prints.extend(PageText(f"http://a.example/{number}", each) for number, each in enumerate(texts))
    return prints


def crowd(n, seed=0):
    """Pages of which many are copies of others, with some words changed."""
    rng = random.Random(seed)
    texts = []
    for number in range(n):
        words = text(number).split() if number < n // 3 else rng.choice(texts).split()
        for _ in range(rng.choice([0, 0, 1, 2, 8])):
            words[rng.randrange(len(words))] = f"x{rng.randrange(1000)}"
        texts.append(" ".join(words))
    return texts


def slow_pairs(prints):
    """Every pair with both differences, one at a time."""
    simhashes, minhashes = prints.simhashes.tolist(), prints.minhashes.tolist()
    for a, b in combinations(range(len(prints)), 2):
        legacy = sum(x != y for x, y in zip(minhashes[a], minhashes[b], strict=True))
        yield a, b, legacy, (simhashes[a] ^ simhashes[b]).bit_count()


def drawn_pairs(drawn):
    ends = zip(drawn.left.tolist(), drawn.right.tolist(), strict=True)
    return [(min(end), max(end)) for end in ends]


@pytest.fixture(scope="module")
def prints():
    return prints_of(crowd(60))


@pytest.fixture(scope="module")
def every(prints):
    return {(a, b): (legacy, simhash) for a, b, legacy, simhash in slow_pairs(prints)}


class TestDraw:
    def test_all_pairs_where_they_are_no_more(self, prints, every):
        drawn = draw(prints, len(every), np.random.default_rng(0))
        assert sorted(drawn_pairs(drawn)) == sorted(every)
        assert drawn.weight.tolist() == [1] * len(every)

    @pytest.mark.parametrize("most", [40, 300, 1_500])
    def test_no_pair_twice_and_both_differences_are_right(self, prints, every, most):
        drawn = draw(prints, most, np.random.default_rng(1))
        ends = drawn_pairs(drawn)
        assert 0 < len(ends) <= most
        assert len(set(ends)) == len(ends)
        measured = list(zip(drawn.legacy.tolist(), drawn.simhash.tolist(), strict=True))
        assert measured == [every[pair] for pair in ends]

    def test_near_pairs_are_all_there_where_there_is_room(self):
        texts = [text(number) for number in range(80)]
        copies = [texts[0], *(each.replace(each.split()[5], "else") for each in texts[1:6]), texts[1]]
        prints = prints_of(texts + copies)
        drawn = draw(prints, 3_000, np.random.default_rng(2))
        near = {(a, b) for a, b, legacy, simhash in slow_pairs(prints) if simhash <= 7 or legacy <= LEGACY_DISTANCE}
        weights = dict(zip(drawn_pairs(drawn), drawn.weight.tolist(), strict=True))
        assert {(0, 80), (1, 86)} < near <= set(weights)
        assert {weights[pair] for pair in near} == {1}
        assert max(weights.values()) > 1

    @pytest.mark.parametrize("most", [60, 400])
    def test_weights_estimate_all_pairs_without_bias(self, prints, every, most):
        """Each pair's weight, summed over many draws, is the number of draws: it counts once."""
        number = {pair: place for place, pair in enumerate(every)}
        draws, sums = 200, np.zeros(len(every))
        for seed in range(draws):
            drawn = draw(prints, most, np.random.default_rng(seed))
            np.add.at(sums, [number[pair] for pair in drawn_pairs(drawn)], drawn.weight)
        is_near = np.array([simhash <= 7 or legacy <= LEGACY_DISTANCE for legacy, simhash in every.values()])
        for part in (is_near, ~is_near):
            assert sums[part].mean() / draws == pytest.approx(1, rel=0.1)

    @settings(max_examples=40)
    @given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 100))
    def test_large_blocks_are_thinned_to_one_number(self, sizes, most):
        most = max(most, sum(size > 0 for size in sizes))
        taken = thinned(np.array(sizes), most).tolist()
        levels = (level for level in range(max(sizes), -1, -1) if sum(min(size, level) for size in sizes) <= most)
        level = next(levels)
        assert taken == [min(size, level) for size in sizes]

    @pytest.mark.parametrize(("size", "take"), [(1, 1), (7, 3), (12, 4), (10, 10), (13, 12)])
    def test_each_place_of_a_block_is_taken_from_equally_many_starts(self, size, take):
        class Start:
            def integers(self, low, high):
                assert (low, high.tolist()) == (0, [size])
                return np.array([self.start])

        counts, rng = np.zeros(size, int), Start()
        for rng.start in range(size):
            places = pairs.every_nth(np.array([size]), np.array([take]), rng)
            assert len(set(places.tolist())) == take
            counts[places] += 1
        assert counts.tolist() == [take] * size

    def test_places_in_a_triangle(self):
        left, right = pairs.in_triangle(np.arange(45))
        assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == sorted(combinations(range(10), 2))
        far = np.array([10**13 * (10**13 - 1) // 2 - 1, 10**9 * (10**9 - 1) // 2])
        assert [each.tolist() for each in pairs.in_triangle(far[1:])] == [[0], [10**9]]

    def test_equal_pages_alone(self):
        drawn = draw(prints_of(["one and the same text"] * 30), 100, np.random.default_rng(0))
        assert set(drawn.simhash.tolist()) == {0} == set(drawn.legacy.tolist())
        assert drawn.weight.sum() == pytest.approx(435, rel=0.02)


def some_pairs(rows):
    """Pairs of (legacy, simhash, weight)."""
    legacy, simhash, weight = (np.array(column) for column in zip(*rows, strict=True))
    places = np.arange(len(rows))
    return Pairs(places, places + 1, legacy.astype(np.uint8), simhash.astype(np.uint8), weight.astype(np.float32))


CELLS = st.lists(st.tuples(st.integers(0, 128), st.integers(0, 64), st.integers(1, 5)), min_size=1, max_size=30)


class TestFigures:
    @settings(max_examples=40)
    @given(CELLS)
    def test_thresholds_equal_the_slow_count(self, cells):
        drawn = some_pairs(cells)
        for row in figures.as_rows({"legacy": figures.legacy_reference(drawn)}):
            bits = row["bits"]
            assert row["legacy_found"] == sum(w for _, s, w in cells if s <= bits)
            assert row["legacy_false"] == sum(w for x, s, w in cells if s <= bits and x > LEGACY_DISTANCE)
            assert row["legacy_missed"] == sum(w for x, s, w in cells if s > bits and x <= LEGACY_DISTANCE)
            assert row["legacy_at_this"] == sum(w for _, s, w in cells if s == bits)

    @settings(max_examples=40)
    @given(CELLS, st.data())
    def test_labels_count_where_both_pages_have_one(self, cells, data):
        drawn = some_pairs(cells)
        clusters = data.draw(st.lists(st.integers(-1, 2), min_size=len(cells) + 1, max_size=len(cells) + 1))
        last = figures.as_rows({"labels": figures.true_reference(drawn, np.array(clusters))})[64]
        ends = list(zip(clusters, clusters[1:], cells, strict=False))
        assert last["labels_found"] == sum(w for a, b, (_, _, w) in ends if min(a, b) >= 0)
        assert last["labels_false"] == sum(w for a, b, (_, _, w) in ends if min(a, b) >= 0 and a != b)

    @settings(max_examples=20)
    @given(CELLS, st.integers(0, 7))
    def test_quadrants_hold_all_pairs(self, cells, near_distance):
        counts = figures.histogram(some_pairs(cells))
        corners = figures.quadrants(counts, near_distance)
        assert sum(corners.values()) == counts.sum() == sum(w for *_, w in cells)
        assert corners["simhash_alone"] == sum(w for x, s, w in cells if s <= near_distance and x > LEGACY_DISTANCE)

    @pytest.mark.parametrize(
        ("false", "drawn", "rate", "recommended"),
        [
            ([0, 1, 1, 2, 3, 90, 0, 0], 100, 0.02, 3),
            ([0, 1, 1, 2, 3, 90, 0, 0], 100, 0.03, 4),
            ([0, 0, 0, 0, 0, 0, 0, 0], 100, 0.02, 7),
            ([5, 0, 0, 0, 0, 0, 0, 0], 100, 0.02, None),
            ([0, 0, 0, 0, 0, 0, 0, 0], 49, 0.02, None),
        ],
    )
    def test_no_bit_up_to_the_recommended_one_is_worse(self, false, drawn, rate, recommended):
        others = np.array([*false, *[100.0] * 57])
        reference = Reference(100 - others, others, np.full(65, float(drawn)))
        assert reference.recommended(rate) == recommended

    def test_the_bits_of_few_pairs_end_the_search(self):
        drawn = np.array([500.0, 80, 80, 3, 80, *[80.0] * 60])
        assert Reference(drawn, np.zeros(65), drawn).recommended(0.02) == 2


class TestDisagreements:
    DRAWN = some_pairs([(128, 3, 1), (0, 40, 1), (90, 7, 1), (127, 7, 1), (25, 9, 1), (26, 8, 1), (25, 7, 1)])

    def test_the_worst_of_each_kind_first_and_a_page_once(self):
        found = disagreements(self.DRAWN, None)
        assert [(each.kind, each.legacy, each.simhash) for each in found] == [
            ("false", 128, 3),
            ("false", 127, 7),
            ("missed", 0, 40),
            ("missed", 25, 9),
        ]

    def test_texts_stand_side_by_side_and_do_nothing(self):
        texts = ["same line of text\n<script>alert(1)</script>", "same line of text\nanother line"]
        prints = Prints(io.BytesIO(), 1)
        prints.extend(map(PageText, ["javascript:alert(2)", "http://b.example/?a=1&b=2"], texts))
        found = disagreements(some_pairs([(128, 3, 1)]), np.array([4, 4]))
        shown = as_page(found, prints)
        assert "labels: one page" in shown
        assert "<script>" not in shown
        assert "href='javascript" not in shown
        assert "<a href='http://b.example/?a=1&amp;b=2'>" in shown
        assert "<td>same line of text</td>" in shown
        assert "<td class=own>another line</td>" in shown
        assert "content=\"default-src 'none'; " in shown

    @pytest.mark.parametrize(
        ("url", "cell"),
        [
            ("http://u:pw@a.example/?token=abc", "http://***@a.example/?token=***"),
            ("http://a.example/\x1b[2J'>\u202e", "http://a.example/ &#x27;&gt;"),
            ("http://[a.example/", "<a href='http://[a.example/'>http://[a.example/</a>"),
            ("http://a.example/'onclick='x", "<a href='http://a.example/&#x27;onclick=&#x27;x'>"),
            ("java\tscript:alert(1)", "java script:alert(1)"),
            ("/pages/a\0'.html", "<a href='file:///pages/a%00%27.html'>/pages/a &#x27;.html</a>"),
        ],
    )
    def test_a_url_is_a_link_only_where_it_does_nothing_and_has_no_secret(self, url, cell):
        prints = Prints(io.BytesIO(), 1)
        text = "see https://a.example/?password=abc \x1b]0;title\x07 </td>"
        prints.extend([PageText(url, text), PageText("http://b.example/", "another text")])
        found = disagreements(some_pairs([(128, 3, 1)]), None)
        shown = as_page(found, prints)
        assert f"<th>{cell}" in shown
        assert "<td class=own>see https://a.example/?password=*** &lt;/td&gt;</td>" in shown
        assert shown.isprintable()
        assert "abc" not in f"{shown}{as_row(found[0], prints)}"


# The command


calibrate = partial(replica, "lab", "calibrate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """HTML files: each of 20 pages three times, one of them with a word changed; labels by page."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "html").mkdir()
    labels = ["url,cluster"]
    for number in range(20):
        for copy in range(3):
            words = page(seed=number, words=200).replace("<p>", "<p>changed " if copy == 2 else "<p>")
            file = folder / "html" / f"{number}-{copy}.html"
            file.write_text(words)
            labels.append(f"{file.as_posix()},{number}")
    (folder / "labels.csv").write_text("\n".join(labels) + "\n")
    return folder


@pytest.fixture
def one_extractor():
    """The whole page, so that a page of one paragraph is its text."""
    return "-s", "REPLICA_NOISE=none"


@pytest.fixture
def no_picture(monkeypatch):
    """What a bare install has, which takes half a second less."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def rows_of(file):
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


class TestCommand:
    def test_what_a_person_gets(self, folder, tmp_path, one_extractor):
        out = tmp_path / "out"
        given = folder / "html", "--labels", folder / "labels.csv", "--out", out, "--false-duplicates", 0.05
        code, told, said = calibrate(*given, *one_extractor)
        assert (code, said) == (0, "")
        assert "REPLICA_NEAR_DISTANCE = 0 no bit brings more than 5 % false duplicates by\nthe labels; it is 3." in told
        assert max(map(len, told.splitlines()[:14])) <= 80
        names = "calibration.json calibration.png calibration.svg histogram.csv pairs.csv pairs.html thresholds.csv"
        assert sorted(file.name for file in out.iterdir()) == names.split()
        assert (out / "calibration.png").read_bytes()[:4] == b"\x89PNG"
        cells = rows_of(out / "histogram.csv")
        assert sum(float(cell["pairs"]) for cell in cells) == 60 * 59 / 2
        thresholds = rows_of(out / "thresholds.csv")
        assert [row["bits"] for row in thresholds] == [str(bits) for bits in range(65)]
        assert float(thresholds[64]["labels_missed"]) == 0
        assert float(thresholds[64]["labels_found"]) - float(thresholds[64]["labels_false"]) == 20 * 3

    @pytest.mark.usefixtures("no_picture")
    def test_figures_as_json_are_those_of_the_file(self, folder, tmp_path, one_extractor):
        code, told, _ = calibrate(folder / "html", "--out", tmp_path / "o", "--json", *one_extractor)
        result = json.loads(told)
        assert code == 1  # of 20 pairs of equal simhash nobody can tell a share of 2 %
        assert result == json.loads((tmp_path / "o" / "calibration.json").read_text())
        found = result["figures"]
        assert (found["pages"], found["pairs"], found["recommended.legacy"]) == (60, 1770, None)
        assert found["quadrant.both"] + found["quadrant.legacy_alone"] == 60
        assert sum(value for name, value in found.items() if name.startswith("quadrant.")) == 1770

    @pytest.mark.usefixtures("no_picture")
    def test_the_same_pages_as_warc_and_parquet_and_text(self, tmp_path, one_extractor):
        texts = [text(n, 40) for n in range(4)] * 2
        urls = [f"http://a.example/{n}" for n in range(8)]
        html = [f"<p>{each}</p>" for each in texts]
        records = b"".join(map(record, urls, html))
        (tmp_path / "warc").mkdir()
        (tmp_path / "warc" / "a.warc.gz").write_bytes(records + record(urls[0], "<p>another capture</p>"))
        (tmp_path / "txt").mkdir()
        for number, each in enumerate(texts):
            (tmp_path / "txt" / f"{number}.txt").write_text(each)
        parquet.write_table(pa.table({"url": urls, "text": texts}), tmp_path / "texts.parquet")
        parquet.write_table(pa.table({"url": urls, "html": html}), tmp_path / "html.parquet")
        found = []
        for number, name in enumerate(("warc", "warc/a.warc.gz", "txt", "texts.parquet", "html.parquet")):
            out = tmp_path / str(number)
            assert calibrate(tmp_path / name, "--out", out, *one_extractor)[0] == 1
            found.append(rows_of(out / "histogram.csv"))
        assert found == [found[0]] * 5
        assert found[0][0] == {"legacy": "0", "simhash": "0", "pairs": "4.0", "drawn": "4"}

    def test_decoded_html_is_not_decoded_again(self, tmp_path):
        """A table of texts and one of bytes, of pages that name their encoding."""
        words = "<meta charset=iso-8859-1><p>Über die Maße"
        for name, html in (("texts", words), ("bytes", words.encode("iso-8859-1"))):
            parquet.write_table(pa.table({"url": ["http://a.example/"], "html": [html]}), tmp_path / f"{name}.parquet")
            read = Texts([str(tmp_path / f"{name}.parquet")], Settings({"REPLICA_NOISE": "none"}))
            assert [page.text.strip() for page in read] == ["Über die Maße"]

    def test_rows_without_a_url_are_counted(self, tmp_path):
        table = pa.table({"url": [None, "http://a.example/", ""], "text": ["some text"] * 3})
        parquet.write_table(table, tmp_path / "pages.parquet")
        texts = Texts([str(tmp_path / "pages.parquet")], Settings())
        assert [page.url for page in texts] == ["http://a.example/"]
        assert texts.counts == {"bad_records": 2}

    @pytest.mark.usefixtures("no_picture")
    def test_a_warc_that_breaks_off_is_used_as_far_as_it_goes(self, tmp_path, caplog, one_extractor):
        whole = b"".join(record(f"http://a.example/{n}", page(seed=n)) for n in range(6))
        (tmp_path / "a.warc.gz").write_bytes(whole[:-60])
        code, told, _ = calibrate(tmp_path / "a.warc.gz", "--out", tmp_path / "o", "--json", *one_extractor)
        assert code == 1
        assert json.loads(told)["figures"]["pages"] == 5
        assert "a.warc.gz" in caplog.text

    @pytest.mark.usefixtures("no_picture")
    def test_without_matplotlib_all_but_the_picture(self, folder, tmp_path, one_extractor):
        code, _, said = calibrate(folder / "html", "--out", tmp_path / "o", *one_extractor)
        assert code == 1
        assert said == "no picture is drawn, for that needs matplotlib: pip install 'scrapy-replica[report]'\n"
        assert not list((tmp_path / "o").glob("calibration.[ps][nv]g"))
        assert (tmp_path / "o" / "calibration.json").is_file()

    @pytest.mark.parametrize(
        ("pages", "told"),
        [
            ([], "0 page(s) to compare (0 of fewer than 20 words, 0 without text): a pair takes two"),
            ([page(seed=1)], "1 page(s) to compare (0 of fewer than 20 words, 0 without text): a pair takes two"),
            (["<p>few words</p>", "", "<p></p>"], "0 page(s) to compare (1 of fewer than 20 words, 2 without text)"),
        ],
    )
    def test_too_few_pages(self, tmp_path, one_extractor, pages, told):
        rows = {"url": [f"http://a.example/{n}" for n in range(len(pages))], "html": pages}
        schema = pa.schema([("url", pa.string()), ("html", pa.string())])
        parquet.write_table(pa.table(rows, schema), tmp_path / "pages.parquet")
        code, out, said = calibrate(tmp_path / "pages.parquet", "--out", tmp_path / "o", *one_extractor)
        assert (code, out) == (1, "")
        assert told in said
        assert said.count("\n") == 1

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["nowhere"], "nowhere: there is no such file or folder"),
            (["empty"], "empty: there is no .html, .htm, .txt, .parquet, .warc or .warc.gz file in it"),
            (["job"], "job is a job, which keeps simhashes of pages but not their texts: give the WARC files"),
            (["notes.pdf"], "notes.pdf: pages are read from folders, .parquet and .warc and .warc.gz files"),
            (["broken.parquet"], "broken.parquet is a broken Parquet file"),
            (["numbers.parquet"], "numbers.parquet: it takes the columns url and text (or html); it has n"),
            (["typed.parquet"], "typed.parquet: the column 'text' holds int; it takes text"),
            (["broken.warc"], "broken.warc is no WARC file"),
            (["html", "--labels", "nowhere.csv"], "--labels: there is no file nowhere.csv"),
            (["html", "--labels", "notes.pdf"], "notes.pdf: labels are a CSV file with the columns url and cluster"),
            (["html", "--labels", "far.csv"], "far.csv names none of the pages: url must be written as in html/1.html"),
            (["html", "--labels", "broken.csv.gz"], "broken.csv.gz is no CSV file of url,cluster"),
            (["html", "--labels", "garbled.csv.gz"], "garbled.csv.gz is no CSV file of url,cluster"),
            (["html", "--false-duplicates", "2"], "--false-duplicates is 2.0: it must be 0.0001 to 0.5"),
            (["html", "--out", "notes.pdf"], "notes.pdf: nothing can be written there: File exists"),
            (["html", "--out", "/dev/null/out"], "/dev/null/out: nothing can be written there: Not a directory"),
        ],
    )
    def test_bad_input_is_told_in_one_line(self, tmp_path, monkeypatch, arguments, told):
        monkeypatch.chdir(tmp_path)
        for name in ("empty", "job", "html"):
            (tmp_path / name).mkdir()
        SqliteCrawlDB(tmp_path / "job").close()
        for number in (1, 2):
            (tmp_path / "html" / f"{number}.html").write_text(page(seed=number))
        for name in ("notes.pdf", "broken.parquet", "broken.warc"):
            (tmp_path / name).write_text("nothing of the kind")
        parquet.write_table(pa.table({"n": [1, 2]}), tmp_path / "numbers.parquet")
        parquet.write_table(pa.table({"url": ["a", "b"], "text": [1, 2]}), tmp_path / "typed.parquet")
        (tmp_path / "far.csv").write_text("url,label\nhttp://far.example/,1\n")
        (tmp_path / "broken.csv.gz").write_bytes(b"\x1f\x8b\x08")
        (tmp_path / "garbled.csv.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\3nothing of the kind")
        code, out, said = calibrate(*arguments[:1], "--out", "out", *arguments[1:])
        assert (code, out, said.count("\n")) == (2, "", 1)
        assert said.startswith(f"scrapy replica lab calibrate: {told}")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
    def test_a_full_disk_is_told_in_one_line(self, folder, tmp_path, monkeypatch, one_extractor):
        with Path("/dev/full").open("wb", buffering=0) as full:
            monkeypatch.setattr("scrapy_replica.lab.commands.calibrate.TemporaryFile", lambda **_: full)
            code, out, said = calibrate(folder / "html", "--out", tmp_path / "o", *one_extractor)
        assert (code, out) == (2, "")
        told = f"{tmp_path / 'o'}: nothing can be written there: No space left on device"
        assert said == f"scrapy replica lab calibrate: {told}\n"
