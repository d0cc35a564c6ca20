from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command_line import replica
from hypothesis import given, settings
from hypothesis import strategies as st
from test_mining_inputs import warc_of

from scrapy_replica.lab.archives.collection import Collection, Documents, build
from scrapy_replica.lab.archives.direct import Batch, Cut, DirectArchive, Writer, codes, opened
from scrapy_replica.lab.archives.direct.cut import shallow, write_cut
from scrapy_replica.lab.archives.direct.sizes import columns, parts
from scrapy_replica.lab.visits import visits
from scrapy_replica.pages.terms import terms as count_terms

WORDS = st.text("abcdé", min_size=1, max_size=3)
PAGES = st.lists(
    st.tuples(
        st.text("ab/é?\ud800", max_size=4),
        st.text("ab \n", max_size=3),
        st.dictionaries(WORDS, st.integers(1, 70_000), max_size=12),
        st.lists(st.tuples(st.integers(0, 10**6), st.text("xy ", max_size=2)), max_size=8),
    ),
    max_size=80,
)
GRAPHS = st.lists(st.lists(st.integers(0, 39), max_size=6), min_size=1, max_size=40)


def made(pages: list) -> Collection:
    urls = [(f"http://h{len(url)}.org/{url}", title, terms) for url, title, terms, _ in pages]
    links = [[(target % len(pages), text) for target, text in row] for *_, row in pages]
    labels = {"even": range(0, len(pages), 2), "none": []}
    return build(urls, links, [0] if pages else [], labels)


def of_graph(graph: list[list[int]], hosts: int) -> Collection:
    pages = [(f"http://h{page % hosts}.org/{page}", f"t{page}", {f"w{page}": 2, "w": 1}) for page in range(len(graph))]
    links = [[(target % len(graph), f"to {target}") for target in row] for row in graph]
    return build(pages, links, [0, len(graph) - 1], {"odd": range(1, len(graph), 2)})


def written(collection: Collection, folder: Path, sizes: tuple[int, ...] = (20,)) -> DirectArchive:
    with Writer(folder, collection.vocabulary, collection.anchor_texts) as writer:
        first = 0
        while first < len(collection):
            stop = min(len(collection), first + sizes[first % len(sizes)])
            writer.add(collection.columns.part(first, stop))
            first = stop
        writer.finish(collection.seeds.tolist(), collection.labels)
    return DirectArchive(folder)


def assert_equal(found: Documents, wanted: Documents) -> None:
    assert list(found.urls) == list(wanted.urls)
    assert (found.hosts, found.seeds.tolist()) == (wanted.hosts, wanted.seeds.tolist())
    assert {k: v.tolist() for k, v in found.labels.items()} == {k: v.tolist() for k, v in wanted.labels.items()}
    assert [found.page(page) for page in range(len(found))] == [wanted.page(page) for page in range(len(wanted))]
    assert [found.links(page) for page in range(len(found))] == [wanted.links(page) for page in range(len(wanted))]
    assert [column.tolist() for column in found.graph()] == [column.tolist() for column in wanted.graph()]


def table_of(folder: Path, **changed: list) -> Path:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns = {
        "url": ["http://a.org/1", "http://a.org/2"],
        "text": ["red wine", "white wine"],
        "outlinks": [[1], []],
        "anchors": [["to"], []],
        "topics": [["wine"], []],
    }
    pq.write_table(pa.table(columns | changed), folder / "web.parquet")
    return folder / "web.parquet"


class TestArchive:
    @settings(max_examples=40)
    @given(PAGES, st.lists(st.integers(1, 50), min_size=1, max_size=3))
    def test_reads_what_was_written(self, pages: list, sizes: list[int]) -> None:
        wanted = made(pages)
        with tempfile.TemporaryDirectory() as folder:
            found = written(wanted, Path(folder), tuple(sizes))
            assert_equal(found, wanted)
            urls = list(wanted.urls)
            for number, (url, title, terms, links) in enumerate(pages):
                first: dict[int, str] = {}
                for target, text in links:
                    first.setdefault(target % len(pages), text)
                first.pop(number, None)
                page = found.page(number)
                assert (page.url[-len(url) or len(page.url) :], page.title) == (url, title or None)
                assert page.terms == {word: min(count, 65_535) for word, count in terms.items()}
                assert (found.links(number), [link.text for link in page.links]) == (list(first), list(first.values()))
                assert found.number(urls[number]) == urls.index(urls[number])
            assert found.number("http://nowhere.org/") is None

    def test_term_ids_are_ranks_by_pages(self, tmp_path: Path) -> None:
        found = written(of_graph([[], [], []], 1), tmp_path)
        assert found.vocabulary[0] == "w"
        assert found.term_ids(2).tolist() == [0, 3]
        assert found.term_counts(2).tolist() == [1, 2]

    def test_a_page_with_a_million_links(self, tmp_path: Path) -> None:
        size, links, none = 20_000, 1_000_000, np.zeros(0, np.int32)
        link_start = np.full(size + 1, links)
        link_start[0] = 0
        with Writer(tmp_path, ["a"]) as writer:
            urls = [f"http://a.org/{page}" for page in range(size)]
            writer.add(Batch(urls, np.zeros(size + 1, int), none, none, link_start, np.arange(links)[::-1] % size))
            writer.finish([0], {})
        found = DirectArchive(tmp_path)
        assert found.links(0) == list(range(size - 1, 0, -1))
        assert found.links(1) == found.links(size - 1) == []

    def test_a_link_to_no_page(self, tmp_path: Path) -> None:
        none = np.zeros(0, np.int32)
        with Writer(tmp_path, []) as writer:
            writer.add(Batch(["u"], np.zeros(2, int), none, none, np.array([0, 1]), np.array([1])))
            with pytest.raises(ValueError, match="a link leads to page 1, there are 1 pages"):
                writer.finish([], {})
            writer.add(Batch(["v"], np.zeros(2, int), none, none, np.zeros(2, int), none))
            writer.finish([], {})
        assert DirectArchive(tmp_path).links(0) == [1]

    @pytest.mark.parametrize(
        ("batch", "told"),
        [
            (
                Batch(["u"], np.array([0, 1]), np.array([7]), np.array([1]), np.zeros(2, int), np.zeros(0, int)),
                "term 7",
            ),
            (Batch(["u"], np.array([0, 2]), np.array([0, 0]), np.ones(2), np.zeros(2, int), np.zeros(0, int)), "twice"),
            (
                Batch(["u"], np.array([0, 2]), np.array([0]), np.ones(1), np.zeros(2, int), np.zeros(0, int)),
                "does not fit",
            ),
            (
                Batch(["u"], np.zeros(2, int), np.zeros(0, int), np.zeros(0, int), np.array([0, 1]), np.array([-2])),
                "page -2",
            ),
            (
                Batch(
                    ["u"], np.zeros(2, int), np.zeros(0), np.zeros(0), np.array([0, 1]), np.array([3]), np.array([9])
                ),
                "anchor 9",
            ),
        ],
    )
    def test_columns_that_do_not_fit(self, tmp_path: Path, batch: Batch, told: str) -> None:
        with pytest.raises(ValueError, match=told), Writer(tmp_path, ["a"]) as writer:
            writer.add(batch)

    def test_seeds_and_labels_are_pages(self, tmp_path: Path) -> None:
        for name, seeds, labels in (("a", [1], {}), ("b", [0], {"x": [-1]})):
            with pytest.raises(ValueError, match="there are 0 pages"), Writer(tmp_path / name, []) as writer:
                writer.finish(seeds, labels)

    def test_an_interrupted_build_says_what_to_delete(self, tmp_path: Path) -> None:
        folder = tmp_path / "a"
        with pytest.raises(KeyboardInterrupt), Writer(folder, ["a"]):
            raise KeyboardInterrupt
        with pytest.raises(ValueError, match=f"delete {folder} and build it again"):
            DirectArchive(folder)
        with pytest.raises(ValueError, match="delete it if it is of a build that was interrupted"):
            Writer(folder, ["a"])

    def test_a_file_that_is_cut_off(self, tmp_path: Path) -> None:
        written(of_graph([[1], [0]], 1), tmp_path)
        (tmp_path / "pages.blocks").write_bytes(b"half")
        with pytest.raises(ValueError, match=r"pages.blocks has 4 bytes of \d+: build the archive again"):
            DirectArchive(tmp_path)


class TestCut:
    @settings(max_examples=60)
    @given(GRAPHS, st.integers(1, 4), st.integers(1, 8), st.integers(0, 4), st.none() | st.integers(1, 20))
    def test_shallow_crawl_as_told(self, graph: list, hosts: int, per_host: int, depth: int, pages: int | None) -> None:
        collection = of_graph(graph, hosts)
        order: list[int] = []
        waiting = collection.seeds.tolist()

        def enter(page: int, at: int) -> None:
            host = collection.hosts[page]
            is_full = [collection.hosts[taken] for taken in order].count(host) >= per_host
            if page in order or is_full or (pages is not None and len(order) >= pages):
                return
            order.append(page)
            waiting.extend(target for target in collection.links(page) if collection.hosts[target] != host)
            for target in collection.links(page) if at < depth else ():
                if collection.hosts[target] == host:
                    enter(target, at + 1)

        while waiting:
            enter(waiting.pop(0), 0)
        assert shallow(collection, per_host, depth, pages).tolist() == order

    @settings(max_examples=20)
    @given(GRAPHS, st.sets(st.integers(0, 39)))
    def test_a_cut_is_the_collection_of_its_pages(self, graph: list, chosen: set) -> None:
        whole = of_graph(graph, 3)
        pages = sorted(page % len(graph) for page in chosen if page % len(graph) == page)
        numbers = {page: number for number, page in enumerate(pages)}
        with tempfile.TemporaryDirectory() as folder:
            archive = written(whole, Path(folder) / "whole")
            write_cut(archive, np.array(pages, dtype=np.int64), Path(folder) / "cut")
            found = opened(Path(folder) / "cut")
            assert isinstance(found, Cut)
            assert list(found.urls) == [whole.urls[page] for page in pages]
            assert found.labels["odd"].tolist() == [numbers[page] for page in pages if page % 2]
            for number, page in enumerate(pages):
                links = [link for link in whole.page(page).links if whole.number(link.url) in numbers]
                assert found.terms(number) == whole.terms(page)
                assert [(link.url, link.text) for link in found.page(number).links] == [link[:2] for link in links]
                assert found.number(whole.urls[page]) == number
            outside = set(range(len(graph))) - set(pages)
            assert all(found.number(whole.urls[page]) is None for page in outside)
            wanted = [np.array(found.links(number), int).tolist() for number in range(len(found))]
            start, targets = found.graph()
            assert [targets[a:b].tolist() for a, b in pairwise(start)] == wanted

    def test_a_whole_that_changed_is_refused(self, tmp_path: Path) -> None:
        archive = written(of_graph([[1], [0]], 1), tmp_path / "whole")
        write_cut(archive, np.array([1]), tmp_path / "cut")
        (tmp_path / "whole").rename(tmp_path / "old")
        with pytest.raises(ValueError, match="there is no archive any more"):
            opened(tmp_path / "cut")
        written(of_graph([[1], [0], []], 1), tmp_path / "whole")
        with pytest.raises(ValueError, match="cut it again"):
            opened(tmp_path / "cut")


def minimal_binary(y: int, z: int) -> str:
    """The y-th of z words: those of the shorter length first, as long as they stay free of prefixes."""
    length = math.ceil(math.log2(z)) if z > 1 else 0
    short = 2**length - z
    if y < short:
        return format(y, f"0{length - 1}b") if length > 1 else ""
    return format(y + short, f"0{length}b") if length else ""


def zeta_word(x: int, k: int) -> str:
    h = 0
    while x >= 2 ** ((h + 1) * k):
        h += 1
    return "0" * h + "1" + minimal_binary(x - 2 ** (h * k), 2 ** ((h + 1) * k) - 2 ** (h * k))


def golomb_word(x: int, b: int) -> str:
    return "0" * ((x - 1) // b) + "1" + minimal_binary((x - 1) % b, b)


class TestCodes:
    @given(st.lists(st.integers(1, 2**31), min_size=1, max_size=20), st.integers(1, 5))
    def test_zeta_lengths_are_those_of_the_words(self, numbers: list[int], k: int) -> None:
        assert codes.zeta(np.array(numbers), k).tolist() == [len(zeta_word(x, k)) for x in numbers]

    @given(st.lists(st.integers(1, 5_000), min_size=1, max_size=20), st.integers(1, 70))
    def test_golomb_lengths_are_those_of_the_words(self, numbers: list[int], b: int) -> None:
        assert codes.golomb(np.array(numbers), b).tolist() == [len(golomb_word(x, b)) for x in numbers]

    def test_words_as_published(self) -> None:
        # Boldi & Vigna 2004, table 1: the codes of 1 to 8.
        assert [zeta_word(x, 1) for x in range(1, 5)] == ["1", "010", "011", "00100"]
        assert [zeta_word(x, 2) for x in range(1, 9)] == [
            "10", "110", "111", "01000", "01001", "01010", "01011", "011000",
        ]  # fmt: skip
        assert [zeta_word(x, 3) for x in range(1, 5)] == ["100", "1010", "1011", "1100"]

    @pytest.mark.parametrize(
        "words",
        [[zeta_word(x, k) for x in range(1, 300)] for k in (1, 2, 3)] + [[golomb_word(x, 5) for x in range(1, 99)]],
    )
    def test_no_word_begins_another(self, words: list[str]) -> None:
        ordered = sorted(words)
        assert not any(b.startswith(a) for a, b in pairwise(ordered))

    def test_golomb_parameter_is_the_best(self) -> None:
        for p in (0.5, 0.1, 0.03):
            gaps = np.arange(1, 2_000)
            weights = p * (1 - p) ** (gaps - 1)
            costs = [float(codes.golomb(gaps, b) @ weights) for b in range(1, 60)]
            assert costs[codes.golomb_parameter(p) - 1] <= min(costs) * 1.01
        assert codes.golomb_parameter(1.0) == 1

    @pytest.mark.parametrize("k", [0.8, 1.1, 2.0])
    def test_exponent_of_a_sample(self, k: float) -> None:
        law = np.arange(1, 10_001) ** -k
        drawn = np.random.default_rng(1).choice(10_000, 20_000, p=law / law.sum()) + 1
        assert abs(codes.exponent(drawn, np.ones_like(drawn), 10_000) - k) < 0.02

    def test_exponent_of_ones_and_entropy(self) -> None:
        assert codes.exponent(np.array([1]), np.array([5]), 9) == math.inf
        assert codes.entropy(np.array([3, 3, 5, 5])) == 4.0
        assert codes.entropy(np.zeros(0, int)) == 0.0

    def test_theorem_1_as_printed(self) -> None:
        lengths, longest, alpha, terms, s = np.array([3, 5, 2]), 5, 1.2, 7, 1.1
        wanted = 0.0
        for drawn, highest, k in ((3, longest, alpha), (10, terms, s)):
            norm = sum(i**-k for i in range(1, highest + 1))
            wanted += drawn * math.log2(math.e * norm)
            wanted += drawn / norm * sum(i**-k * math.log2(1 / i**-k) for i in range(1, highest + 1))
        assert codes.archive_bound(lengths, longest, alpha, terms, s) == pytest.approx(wanted)


class TestSizes:
    def test_columns_are_the_words_of_the_code(self, tmp_path: Path) -> None:
        collection = made([("a", "", {"x": 3, "y": 1}, [(1, ""), (2, "")]), ("b", "", {"y": 2}, []), ("c", "", {}, [])])
        archive = written(collection, tmp_path)
        y, x = 0, 1  # y is in two pages
        terms = zeta_word(y + 1, 2) + zeta_word(x - y, 2) + zeta_word(y + 1, 2)
        counts = "".join(zeta_word(count, 1) for count in (1, 3, 2))
        links = zeta_word(3, 1) + zeta_word(2 + 1, 3) + zeta_word(1, 3) + 2 * zeta_word(1, 1)
        found = columns(archive).sizes
        assert found["terms"].code == pytest.approx(len(terms) / 8 / 3)
        assert found["counts"].code == pytest.approx(len(counts) / 8 / 3)
        assert found["links"].code == pytest.approx(len(links) / 8 / 3)
        lengths = "".join(zeta_word(n + 1, 3) for n in (2, 1, 0))
        jump = len(lengths) + len(terms) + len(counts)
        skip = golomb_word(32, codes.golomb_parameter(1 / 32)) + zeta_word(jump, 3)
        assert found["lengths"].code == pytest.approx((len(lengths) + 3 + len(skip)) / 8 / 3)

    def test_parts_are_all_files(self, tmp_path: Path) -> None:
        archive = written(of_graph([[1], [0]], 1), tmp_path)
        assert sum(parts(archive).values()) * 2 == pytest.approx(
            sum(file.stat().st_size for file in tmp_path.iterdir())
        )

    def test_no_term_at_all(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="no page has a term"):
            columns(written(made([("a", "", {}, [])]), tmp_path))

    @pytest.mark.shared
    def test_bytes_of_real_pages(self, shared: Path, tmp_path: Path) -> None:
        rows = pytest.importorskip("pyarrow.parquet").read_table(shared / "focus/mdn_archived.parquet").slice(0, 400)
        urls, texts, targets = (rows.column(name).to_pylist() for name in ("url", "text", "outlinks"))
        links = [[(target, "") for target in row or () if target < len(urls)] for row in targets]
        pages = zip(urls, urls, map(count_terms, texts), strict=True)
        archive = written(build(pages, links, [0], {}), tmp_path)
        assert parts(archive)["terms, counts, links"] < 185  # bytes a page of 162 terms


@pytest.fixture(scope="module")
def warc(tmp_path_factory):
    """Ten pages; one of them captured twice, one moved, one gone, one empty."""
    off = "<a href='/old'>moved</a> <a href='http://x.example/'>off</a>"
    rows = [
        (
            f"http://a.example/{n}",
            200,
            f"<title>Page {n}</title>common page{n % 2} {'' if n % 3 else 'rare'}<a href='/{n + 1}'>next {n}</a>{off}",
        )
        for n in range(8)
    ]
    rows += [
        ("http://a.example/3", 200, "again"),
        ("http://a.example/gone", 404, "no"),
        ("http://a.example/8", 200, ""),
    ]
    path = warc_of(tmp_path_factory.mktemp("warc") / "web.warc.gz", rows)
    moved = b"HTTP/1.1 301 X\r\nLocation: /2\r\n\r\n"
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/old\r\n"
        "WARC-Date: 2026-01-31T09:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(moved)}\r\n\r\n"
    )
    plain = path.with_name("moved.warc")
    plain.write_bytes(head.encode() + moved + b"\r\n\r\n")
    return path, plain


class TestBuild:
    def test_warc_files(self, warc, tmp_path: Path) -> None:
        labels = tmp_path / "labels.csv"
        labels.write_text("url,label\nhttp://a.example/1,odd\nhttp://a.example/3,odd|big\nhttp://none.example/,odd\n")
        line = (
            *warc,
            "--labels",
            labels,
            "--seed",
            "http://a.example/old",
            "--max-share",
            1,
            "--out",
            tmp_path / "out",
        )
        code, out, err = replica("lab", "archive", "build", *line, "--json")
        assert code == 0, err
        figures = json.loads(out)["figures"]
        wanted = {"pages": 9, "duplicate_urls": 1, "redirects": 1, "other_statuses": 1, "bad_captures": 0}
        assert {name: figures[name] for name in wanted} == wanted
        found = DirectArchive(tmp_path / "out")
        assert found.seeds.tolist() == [2]
        assert {name: pages.tolist() for name, pages in found.labels.items()} == {"odd": [1, 3], "big": [3]}
        assert found.links(0) == [1, 2]  # the second by a redirect
        assert found.links(2) == [3]  # not to itself, wherever it has moved
        assert [link.text for link in found.page(0).links] == ["next 0", "moved"]
        assert found.title(5) == "Page 5"
        assert {path.name for path in tmp_path.iterdir()} == {"labels.csv", "out"}

    def test_terms_of_few_and_of_many_pages_are_left_out(self, warc, tmp_path: Path) -> None:
        kept = {}
        for name, least, most in (("all", 1, 1), ("few", 4, 1), ("many", 1, 0.5)):
            code, _, err = replica(
                "lab", "archive", "build", *warc, "--min-pages", least, "--max-share", most, "--out", tmp_path / name
            )
            assert code == 0, err
            kept[name] = DirectArchive(tmp_path / name)
        pages = Counter(word for page in range(9) for word in kept["all"].terms(page))
        assert set(kept["few"].vocabulary) == {word for word, n in pages.items() if n >= 4} < set(pages)
        assert set(kept["many"].vocabulary) == {word for word, n in pages.items() if n < 4.5} < set(pages)
        assert [pages[word] for word in kept["all"].vocabulary] == sorted(pages.values(), reverse=True)
        for page in range(9):
            whole = kept["all"].terms(page)
            assert kept["few"].terms(page) == {word: n for word, n in whole.items() if pages[word] >= 4}

    def test_a_visit_of_the_archive_is_that_of_the_parquet_file(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        chance = np.random.default_rng(2)
        columns_ = {
            "url": [f"http://h{page % 7}.org/{page}" for page in range(200)],
            "text": ["markov chain model" if page % 9 == 3 else f"garden plant{page % 50}" for page in range(200)],
            "outlinks": [chance.integers(0, 200, 6).tolist() for _ in range(200)],
            "topics": [["ml"] if page % 9 == 3 else None for page in range(200)],
            "anchors": [["link"] * 6 for _ in range(200)],
        }
        file = tmp_path / "crawl.parquet"
        table = pa.table(columns_).replace_schema_metadata({"seeds": json.dumps([4])})
        pytest.importorskip("pyarrow.parquet").write_table(table, file)
        code, _, err = replica(
            "lab", "archive", "build", file, "--min-pages", 1, "--max-share", 1, "--out", tmp_path / "out"
        )
        assert code == 0, err
        assert_equal(opened(tmp_path / "out"), visits.read(file))

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            (["build", "nothing.warc", "--out", "new"], "nothing.warc: there is no such file"),
            (["build", ".", "--out", "new"], "no WARC file below it"),
            (["build", "a.parquet", "a.parquet", "--out", "new"], "one Parquet file or of WARC files"),
            (["build", "a.parquet", "--seed", "http://x.org/", "--out", "new"], "--seed are for WARC files"),
            (["build", "a.parquet", "--min-pages", "0", "--out", "new"], "--min-pages is 0"),
            (["build", "a.parquet", "--max-share", "1.5", "--out", "new"], "--max-share is 1.5"),
            (["build", "a.parquet", "--out", "a.parquet"], "a.parquet is a file"),
            (["build", "a.parquet", "--out", "new"], "a.parquet"),
            (["show", "a.parquet"], "holds no archive"),
            (["sizes", "nothing"], "holds no archive"),
            (["cut", "nothing", "--pages-per-host", "0", "--depth", "1", "--out", "new"], "--pages-per-host is 0"),
        ],
    )
    def test_wrong_use_is_one_line(self, tmp_path: Path, monkeypatch, line: list[str], told: str) -> None:
        monkeypatch.chdir(tmp_path)
        Path("a.parquet").write_bytes(b"")
        code, _, err = replica("lab", "archive", *line)
        assert (code, err.count("\n")) == (2, 1)
        assert told in err
        assert not Path("new").exists()

    @pytest.mark.parametrize(
        ("changed", "told"),
        [
            ({"url": [None, "http://a.org/2"]}, "row 0 has no url"),
            ({"anchors": [["to"], ["to"]]}, "row 1 has 0 outlinks and 1 anchors"),
            ({"outlinks": [None, []]}, "row 0 has 0 outlinks and 1 anchors"),
            ({"outlinks": [["http://a.org/2"], []]}, "row 0 has outlinks that are no row numbers"),
            ({"outlinks": [[-7], []]}, "a link or seed is page -7: there are 2 pages"),
            ({"outlinks": [[2], []]}, "a link or seed is page 2: there are 2 pages"),
        ],
    )
    def test_wrong_rows_are_one_line_and_leave_nothing(self, tmp_path: Path, changed: dict, told: str) -> None:
        code, _, err = replica("lab", "archive", "build", table_of(tmp_path, **changed), "--out", tmp_path / "out")
        assert (code, err.count("\n")) == (2, 1)
        assert told in err
        assert "delete" not in err
        assert not (tmp_path / "out").exists()

    def test_a_label_a_page_need_not_be_a_list(self, tmp_path: Path) -> None:
        code, _, err = replica(
            "lab", "archive", "build", table_of(tmp_path, topics=["chess", None]), "--out", tmp_path / "out"
        )
        assert (code, err) == (0, "")
        assert {name: pages.tolist() for name, pages in opened(tmp_path / "out").labels.items()} == {"chess": [0]}

    def test_labels_without_url(self, warc, tmp_path: Path) -> None:
        (tmp_path / "labels.csv").write_text("label,url\nred\n")
        code, _, err = replica(
            "lab", "archive", "build", *warc, "--labels", tmp_path / "labels.csv", "--out", tmp_path / "out"
        )
        assert (code, err) == (0, "")

    def test_a_seed_that_is_no_page(self, warc, tmp_path: Path) -> None:
        code, _, err = replica(
            "lab", "archive", "build", *warc, "--seed", "http://x.example/", "--out", tmp_path / "out"
        )
        assert (code, err.count("\n")) == (2, 1)
        assert "the seed http://x.example/ is no page of the captures" in err
        assert not (tmp_path / "out").exists()

    def test_a_full_disk_is_one_line(self, warc, tmp_path: Path, monkeypatch) -> None:
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("scrapy_replica.lab.archives.direct.block.packed", full)
        code, _, err = replica("lab", "archive", "build", *warc, "--out", tmp_path / "out")
        assert (code, err.count("\n")) == (2, 1)
        assert f"{tmp_path / 'out'}: No space left on device; delete it" in err


class TestCommand:
    @pytest.fixture
    def archive(self, tmp_path: Path) -> Path:
        written(of_graph([[1, 2], [0, 3], [], [2]], 2), tmp_path / "archive")
        return tmp_path / "archive"

    def test_show(self, archive: Path) -> None:
        code, out, _ = replica("lab", "archive", "show", archive, "--json")
        told = json.loads(out)
        assert (code, told["labels"], told["figures"]["links_a_page"]) == (0, {"odd": 2}, 1.25)
        assert "odd" in replica("lab", "archive", "show", archive)[1]

    def test_only_part_of_an_archive_is_to_be_deleted(self, archive: Path, tmp_path: Path) -> None:
        around, nothing = (replica("lab", "archive", "show", folder)[2] for folder in (tmp_path, Path(__file__).parent))
        assert f"holds no archive, but {archive} does" in around
        assert "delete" not in around + nothing

    def test_show_a_page_by_url_and_number(self, archive: Path) -> None:
        by_number, by_url = (replica("lab", "archive", "show", archive, page) for page in ("1", "http://h1.org/1"))
        assert by_number == by_url
        assert "t1" in by_url[1]
        told = json.loads(replica("lab", "archive", "show", archive, "1", "--json")[1])
        assert (told["terms"], [link["page"] for link in told["links"]], told["labels"]) == (
            {"w": 1, "w1": 2},
            [0, 3],
            ["odd"],
        )
        assert (
            replica("lab", "archive", "show", archive, "4")[0]
            == replica("lab", "archive", "show", archive, "http://h9.org/")[0]
            == 1
        )

    def test_sizes(self, archive: Path) -> None:
        told = json.loads(replica("lab", "archive", "sizes", archive, "--json")[1])
        assert told["published"] == 268
        assert {"terms", "counts", "links", "lengths"} == set(told["columns"])
        out = replica("lab", "archive", "sizes", archive)[1]
        assert max(map(len, out.splitlines())) <= 80
        assert "zeta_2 of gaps" in out

    def test_lengths_are_drawn(self, archive: Path, tmp_path: Path) -> None:
        assert replica("lab", "archive", "sizes", archive, "--plot", tmp_path / "lengths.png")[0] == 0
        assert (tmp_path / "lengths.png").read_bytes()[:4] == b"\x89PNG"

    def test_cut(self, archive: Path, tmp_path: Path) -> None:
        line = ("cut", archive, "--pages-per-host", 1, "--depth", 1, "--out", tmp_path / "cut")
        assert json.loads(replica("lab", "archive", *line, "--json")[1])["figures"]["pages"] == 2
        assert len(opened(tmp_path / "cut")) == 2
        code, _, err = replica("lab", "archive", *line)
        assert (code, "delete it and" in err) == (2, False)
        code, _, err = replica("lab", "archive", *line[:-1], archive)
        assert (code, "delete" in err) == (2, False)
        assert len(opened(archive)) == 4
        code, _, err = replica("lab", "archive", "cut", tmp_path / "cut", *line[2:-1], tmp_path / "again")
        assert (code, f"is a cut: cut {archive}" in err) == (2, True)
        assert "is a cut: ask for the sizes of" in replica("lab", "archive", "sizes", tmp_path / "cut")[2]
