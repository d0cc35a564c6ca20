"""``scrapy replica report``: what its page says is what the crawl did, whatever the crawled web put into it."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from base64 import b64encode
from hashlib import sha256

import pytest
from command_line import replica
from lxml import html
from test_status import NOW, enter, fill, save
from web import crawl, page

from scrapy_replica import Addon, TopicSpider
from scrapy_replica.claim import Claim, Kind, Standing
from scrapy_replica.commands.job import reading
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import URGENT
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.results import HostSize, Savings
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Verdict
from scrapy_replica.report.figures import COPIES, HOSTS, figures
from scrapy_replica.report.sections import sections, update
from scrapy_replica.words.terminal import amount

RULE = {"host": "a.example", "context": [], "transformation": [["drop", "sort", None]], "learntFrom": "combined"}


@pytest.fixture
def store(tmp_path):
    """A job in which ten URLs were fetched."""
    (tmp_path / "job").mkdir()
    db = SqliteCrawlDB(tmp_path / "job", "news")
    fill(db)
    yield db
    db.close()


@pytest.fixture
def written(store, tmp_path):
    """The page that the command writes of the job in the store, as it is now."""

    def write():
        store.commit()
        code, out, err = replica("report", tmp_path / "job", "--out", tmp_path / "report.html")
        assert (code, err) == (0, "")
        assert out.startswith(f"{tmp_path / 'report.html'}: 0.9 MB")
        return (tmp_path / "report.html").read_text("utf-8")

    return write


def shown(store, name):
    """The text of a section of the job in the store, white space folded, and its charts by their ids."""
    store.commit()
    with reading(store.connection.path.parent) as job:
        found = next(part for part in sections(figures(job, job.status(None, HOSTS))) if part.id == name)
    return " ".join(html.fromstring(found.html).text_content().split()), {chart.id: chart for chart in found.charts}


class TestPage:
    def test_it_needs_no_network_and_runs_no_other_script(self, written):
        source = written()
        tree = html.document_fromstring(source)
        assert not tree.xpath("//@src | //link | //iframe | //img | //@style | //*[starts-with(name(), 'on')]")
        assert all(link.startswith("#") for link in tree.xpath("//@href"))
        policy = tree.xpath("string(//meta[@http-equiv='Content-Security-Policy']/@content)")
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        scripts = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
        assert len(scripts) == len(tree.xpath("//script")) - 1 == 2  # the other is data
        for text in [*scripts, *re.findall(r"<style>(.*?)</style>", source, re.DOTALL)]:
            assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy

    def test_every_chart_has_a_place_a_name_and_words_beside_it(self, store, written):
        save(store, 3)
        store.verdicts.enter(Verdict("b.example", "a.example", "", "", 0.9, 9, is_manual=True), NOW, NOW * 2)
        tree = html.document_fromstring(written())
        for chart in json.loads(tree.xpath("string(//script[@id='charts'])")):
            (place,) = tree.xpath(f"//*[@id='chart-{chart['id']}']")
            assert (place.get("role"), place.get("aria-label")) == ("img", chart["label"])
            assert place.xpath("ancestor::section//table | ancestor::section//p")

    def test_what_the_web_says_is_never_markup(self, store, written):
        hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
        name = f"<b>{hostile}\u202e\u2028\x1b]0;x\x07\ud800".replace("/", "") + "y" * 10_000
        url = f"http://{name}/{hostile}'\"&amp;\u202e\u2028" + "z" * 10_000
        url_id = enter(store, url.replace("\ud800", ""), name.replace("\ud800", ""), is_dropped=True)
        store.pages.enter(Fetched(url_id, NOW, 200, title=hostile, novelty="novel", size=10))
        verdict = Verdict(name.replace("\ud800", ""), f"canonical{hostile}", hostile, "", 0.9, 9, {"sm10": 0.9})
        store.verdicts.enter(verdict, NOW, NOW * 2)
        store.suppressed.enter([Suppressed(url_id, verdict.claim, None)])
        store.rules.enter({**RULE, "host": hostile, "examples": [[url.replace("\ud800", ""), hostile]]}, NOW)
        evidence = {"kind": "no-news", "prefix": f"{hostile}\u202e"}
        store.ledger.record(url_id, Decision(Action.DEMOTE, Action.DEMOTE, Reason.TRAP_BUDGET, evidence=evidence), NOW)
        source = written()
        tree = html.document_fromstring(source)
        assert len(tree.xpath("//script")) == 3
        assert not tree.xpath("//img | //main//b | //*[@onerror]")
        assert not set("\u202e\u2028\x1b\x07") & set(source)
        assert "z" * 400 not in source
        assert "y" * 400 not in source
        assert "alert(1)" in tree.xpath("string(//main)")
        assert json.loads(tree.xpath("string(//script[@id='charts'])"))

    def test_a_secret_is_not_told(self, store, written):
        url_id = enter(store, "http://me:secret@a.example/?sort=1&token=secret", "a.example", is_dropped=True)
        rule = store.rules.enter({**RULE, "examples": [["http://a.example/?token=secret", "x"]]}, NOW)
        store.suppressed.enter([Suppressed(url_id, Claim.read(f"rule {rule}"), None)])
        source = written()
        assert "http://***@a.example/?sort=1&token=***" in html.document_fromstring(source).text_content()
        assert "secret" not in source

    def test_what_is_left_out_of_a_long_table_is_said(self, store):
        for n in range(COPIES + 7):
            store.verdicts.enter(
                Verdict(f"c{n}.example", f"k{n // 5}.example", "", "", 0.9, 5, is_manual=True), NOW, NOW * 2
            )
        text, charts = shown(store, "groups")
        assert f"{COPIES + 7} hosts were found to be copies" in text
        assert "7 more copies are left out here" in text
        assert len(charts["groups"].data["nodes"]) < 90

    def test_an_open_page_is_brought_up_to_date(self, store):
        store.commit()
        with reading(store.connection.path.parent) as job:
            told = json.loads(json.dumps(update(figures(job, job.status(NOW, HOSTS)))))
        assert set(told) == {"sections", "charts"}
        assert "10 URLs" in told["sections"]["summary"]
        assert {"course", "hosts"} <= {chart["id"] for chart in told["charts"]}


class TestFigures:
    def test_the_curves_end_where_the_crawl_is(self, store):
        store.commit()
        with reading(store.connection.path.parent) as job:
            course, few = job.results.course(100), job.results.course(3)
        assert [point.traffic.fetches for point in course] == list(range(1, 11))
        assert [point.traffic.fetches for point in few] == [4, 7, 10]
        traffic = course[-1].traffic
        assert (traffic.novel, traffic.duplicates, traffic.relevant, traffic.errors) == (6, 1, 2, 3)
        assert few[-1].traffic == traffic

    def test_a_copy_of_a_copy_stands_below_it(self, store):
        for copy, canonical in (("b", "a"), ("c", "b"), ("d", "a")):
            store.verdicts.enter(
                Verdict(f"{copy}.example", f"{canonical}.example", "", "", 0.9, 9, is_manual=True), NOW, NOW * 2
            )
        _, charts = shown(store, "groups")
        nodes = [(node["name"], node["level"]) for node in charts["groups"].data["nodes"]]
        assert nodes == [("a.example", 0), ("b.example", 1), ("c.example", 2), ("d.example", 1)]
        edges = [(edge["canonical"], edge["row"]) for edge in charts["groups"].data["edges"]]
        assert edges == [(0, 1), (1, 2), (0, 3)]

    def test_evidence_examples_and_what_was_taken_back(self, store):
        store.verdicts.enter(Verdict("b.example", "a.example", "docs", "", 0.912, 9, {"sm10": 0.93}), NOW, NOW * 2)
        (url_id, *_) = save(store, 2, claim=Claim(Kind.MIRROR, "b.example", "a.example"))
        store.verdicts.enter(Verdict("c.example", "a.example", "", "", 0.7, 5), NOW, NOW * 2)
        store.verdicts.end("c.example", Standing.REFUTED)
        text, _ = shown(store, "groups")
        assert "1 host was found to be a copy of another; 2 URLs of it are not fetched" in text
        assert "pages in equal places that agree: 9 of 9" in text
        assert store.urls.url_of(url_id) in text
        assert "c.example of a.example refuted" in text

    def test_rules_in_force_come_first_with_what_they_saved(self, store):
        store.rules.enter({**RULE, "host": "old.example"}, NOW)
        number = store.rules.enter(RULE, NOW)
        store.rules.update(number, Standing.IN_FORCE, 12, 1, 12)
        save(store, 3, Reason.DUST_RULE, f"rule {number}")
        text, _ = shown(store, "rules")
        assert "1 rule is in force, of 2 that were proposed" in text
        assert text.index("without the argument sort") < text.index("old.example")
        assert "in force, learnt 12 1 3" in text

    def test_a_site_by_its_directories(self, store):
        assert "No host has directories" in shown(store, "sites")[0]
        for path, novelty in (
            ("docs/a/1", "novel"),
            ("docs/a/2?x=/b/", "exact-duplicate"),
            ("docs/3", "near-duplicate"),
        ):
            url_id = enter(store, f"http://a.example/{path}", "a.example", priority=1)
            store.pages.enter(Fetched(url_id, NOW, 200, novelty=novelty))
        enter(store, "http://a.example/docs/a/deep/4", "a.example", is_dropped=True)
        text, charts = shown(store, "sites")
        assert "/ 13 7 3 3 1 /docs/ 3 1 2 0 1 /docs/a/ 2 1 1 0 1" in text
        rows = charts["site-0"].data["bars"]
        of_docs = {row["kind"]: row["number"] for row in rows if row["name"] == "/docs/"}
        assert of_docs == {"new pages": 1, "repeats": 2, "errors": 0, "short pages, files": 0, "left out": 1}

    def test_traps_by_place(self, store):
        for n in range(5):
            url_id = enter(store, f"http://a.example/cal/{n}", "a.example", is_dropped=n < 3, is_demoted=True)
            decision = Decision(
                Action.DROP,
                Action.DROP,
                Reason.TRAP_BUDGET,
                evidence={"kind": "calendar"} if n < 3 else {"kind": "no-news", "prefix": "a.example/cal"},
            )
            for _ in range(2):  # one URL, however often it was decided
                store.ledger.record(url_id, decision, NOW)
        text, _ = shown(store, "traps")
        assert "5 URLs in 2 places were held back" in text
        assert "the last dates brought nothing new http://a.example/cal/0 3 3 0" in text
        assert "a.example/cal few pages where it lies brought anything new http://a.example/cal/3 2 0 2" in text

    def test_scores_of_what_waits(self, store):
        text, charts = shown(store, "frontier")
        assert "All have the same score" in text
        assert not charts
        for n in range(10):
            enter(store, f"http://a.example/s/{n}", "a.example", score=n / 10, is_demoted=n == 9)
        enter(store, "http://a.example/probe", "a.example", score=URGENT)
        text, charts = shown(store, "frontier")
        bins = charts["scores"].data["bins"]
        assert (sum(row["first"] for row in bins), sum(row["behind"] for row in bins)) == (12, 3)
        assert (bins[0]["low"], bins[-1]["high"], bins[-1]["behind"]) == (0.0, pytest.approx(0.9), 1)
        assert "1 URL is asked for first, to decide something" in text

    def test_false_drops_with_their_intervals(self, store):
        for n, outcome in enumerate([Outcome.SAME] * 8 + [Outcome.OTHER] * 2):
            url_id = enter(store, f"http://b.example/{n}", "b.example")
            store.samples.enter(
                [Sample(url_id, Claim(Kind.MIRROR, "b", "a"), Reason.REPLICA_HOST, n, Stratum(), 1.0, outcome)]
            )
        text, charts = shown(store, "saved")
        assert "host is a copy of another 0 0 10 2 20 % 5.7 % to 51 %" in text
        (row,) = charts["false-drops"].data["rates"]
        assert (row["share"], round(row["low"], 3), round(row["high"], 3)) == (0.2, 0.057, 0.51)


class TestSavings:
    def test_a_stand_in_that_was_fetched_tells_the_size(self, store, tmp_path):
        """The others count as the median answer of their host, or as the mean one."""
        stand_in = enter(store, "http://b.example/kept", "b.example")
        store.pages.enter(Fetched(stand_in, NOW, 200, size=5_000))
        for n, size in enumerate((100, 200, 700)):
            store.pages.enter(Fetched(enter(store, f"http://b.example/{n}", "b.example"), NOW, 200, size=size))
        first, second = save(store, 2)
        store.suppressed.enter(
            [Suppressed(first, Claim.read("mirror b.example of a.example"), store.urls.key_of(stand_in))]
        )
        store.suppressed.enter([Suppressed(second, Claim.read("mirror b.example of a.example"), None)])
        store.commit()
        with reading(tmp_path / "job") as job:
            savings = job.results.savings()
        assert (savings.urls, savings.known) == (2, 1)
        assert savings.bytes == (5_000 + 450, 5_000 + 1_500)
        text, _ = shown(store, "saved")
        assert "They would have brought about 5.5 kB to 6.5 kB" in text
        assert "at least 2 requests fewer" in text

    def test_a_host_that_never_answered_counts_as_the_crawl(self):
        hosts = [HostSize(0, 0, 0, 4, 100.0, 60.0), HostSize(3, 0, 0, 0, 0.0, 0.0)]
        assert Savings(hosts, 0).bytes == (180.0, 300.0)
        assert Savings(hosts[1:], 0).bytes is None

    def test_what_finding_out_cost_is_told(self, store):
        save(store, 2)
        for n in range(3):
            url_id = enter(store, f"http://b.example/probe/{n}", "b.example", score=URGENT)
            store.pages.enter(Fetched(url_id, NOW, 200, size=1_000))
            store.urls.finish([store.urls.take().id])
            store.unrequested.enter(url_id)
        text, _ = shown(store, "saved")
        assert "3 URLs were asked for in their place, or to decide about them" in text
        assert "So far finding out costs more requests than were saved" in text

    def test_observe_mode_saves_nothing(self, store):
        url_id = enter(store, "http://a.example/x", "a.example")
        store.ledger.record(url_id, Decision(Action.FETCH, Action.DROP, Reason.REPLICA_HOST), NOW)
        text, _ = shown(store, "saved")
        assert "Nothing, for the crawl ran in observe mode. In another one 1 URL would not" in text

    @pytest.mark.asyncio
    async def test_sizes_are_those_of_the_network(self, tmp_path):
        """Packed pages count as they came, errors and redirects, too."""
        plain = page(["http://a.example/gone", "http://a.example/moved"], words=400)
        packed = gzip.compress(plain.encode())
        web = {
            "http://a.example/": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, packed),
            "http://a.example/gone": (404, {"Content-Type": "text/html"}, "gone"),
            "http://a.example/moved": (302, {"Location": "http://a.example/"}, "this way"),
        }
        settings = {"ADDONS": {Addon: 500}, "JOBDIR": str(tmp_path)}
        await crawl(TopicSpider, web, settings, seeds="http://a.example/")
        with sqlite3.connect(tmp_path / FILE_NAME) as db:
            sizes = dict(db.execute("SELECT urls.url, size FROM pages JOIN urls ON urls.id = pages.url"))
        assert sizes == {
            "http://a.example/": len(packed),
            "http://a.example/gone": 4,
            "http://a.example/moved": 8,
        }


class TestBadInput:
    def test_an_empty_job(self, tmp_path):
        (tmp_path / "job").mkdir()
        SqliteCrawlDB(tmp_path / "job").close()
        code, out, err = replica("report", tmp_path / "job", "--out", tmp_path / "report.html")
        assert (code, out) == (1, "")
        assert err == f"{tmp_path / 'job'}: nothing was fetched so far; there is nothing to report\n"
        assert not (tmp_path / "report.html").exists()

    def test_nothing_is_written_where_something_is_wrong(self, store, tmp_path):
        store.commit()
        (tmp_path / "folder").mkdir()
        for job, out in (("none", "report.html"), ("job", "folder"), ("job", "none/report.html")):
            code, _, err = replica("report", tmp_path / job, "--out", tmp_path / out)
            assert code == 2
            assert err.count("\n") == 1
        assert {path.name for path in tmp_path.iterdir()} == {"job", "folder"}

    def test_a_job_that_runs_is_read_and_one_of_another_version_refused(self, store, written, tmp_path):
        assert "10 URLs" in written()  # its crawl has the lock
        store.set_meta("version", b"1")
        store.commit()
        code, _, err = replica("report", tmp_path / "job", "--out", tmp_path / "report.html")
        assert (code, err.count("\n")) == (2, 1)
        assert "version 1" in err


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (amount(0), "0 B"),
        (amount(999), "999 B"),
        (amount(999.6), "1.0 kB"),
        (amount(12_345_678), "12 MB"),
        (amount(5e15), "5,000 TB"),
    ],
)
def test_sizes_and_times(told, wanted):
    assert told == wanted
