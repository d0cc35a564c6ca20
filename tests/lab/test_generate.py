from __future__ import annotations

import csv
import errno
import gzip
import json
import subprocess
import sys
from collections import Counter, deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from scrapy_replica.commands.truth import Truth
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.lab.archives.batch import joined
from scrapy_replica.lab.archives.direct import DirectArchive
from scrapy_replica.lab.arrays import ragged
from scrapy_replica.lab.crawls.crawl_truth import HostTruth, PageTable
from scrapy_replica.lab.generation import build as building
from scrapy_replica.lab.generation import laws, measured
from scrapy_replica.lab.generation.archive import batch_of
from scrapy_replica.lab.generation.build import build
from scrapy_replica.lab.generation.links import in_order
from scrapy_replica.lab.generation.plan import CALENDAR, DUST, FACET, MIRRORED, PLAIN, make_plan, sums_to_root
from scrapy_replica.lab.generation.statistics import distances, exponent, statistics
from scrapy_replica.lab.generation.text import added, counted
from scrapy_replica.lab.generation.vocabulary import make_vocabulary, pseudo_word
from scrapy_replica.lab.generation.web import TOPICS, Web
from scrapy_replica.pages.terms import terms as count_terms
from scrapy_replica.warc.archive import Archive


def made(pages, seed=1):
    web = Web(pages, seed)
    return web, joined([batch_of(web, chunk) for chunk in web.chunks()])


@pytest.fixture(scope="module")
def large():
    return made(8_000)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One web of 400 pages, as archive and as WARC."""
    folder = tmp_path_factory.mktemp("webs")
    build(400, 6, folder / "archive", as_warc=False)
    build(400, 6, folder / "warc", as_warc=True)
    return folder


def table(folder):
    with gzip.open(folder / "pages.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def command(*arguments):
    line = [sys.executable, "-m", "scrapy", "replica", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


def rows_of(start, ids, counts):
    return [dict(zip(ids[a:b].tolist(), counts[a:b].tolist(), strict=True)) for a, b in pairwise(start.tolist())]


def links_of(batch):
    return [batch.targets[a:b].tolist() for a, b in pairwise(batch.link_start.tolist())]


class TestParts:
    @given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4))))
    def test_ragged_spans_lie_one_behind_the_other(self, spans):
        starts, lengths = (np.array([span[k] for span in spans], dtype=np.int64) for k in (0, 1))
        assert ragged(starts, lengths).tolist() == [s + k for s, n in spans for k in range(n)]

    @given(st.integers(1, 40), st.data())
    def test_a_sum_to_the_root_is_that_of_all_ancestors(self, n, data):
        parent = [0, *(data.draw(st.integers(0, node - 1)) for node in range(1, n))]
        value = data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
        expected = list(value)
        for node in range(1, n):
            expected[node] += expected[parent[node]]
        assert sums_to_root(np.array(parent), np.array(value)).tolist() == expected

    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6))))
    def test_words_are_counted_by_row(self, words):
        row, word = (np.array([pair[k] for pair in words], dtype=np.int32) for k in (0, 1))
        found = counted(6, row.astype(np.uint32), word)
        expected = [dict(sorted(Counter(w for r, w in words if r == k).items())) for k in range(6)]
        assert rows_of(found.start, found.ids, found.counts) == expected
        again = added(6, row, word, np.ones(len(word), np.int64))
        assert rows_of(again.start, again.ids, again.counts) == expected

    @given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, 9))))
    def test_of_links_to_one_page_the_first_stays(self, links):
        row, target, order = (np.array([link[k] for link in links], dtype=np.int64) for k in range(3))
        start, kept = in_order(row, target, order, 5)
        for r in range(5):
            expected = dict.fromkeys(t for _, t in sorted((o, t) for k, t, o in links if k == r))
            found = target[kept[start[r] : start[r + 1]]].tolist()
            first = {t: min(o for k, u, o in links if (k, u) == (r, t)) for t in expected}
            assert sorted(found) == sorted(expected)
            assert [first[t] for t in found] == sorted(first.values())

    @pytest.mark.parametrize("wanted", [1.5, 1.9, 2.5])
    def test_drawn_sizes_have_the_exponent_asked_for(self, wanted):
        drawn = laws.power_law(np.random.default_rng(0), wanted, 10**6, 200_000)
        assert exponent(drawn, 10) == pytest.approx(wanted, abs=0.05)

    def test_words_are_their_own_stems_and_no_two_are_equal(self):
        words = [pseudo_word(rank) for rank in range(laws.VOCABULARY)]
        assert len(set(words)) == len(words)
        vocabulary = make_vocabulary(1).words
        assert count_terms(" ".join(vocabulary)) == dict.fromkeys(vocabulary, 1)

    @given(st.integers(2, 12), st.data())
    def test_distances_are_those_of_a_search(self, n, data):
        edges = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
        begin = data.draw(st.integers(0, n - 1))
        expected, ahead = {begin: 0}, deque([begin])
        while ahead:
            page = ahead.popleft()
            for source, target in edges:
                if source == page and target not in expected and expected[page] < 3:
                    expected[target] = expected[page] + 1
                    ahead.append(target)
        source, target = (np.array([edge[k] for edge in edges], dtype=np.int64) for k in (0, 1))
        found = distances(n, source, target, np.arange(n) == begin, 3)
        assert found.tolist() == [expected.get(page, -1) for page in range(n)]


class TestWeb:
    @pytest.mark.parametrize("pages", [*range(1, 12), 20, 35, 50])
    def test_small_webs_have_as_many_pages_as_asked_for_and_all_can_be_reached(self, pages):
        for seed in range(4):
            web, batch = made(pages, seed)
            assert len(web) == len(batch) == len(set(batch.urls)) == pages
            assert reached(batch) == set(range(pages))

    def test_all_pages_of_a_large_web_can_be_reached(self, large):
        assert len(reached(large[1])) == 8_000
        assert len(set(large[1].urls)) == 8_000

    def test_links_are_as_an_archive_has_them(self, large):
        for page, links in enumerate(links_of(large[1])):
            assert page not in links
            assert len(set(links)) == len(links)
        assert large[1].targets.min() >= 0
        assert large[1].targets.max() < 8_000

    def test_one_seed_gives_one_web(self):
        (_, one), (_, same), (_, other) = made(300, 5), made(300, 5), made(300, 6)
        assert list(one.urls) == list(same.urls)
        assert one.term_ids.tolist() == same.term_ids.tolist()
        assert one.anchors.tolist() == same.anchors.tolist()
        assert list(one.urls) != list(other.urls)

    def test_all_kinds_of_pages_are_there(self, large):
        kinds = np.bincount(large[0].plan.kind, minlength=5) / 8_000
        assert 0.75 < kinds[PLAIN] < 0.97
        assert all(0.001 < kinds[kind] < 0.2 for kind in (MIRRORED, DUST, CALENDAR, FACET))

    def test_copies_are_of_plain_pages(self, large):
        plan = large[0].plan
        is_copy = plan.source != np.arange(8_000)
        assert is_copy.tolist() == np.isin(plan.kind, (MIRRORED, DUST)).tolist()
        assert (plan.kind[plan.source[is_copy]] == PLAIN).all()

    def test_other_names_have_the_text_and_the_links_of_their_page(self, large):
        web, batch = large
        rows, links = rows_of(batch.term_start, batch.term_ids, batch.term_counts), links_of(batch)
        for page in np.flatnonzero(web.plan.kind == DUST).tolist():
            source = int(web.plan.source[page])
            assert rows[page] == rows[source]
            assert [link for link in links[page] if link != source] == [link for link in links[source] if link != page]

    def test_mirrors_have_the_text_of_their_original_and_at_most_two_words_more(self, large):
        web, batch = large
        rows = rows_of(batch.term_start, batch.term_ids, batch.term_counts)
        for page in np.flatnonzero(web.plan.kind == MIRRORED).tolist():
            more = Counter(rows[page])
            more.subtract(rows[int(web.plan.source[page])])
            assert min(more.values()) >= 0
            assert 1 <= sum(more.values()) <= 2

    def test_links_of_a_mirror_stay_in_it_where_the_original_s_stay(self, large):
        web, batch = large
        plan, links = web.plan, links_of(batch)
        host = plan.host_of(np.arange(8_000))
        for page in np.flatnonzero(plan.kind == MIRRORED).tolist():
            original = plan.original[host[page]]
            assert original not in host[links[page]]
            here = {int(plan.source[link]) for link in links[page] if host[link] == host[page]}
            assert here <= {int(plan.source[link]) for link in links[int(plan.source[page])]}

    def test_mirrors_are_sampled_unevenly(self, large):
        plan = large[0].plan
        of = np.flatnonzero(plan.original != np.arange(len(plan.original)))
        shares = np.diff(plan.host_start)[of] / plan.core[plan.original[of]]
        assert shares.min() < 0.7 < shares.max()

    def test_traps_are_in_no_topic_and_end(self, large):
        web, batch = large
        traps = set(np.flatnonzero(np.isin(web.plan.kind, (CALENDAR, FACET))).tolist())
        assert not traps.intersection(np.concatenate(list(web.labels.values())).tolist())
        assert {batch.urls[page].split("?")[0].rpartition("/")[2] for page in traps} == {"calendar", "list"}

    def test_relevant_pages_speak_of_their_topic(self, large):
        web, batch = large
        rows = rows_of(batch.term_start, batch.term_ids, batch.term_counts)
        for name, pages in web.labels.items():
            words = set(web.vocabulary.of_subject[TOPICS[name][0]].reshape(-1).tolist())
            inside = np.mean([len(words & rows[page].keys()) / len(rows[page]) for page in pages.tolist()])
            outside = np.mean([len(words & row.keys()) / len(row) for row in rows[::20]])
            assert inside > 2 * outside

    def test_pages_further_from_a_subject_say_less_of_it(self, large):
        web, batch = large
        rows = rows_of(batch.term_start, batch.term_ids, batch.term_counts)
        words = set(web.vocabulary.of_subject[58].tolist())
        away = np.minimum((web.plan.subject - 58) % 128, (58 - web.plan.subject) % 128)
        plain = web.plan.kind == PLAIN
        said = [
            np.mean([len(words & rows[page].keys()) / len(rows[page]) for page in np.flatnonzero(plain & (away == k))])
            for k in range(4)
        ]
        assert said[0] > 1.5 * said[1] > 1.5 * said[3]

    def test_most_anchors_are_words_of_the_page_they_lead_to(self, large):
        web, batch = large
        rows = rows_of(batch.term_start, batch.term_ids, batch.term_counts)
        words = web.vocabulary.anchor_words[batch.anchors]
        named = [
            a in rows[t] and b in rows[t] for (a, b), t in zip(words.tolist(), batch.targets.tolist(), strict=True)
        ]
        assert 0.7 < np.mean(named) < 0.85


def reached(batch):
    links, seen, ahead = links_of(batch), {0}, [0]
    while ahead:
        new = set(links[ahead.pop()]) - seen
        seen |= new
        ahead += new
    return seen


class TestFiles:
    def test_archive_and_warc_are_the_same_web(self, folders):
        archive = DirectArchive(folders / "archive" / "archive")
        captures = Archive([folders / "warc" / "web.warc.gz"])
        page_of = ArchivedPages(Settings({"REPLICA_NOISE": "none"}))
        pages = [page_of(record) for record in captures.records()]
        assert [page.url for page in pages] == list(archive.urls)
        numbers = {url: number for number, url in enumerate(archive.urls)}
        for number, page in enumerate(pages):
            assert page.title == archive.title(number)
            assert dict(page.terms) == archive.terms(number), page.url
            assert [numbers[link.url] for link in page.links] == archive.links(number)
            assert [link.text for link in page.links] == list(archive.anchors(number))

    def test_truth_is_the_same_whatever_is_written(self, folders):
        assert table(folders / "archive") == table(folders / "warc")

    def test_truth_tells_labels_copies_other_names_and_traps(self, folders):
        rows, archive = table(folders / "archive"), DirectArchive(folders / "archive" / "archive")
        numbers = {row["url"]: number for number, row in enumerate(rows)}
        for name, pages in archive.labels.items():
            assert [n for n, row in enumerate(rows) if name in row["topics"].split("|")] == pages.tolist()
        lines = (folders / "archive" / "hosts.csv").read_text().splitlines()
        hosts = {row["host"]: row for row in csv.DictReader(lines)}
        assert {row["kind"] for row in rows} >= {"", "mirror", "dust"}
        for row in rows:
            assert (row["kind"] in ("mirror", "dust")) == bool(row["source"])
            assert row["trap"] == str(int(row["kind"] in ("calendar", "facet")))
            if row["source"]:
                source = rows[numbers[row["source"]]]
                assert source["page_key"] == row["page_key"]
                copied = hosts[row["host"]]["replica_of"]
                assert source["host"] == (copied if row["kind"] == "mirror" else row["host"])

    def test_tables_are_those_of_eval_crawl(self, folders):
        pages = PageTable.read(folders / "warc" / "pages.csv.gz")
        hosts = HostTruth.read(folders / "warc" / "hosts.csv")
        assert len(pages.key_of) == 400
        mirrors = [host for host, kind in hosts.kind_of.items() if kind == "mirror"]
        assert mirrors
        assert all(hosts.is_right(host, hosts.site_of[host]) for host in mirrors)

    def test_warc_files_are_equal_to_the_byte(self, folders, tmp_path):
        build(400, 6, tmp_path / "again", as_warc=True)
        for name in ("web.warc.gz", "pages.csv.gz", "hosts.csv", "seeds.txt", "web.json"):
            assert (tmp_path / "again" / name).read_bytes() == (folders / "warc" / name).read_bytes(), name

    def test_a_crawl_finds_all_pages(self, folders):
        topic = max(DirectArchive(folders / "archive" / "archive").labels.items(), key=lambda item: len(item[1]))
        web = folders / "warc"
        truth = f"{web / 'pages.csv.gz'}:{topic[0]}"
        ran = command(
            "rehearse", web / "web.warc.gz", "--seeds", web / "seeds.txt", "--plain", "--truth", truth, "--json"
        )
        assert ran.returncode == 0, ran.stderr
        figures = json.loads(ran.stdout)["figures"]
        assert figures["pages"] == 400
        assert figures["relevant"] == len(topic[1]) == len(Truth.parse(truth).relevant)
        rows = table(web)
        # A page that links to its own other name has a link more than that has.
        assert figures["exact_duplicates"] >= 0.8 * sum(row["kind"] == "dust" for row in rows)


class TestStatistics:
    def test_they_are_near_those_of_real_collections(self, large, tmp_path):
        build(8_000, 1, tmp_path / "web", as_warc=False)
        found = statistics(DirectArchive(tmp_path / "web" / "archive"))
        assert found.keys() == measured.NAMES.keys() == measured.REAL.keys()
        assert found["pages"] == 8_000
        assert found["hosts"] == len(large[0].plan.original)
        assert found["reached"] == 1.0
        # uci: 1.47, 1.92, 11.6, .97, .24, .41, 89, .66, .11
        assert found["host.exponent"] == pytest.approx(1.5, abs=0.25)
        assert found["directory.exponent"] == pytest.approx(1.9, abs=0.2)
        assert 4 < found["links.mean"] < 12
        assert 0.85 < found["links.in_host"] < 0.97
        assert 0.2 < found["links.in_directory"] < 0.45
        assert 0.25 < found["links.navigation"] < 0.6
        assert 90 < found["terms.mean"] < 130
        assert 0.6 < found["terms.once"] < 0.75
        assert 0.06 < found["terms.rank_100"] < 0.12
        assert 0.02 < found["duplicates"] < 0.15
        assert found["topic.after_relevant"] > 10 * found["topic.after_other"]

    @pytest.mark.shared
    def test_the_real_figures_are_what_is_measured(self, shared):
        from scrapy_replica.lab.archives.collection import read_parquet

        found = statistics(read_parquet(shared / "focus" / "emacswiki.parquet", count_terms))
        for name, value in found.items():
            assert value == pytest.approx(measured.REAL[name][1], abs=0.06 if value > 10 else 0.0001), name


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--pages", 0, "--out", "x"], "--pages is 0"),
            (["--pages", 5, "--seed", -1, "--out", "x"], "--seed is -1"),
            (["--pages", 5], "--out DIR"),
            (["--show", "x", "--pages", 5], "--show is of a web that there is"),
        ],
    )
    def test_wrong_options_are_told_in_one_line(self, arguments, told, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        ran = command("lab", "generate", *arguments)
        assert ran.returncode == 2
        assert told in ran.stderr
        assert ran.stderr.count("\n") == 1
        assert not (tmp_path / "x").exists()

    def test_a_folder_that_holds_something_is_refused(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(ValueError, match="is not empty; name a new folder"):
            build(5, 1, tmp_path, as_warc=True)
        with pytest.raises(ValueError, match="is a file"):
            build(5, 1, tmp_path / "notes.txt", as_warc=True)
        assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]

    def test_an_interrupted_web_is_told_to_be_deleted(self, tmp_path):
        def interrupted(chunks):
            yield next(iter(chunks))
            raise KeyboardInterrupt

        for as_warc in (False, True):
            folder = tmp_path / str(as_warc)
            with pytest.raises(KeyboardInterrupt):
                build(9_000, 1, folder, as_warc=as_warc, shown=interrupted)
            with pytest.raises(ValueError, match="part of a web whose making was cut short: delete it"):
                build(9_000, 1, folder, as_warc=as_warc)

    def test_a_full_disk_is_told_with_what_to_delete(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(building, "write_warc", full)
        with pytest.raises(OSError, match=r"No space left on device: .* holds part of a web, delete it"):
            build(5, 1, tmp_path / "web", as_warc=True)

    def test_a_plan_of_no_pages_is_refused(self):
        with pytest.raises(ValueError, match="at least one page"):
            make_plan(0, 1)
