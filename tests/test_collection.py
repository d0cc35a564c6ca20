"""Indexes of collections: what they hold, and a crawl that fetches what its collection lacks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scrapy import Spider
from web import REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands import ReplicaCommand
from scrapy_replica.pages.collection import HEAD, PARTS, Collection, row_of, write_collection
from scrapy_replica.records import Page

A, B = "http://a.example/", "http://b.example/"


class Follower(Spider):
    """Ordinary, and makes an item of each page."""

    name = "follower"

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")


def index(path, rows, noise="learned"):
    with path.open("wb") as file:
        write_collection([np.array(rows, dtype=np.uint64).reshape(-1, 3)], noise, file, path.parent)
    return path


def said(host, title="", beside="", signature=b"0123456789abcdef"):
    return Page(url=f"http://{host}/x", host=host, title=title, beside=beside, signature=signature)


class TestCollection:
    def test_of_its_own_host_all_of_a_page_counts_and_of_another_its_text(self, tmp_path):
        known = Collection(index(tmp_path / "i", [row_of(b"0123456789abcdef", "a.example", "t", None)]))
        assert known.has(said("a.example", "t"))
        assert not known.has(said("a.example", "other title"))
        assert not known.has(said("a.example", "t", "price=7"))
        assert known.has(said("b.example", "other title"))
        assert not known.has(said("b.example", signature=b"another signatur"))
        assert not known.has(said("b.example", signature=None))

    def test_what_two_hosts_say_is_known_of_all(self, tmp_path):
        rows = [row_of(b"0123456789abcdef", host, "t", n) for host in ("a.example", "b.example") for n in range(3)]
        known = Collection(index(tmp_path / "i", rows))
        assert len(known) == 1
        assert known.has(said("a.example", "other title"))

    def test_as_a_set_whatever_the_order(self, tmp_path):
        random = np.random.default_rng(1)
        rows = random.integers(0, 1 << 63, (3_000, 3), dtype=np.uint64) << np.uint64(1)
        rows[1_000:2_000, 0] = rows[:1_000, 0]  # several rows of one text
        rows[1_000:1_500, 1] = rows[:500, 1]  # of one host
        twice = np.concatenate([rows, rows[::-1]])
        first, second = index(tmp_path / "1", rows), index(tmp_path / "2", twice)
        assert first.read_bytes() == second.read_bytes()
        assert len(Collection(first)) == 3_000 - 500
        with (tmp_path / "3").open("wb") as file:
            assert write_collection(Collection(first).batches(), "learned", file, tmp_path) == 2_500
        assert (tmp_path / "3").read_bytes() == first.read_bytes()

    def test_all_parts(self, tmp_path):
        signatures = [bytes([n]) + bytes(15) for n in range(PARTS)]
        known = Collection(index(tmp_path / "i", [row_of(one, "a.example", "", None) for one in signatures]))
        assert all(known.has(said("b.example", signature=one)) for one in signatures)

    @pytest.mark.parametrize("spread", ["evenly", "at the ends", "all in one place", "one text"])
    def test_however_the_hashes_are_spread(self, tmp_path, spread):
        draw = np.random.default_rng(1)
        texts = draw.integers(0, 1 << 64, 5_000, dtype=np.uint64)
        if spread == "at the ends":
            texts[:2_500] >>= np.uint64(40)
            texts[2_500:] |= np.uint64(0xFFFFFF << 40)
        elif spread != "evenly":
            texts = texts >> np.uint64(50) if spread == "all in one place" else texts * np.uint64(0) + np.uint64(7)
        rows = [
            row_of(int(text).to_bytes(8, "big") + bytes(8), "a.example", str(n), None) for n, text in enumerate(texts)
        ]
        known = Collection(index(tmp_path / "i", rows))
        for n, text in enumerate(texts.tolist()):
            if n % 50 == 0:
                assert known.has(said("a.example", str(n), signature=text.to_bytes(8, "big") + bytes(8)))
        there = {*texts.tolist()}
        others = [text + 1 & (1 << 64) - 1 for text in there if text + 1 & (1 << 64) - 1 not in there]
        for text in (*others[:100], 0, (1 << 64) - 1):
            signature = text.to_bytes(8, "big") + bytes(8)
            assert known.has(said("b.example", signature=signature)) == (text in there)

    def test_of_what_it_lacks_no_row_is_read(self, tmp_path, monkeypatch):
        """But of one text in 110, as the filter is made."""
        asked = []
        monkeypatch.setattr(Collection, "_rows_of", lambda _, text: (asked.append(text), [])[1])
        rows = np.random.default_rng(1).integers(0, 1 << 64, (20_000, 3), dtype=np.uint64)
        known = Collection(index(tmp_path / "i", rows))
        other = np.random.default_rng(2).bytes(8 * 5_000)
        assert not any(known.has(said("b.example", signature=other[n : n + 8])) for n in range(0, len(other), 8))
        assert len(asked) < 100

    def test_an_empty_one(self, tmp_path):
        known = Collection(index(tmp_path / "i", []))
        assert len(known) == 0
        assert not known.has(said("a.example"))


BROKEN = {
    "no index": (lambda data: b"%PDF-1.7" + data, "is no index of a collection"),
    "nothing": (lambda data: b"", "is no index of a collection"),
    "binary": (lambda data: b"\xff" * 300, "is no index of a collection"),
    "cut off": (lambda data: data[:-1], "is cut off"),
    "head alone": (lambda data: data[:HEAD], "is cut off"),
    "release": (lambda data: data.replace(b'"version": 3', b'"version": 9'), "is an index of another release"),
    "noise": (lambda data: data.replace(b'"learned"', b'"none"   '), "was made with REPLICA_NOISE = none"),
    "number": (lambda data: data.replace(b'"pages": 1', b'"pages":-1'), "is cut off"),
}


@pytest.mark.asyncio
class TestCrawl:
    @pytest.mark.parametrize("fault", BROKEN)
    async def test_a_wrong_file_is_refused_at_the_start(self, fault, tmp_path, caplog):
        break_it, told = BROKEN[fault]
        file = index(tmp_path / "i", [row_of(b"0123456789abcdef", "a.example", "t", None)])
        file.write_bytes(break_it(file.read_bytes()))
        with pytest.raises(Exception, match="REPLICA_KNOWN") as raised:
            await crawl(TopicSpider, {}, {**REPLICA, "REPLICA_KNOWN": str(file)}, seeds=A)
        assert told in str(raised.value)

    async def test_no_file(self, tmp_path):
        with pytest.raises(Exception, match="REPLICA_KNOWN"):
            await crawl(TopicSpider, {}, {**REPLICA, "REPLICA_KNOWN": str(tmp_path / "none")}, seeds=A)

    async def test_what_the_collection_lacks_comes_first_and_nothing_is_lost(self, tmp_path):
        old = {A: page([f"/old/{n}" for n in range(20)], seed="top")}
        old |= {f"{A}old/{n}": page([f"/old/{n}/deep"], seed=("old", n)) for n in range(20)}
        old |= {f"{A}old/{n}/deep": page(seed=("deep", n)) for n in range(20)}
        await crawl(TopicSpider, old, {**REPLICA, "JOBDIR": str(tmp_path / "job")}, seeds=A)
        made = run("mine", str(tmp_path / "job"), "--index", str(tmp_path / "known"))
        assert made == 0
        assert len(Collection(tmp_path / "known")) == 41

        # The same site under another name, and a part of it that is new, behind pages that are.
        links = [f"/old/{n}" for n in range(20)] + ["/new/0"]
        new = {B: page(links, seed="another top")}
        new |= {url.replace(A, B): answer for url, answer in old.items() if url != A}
        new |= {f"{B}new/{n}": page([f"/new/{n + 1}"] if n < 20 else [], seed=("new", n)) for n in range(21)}
        settings = {**REPLICA, "REPLICA_KNOWN": str(tmp_path / "known"), "CONCURRENT_REQUESTS": 1}
        result = await crawl(TopicSpider, new, settings, seeds=B, fields="+collected")
        assert {item["url"] for item in result.items} == set(new)
        assert {item["url"] for item in result.items if item["collected"]} == {one for one in new if "/old/" in one}
        assert result.stats["replica/page/collected"] == 40
        assert result.stats["replica/decision/collected-links/demote"] == 20
        assert result.urls.index(f"{B}new/20") < min(result.urls.index(f"{B}old/{n}/deep") for n in range(20))

    async def test_the_requests_of_an_ordinary_spider_wait_as_well(self, tmp_path):
        web = {A: page(["/x"], seed="top"), f"{A}x": page(["/deep"], seed="x"), f"{A}deep": page(seed="deep")}
        await crawl(Follower, web, {**REPLICA, "JOBDIR": str(tmp_path / "job")}, start_urls=[A])
        assert run("mine", str(tmp_path / "job"), "--index", str(tmp_path / "known")) == 0
        web[A] = page(["/x", *(f"/new/{n}" for n in range(9))], seed="new top")
        web |= {f"{A}new/{n}": page([f"/new/{n}/deep"], seed=("new", n)) for n in range(9)}
        web |= {f"{A}new/{n}/deep": page(seed=("deep", n)) for n in range(9)}
        settings = {**REPLICA, "REPLICA_KNOWN": str(tmp_path / "known"), "CONCURRENT_REQUESTS": 1}
        result = await crawl(Follower, web, {**settings, "REPLICA_MODE": "drop"}, start_urls=[A])
        assert {*result.urls} == {*web}
        assert result.urls[-1] == f"{A}deep"
        result = await crawl(Follower, web, {**settings, "REPLICA_MODE": "observe"}, start_urls=[A])
        assert {*result.urls} == {*web}
        assert result.stats["replica/decision/collected-links/fetch"] == 1

    async def test_of_a_job_and_of_the_files_that_it_kept_it_is_the_same(self, tmp_path):
        web = {A: page([f"/{n}" for n in range(9)], seed="top"), f"{A}9": (404, {}, "none")}
        web |= {f"{A}{n}": page([f"/{n + 1}"], seed=n, title=f"Page {n}") for n in range(9)}
        kept = {"JOBDIR": str(tmp_path / "job"), "REPLICA_WARC": str(tmp_path / "warc")}
        await crawl(TopicSpider, web, {**REPLICA, **kept}, seeds=A)
        for name in ("job", "warc"):
            assert run("mine", str(tmp_path / name), "--index", str(tmp_path / f"of {name}")) == 0
        assert len(Collection(tmp_path / "of job")) == 10
        assert (tmp_path / "of job").read_bytes() == (tmp_path / "of warc").read_bytes()

    async def test_a_file_of_one_job_and_of_another_are_one_of_both(self, tmp_path, capsys):
        for name in ("1", "2"):
            web = {A: page(seed="top"), f"{A}{name}": page(seed=name)}
            await crawl(TopicSpider, web, {**REPLICA, "JOBDIR": str(tmp_path / name)}, seeds=f"{A} {A}{name}")
        first, both = str(tmp_path / "first"), str(tmp_path / "both")
        assert run("mine", str(tmp_path / "1"), "--index", first) == 0
        capsys.readouterr()
        assert run("mine", first, str(tmp_path / "2"), "--index", both, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert told["figures"]["pages"] == len(Collection(tmp_path / "both")) == 3
        assert told["inputs"]["index"] == both


def run(*arguments):
    """Run a command in this process; return its exit code."""
    import argparse

    from scrapy.utils.project import get_project_settings

    command = ReplicaCommand()
    command.settings = get_project_settings()
    command.exitcode = 0
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    opts = parser.parse_args(list(arguments))
    command.process_options([], opts)
    command.run([], opts)
    return command.exitcode


def test_inputs_that_are_none_are_refused_in_a_line(tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("hello")
    for name, told in (("none", "is no job"), ("folder", "is no job"), ("text", "is no index of a collection")):
        assert run("mine", str(tmp_path / name), "--index", str(tmp_path / "out")) == 2
        assert told in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


def test_options_of_mining_are_refused(tmp_path, capsys):
    assert run("mine", str(tmp_path), "--index", str(tmp_path / "out"), "--engine", "local[2]") == 2
    assert "goes with --out" in capsys.readouterr().err


def test_an_index_of_other_texts_is_not_taken_into_one(tmp_path, capsys):
    old = index(tmp_path / "old", [row_of(b"0123456789abcdef", "a.example", "t", None)], noise="none")
    assert run("mine", str(old), "--index", str(tmp_path / "out")) == 2
    assert "-s REPLICA_NOISE=none" in capsys.readouterr().err


def test_the_head_says_what_it_is(tmp_path):
    head = index(tmp_path / "i", []).read_bytes()[:HEAD]
    assert json.loads(head) == {"format": "scrapy-replica collection", "version": 3, "noise": "learned", "pages": 0}
