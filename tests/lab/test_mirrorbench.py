"""MirrorBench: its webs are closed and the same again, any client crawls them, its scorer needs nothing of ours."""

from __future__ import annotations

import csv
import gzip
import json
import math
import ssl
import subprocess
import sys
import urllib.request
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from http.client import HTTPConnection
from itertools import product
from random import Random
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import urljoin

import pytest
from lxml import html

from scrapy_replica.lab.crawls.crawl_truth import HostTruth, PageTable
from scrapy_replica.lab.manuals.hosts import COPIES, NEARLY, Host, Served
from scrapy_replica.lab.manuals.packages import Edition
from scrapy_replica.lab.mirrorbench import score
from scrapy_replica.lab.mirrorbench.baselines import pair_scores, write_crawl
from scrapy_replica.lab.mirrorbench.closed import closed
from scrapy_replica.lab.mirrorbench.crawlers import crawled
from scrapy_replica.lab.mirrorbench.families import made_families
from scrapy_replica.lab.mirrorbench.folder import SPLITS, VERSION, make, split_of
from scrapy_replica.lab.mirrorbench.replay import Replay, Server
from scrapy_replica.warc.archive import Archive

N_FAMILIES = 12


@pytest.fixture(scope="module")
def trees():
    return made_families(1, N_FAMILIES, 24)


@pytest.fixture(scope="module")
def bench(trees, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mirrorbench") / "bench"
    make(folder, trees, 1)
    return folder


def rows_of(file):
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
    return list(csv.DictReader(text.splitlines()))


def pages_of(split):
    return {row["url"]: row for row in rows_of(split / "pages.csv.gz")}


@pytest.fixture
def served(bench, tmp_path):
    replay = Replay(bench / "test", tmp_path / "fetches.jsonl")
    with Server(replay, 0, bench / "replay.pem") as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
    replay.close()


def logged(tmp_path):
    return [json.loads(line) for line in (tmp_path / "fetches.jsonl").read_text().splitlines()]


# What is made


def test_the_same_seed_makes_the_same_bytes(bench, tmp_path):
    make(tmp_path / "again", made_families(1, N_FAMILIES, 24), 1)
    files = sorted(path.relative_to(bench) for path in bench.rglob("*") if path.is_file())
    assert [file for file in files if (tmp_path / "again" / file).read_bytes() != (bench / file).read_bytes()] == []
    assert {"README.md", "bench.json", "replay.pem", "score.py", "replay.py", "dev", "test"} == {
        path.name for path in bench.iterdir()
    }


def test_another_version_makes_other_webs_and_this_one_the_same(bench):
    """Whoever changes what is made raises ``VERSION``: figures of one version are held against each other."""
    made = sha256((bench / "test" / "hosts.csv").read_bytes()).hexdigest()
    assert (VERSION, made[:16]) == ("2", "af19f9c5e4aacbf3")


def test_a_family_is_in_one_split_and_no_page_is_in_both(bench):
    families = {split: {row["family"] for row in rows_of(bench / split / "hosts.csv")} - {""} for split in SPLITS}
    assert all(split_of(family) == split for split in SPLITS for family in families[split])
    contents = [{row["page_key"] for row in pages_of(bench / split).values() if "portal" not in row["page_key"]}
                for split in SPLITS]  # fmt: skip
    assert not contents[0] & contents[1]


@pytest.mark.parametrize("split", SPLITS)
def test_one_seed_leads_to_every_url_and_no_link_out_of_the_web(bench, split):
    records = {record.url: record for record in Archive([bench / split / "warc/web.warc.gz"]).records()}
    assert records.keys() == pages_of(bench / split).keys()
    (seed,) = (bench / split / "seeds.txt").read_text().split()
    found, waiting = {seed}, [seed]
    while waiting:
        record = records[waiting.pop()]
        if record.status == 200:
            targets = {urljoin(record.url, href) for href in html.fromstring(record.body).xpath("//@href")}
        else:
            targets = {dict(record.headers)[b"Location"].decode()}
        assert targets <= records.keys()
        waiting += targets - found
        found |= targets
    assert found == records.keys()


def test_copies_and_near_misses_of_every_kind_are_told_apart(bench):
    rows = [row for split in SPLITS for row in rows_of(bench / split / "hosts.csv")]
    kinds = Counter(row["kind"] for row in rows)
    assert set(kinds) == {"original", "portal", *COPIES, *NEARLY}
    assert all(bool(row["replica_of"]) == (row["kind"] in COPIES) for row in rows)
    assert any(row["canonical"] == row["replica_of"] != "" for row in rows)
    assert any(row["canonical"] and row["kind"] in NEARLY for row in rows)
    assert any(int(row["redirects"]) for row in rows if row["kind"] in COPIES)
    host = {row["host"]: row for row in rows}
    for split in SPLITS:
        for row in rows_of(bench / split / "truth.csv"):
            a, b = host[row["host_a"]], host[row["host_b"]]
            is_one_site = (a["replica_of"] or a["host"]) == (b["replica_of"] or b["host"])
            assert is_one_site == (row["relation"] == "replica")


def test_what_is_there_by_https_is_the_same_or_a_page_of_the_server(bench):
    for split in SPLITS:
        pages = pages_of(bench / split)
        secure = defaultdict(dict)
        for url, row in pages.items():
            if url.startswith("https:"):
                secure[row["host"]][url] = row["page_key"]
        told = {row["host"]: row["https"] for row in rows_of(bench / split / "hosts.csv")}
        assert {host: bool(told[host]) for host in told} == {host: host in secure for host in told}
        for host, keys in secure.items():
            if told[host] == "same":
                plain = {url: row["page_key"] for url, row in pages.items() if url.startswith(f"http://{host}/")}
                assert keys == {f"https{url[4:]}": key for url, key in plain.items()}
            else:
                assert set(keys.values()) == {"default/https"}
    kinds = Counter(row["https"] for split in SPLITS for row in rows_of(bench / split / "hosts.csv"))
    assert kinds["same"] > kinds["other"] > 0


def test_the_tables_are_those_of_the_other_commands(bench):
    pages = PageTable.read(bench / "test" / "pages.csv.gz")
    hosts = HostTruth.read(bench / "test" / "hosts.csv")
    copy, original = next(
        (r["host"], r["replica_of"]) for r in rows_of(bench / "test" / "hosts.csv") if r["replica_of"]
    )
    assert hosts.is_right(copy, original)
    assert pages.key_of.keys() == {url for url, row in pages_of(bench / "test").items() if row["status"] == "200"}


def test_a_page_that_is_named_as_a_folder_is_linked_as_a_page():
    pages = {path: Served(f'<a href="/docs/{other}">x</a>'.encode(), f"e/{path}")
             for path, other in (("docs/a", "a/b"), ("docs/a/b", "a"))}  # fmt: skip
    host = Host("h.example", Edition("e", "made", "e-doc", "1", "en", "MIT"), "e", "original", pages)
    (site, _) = closed([host], Random(1))
    links = [urljoin(answer.url, html.fromstring(answer.body).xpath("string(//a/@href)")) for answer in site.answers]
    assert links == ["http://h.example/docs/a/b", "http://h.example/docs/a"]


def test_a_split_of_too_few_families_is_refused(trees, tmp_path):
    family = next(iter(trees)).family
    with pytest.raises(ValueError, match="fewer than 4 families: it takes more packages"):
        make(tmp_path / "out", {edition: tree for edition, tree in trees.items() if edition.family == family}, 1)
    assert not (tmp_path / "out").exists()


# How it is served


def test_a_client_gets_every_page_through_the_proxy_and_each_request_is_logged(bench, served, tmp_path):
    proxies = urllib.request.ProxyHandler(dict.fromkeys(("http", "https"), f"http://127.0.0.1:{served.server_port}"))
    any_certificate = ssl._create_unverified_context()
    opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=any_certificate))
    records = {record.url: record for record in Archive([bench / "test" / "warc/web.warc.gz"]).records()}
    urls = [url for url, record in records.items() if record.status == 200][:300]
    urls += [url for url, record in records.items() if record.status == 200 and url.startswith("https:")][:50]
    assert urls[-1].startswith("https:")
    with ThreadPoolExecutor(16) as threads:
        bodies = list(threads.map(lambda url: opener.open(url).read(), urls))
    assert bodies == [records[url].body for url in urls]
    assert Counter(row["url"] for row in logged(tmp_path)) == Counter(urls)
    moved = next(url for url, record in records.items() if record.status == 301)
    assert opener.open(moved).url == dict(records[moved].headers)[b"Location"].decode()
    assert [row["status"] for row in logged(tmp_path)[-2:]] == [301, 200]
    for url in ("http://elsewhere.example/x", "http://portal.example/nothing", "https://portal.example/nothing"):
        with pytest.raises(HTTPError, match="404"):
            opener.open(url)


def test_odd_requests_are_answered_and_the_connection_lives(bench, served, tmp_path):
    url = (bench / "test" / "seeds.txt").read_text().strip()
    client = HTTPConnection("127.0.0.1", served.server_port, timeout=10)

    def asked(method, target, **headers):
        client.request(method, target, headers=headers)
        answer = client.getresponse()
        return answer.status, answer.read(), answer.headers

    status, body, _ = asked("GET", url)
    assert (status, body[:9]) == (200, b"<!DOCTYPE")
    assert asked("HEAD", url)[:2] == (200, b"")
    assert asked("GET", url, Range=f"bytes=0-{10**40}")[:2] == (200, body)
    assert asked("GET", "/index.html", Host="PORTAL.example:80")[:2] == (200, body)
    assert asked("GET", "/%69ndex.html#top", Host="portal.example")[:2] == (200, body)
    assert asked("GET", "/../../etc/passwd", Host="portal.example")[0] == 404
    assert asked("POST", url)[0] == 405
    assert asked("GET", url + "x" * 60_000)[0] == 404
    client.close()
    assert [row["status"] for row in logged(tmp_path)] == [200, 200, 200, 200, 200, 404, 405, 404]
    assert score.read_fetches(tmp_path / "fetches.jsonl")[:5] == [(url, 200)] * 5


def test_a_log_that_is_there_is_not_written_over(bench, tmp_path):
    (tmp_path / "fetches.jsonl").write_text("kept")
    with pytest.raises(FileExistsError):
        Replay(bench / "test", tmp_path / "fetches.jsonl")


# How it is scored


def slow_pair_figures(truth, scores, threshold, family_of):
    """AUC against near misses over all pairs of pairs, F1 and recall by counting; weights by families."""
    counts = Counter((family_of(pair), relation) for pair, relation in truth.items())
    weight = {pair: min(1, score.CAP / counts[family_of(pair), relation]) for pair, relation in truth.items()}
    of = {pair: scores.get(pair, -math.inf) for pair in truth}
    replicas = [pair for pair in truth if truth[pair] == "replica"]
    near = [pair for pair in truth if truth[pair] == "near_miss"]
    won = sum(weight[a] * weight[b] * ((of[a] > of[b]) + (of[a] == of[b]) / 2) for a, b in product(replicas, near))
    total = sum(weight[pair] for pair in replicas)
    called = [pair for pair in scores if pair in truth and scores[pair] >= threshold]
    hits = sum(weight[pair] for pair in called if truth[pair] == "replica")
    false = max(of[pair] for pair in truth if truth[pair] != "replica")
    return {
        "auc_near": won / total / sum(weight[pair] for pair in near),
        "f1": 2 * hits / (sum(weight[pair] for pair in called) + total),
        "recall_none_false": sum(weight[pair] for pair in replicas if of[pair] > false) / total,
    }


@pytest.mark.parametrize("seed", range(4))
def test_figures_of_pairs_are_those_of_counting_all(bench, seed):
    truth = score.Bench(bench, "test")
    rng = Random(seed)
    scores = {pair: rng.choice((0.1, 0.4, 0.5, 0.8)) + (relation == "replica") * rng.choice((0, 0, 0.5))
              for pair, relation in truth.relation.items() if rng.random() < 0.9}  # fmt: skip
    ranking = score.Ranking(truth, scores)
    expected = slow_pair_figures(truth.relation, scores, 0.5, lambda pair: truth.family(pair[0]))
    assert ranking.figures(0.5, dict.fromkeys(ranking.families, 1)) == pytest.approx(expected)
    tried = {value: slow_pair_figures(truth.relation, scores, value, lambda pair: truth.family(pair[0]))["f1"]
             for value in set(scores.values())}  # fmt: skip
    best = ranking.figures(ranking.best_threshold(), dict.fromkeys(ranking.families, 1))
    assert best["f1"] == pytest.approx(max(tried.values()))


def slow_crawl_figures(split, fetches):
    pages = pages_of(split)
    seen = [pages[url] for url, status in fetches if status == 200 and url in pages]
    urls_of = defaultdict(list)
    for row in pages.values():
        urls_of[row["page_key"]].append(row)
    lost = 0
    for rows in urls_of.values():
        is_found = any(row in rows for row in seen)
        is_said = any(row["text"] == other["text"] != "" and row["edited"] == "0" for row in rows for other in seen)
        lost += not (is_found or is_said)
    return (len(pages) - len(fetches) - lost) / (len(pages) - len(urls_of)), lost


def write_fetches(folder, fetches):
    (folder / "test").mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"url": url, "status": status}) + "\n" for url, status in fetches)
    (folder / "test" / "fetches.jsonl").write_text("".join(lines))


def scored(bench, *arguments):
    command = [sys.executable, "-I", "-S", bench / "score.py", bench, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_figures_of_a_crawl_are_those_of_counting_all(bench, tmp_path):
    pages = pages_of(bench / "test")
    rng = Random(1)
    fetches = [(url, int(row["status"])) for url, row in pages.items() if rng.random() < 0.4]
    fetches += [*fetches[:20], ("http://elsewhere.example/", 404), (next(iter(pages)), 500)]
    write_fetches(tmp_path, [*fetches, ("http://portal.example/robots.txt", 404)])
    done = scored(bench, tmp_path, "--json")
    figures = json.loads(done.stdout)["results"][tmp_path.name]["crawl"]
    saved, lost = slow_crawl_figures(bench / "test", fetches)
    assert lost > 0
    assert (figures["saved_of_oracle"], figures["contents_lost"]) == (pytest.approx(saved), lost)
    assert (figures["requests"], figures["outside"], figures["urls"]) == (len(fetches), 1, len(pages))
    assert figures["saved_of_oracle_low"] < saved < figures["saved_of_oracle_high"]


def test_who_fetches_all_saves_nothing_and_who_knows_the_truth_saves_all(bench, tmp_path):
    pages = pages_of(bench / "test")
    write_fetches(tmp_path / "all", [(url, int(row["status"])) for url, row in pages.items()])
    one_each = {row["page_key"]: url for url, row in pages.items() if row["status"] == "200"}
    write_fetches(tmp_path / "oracle", [(url, 200) for url in one_each.values()])
    write_fetches(tmp_path / "none", [])
    folders = [tmp_path / name for name in ("all", "oracle", "none")]
    found = json.loads(scored(bench, *folders, "--json").stdout)["results"]
    assert [found[folder.name]["crawl"]["saved_of_oracle"] for folder in folders] == [0, 1, 1]
    assert [found[folder.name]["crawl"]["contents_lost"] for folder in folders] == [0, 0, len(one_each)]


def test_a_block_is_right_if_both_hosts_are_one_site(bench, tmp_path):
    rows = rows_of(bench / "test" / "hosts.csv")
    copies = [(row["host"], row["replica_of"]) for row in rows if row["replica_of"]]
    near = next(row["host"] for row in rows if row["kind"] in NEARLY)
    write_fetches(tmp_path, [(next(url for url in pages_of(bench / "test") if copies[1][0] in url), 200)])
    blocks = [(*copies[0], 8), (*copies[1], ""), (near, copies[0][1], 9), ("unknown.example", copies[0][1], 1)]
    either = next(row for row in rows_of(bench / "test" / "truth.csv") if row["relation"] == "ambiguous"
                  and not {row["host_a"], row["host_b"]} & {block[0] for block in blocks})  # fmt: skip
    blocks.append((either["host_a"], either["host_b"], 5))
    lines = ["host,canonical,pages", *(",".join(map(str, block)) for block in blocks)]
    (tmp_path / "test" / "blocks.csv").write_text("\n".join([*lines, lines[1], ""]))  # one is there twice
    figures = json.loads(scored(bench, tmp_path, "--json").stdout)["results"][tmp_path.name]["crawl"]
    assert (figures["right_blocks"], figures["wrong_blocks"], figures["pages_to_verdict"]) == (2, 2, 4.5)
    assert (figures["ambiguous_blocks"], figures["copies"]) == (1, len(copies))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("fetches.jsonl", '{"url": "http://a/", "status": 200}\n{"url": "http', "line 2: it is no object with url"),
        ("fetches.jsonl", "[" * 100_000 + "\n", "line 1: it is no object with url and status"),
        ("fetches.jsonl", '{"url": 7, "status": 200}\n', "line 1: it is no object with url and status"),
        ("fetches.jsonl", '{"url": "http://a/", "status": 1e999}\n', "line 1: it is no object with url and status"),
        ("fetches.jsonl", '{"url": "http://a/"}\n', "line 1: it is no object with url and status"),
        ("pairs.csv", "host_a,host_b\na,b\n", "has no column score"),
        ("pairs.csv", "host_a,host_b,score\na,b,high\n", "row 2: 'high' is no number"),
        ("pairs.csv", "host_a,host_b,score\na,b,nan\n", "row 2: 'nan' is no number"),
        ("pairs.csv", "host_a,host_b,score\na,b,1\nb,A,0\n", "row 3: the pair has another score before"),
        ("pairs.csv", "host_a,host_b,score\na,b\n", "line 2: it has not as many columns as the first line"),
        ("pairs.csv", "host_a,host_b,score\na,b,1,2\n", "line 2: it has not as many columns as the first line"),
        ("pairs.csv", "", "has no column host_a, host_b, score"),
        ("other.csv", "", "has neither pairs.csv nor fetches.jsonl"),
    ],
)  # fmt: skip
def test_a_result_that_cannot_be_read_is_refused_in_one_line(bench, tmp_path, name, text, told):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / name).write_text(text)
    done = scored(bench, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_without_truth_is_refused(bench, tmp_path):
    done = scored(bench, tmp_path, "--split", "dev")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    command = [sys.executable, "-I", "-S", bench / "score.py", tmp_path, bench]
    assert "hosts.csv cannot be read" in subprocess.run(command, capture_output=True, text=True, check=False).stderr
    command = [sys.executable, "-I", "-S", bench / "replay.py", tmp_path]
    assert "No such file" in subprocess.run(command, capture_output=True, text=True, check=False).stderr


# Baselines


def test_pairs_of_near_misses_are_told_from_replicas_by_what_pages_say(bench):
    benches = {split: score.Bench(bench, split) for split in SPLITS}
    found = pair_scores(bench / "test")
    figures = {}
    for name, scores in found.items():
        ranking = score.Ranking(benches["test"], scores)
        figures[name] = ranking.figures(0.5, dict.fromkeys(ranking.families, 1))["auc_near"]
    assert figures["canonical"] < 0.75
    assert figures["scrapy-replica"] > figures["canonical"]
    assert figures["mine"] > figures["canonical"]
    sure = {frozenset(pair) for pair, value in found["mine"].items() if value > 0.5}
    kinds = Counter(row["relation"] for row in rows_of(bench / "test" / "truth.csv") if pair_of(row) in sure)
    assert kinds["replica"] > 5 * (kinds["near_miss"] + kinds["unrelated"])


def pair_of(row):
    return frozenset((row["host_a"], row["host_b"]))


def test_another_order_of_links_is_another_order_of_the_same_requests(bench):
    first, other, same = (crawled("plain", bench / "test", 0.0, order).fetches for order in (0, 1, 1))
    assert first != other == same
    assert Counter(first) == Counter(other)


def test_a_plain_crawl_of_the_warc_fetches_every_url_once(bench, tmp_path):
    found = crawled("plain", bench / "test", 0.0)
    assert Counter(found.fetches) == Counter((url, int(row["status"])) for url, row in pages_of(bench / "test").items())
    write_crawl(tmp_path / "plain" / "test", found)
    done = scored(bench, tmp_path / "plain")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.splitlines()[1].split()[:6] == [
        "plain",
        f"{len(found.fetches):,}",
        ".000",
        "(.000",
        "to",
        ".000)",
    ]
