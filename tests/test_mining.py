"""What is judged over tables is what a crawl says of the same pages; a crawl begins with what was mined."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mining_reference import candidates_of, pairs_of
from mmh3 import hash_bytes
from replica_sites import GERMAN, site
from test_live_dust import N, acting, rules, run, sessions, shop, tree
from test_live_dust import article as article_of
from web import page as html

from scrapy_replica.address import host_of
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.crawl.hosts.stored_evidence import StoredEvidence
from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawl.urls.rule_priors import RulePriors
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.lab.replicas.held import HeldDetector
from scrapy_replica.mining import dust, schema
from scrapy_replica.mining.evidence import EvidenceRow, HostRows, evidence_of, mark_of_row, sketch_of_simhash
from scrapy_replica.mining.judgement import is_alias, judged
from scrapy_replica.mining.rows import MinedRow, TableWriter, arrow_schema, read
from scrapy_replica.pages.near_duplicates import NearDuplicates
from scrapy_replica.sites.evidence import is_same_page, mark_of, path_of
from scrapy_replica.sites.judge import Judge, judge_at
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.sites.sketch import jaccards
from scrapy_replica.urls.interchange import loads
from scrapy_replica.urls.rule import Rule, Step


def row_of(page, at=None, **more):
    """The row of a page, as WARC files give it."""
    simhash = page.simhash - 2**64 if page.simhash is not None and page.simhash >= 2**63 else page.simhash
    traces = {"mark": mark_of(page).pack(), "neighbours": Neighbours.of(page).to_json()}
    told = {
        "signature": hash_bytes(page.text),
        "simhash": simhash,
        "words": page.words,
        "title": page.title,
        **traces,
        **more,
    }
    return MinedRow(page.url, page.host, path_of(page.url), status=200, at=at, **told)


def rows_of(*sites, **more):
    """Rows of the pages of sites, and of all URLs that they link to."""
    pages = [page for each in sites for page in each]
    fetched = [row_of(page, float(at), **more) for at, page in enumerate(pages)]
    links = {link.url for page in pages for link in page.links} - {page.url for page in pages}
    return fetched + [MinedRow(url, host_of(url), path_of(url), fetched=False) for url in sorted(links)]


def written(path, rows):
    """Write rows as the engine does: in order of host, then path."""
    with TableWriter(path, schema.ROWS) as writer:
        for row in sorted(rows, key=lambda row: (row.host, row.path)):
            writer.add(row)
    return path


def verdicts_of(folder, rows, readers=(), **more):
    pairs, weak = pairs_of(candidates_of(rows))
    store = HostRows([written(folder / "rows.parquet", rows)], folder / "rows.arrow")
    return judged(pairs, weak, store, dict(readers), judge=Judge.load(), **more)


TEXTS = ["mark", "neighbours", "words", "title"]


class TestJudgement:
    def test_copies_are_found_and_other_sites_are_not(self, tmp_path):
        found = verdicts_of(
            tmp_path,
            rows_of(
                site("a.example", "w", 30),
                site("mirror.example", "w", 30, prefix="/pub/w", edit=0.005),
                site("de.example", "w-de", 30, words=GERMAN),
                site("other.example", "x", 30),
            ),
        )
        assert [(v.copy, v.canonical, v.copy_prefix, v.canonical_prefix) for v in found.verdicts] == [
            ("mirror.example", "a.example", "pub/w", "")
        ]
        assert found.groups == {"a.example": ["a.example", "mirror.example"]}
        assert found.sure == {"mirror.example"}
        assert found.aliases == {}  # it has another path

    def test_it_says_what_a_crawl_over_the_same_pages_says(self, tmp_path):
        sites = [site("a.example", "w", 40), site("b.example", "w", 40), site("c.example", "w", 40, edit=0.4)]
        detector = HeldDetector(Judge.load())
        for page in [page for turn in zip(*sites, strict=True) for page in turn]:
            detector.add_fetched(page)
            for link in page.links:
                detector.add_url(page.host, path_of(link.url))
        mined = verdicts_of(tmp_path, rows_of(*sites))
        assert mined.canonical == {copy: detector.copies.canonical(copy) for copy in detector.verdicts}
        assert mined.canonical

    def test_what_is_known_of_exact_copies_is_enough_without_texts(self, tmp_path):
        """As of CDX files: digests of payloads, and nothing else."""
        sites = [site("a.example", "w", 30), site("b.example", "w", 30), site("c.example", "w", 30, edit=0.02)]
        rows = rows_of(*sites, **dict.fromkeys([*TEXTS, "simhash"]))
        found = verdicts_of(tmp_path, [row for row in rows if row.fetched])
        assert [(v.copy, v.canonical) for v in found.verdicts] == [("b.example", "a.example")]

    def test_near_copies_are_found_by_simhashes(self, tmp_path):
        sites = [site("a.example", "w", 30), site("b.example", "w", 30), site("other.example", "x", 30)]
        rows = rows_of(*sites, **dict.fromkeys(TEXTS))
        found = verdicts_of(tmp_path, [row for row in rows if row.fetched])
        assert [(v.copy, v.canonical) for v in found.verdicts] == [("b.example", "a.example")]

    def test_the_judge_learns_the_collection(self, tmp_path):
        found = verdicts_of(tmp_path, rows_of(*(site(f"{n}.example", "w", 20) for n in range(6))))
        before, after = (judge.lac.cube.counts.sum() for judge in (Judge.load(), found.judge))
        assert after > before
        found.judge.save(tmp_path / "judge.json")
        assert judge_at(tmp_path / "judge.json").to_dict() == found.judge.to_dict()

    def test_it_comes_out_the_same_in_any_order(self, tmp_path):
        rows = rows_of(*(site(f"{n}.example", "w", 12 + n) for n in range(5)), site("x.example", "x"))
        first, second = verdicts_of(tmp_path, rows), verdicts_of(tmp_path, rows[::-1])
        assert first.verdicts == second.verdicts
        assert len(first.verdicts) == 4

    def test_an_unsure_pair_does_not_keep_a_surer_one_apart(self, tmp_path, monkeypatch):
        """The draft shares more pages with ``a`` than its copy does, and is another site than the copy."""
        scores = {("a.example", "copy.example"): 0.83, ("a.example", "draft.example"): 0.7}
        monkeypatch.setattr(
            Judge, "score", lambda _, pair: scores.get(tuple(sorted((pair.first.name, pair.second.name))), 0.1)
        )
        found = verdicts_of(
            tmp_path,
            rows_of(site("a.example", "w", 30), site("draft.example", "w", 30), site("copy.example", "w", 25)),
        )
        assert found.groups == {"a.example": ["a.example", "copy.example"]}


class TestAliases:
    def alias(self, *sites):
        return is_alias(*(evidence_of(each[0].host, map(as_row, rows_of(each))) for each in sites))

    def test_another_name_of_a_host(self):
        assert self.alias(site("b.example", "w", 15), site("a.example", "w", 15))

    def test_one_page_that_differs_or_is_the_copys_own(self):
        kept, copy = site("a.example", "w", 15), site("b.example", "w", 15)
        assert not self.alias([*copy[:-1], *site("b.example", "x", 15)[-1:]], kept)
        assert not self.alias(site("b.example", "w", 16), kept)
        assert not self.alias(copy, kept[:-1])

    def test_a_page_that_may_be_the_copys_own(self):
        """A link leads to it, and nobody has looked whether the other host has it."""
        kept, copy = site("a.example", "w", 15), site("b.example", "w", 15)
        assert self.alias(copy[:-1], kept)
        assert not self.alias(copy[:-1], kept[:-1])

    def test_paths_to_the_letter(self):
        """An alias keeps the path: the page lies elsewhere on a host that has folders in place of files."""
        kept = [replace_url(page, page.url.replace(".html", "/")) for page in site("a.example", "w", 15)]
        assert not self.alias(site("b.example", "w", 15), kept)

    def test_the_same_scheme(self):
        kept = [replace_url(page, page.url.replace("http:", "https:")) for page in site("a.example", "w", 15)]
        assert not self.alias(site("b.example", "w", 15), kept)

    def test_names_are_found_beside_copies_that_lie_elsewhere(self, tmp_path):
        sites = [site("a.example", "w", 30, prefix="/w"), site("b.example", "w", 30), site("www.b.example", "w", 30)]
        found = verdicts_of(tmp_path, rows_of(*sites))
        assert found.groups == {"a.example": ["a.example", "b.example", "www.b.example"]}
        assert found.aliases == {"www.b.example": "b.example"}


def as_row(row):
    return EvidenceRow(**{name: getattr(row, name) for name in EvidenceRow._fields})


def replace_url(page, url):
    from dataclasses import replace

    links = tuple(link._replace(url=link.url.replace(page.url, url)) for link in page.links)
    return replace(page, url=url, links=tuple(link for link in links if link.url == url))


class TestEvidence:
    @given(
        st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9), st.none() | st.integers(0, 99)), max_size=60)
    )
    def test_rows_of_a_host_are_at_hand(self, tmp_path_factory, drawn):
        """Beside a dictionary of lists, over files and batches of any size."""
        folder = tmp_path_factory.mktemp("rows")
        rows = [MinedRow(f"http://{h}.example/{n}", f"{h}.example", f"/{n}", words=w) for h, n, w in drawn]
        rows.sort(key=lambda row: row.host)
        for place, start in enumerate(range(0, len(rows), 7)):
            written(folder / f"{place}.parquet", rows[start : start + 7])
        store = HostRows(sorted(folder.glob("*.parquet")), folder / "rows.arrow")
        for host in "abcdefg":
            name = f"{host}.example"
            found = Counter((row.url, row.words) for row in store.rows(name))
            assert found == Counter((row.url, row.words) for row in rows if row.host == name)

    @given(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 2**64 - 1), st.integers(18, 22)), max_size=9
        ),
        st.sets(st.integers(0, 63), max_size=20),
    )
    def test_texts_in_common(self, tmp_path_factory, drawn, flipped):
        """Beside a comparison of all with all."""
        folder = tmp_path_factory.mktemp("texts")
        mask = sum(1 << bit for bit in flipped)
        drawn = drawn + [("b", simhash ^ mask, 30) for host, simhash, _ in drawn[:1] if host == "a" and simhash]
        rows = [
            MinedRow(
                f"http://{h}.example/{n}", f"{h}.example", f"/{n}", simhash=s and (s ^ 1 << 63) - (1 << 63), words=w
            )
            for n, (h, s, w) in enumerate(sorted(drawn, key=lambda row: row[0]))
        ]
        store = HostRows([written(folder / "rows.parquet", rows)], folder / "rows.arrow")
        texts = {h: [s for host, s, words in drawn if host == h and s and words >= 20] for h in "ab"}
        expected = any((a ^ b).bit_count() <= 10 for a in texts["a"] for b in texts["b"])
        assert store.share_text("a.example", "b.example") is expected

    @pytest.mark.asyncio
    async def test_it_is_what_a_crawl_reads_of_its_job(self, tmp_path):
        pages = {f"http://a.example/{n}": html([f"/{n + 1}", f"/gone{n}"], seed=n, title=f"{n}") for n in range(20)}
        await run(pages, {"JOBDIR": str(tmp_path)}, seeds="http://a.example/0")
        db = SqliteCrawlDB(tmp_path, "topic")
        expected = StoredEvidence(db, NearDuplicates()).read("a.example")
        db.close()
        from scrapy_replica.commands.job import reading

        with reading(str(tmp_path)) as job:
            rows = [
                EvidenceRow(**{name: getattr(row, name) for name in EvidenceRow._fields})
                for row in job.tables.traces(0, 1000)
            ]
        found = evidence_of("a.example", rows)
        for name in ("pages", "paths", "missing", "n_pages", "origin", "first_seen", "established", "is_https"):
            assert getattr(found, name) == getattr(expected, name), name
        assert len(found.missing) == 21

    def test_a_mark_is_taken_as_it_is(self):
        page = site("a.example", "w")[0]
        assert mark_of_row(as_row(row_of(page))) == mark_of(page)

    @given(st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16))
    def test_digests_say_that_pages_are_one_or_that_nothing_is_alike(self, one, other):
        a, b = (mark_of_row(as_row(MinedRow("http://a.example/", "a.example", "/", signature=s))) for s in (one, other))
        assert a == mark_of_row(as_row(MinedRow("https://b.example/x", "b.example", "/x", signature=one)))
        if one != other:
            assert not is_same_page(a, b) or one[:8] == other[:8]
            assert a.title != b.title

    @given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63)))
    def test_sketches_of_simhashes_agree_no_more_than_texts_do(self, simhash, flipped):
        other = simhash ^ sum(1 << bit for bit in flipped)
        said = float(jaccards([sketch_of_simhash(simhash)], [sketch_of_simhash(other)])[0])
        share = 1 - len(flipped) / 64
        assert said <= share + 1e-9
        assert said >= 1 - 3 * len(flipped) / 64 - 0.01
        angle = np.pi * len(flipped) / 64
        cosine = max(np.cos(angle), 0.0)
        if len(flipped) <= 20 and len(flipped) > 0:
            assert said <= cosine / (2 - cosine) + 0.35


class TestRules:
    def urls(self, host="a.example", n=80):
        rows = [dust.ClusterRow(host, f"http://{host}/{k}?sid={s}", 1000 + k) for k in range(n) for s in (k, k + 7)]
        return rows + [dust.ClusterRow(host, f"http://{host}/{k}", 1000 + k) for k in range(0, n, 3)]

    def test_each_host_teaches_its_own(self):
        other = [dust.ClusterRow("b.example", f"http://b.example/?id={k}", k) for k in range(80)]
        found = list(dust.rules_of([*self.urls(), *other]))
        assert [(rule.host, rule.transformation) for rule in found] == [("a.example", (Step("drop", "sid"),))]

    def test_few_pages_teach_nothing(self):
        assert list(dust.rules_of(self.urls(n=8))) == []

    def test_what_a_crawl_found_wrong_is_left_out(self):
        learnt = list(dust.rules_of(self.urls()))
        right = Rule("c.example", (), (Step("drop", "utm"),))
        assert dust.merged(learnt, [(learnt[0].to_dict(), False), (right.to_dict(), True)]) == [right]

    def test_files_of_rules_hold_ours_and_others(self):
        ours = Rule("a.example", (), (Step("drop", "sid"),), support=9, traits=(1,) * 7)
        other = {"order": 1, "processor": "queryRemoval", "urlPattern": {"include": ["b.example"]}, "args": ["x"]}
        found = loads(json.dumps([ours.to_dict(), other]))
        assert found[0] == ours
        assert found[1].host == ".b.example"

    @pytest.mark.parametrize("text", ['[{"transformation": 3}]', '[{"transformation": [["fly", "x"]]}]', "{}", "[1]"])
    def test_what_is_no_rule_is_refused(self, text):
        with pytest.raises(ValueError, match="rule"):
            loads(text)


class TestRulePriors:
    def test_rules_come_up_on_their_hosts(self):
        carried = RulePriors()
        carried.give([Rule("a.example", (), (Step("drop", "x"),)), Rule(".b.example", (), (Step("drop", "y"),))])
        for host, expected in (
            ("a.example", ["x"]),
            ("sub.a.example", []),
            ("b.example", ["y"]),
            ("w.b.example:8080", ["y"]),
            ("notb.example", []),
        ):
            found = carried.rules_for(form_of(f"http://{host}/"), host)
            assert [(rule.host, rule.transformation[0].key) for rule in found] == [(host, key) for key in expected]


def saved(path, rules):
    path.write_text(json.dumps([rule.to_dict() for rule in rules]))
    return {"REPLICA_RULES": str(path)}


@pytest.mark.asyncio
class TestASecondCrawl:
    async def test_rules_that_were_mined_act_earlier(self, tmp_path):
        given_rules = saved(tmp_path / "rules.json", [Rule("a.example", (), (Step("drop", "zsid"),), support=30)])
        first = await run(sessions, {"JOBDIR": str(tmp_path / "1")})
        second = await run(sessions, {"JOBDIR": str(tmp_path / "2"), **given_rules})
        assert ("a.example", [["drop", "zsid", None]]) in acting(tmp_path / "2")
        assert len(second.urls) < len(first.urls)

    async def test_a_rule_that_is_wrong_by_now_never_acts(self, tmp_path):
        def web(request):
            number = int(request.url.partition("id=")[2] or 0)
            return article_of(number, [f"/a?id={child}" for child in tree(number)])

        settings = saved(tmp_path / "rules.json", [Rule("a.example", (), (Step("drop", "id"),), support=100)])
        result = await run(web, {"JOBDIR": str(tmp_path / "job"), **settings})
        assert {f"http://a.example/a?id={number}" for number in range(N)} <= set(result.urls)
        assert acting(tmp_path / "job") == []
        assert [state for _, rule, state, *_ in rules(tmp_path / "job") if "given" in rule]

    async def test_a_rule_for_all_hosts_is_proved_on_each(self, tmp_path):
        settings = saved(tmp_path / "rules.json", [Rule("", (), (Step("drop", "vid"),))])
        await run(shop("vid"), {"JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_PAGECOUNT": 35, **settings})
        assert acting(tmp_path / "job") == [("a.example", [["drop", "vid", None]])]

    @pytest.mark.parametrize(
        ("setting", "text", "told"),
        [
            ("REPLICA_RULES", None, "REPLICA_RULES: cannot read"),
            ("REPLICA_RULES", "[", "REPLICA_RULES: .*: not JSON"),
            ("REPLICA_JUDGE", None, "REPLICA_JUDGE: cannot read"),
            ("REPLICA_JUDGE", "[]", "REPLICA_JUDGE: .*: it is no judge"),
            ("REPLICA_JUDGE", '{"format": 1}', "REPLICA_JUDGE: .*: a judge model of format 1"),
            ("REPLICA_JUDGE", "\x00", "REPLICA_JUDGE: .*: it is no judge"),
        ],
    )
    async def test_a_wrong_file_stops_the_crawl_at_its_start(self, tmp_path, setting, text, told):
        if text is not None:
            (tmp_path / "file").write_text(text)
        with pytest.raises(ValueError, match=told) as error:
            await run({}, {setting: str(tmp_path / "file")})
        assert "\n" not in str(error.value)

    async def test_it_begins_with_the_judge_that_is_named(self, tmp_path, monkeypatch):
        judge = Judge.load()
        (tmp_path / "judge.json").write_text(json.dumps(judge.to_dict() | {"threshold": 0.7125}))
        begun = []
        monkeypatch.setattr(
            ReplicaExtension, "serve_frontier", lambda self: begun.append(self.crawl.replicas.detector.judge.threshold)
        )
        await run({}, {"REPLICA_JUDGE": str(tmp_path / "judge.json")})
        assert begun == [0.7125]


def test_rows_have_the_columns_of_their_table():
    assert list(MinedRow._fields) == list(schema.PAGES)
    assert set(EvidenceRow._fields) <= set(schema.PAGES)
    assert arrow_schema(schema.PAGES).names == list(schema.PAGES)


def test_tables_are_read_as_they_were_written(tmp_path):
    rows = rows_of(site("a.example", "w"))
    assert list(read([written(tmp_path / "a.parquet", rows)], schema.PAGES)) == sorted(
        rows, key=lambda row: (row.host, row.path)
    )
