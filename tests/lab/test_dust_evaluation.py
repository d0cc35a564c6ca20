from __future__ import annotations

import csv
import gzip
import json
from functools import cache, partial

import pytest
from command_line import replica
from web import page

from scrapy_replica.lab.dust.dust import EMPTY, book_of, evaluate, judge, part_of, read, total, unknowable
from scrapy_replica.lab.dust.dust_combined import TRUTH, Removed, figures_of, removed_by_hosts
from scrapy_replica.lab.dust.dust_judge import by_support_and_error, hosts_of, recalls
from scrapy_replica.lab.dust.dust_kinds import KINDS, difference, kinds_of
from scrapy_replica.lab.dust.dust_learners import DESCRIBED, LEARNERS
from scrapy_replica.lab.dust.dust_peers import peers
from scrapy_replica.lab.dust.dust_splits import Row, empty_listings, family, family_with_services, halves


def row(url, cluster, host="h"):
    return Row(url, host, cluster, "")


@cache
def dev_rows(shared):
    """The table of real URLs, read once."""
    return read(shared / "dust" / "dust_urls.csv.gz")


@cache
def dev_parts(shared):
    return [part_of(half) for half in halves(dev_rows(shared), family)]


def judged_on_dev(shared, learner):
    """What the rules that *learner* makes of each half of the family split remove from the other."""
    parts, counts = dev_parts(shared), []
    for learnt, judged in (parts, parts[::-1]):
        book = learner(learnt.rows)
        counts += judge(lambda url, book=book: book.canonical(url)[0], judged).values()
    return total(counts)


def warc_record(url, html):
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
    head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-15T00:00:00Z\r\n"
    head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "urls.csv"
    with path.open("w", newline="") as lines:
        out = csv.writer(lines)
        out.writerow(["host", "url", "text_sha1", "text_chars", "canonical", "kind"])
        for page in range(60):
            for sid in range(3):
                out.writerow(["h", f"http://h/p{page}?sid={sid}", f"t{page}", 500, f"http://h/p{page}", "x"])
        out.writerow(["h", "http://h/short?sid=1", "t0", 20, "", "x"])
    return path


class TestJudge:
    def test_counts_by_hand(self):
        rows = [row("a1", "A"), row("a2", "A"), row("b1", "B"), row("c", "C")]
        count = total(judge(lambda url: url[0] if url != "c" else "a", part_of(rows)).values())
        assert (count.removable, count.right, count.wrong) == (1, 1, 1)
        assert (count.recall, count.precision) == (1.0, 0.5)

    def test_leaving_urls_alone_is_never_wrong(self):
        count = total(judge(str, part_of([row("a1", "A"), row("a2", "A")])).values())
        assert (count.right, count.wrong, count.precision) == (0, 0, 1.0)

    def test_each_removal_is_counted_by_host_and_kind(self):
        rows = [
            row("http://h/a?s=1", "A"),
            row("http://h/a?s=2", "A"),
            row("http://h/b?s=1", "B"),
            row("http://i/a/", "C", "i"),
            row("http://i/A", "D", "i"),
        ]
        counts = judge(lambda url: url.partition("?")[0].rstrip("/").lower(), part_of(rows))
        assert counts == {("h", "values"): (1, 1, 0), ("i", "slash_index"): (0, 0, 1)}


class TestKinds:
    @pytest.mark.parametrize(
        ("one", "other", "kind"),
        [
            ("http://h/a?x=1", "https://www.h/a?x=1", "host"),
            ("http://h/a", "http://h:8080/a", "host"),
            ("http://h/a?x=1&y=2", "http://h/a?y=2&x=1", "order"),
            ("http://h/Read?x=1", "http://h/read?x=1", "case"),
            ("http://h/a", "http://h/a/", "slash_index"),
            ("http://h/a/", "http://h/a/index.html", "slash_index"),
            ("http://h", "http://h/Default.aspx", "slash_index"),
            ("http://h/a?x=1&sid=7", "http://h/a?x=1&sid=8", "values"),
            ("http://h/a", "http://h/a?sid=8", "arguments"),
            ("http://h/a?x=1&sort=up", "http://h/a?x=1", "arguments"),
            ("http://h/story/7", "http://h/story_7", "path"),
            ("http://h/print/a?x=1", "http://h/a?x=1", "path"),
            ("http://h/index.php?title=A", "http://h/A/", "path_arguments"),
            ("http://h/?p=7", "http://h/2020/01/name/", "id_only"),
            ("http://h/?p=7", "http://h/?p=8", "id_only"),
            ("http://h/?p=7", "http://h/index.php?p=7", "slash_index"),
        ],
    )
    def test_least_difference(self, one, other, kind):
        assert difference(one, other) == difference(other, one) == kind
        assert kinds_of([(one, "A"), (other, "A")]) == ["", kind]
        assert kind in KINDS

    def test_the_least_of_all_before_counts(self):
        urls = ["http://h/?p=7", "http://h/name", "http://h/name?s=1", "http://h/other", "http://h/name/"]
        found = kinds_of([(url, "A") for url in urls])
        assert found == ["", "id_only", "arguments", "path", "slash_index"]

    def test_clusters_do_not_mix(self):
        assert kinds_of([("http://h/a", "A"), ("http://h/a/", "B")]) == ["", ""]


class TestOrders:
    def test_recall_is_counted_up_to_the_share_of_wrong_removals(self):
        """``sid`` means nothing; ``v`` means nothing on one page of ten less than on the others."""
        rows = [row(f"http://h/p{n}?sid={sid}", f"h {n}") for n in range(120) for sid in range(2)]
        rows += [row(f"http://h/q{n}?v={v}", f"h q{n}{v if n % 10 == 0 else ''}") for n in range(120) for v in range(2)]
        hosts = hosts_of(rows)
        removable = sum(len(part_of(half).kinds) for half in halves(rows, family))
        found = recalls(hosts, removable, by_support_and_error)
        reversed_ = recalls(hosts, removable, lambda host, rule: tuple(-x for x in by_support_and_error(host, rule)))
        assert 0.5 < found[0.01] < 0.55  # sid alone is 120 of 228
        assert reversed_[0.01] < found[0.01]
        assert found[0.05] < 1.0

    def test_no_judge_knows_the_host_or_its_siblings(self):
        names = ("a.h.org", "b.h.org", "c.i.org")
        hosts = hosts_of(
            [row(f"http://{name}/p{n}?sid={s}", f"{name} {n}", name) for name in names for n in range(40) for s in "12"]
        )
        known = hosts.judge_without("h.org").lac.cube.counts.sum()
        assert 0 < known < hosts.judge_without("i.org").lac.cube.counts.sum()


class TestSplit:
    def test_a_family_is_never_cut(self):
        rows = [row(f"http://h/w?title=P_{i}&a={a}", "x") for i in range(50) for a in range(4)]
        one, other = halves(rows, family)
        assert not {family(r) for r in one} & {family(r) for r in other}
        assert one
        assert other

    def test_a_service_is_cut_by_what_it_is_asked(self):
        host = "http://h/index.php?title=Special:"
        asked = {f"{host}New&offset={n}": f"h /index.php {n} Special:New" for n in range(3)}
        asked |= {"http://h/list.php?b=2&a=1": "h /list.php 1 2", "http://h/?showimage=7": "h / 7"}
        assert {url: family_with_services(row(url, "x")) for url in asked} == asked
        own_page = [
            f"{host}Links/A&limit=5",
            f"{host}Linked&target=A&days=3",
            "http://h/view.php?title=A&b=2",
            "http://h/a/",
        ]
        for url in own_page:
            assert family_with_services(row(url, "x")) == family(row(url, "x"))

    def test_empty_listings_are_a_kind_apart(self):
        rows = [row(f"http://h/tag/{n}/feed", "none") for n in range(51)] + [
            row(f"http://h/{n}", "A") for n in range(50)
        ]
        assert empty_listings(rows) == {"none"}
        part = part_of(rows, empty_listings(rows))
        assert sum(kind == EMPTY for kind in part.kinds.values()) == 50
        assert sum(kind == "path" for kind in part.kinds.values()) == 49

    def test_page_numbers_are_counted_apart(self):
        rows = [
            row("http://h/?p=7", "A"),
            row("http://h/name/", "A"),
            row("http://h/?p=8", "B"),
            row("http://h/?q=8", "C"),
        ]
        assert unknowable(rows) == 1


class TestRead:
    def test_short_pages_are_left_out(self, table):
        assert len(read(table)) == 180

    def test_missing_column_is_named(self, tmp_path):
        (tmp_path / "bad.csv").write_text("host,url\nh,http://h/\n")
        with pytest.raises(ValueError, match="text_chars, text_sha1"):
            read(tmp_path / "bad.csv")

    @pytest.mark.parametrize(
        ("name", "content", "says"),
        [
            ("bad.csv", b"", "no column host, text_chars, text_sha1, url"),
            ("bad.csv", b"host,url,text_sha1,text_chars\n", "more than 200 characters"),
            ("bad.csv", b"host,url,text_sha1,text_chars\nh,http://h/,x,many\n", "line 2: text_chars is 'many'"),
            ("bad.csv", b"host,url,text_sha1,text_chars\nh,http://h/\n", "line 2: text_chars is None"),
            ("bad.csv", b"\xff\xfe\x00", "is no table of URLs"),
            ("bad.csv.gz", b"host,url", "is no table of URLs"),
        ],
    )
    def test_what_is_no_table_is_one_line(self, tmp_path, name, content, says):
        (tmp_path / name).write_bytes(content)
        code, out, error = command(tmp_path / name)
        assert (code, out) == (2, "")
        assert says in error
        assert error.count("\n") == 1


command = partial(replica, "lab", "dust")


class TestEvaluate:
    def test_figures_of_a_clear_case(self, table):
        figures, rules, _ = evaluate(table, ["combined", "rewrite"], with_peers=False)
        for name in ("combined_e0", "combined_e10", "rewrite_e0", "rel_canonical_e0", "rel_canonical_e10"):
            assert figures[f"{name}.recall"] == 1.0
            assert figures[f"{name}.wrong"] == 0
            assert figures[f"{name}.kind.values.right"] == figures[f"{name}.host.h.right"] == 120
        assert figures["removable"] == 120
        assert sum(figures[f"combined_e0.kind.{kind}.removable"] for kind in (*KINDS, EMPTY)) == 120
        assert figures["combined_e0.rules"] == 1
        assert figures["combined_e0.seconds"] > 0
        assert figures["combined_e0.services.recall"] == figures["combined_e0.cluster.recall"] == 1.0
        assert figures["combined_e0.by_host.removable"] == figures["combined_e0.by_host.right"] == 120  # sid is a guess
        assert figures["judged_e0.recall"] == figures["order.judge.recall_0.01"] == 1.0
        (rule,) = rules["h"]
        assert rule.transformation[0].key == "sid"

    def test_peers_answer_or_are_said_to_be_absent(self):
        assert set(peers()) == {"w3lib", "url_normalize", "duplicate_url_discarder", "courlan"}
        assert all(canonical is None or canonical("http://h.org/a") for canonical in peers().values())

    @pytest.mark.shared
    def test_dev_floor(self, shared):
        rows = dev_rows(shared)
        assert len(rows) == 39_145
        assert unknowable(rows) == 1_593
        count = judged_on_dev(shared, partial(book_of, "pattern_tree", 0.0))
        assert count.recall >= 0.11  # 0.119 measured on dust (dev), family split
        assert count.precision >= 0.98  # 0.990 measured there

    @pytest.mark.shared
    @pytest.mark.parametrize(
        ("epsilon", "recall", "precision"),
        [(0.0, 0.300, 0.985), (0.1, 0.385, 0.960)],  # .305, .9886 and .390, .9632 measured on dust (dev), family split
    )
    def test_combined_floor(self, shared, epsilon, recall, precision):
        count = judged_on_dev(shared, partial(book_of, "combined", epsilon))
        assert count.recall >= recall
        assert count.precision >= precision


class TestCommand:
    def test_json_has_every_learner_and_peer_by_name(self, table):
        curve = table.parent / "curve"
        code, out, _ = command(table, "--json", "--out", curve)
        figures = json.loads(out)["figures"]
        assert code == 0
        for name in (*DESCRIBED, *LEARNERS, *peers()):
            for error in ("e0", "e10"):
                if f"{name}.absent" not in figures:
                    wanted = {f"{name}_{error}.{key}" for key in ("recall", "precision", "wrong", "rules", "seconds")}
                    assert wanted <= figures.keys()
        with (curve / "top_n.csv").open(newline="") as lines:
            last = list(csv.DictReader(lines))[-1]
        assert int(last["rules"]) == figures["top.1.rules"] > 0
        assert float(last["recall"]) == pytest.approx(figures["top.1.recall"], abs=1e-6)
        assert (curve / "top_n.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (curve / "top_n.svg").read_text()

    def test_a_file_is_no_folder_for_the_curve(self, table):
        assert command(table, "--out", table) == (
            2,
            "",
            f"scrapy replica lab dust: --out: {table} is a file: name a folder\n",
        )

    def test_text_has_kinds_hosts_and_readable_rules(self, table):
        code, out, _ = command(table)
        assert code == 0
        lines = [line.split() for line in out.splitlines()]
        assert ["combined_e0", "1.000", "1.000", "120", "120", "0"] in [line[:6] for line in lines]
        assert ["values", "1.000", "1.000", "120", "120", "0"] in lines
        assert [line[-2:] for line in lines if line[:2] == ["100%", "of"]] == [["1.000", "1.000"]]
        assert max(map(len, out.splitlines()[:60])) <= 80
        assert "  on h the page is the same without the argument sid; support" in out
        assert "?sid=0 -> http://h/p" in out or "?sid=1 -> http://h/p" in out


@pytest.fixture
def replica_folder(tmp_path):
    """Three works on two hosts each, six pages a host, one of them under two names."""
    folder = tmp_path / "replicas"
    (folder / "warc").mkdir(parents=True)
    hosts = [f"{work}{copy}.example" for work in "abc" for copy in "12"]
    tables = {"pages.csv": ["host,url,text_sha1,text_chars"], "hosts.csv": ["host,host_status"]}
    tables["truth.csv"] = ["host_a,host_b,relation,family"]
    for host in hosts:
        tables["hosts.csv"].append(f"{host},assigned")
        records = []
        for n in range(8):
            html = page([f"/p{k}" for k in range(8)], words=60, seed=(host[0], n), title=f"Page {n}")
            records.append(warc_record(f"http://{host}/p{n}", html))
            tables["pages.csv"].append(f"{host},http://{host}/p{n},{host[0]}{n},500")
        tables["pages.csv"].append(f"{host},http://{host}/p0?view=1,{host[0]}0,500")
        (folder / "warc" / f"{host}.warc.gz").write_bytes(b"".join(records))
    for place, one in enumerate(hosts):
        for other in hosts[place + 1 :]:
            is_replica = one[0] == other[0]
            truth = "replica" if is_replica else "unrelated"
            tables["truth.csv"].append(f"{one},{other},{truth},{one[0] if is_replica else ''}")
    for name, lines in tables.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


class TestCombined:
    def test_shares_by_hand(self):
        intra = {
            "none": Removed(),
            "e0": Removed(frozenset("ab"), frozenset("x")),
            TRUTH: Removed(frozenset("abc")),
        }
        inter = {"0": Removed(frozenset("bx"), frozenset("y")), TRUTH: Removed(frozenset("bcd"))}
        figures = figures_of(intra, inter)
        assert [figures[f"together.{key}"] for key in ("duplicates", "intra", "inter", "both")] == [4, 3, 3, 2]
        e0 = [figures[f"together.e0.fpr_0.{key}"] for key in ("intra_only", "inter_only", "both", "wrong", "rr")]
        assert e0 == [1, 1, 1, 1, 0.75]  # x is wrong as a rule has it, and goes with its host all the same
        assert figures["together.none.fpr_truth.rr"] == 0.75
        assert figures["together.truth.fpr_truth.rr"] == 1.0

    def test_no_duplicates_no_ratio(self):
        figures = figures_of({TRUTH: Removed()}, {TRUTH: Removed()})
        assert figures["together.truth.fpr_truth.rr"] != figures["together.truth.fpr_truth.rr"]

    def test_what_goes_with_a_host(self):
        rows = [row("a1", "a X", "a"), row("a2", "a Y", "a"), row("b1", "b X", "b"), row("c1", "c Z", "c")]
        found = removed_by_hosts({"a": True, "c": False}, rows)
        assert found == (frozenset({"a1"}), frozenset({"c1"}))

    def test_replica_hosts_and_rules_as_one_collection(self, table, replica_folder):
        code, out, _ = command(table, "--combined", replica_folder, "--json")
        figures = json.loads(out)["figures"]
        assert code == 0
        assert figures["together.inter"] == 3 * 9
        assert figures["together.none.fpr_0.rr"] == pytest.approx(27 / figures["together.duplicates"])
        assert figures["together.e0.fpr_0.intra_only"] >= 120
        assert figures["together.e0.fpr_0.wrong"] == 0
        assert figures["published.inter"] == 3 * 9
        assert figures["published.e0.fpr_0.intra_only"] >= 120
        code, out, _ = command(table, "--combined", replica_folder)
        assert "Together: " in out
        assert [line.split()[:2] for line in out.splitlines()].count(["e10", "0.005"]) == 2
        assert "hosts by pu_nu, rules by dasgupta_2008" in out

    @pytest.mark.parametrize("missing", ["truth.csv", "pages.csv", "hosts.csv"])
    def test_what_is_no_such_folder_is_one_line(self, table, replica_folder, missing):
        (replica_folder / missing).unlink()
        code, out, error = command(table, "--combined", replica_folder)
        assert (code, out) == (2, "")
        assert f"no {missing}" in error
        assert error.count("\n") == 1

    def test_a_folder_that_is_not_there(self, table, tmp_path):
        code, _, error = command(table, "--combined", tmp_path / "none")
        assert code == 2
        assert "there is no" in error
