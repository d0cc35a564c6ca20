from __future__ import annotations

import shutil
import socket
from collections import defaultdict
from itertools import combinations, count
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from scrapy_replica.mining import candidates, expressions, near
from scrapy_replica.mining.collection import CollectionTables
from scrapy_replica.mining.engine import check_engine, check_java, open_engine
from scrapy_replica.mining.paths import normal_path, number_of, suffixes
from scrapy_replica.mining.rows import arrow_schema
from scrapy_replica.mining.schema import LINKS, PAGES
from scrapy_replica.sites import alignment
from scrapy_replica.sites.alignment import Election, unshared
from scrapy_replica.sites.evidence_store import MAX_DISTANCE_BITS

_NUMBERS = count()


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with open_engine("duckdb", tmp_path_factory.mktemp("engine")) as opened:
        yield opened


def page(host, path, simhash=None, **told):
    row = dict.fromkeys(PAGES) | {"url": f"http://{host}{path}", "host": host, "path": path, "fetched": True}
    return row | {"simhash": simhash} | told


def written(folder, rows, columns=PAGES):
    path = folder / f"{next(_NUMBERS)}.parquet"
    parquet.write_table(pa.Table.from_pylist(rows, arrow_schema(columns)), path)
    return path


def collection_of(engine, rows, links=()):
    pages = [written(engine.folder, rows)]
    return CollectionTables(engine, pages, [written(engine.folder, links, LINKS)] if links else ())


def read(engine, expression):
    path = engine.folder / f"{next(_NUMBERS)}.table"
    engine.write(expression, path)
    rows = [row for part in sorted(path.glob("*.parquet")) for row in parquet.read_table(part).to_pylist()]
    shutil.rmtree(path)
    return rows


# The slow way, in plain loops


def places_of(rows):
    """Return host -> normalised path -> simhash of the page that counts."""
    found = defaultdict(dict)
    for row in sorted(rows, key=lambda row: (row["fetched"], row["at"] or 0)):
        is_text = row["fetched"] and row["status"] in {None, 200} and (row["words"] is None or row["words"] >= 20)
        found[row["host"]][alignment.normal_path(row["path"])] = row["simhash"] if is_text else None
    return found


def lists_of(places):
    """Return key -> host -> least place of (key, host, place)."""
    found = defaultdict(dict)
    for key, host, place in places:
        found[key][host] = min(place, found[key].get(host, place))
    return found


def number(normal):
    import hashlib

    return int(hashlib.md5(normal.rpartition("/")[2].encode()).hexdigest()[:4], 16)


def near_of(places, cut):
    """Return (host, host, path, path, hosts) of near texts at common paths."""
    members = defaultdict(dict)
    for host, texts in places.items():
        common = [
            (number(normal), normal, simhash)
            for normal, simhash in texts.items()
            if simhash is not None and (not normal or normal.rpartition("/")[2] in cut)
        ]
        for _, normal, simhash in sorted(common)[: candidates.MAX_COMMON]:
            hosts = members[normal.rpartition("/")[2], simhash]
            hosts[host] = min(normal, hosts.get(host, normal))
    few = {key: hosts for key, hosts in members.items() if len(hosts) <= candidates.MAX_HOSTS}
    pairs = [
        (one, two)
        for one, two in combinations(sorted(few), 2)
        if one[0] == two[0] and ((one[1] ^ two[1]) & (2**64 - 1)).bit_count() <= MAX_DISTANCE_BITS
    ]
    family = {key: len(hosts) for key, hosts in few.items()}
    for one, two in pairs:
        family[one] += len(few[two])
        family[two] += len(few[one])
    for one, two in pairs:
        if family[one] <= candidates.MAX_HOSTS and family[two] <= candidates.MAX_HOSTS:
            for a, mine in few[one].items():
                for b, theirs in few[two].items():
                    if a != b:
                        yield a, b, mine, theirs, len(few[one]) + len(few[two])


def pairs_of(rows):
    """Return every pair that shares something: names -> (suffixes, texts, prefixes, listed)."""
    places = places_of(rows)
    suffix_lists = lists_of(
        (suffix, host, prefix)
        for host, paths in places.items()
        for normal in paths
        for prefix, suffix in alignment.suffixes(normal)
    )
    text_lists = lists_of(
        (simhash, host, normal)
        for host, paths in places.items()
        for normal, simhash in paths.items()
        if simhash is not None
    )
    cut = {suffix for suffix, hosts in suffix_lists.items() if len(hosts) > candidates.MAX_HOSTS}
    shared, texts, listed = defaultdict(list), defaultdict(list), defaultdict(int)
    for lists, found in ((suffix_lists, shared), (text_lists, texts)):
        for hosts in lists.values():
            if 2 <= len(hosts) <= candidates.MAX_HOSTS:
                for host in hosts:
                    listed[host] += lists is suffix_lists
                for a, b in combinations(sorted(hosts), 2):
                    found[a, b].append((hosts[a], hosts[b], len(hosts)))
    for a, b, mine, theirs, n_hosts in near_of(places, cut):
        names, paths = ((a, b), (mine, theirs)) if a < b else ((b, a), (theirs, mine))
        texts[names].append((*paths, n_hosts))
    return {
        names: (
            len(shared[names]),
            len(texts[names]),
            elected(shared[names], texts[names]),
            tuple(listed[name] for name in names),
        )
        for names in {*shared, *texts}
    }


def elected(shared, texts):
    election = Election()
    for mine, theirs, n_hosts in shared:
        election.add((mine, theirs), n_hosts)
    for mine, theirs, n_hosts in texts if len(shared) < candidates.MAX_TEXT_VOTES else ():
        prefixes = unshared(mine, theirs)
        if prefixes is not None:
            election.add(prefixes, n_hosts)
    return election.winner()


def is_strong(found):
    n_suffixes, n_near, _, listed = found
    return n_near > 0 or n_suffixes >= max(2, 0.1 * min(listed))


def told(rows):
    return {
        (row["first"], row["second"]): (
            row["n_suffixes"],
            row["n_near"],
            (row["first_prefix"], row["second_prefix"]),
            (row["first_listed"], row["second_listed"]),
        )
        for row in rows
    }


SEGMENTS = st.sampled_from(["a", "b", "docs", "x1", "?p=1", "c.html", "index.php", "about"])
PATHS = st.lists(SEGMENTS, max_size=4).map(lambda parts: "/" + "/".join(parts))
SIMHASHES = st.one_of(
    st.none(),
    st.tuples(st.sampled_from([0, 2**63 - 1, -1, 0x1234567]), st.sets(st.integers(0, 62), max_size=5)).map(
        lambda drawn: drawn[0] ^ sum(1 << bit for bit in drawn[1])
    ),
)
ROWS = st.lists(
    st.builds(
        page,
        st.sampled_from([f"{name}.example" for name in "abcdefg"]),
        PATHS,
        SIMHASHES,
        words=st.sampled_from([None, 5, 50]),
        status=st.sampled_from([None, 200, 404]),
        fetched=st.booleans(),
    ),
    min_size=1,
    max_size=60,
    unique_by=lambda row: (row["host"], alignment.normal_path(row["path"])),
)


class TestCandidates:
    @given(ROWS)
    @settings(max_examples=6)
    def test_they_are_those_of_plain_loops(self, engine, rows):
        with pytest.MonkeyPatch.context() as patch:
            for module in (candidates, alignment):
                patch.setattr(module, "MAX_HOSTS", 4)
            patch.setattr(candidates, "MAX_COMMON", 2)
            wanted = pairs_of(rows)
            found = collection_of(engine, rows).candidates
            pairs, weak = told(read(engine, found.pairs)), told(read(engine, found.weak))
        assert pairs == {names: pair for names, pair in wanted.items() if is_strong(pair)}
        assert weak == {names: pair for names, pair in wanted.items() if pair[:2] == (1, 0)}

    def test_of_a_host_in_many_pairs_the_strongest_stay(self, engine, monkeypatch):
        monkeypatch.setattr(candidates, "MAX_PARTNERS", 2)
        rows = [page(f"h{n}.example", f"/{n}/{i}") for n in range(4) for i in range(2 + n)]
        found = {(row["first"], row["second"]) for row in read(engine, collection_of(engine, rows).candidates.pairs)}
        assert ("h2.example", "h3.example") in found
        assert ("h0.example", "h1.example") not in found

    def test_where_too_much_is_shared_the_longest_lists_are_left_out(self, engine, monkeypatch):
        monkeypatch.setattr(candidates, "MAX_SHARED", 10)
        rows = [page(f"h{n}.example", f"/{i}") for n in range(9) for i in range(3)]
        rows += [page(host, path) for host in ("a.example", "b.example") for path in ("/x", "/y")]
        assert set(told(read(engine, collection_of(engine, rows).candidates.pairs))) == {("a.example", "b.example")}

    def test_in_parts_it_is_the_same(self, engine, monkeypatch):
        rows = [page(f"h{n}.example", f"/{n % 3}/{i}") for n in range(12) for i in range(5)]
        whole = told(read(engine, collection_of(engine, rows).candidates.pairs))
        monkeypatch.setattr(candidates, "_PART", 5)
        assert told(read(engine, collection_of(engine, rows).candidates.pairs)) == whole != {}


TEXTS = st.text(st.sampled_from("ab/?.=%&+é2Cc3A9h tmlindex\n"), max_size=25)
ENDINGS = st.sampled_from(["", "/index.html", ".php", "/default.aspx?x=1", "/a%C3%A9", "//b.HTM", "/?q", "%20c/"])
SESSIONS = st.sampled_from(["", "?sid=5scevl7b", "&PHPSESSID=qk3v9s8t2m", ";jsessionid=1C9BE0A72F", "&sid=20210304"])


def is_exact(path):
    """Whether every escape is one of UTF-8, and no segment is nothing but an extension."""
    stem = path.partition("?")[0]
    from urllib.parse import unquote_to_bytes

    escapes = stem.count("%")
    try:
        decoded = unquote_to_bytes(stem).decode()
    except UnicodeDecodeError:
        return False
    is_whole = stem.count("%") == 0 or len(unquote_to_bytes(stem)) == len(stem.encode()) - 2 * escapes
    last = decoded.rstrip("/").rpartition("/")[2]
    return is_whole and not last.startswith(".") and "\n" not in path


@given(st.lists(st.tuples(TEXTS, ENDINGS, SESSIONS).map("".join).filter(is_exact), min_size=1, max_size=40))
@settings(max_examples=12)
def test_paths_are_those_of_the_crawl(engine, paths):
    import ibis

    table = collection_of(engine, [page("a.example", "/" + path) for path in paths]).pages
    normal = normal_path(table.path)
    chosen = table.select("path", normal=normal, number=number_of(normal), cuts=ibis.array(suffixes(normal, 5)))
    for row in read(engine, chosen):
        wanted = alignment.normal_path(row["path"])
        assert row["normal"] == wanted
        assert row["number"] == number(wanted)
        assert [cut for cut in row["cuts"] if cut] == [suffix for _, suffix in alignment.suffixes(wanted) if suffix]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-(2**63), 2**63 - 1)), max_size=12), st.data())
@settings(max_examples=6)
@pytest.mark.parametrize(("distance", "n_blocks"), [(3, 5), (6, 8)])
def test_near_fingerprints_are_found_and_no_others(engine, distance, n_blocks, prints, data):
    flips = data.draw(st.lists(st.sets(st.integers(0, 62), max_size=8), min_size=len(prints), max_size=len(prints)))
    others = [
        (within, value ^ sum(1 << bit for bit in bits)) for (within, value), bits in zip(prints, flips, strict=True)
    ]
    rows = sorted({*prints, *others})
    path = engine.folder / f"{next(_NUMBERS)}.parquet"
    schema = pa.schema([("within", pa.int64()), ("simhash", pa.int64())])
    parquet.write_table(pa.Table.from_pylist([{"within": w, "simhash": s} for w, s in rows], schema), path)
    found = near.near(engine, "tried", engine.read([path]), distance, n_blocks)
    wanted = {
        (a[0], a[1], b[1])
        for a, b in combinations(rows, 2)
        if a[0] == b[0] and ((a[1] ^ b[1]) & (2**64 - 1)).bit_count() <= distance
    }
    assert {(row["within"], row["one"], row["two"]) for row in read(engine, found)} == wanted


class TestRows:
    def test_the_pages_of_hosts_in_pairs_in_order(self, engine):
        rows = [page(host, path) for host in ("b.example", "a.example") for path in ("/y", "/x")]
        rows += [page("c.example", "/alone"), page("a.example", "/x", at=5.0, title="later")]
        rows += [page("a.example", "/y", fetched=False)]
        found = read(engine, expressions.rows(collection_of(engine, rows)))
        assert [row["url"] for row in found] == [f"http://{host}.example/{path}" for host in "ab" for path in "xy"]
        assert [row["title"] for row in found[:2]] == ["later", None]
        assert all(row["fetched"] for row in found)

    def test_large_hosts_give_samples_that_lie_in_each_other(self, engine):
        rows = [page("a.example", f"/m/{n}", fetched=False) for n in range(2_100)]
        rows += [page("b.example", f"/{n}", fetched=False) for n in range(4_100)]
        found = defaultdict(set)
        for row in read(engine, expressions.rows(collection_of(engine, rows))):
            found[row["host"]].add(row["path"].rpartition("/")[2])
        assert 400 < len(found["a.example"]) < 800
        assert 400 < len(found["b.example"]) < 800
        assert {name for name in found["b.example"] if int(name) < 2_100} == {
            name for name in found["a.example"] if number(name) < 2**16 // 8
        }

    def test_no_host_has_more_rows_than_can_be_judged(self, engine, monkeypatch):
        monkeypatch.setattr(expressions, "MAX_ROWS", 3)
        rows = [page(host, f"/{n}") for host in ("a.example", "b.example") for n in range(9)]
        found = read(engine, expressions.rows(collection_of(engine, rows)))
        assert len(found) == 6
        assert {row["path"] for row in found if row["host"] == "a.example"} == {
            row["path"] for row in found if row["host"] == "b.example"
        }


def test_readers_are_told_once_of_hosts_in_pairs(engine):
    rows = [page(host, path) for host in ("a.example", "b.example") for path in ("/x", "/y")]
    links = [{"host": host, "domain": "d.example"} for host in ("a.example", "a.example", "c.example")]
    found = read(engine, expressions.readers(collection_of(engine, rows, links)))
    assert found == [{"host": "a.example", "domain": "d.example"}]
    assert read(engine, expressions.readers(collection_of(engine, rows))) == []


class TestClusters:
    @given(ROWS)
    @settings(max_examples=5)
    def test_they_are_those_of_plain_loops(self, engine, rows):
        texts = {
            row["url"]: row["simhash"]
            for row in rows
            if row["fetched"] and row["status"] in {None, 200} and row["simhash"] is not None
        }
        clusters = {url: {url} for url in texts}
        for a, b in combinations(texts, 2):
            if ((texts[a] ^ texts[b]) & (2**64 - 1)).bit_count() <= expressions.NEAR_BITS:
                merged = clusters[a] | clusters[b]
                clusters.update(dict.fromkeys(merged, merged))
        found = defaultdict(set)
        order = []
        for row in read(engine, expressions.clusters(collection_of(engine, rows))):
            found[row["cluster"]].add(row["url"])
            order.append(row["cluster"])
        assert order == sorted(order)
        assert {frozenset(urls) for urls in found.values()} == {
            frozenset(urls) for urls in clusters.values() if len(urls) > 1
        }

    def test_equal_signatures_without_simhashes(self, engine):
        rows = [page("a.example", f"/{n}", signature=bytes([n % 2] * 16)) for n in range(4)]
        found = defaultdict(set)
        for row in read(engine, expressions.clusters(collection_of(engine, rows))):
            found[row["cluster"]].add(row["url"][-1])
        assert sorted(map(sorted, found.values())) == [["0", "2"], ["1", "3"]]


def test_urls_of_hosts_that_hold_a_page_twice(engine, monkeypatch):
    monkeypatch.setattr(expressions, "MAX_FORMS", 3)
    rows = [page("b.example", f"/{n}", signature=bytes([n // 2] * 16)) for n in range(6)]
    rows += [page("a.example", f"/{n}", signature=bytes([n] * 16)) for n in range(3)]
    rows += [page("c.example", f"/{n}", cluster=7) for n in range(2)]
    found = read(engine, expressions.urls(collection_of(engine, rows)))
    assert [row["host"] for row in found] == ["b.example"] * 3 + ["c.example"] * 2
    of_host = [row["cluster"] for row in found if row["host"] == "b.example"]
    assert len(set(of_host)) == 2
    assert [row["cluster"] for row in found[3:]] == [7, 7]


class TestEngines:
    @pytest.mark.parametrize("name", ["", "spark", "mysql://a", "local[x]", "spark://a b:1"])
    def test_an_engine_that_is_none(self, tmp_path, name):
        with pytest.raises(ValueError, match="there is no engine"), open_engine(name, tmp_path):
            pass

    @pytest.mark.parametrize(
        ("told", "why"),
        [
            ('openjdk version "11.0.2"', "is Java 11"),
            ('java version "1.8.0_292"', "is Java 8"),
            ("no more", "tells no version"),
        ],
    )
    def test_an_old_java(self, tmp_path, monkeypatch, told, why):
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(ValueError, match=rf"needs Java 17 or newer; .*{why}.*JAVA_HOME"):
            check_java()

    def test_no_java(self, tmp_path, monkeypatch):
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(ValueError, match=r"there is no .*java"):
            check_java()

    def test_no_master(self, monkeypatch):
        pytest.importorskip("pyspark")
        monkeypatch.setattr("scrapy_replica.mining.engine.check_java", lambda: None)
        with socket.create_server(("127.0.0.1", 0)) as server:
            places = f"127.0.0.1:65536,127.0.0.1:{server.getsockname()[1]}"
            check_engine(f"spark://{places}")  # the second one answers
        with pytest.raises(ValueError, match=f"no master of Spark answers at spark://{places}"):
            check_engine(f"spark://{places}")

    def test_nothing_is_left_behind(self, tmp_path):
        with open_engine("duckdb", tmp_path / "engine") as engine:
            engine.keep("kept", engine.read([written(tmp_path, [page("a.example", "/")])]))
            assert list(Path(engine.folder).glob("*.kept"))
        assert not list((tmp_path / "engine").glob("*"))


@pytest.mark.spark
def test_spark_says_the_same(engine, tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    # Java compiles for hours of work otherwise, which took a third of this test.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    try:
        check_java()
    except ValueError as error:
        pytest.skip(str(error))
    rows = [
        page(
            f"h{n}.example", f"/{'m' * (n % 2)}/{n // 2}/{i}", (n // 2 * 50 + i) * 0x9E3779B97F4A7 ^ (1 << i) * (n % 2)
        )
        for n in range(8)
        for i in range(9)
    ]
    rows += [page(f"h{n}.example", f"/about/{i}", 77, signature=bytes(16)) for n in range(8) for i in range(2)]
    links = [{"host": "h1.example", "domain": "d.example"}]
    with open_engine("local[2]", tmp_path) as spark:
        # Tasks cost more than so few rows, and so does the code that is compiled for each stage.
        for name, value in (
            ("shuffle.partitions", "1"),
            ("codegen.wholeStage", "false"),
            ("codegen.factoryMode", "NO_CODEGEN"),
            ("adaptive.enabled", "false"),
        ):
            spark._session.conf.set(f"spark.sql.{name}", value)
        for name in ("pairs", "rows", "readers", "clusters", "urls"):  # of so few pairs none is weak
            table = expressions.TABLES[name]
            theirs = read(spark, table(collection_of(spark, rows, links)))
            ours = read(engine, table(collection_of(engine, rows, links)))
            if name in {"pairs", "readers"}:
                theirs, ours = (sorted(map(str, found)) for found in (theirs, ours))
            assert theirs == ours
