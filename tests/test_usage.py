"""What sites say may be done with their pages: read as the drafts have it, kept beside the page, never made up."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_line import replica
from fastwarc.warc import ArchiveIterator
from pyarrow import parquet
from scrapy import Spider
from scrapy.http import HtmlResponse, Request
from scrapy.settings import Settings
from web import HTML, REPLICA, crawl, page, redirect

from scrapy_replica import TopicSpider, extract
from scrapy_replica.components.usage import UsageStatements
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.usage import (
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    LONGEST,
    META_ROBOTS,
    META_TDM_RESERVATION,
    MOST,
    RobotsUsage,
    Statement,
    as_preferences,
    from_json,
    kept,
    to_json,
    uses,
    uses_by_name,
)

SITE = "http://a.example"
OBEY = {**REPLICA, "ROBOTSTXT_OBEY": True, "USER_AGENT": "OurBot/1.0 (+http://me.example)"}


def preferences(source, value):
    return as_preferences(uses([Statement(source, value)]))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("train-ai=n", "train-ai=n"),
        ("train-ai=y, search=n", "search=n, train-ai=y"),
        ("  search=y,ai-use=n  ", "search=y, ai-use=n"),
        ("train-ai;allow=n, train-ai=y", "train-ai=y"),
        ('train-ai=y, train-ai, search=n, search="n"', ""),  # draft-ietf-aipref-vocab, 6.5.1
        ('train-ai;has;parameters="?";', ""),
        ("train-ai=n;why=(1 2)", ""),
        ('x=(1 2 "a");q=1.5, y=?1, z=:aGk=:, d=@1659578233, train-ai=n', "train-ai=n"),
        ("unheard-of=n, train-ai=maybe", ""),
        ("Train-AI=n", ""),
        ("TRAIN-AI=n, train-ai=y", ""),
        ("train-ai=n,", ""),
        ("train-ai=n;;", ""),
        ("train-ai=n search=n", ""),
        ("train-ai = n", ""),
        ("train-ai=N", ""),
        ("train-ai", ""),
        ("", ""),
        ("é", ""),
    ],
)
def test_content_usage(value, told):
    assert preferences(CONTENT_USAGE, value) == told


@pytest.mark.parametrize(
    ("source", "value", "told"),
    [
        (CONTENT_SIGNAL, "search=yes, ai-train=no", "search=y, train-ai=n"),
        (CONTENT_SIGNAL, "Search=YES,ai-input=no,use=reference", "search=y, ai-use=n"),
        (CONTENT_SIGNAL, "ai-train=no, ai-train=yes", "train-ai=n"),
        (CONTENT_SIGNAL, "ai-train=n, search=1, nonsense", ""),
        (META_ROBOTS, "index, follow, all", ""),
        (META_ROBOTS, "NoIndex", "search=n"),
        (META_ROBOTS, "none", "search=n"),
        (META_ROBOTS, "nosnippet, noai, noimageai, noarchive", "ai-use=n, train-ai=n"),
        (META_ROBOTS, "max-snippet: 0", "ai-use=n"),
        (META_ROBOTS, "max-snippet:50", ""),
        (META_TDM_RESERVATION, "1", "train-ai=n, tdm=n"),
        (META_TDM_RESERVATION, "0", "tdm=y"),
        (META_TDM_RESERVATION, "true", ""),
        ("unheard-of", "train-ai=n", ""),
    ],
)
def test_what_else_says_so(source, value, told):
    assert preferences(source, value) == told


def test_one_refusal_outweighs_what_allows():
    said = [Statement(CONTENT_USAGE, "train-ai=y, search=y"), Statement(META_ROBOTS, "noai")]
    for one in (said, said[::-1]):
        assert as_preferences(uses(one)) == "search=y, train-ai=n"


def test_what_is_too_long_or_too_much_is_left_out():
    long = Statement(CONTENT_USAGE, "train-ai=y" + ", x" * LONGEST)
    many = [Statement(META_ROBOTS, str(number)) for number in range(2 * MOST)]
    assert kept([long, *many, *many]) == tuple(many[:MOST])


def test_a_job_has_them_back_whatever_they_hold():
    said = (Statement(META_ROBOTS, 'é\x00\ud800"'),)
    assert to_json(said).isascii()
    assert tuple(from_json(to_json(said))) == said
    assert (to_json(()), from_json(None)) == (None, [])


ROBOTS = b"""\xef\xbb\xbfContent-Usage: search=n
License: https://a.example/license.xml
User-agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n     # for all
content-usage : /ai-ok/ train-ai=y
Content-Usage: /both train-ai=y
Content-Usage: /both search=n
Content-Usage: /caf\xc3\xa9 ai-use=n
Content-Usage: /*.pdf$ search=n
Content-Usage: /only
Content-Signal: ai-train=no

User-agent: Gone
User-agent: ourbot
Disallow:
Content-Signal: search=yes, ai-input=no
LICENSE: ftp://a.example/no
License: http://[broken
"""


class TestRobots:
    @pytest.mark.parametrize(
        ("path", "told"),
        [
            ("/", "train-ai=n"),
            ("/ai-ok/page", "train-ai=n"),  # the signal refuses it everywhere
            ("/both", "search=n, train-ai=n"),
            ("/caf%C3%A9/x", "ai-use=n, train-ai=n"),
            ("/a.pdf", "search=n, train-ai=n"),
            ("/a.pdf?page=2", "train-ai=n"),
        ],
    )
    def test_the_longest_path_counts(self, path, told):
        assert as_preferences(uses(RobotsUsage(ROBOTS).statements(SITE + path, "Scrapy"))) == told

    def test_a_path_of_its_own(self):
        said = RobotsUsage(b"User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n")
        assert uses_by_name(said.statements(f"{SITE}/ai-ok/page", "x")) == {"train-ai": "allowed"}
        assert uses_by_name(said.statements(f"{SITE}/ai", "x")) == {"train-ai": "refused"}

    def test_the_group_of_the_crawler_counts_alone(self):
        said = RobotsUsage(ROBOTS).statements(f"{SITE}/", "OurBot/2.0 (+https://me.example)")
        assert said == [
            Statement("robots.txt license", "https://a.example/license.xml"),
            Statement("robots.txt content-signal", "search=yes, ai-input=no"),
        ]

    def test_a_group_of_its_own_without_usage_says_nothing(self):
        body = b"User-agent: *\nContent-Usage: train-ai=n\n\nUser-agent: ourbot\nDisallow: /x\n"
        assert RobotsUsage(body).statements(f"{SITE}/", "OurBot") == []

    @pytest.mark.parametrize(
        "body", [b"", b"\xff\xfe\x00", b"<html>Content-Usage: train-ai=n</html>", b"Content-Usage: /"]
    )
    def test_what_is_none(self, body):
        assert RobotsUsage(body).statements(f"{SITE}/", "x") == []


def response(headers=(), html="<html></html>", status=200, agent="OurBot/1.0", url=f"{SITE}/d/page"):
    return HtmlResponse(
        url, status, list(headers), html.encode(), encoding="utf-8", request=Request(url, headers={"User-Agent": agent})
    )


def said(*headers, html="<html></html>", **more):
    return [tuple(one) for one in UsageStatements(Settings()).of(response(headers, html, **more))]


class TestResponses:
    def test_headers(self):
        assert said(
            ("Content-Usage", "train-ai=n"),
            ("Content-Usage", "search=y"),
            ("TDM-Reservation", "1"),
            ("tdm-policy", "https://a.example/policy.json"),
            ("Link", '</style.css>; rel=preload, <../licence>; title="l, m"; rel="next license"'),
        ) == [
            ("content-usage", "train-ai=n, search=y"),
            ("tdm-reservation", "1"),
            ("tdm-policy", "https://a.example/policy.json"),
            ("link license", f"{SITE}/licence"),
        ]

    @pytest.mark.parametrize(
        ("tag", "own"),
        [
            ("noindex, noai", "noindex, noai"),
            ("googlebot: noindex", None),
            ("OurBot: noindex, noai", "noindex, noai"),
            ("googlebot: noindex, ourbot: noai", "noai"),
            ("unavailable_after: 25 Jun 2010 15:00:00 PST, noai", "unavailable_after: 25 Jun 2010 15:00:00 PST, noai"),
            ("max-snippet:0", "max-snippet:0"),
            (",,", None),
        ],
    )
    def test_robot_tags(self, tag, own):
        assert said(("X-Robots-Tag", tag)) == ([("x-robots-tag", own)] if own else [])

    def test_a_tag_made_to_be_read_slowly_is_read_at_once(self):
        # Where its time grew with the square of its length this took two minutes.
        assert said(("X-Robots-Tag", f"noai, a{' ' * 300_000}b")) == []

    def test_the_page(self):
        html = """<html><head><base href="http://b.example/base/"><META NAME=ROBOTS content=" noai ">
            <meta name="ourbot" content="noindex"><meta name="googlebot" content="none">
            <meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="/p"><meta name=robots>
            <link rel="license" href="mit"></head><body><a rel="nofollow license" href="http://[bad">x</a>
            <a rel="LICENSE" href="https://creativecommons.org/licenses/by/4.0/">cc</a></body></html>"""
        assert said(html=html) == [
            ("meta robots", "noai"),
            ("meta robots", "noindex"),
            ("meta tdm-reservation", "1"),
            ("meta tdm-policy", "/p"),
            ("meta robots", ""),
            ("page license", "http://b.example/base/mit"),
            ("page license", "https://creativecommons.org/licenses/by/4.0/"),
        ]

    def test_a_base_that_scrapy_gives_up_on(self):
        html = '<base href="?caf\ufffd"><a rel=license href=/l>x</a>'.encode()
        page = HtmlResponse(f"{SITE}/d", 200, body=html, encoding="ascii", request=Request(f"{SITE}/d"))
        with pytest.raises(ValueError, match="ascii"):
            _ = page.selector
        assert UsageStatements(Settings()).of(page) == (Statement("page license", f"{SITE}/l"),)
        assert extract(page).text == "x"

    def test_of_a_page_that_is_as_it_was(self):
        statements = UsageStatements(Settings())
        before = statements.of(response([("Content-Usage", "train-ai=n")], '<meta name="robots" content="noai">'))
        assert statements.again(response(status=304), before) == before
        by_now = statements.again(response([("Content-Usage", "train-ai=y")]), before)
        assert by_now == (Statement("content-usage", "train-ai=y"), Statement("meta robots", "noai"))


PLAIN = {"Content-Type": "text/plain"}
WEB = {
    f"{SITE}/robots.txt": (200, PLAIN, "User-agent: *\nContent-Usage: /no/ train-ai=n\nDisallow: /private"),
    f"{SITE}/": page(["/no/1", "/noai", "/free", "/moved", "/private", "http://b.example/"], seed=0),
    f"{SITE}/no/1": page(seed=1),
    f"{SITE}/noai": (200, {**HTML, "X-Robots-Tag": "noai, \xff", "Content-Usage": "search=y"}, page(seed=2)),
    f"{SITE}/free": (200, {**HTML, "Content-Usage": "train-ai=y", "Link": "<//l.example/>;rel=license"}, page(seed=3)),
    f"{SITE}/moved": redirect("/no/2"),
    f"{SITE}/no/2": page(seed=4),
    f"{SITE}/private": page(seed=5),
    "http://b.example/": page(seed=6).replace("<head>", '<head><meta name="tdm-reservation" content="1">'),
}


def noting(log):
    """The web, which takes note of each request for a robots.txt."""

    def answer(request):
        if request.url.endswith("robots.txt"):
            log.append(request.url)
        return WEB.get(request.url, (404, HTML, "not here"))

    return answer


TRAINED = {f"{SITE}/", f"{SITE}/free"}


def exported(*arguments):
    code, out, err = replica("export", *arguments)
    assert (code, err) == (0, "")
    return {row["url"]: row for row in csv.DictReader(io.StringIO(out))}


class Own(Spider):
    name = "own"
    start_urls = (f"{SITE}/",)

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")


@pytest.mark.asyncio
class TestCrawl:
    async def test_all_is_kept_shown_and_left_out(self, tmp_path):
        job, warc = tmp_path / "job", tmp_path / "warc"
        settings = {**OBEY, "JOBDIR": str(job), "REPLICA_WARC": str(warc)}
        asked = []
        result = await crawl(TopicSpider, noting(asked), settings, seeds=f"{SITE}/", fields="url,uses,license")
        assert sorted(asked) == [f"{SITE}/robots.txt", "http://b.example/robots.txt"]
        assert {item["url"]: item["uses"] for item in result.items} == {
            f"{SITE}/": {},
            f"{SITE}/no/1": {"train-ai": "refused"},
            f"{SITE}/noai": {"search": "allowed", "train-ai": "refused"},
            f"{SITE}/free": {"train-ai": "allowed"},
            f"{SITE}/no/2": {"train-ai": "refused"},
            "http://b.example/": {"train-ai": "refused", "tdm": "refused"},
        }
        assert result.stats["replica/usage/stated"] == 5
        assert result.stats["replica/usage/train-ai/refused"] == 4
        self._exports(job, tmp_path / "pages.parquet")
        code, told, _ = replica("explain", job, f"{SITE}/noai")
        assert code == 0
        assert "its site: allowed search; refused train-ai\nrobots.txt: allowed\n" in told
        assert "x-robots-tag: noai" in told
        known = json.loads(replica("explain", job, f"{SITE}/free", "--json")[1])
        assert known["uses"] == {"train-ai": "allowed"}
        assert ["link license", "http://l.example/"] in known["site says"]
        self._records(warc)

    def _exports(self, job, file):
        rows = exported(job, "pages")
        free, site = rows[f"{SITE}/free"], rows["http://b.example/"]
        assert (free["search"], free["train_ai"], free["license"]) == ("", "allowed", "http://l.example/")
        assert (site["train_ai"], site["tdm"], site["ai_use"]) == ("refused", "refused", "")
        assert json.loads(site["statements"]) == [["robots.txt", "allowed"], ["meta tdm-reservation", "1"]]
        usable = exported(job, "pages", "--usable", "train-ai")
        assert {url for url, row in usable.items() if row["status"] == "200"} == TRAINED
        replica("export", job, "pages", "--usable", "tdm", "--out", file)
        assert set(parquet.read_table(file)["url"].to_pylist()) == set(rows) - {"http://b.example/"}
        code, _, err = replica("export", job, "links", "--usable", "search")
        assert (code, err.count("\n")) == (2, 1)
        assert "--usable is for pages" in err

    def _records(self, folder):
        known = {}
        for path in folder.glob("*.warc.gz"):
            with path.open("rb") as file:
                for record in ArchiveIterator(file, parse_http=False):
                    if record.headers.get("WARC-Type") == "metadata":
                        known[record.headers["WARC-Target-URI"]] = record.reader.read().decode()
        assert "content-usage: search=y, train-ai=n\r\n" in known[f"{SITE}/noai"]
        assert "license: http://l.example/\r\n" in known[f"{SITE}/free"]
        assert 'statements: [["robots.txt","allowed"]]\r\n' in known[f"{SITE}/"]
        assert "content-usage" not in known[f"{SITE}/"]

    @pytest.mark.parametrize("spider", [TopicSpider, Own])
    async def test_items_that_are_for_a_use_come_of_pages_that_do_not_refuse_it(self, spider):
        told = {"seeds": f"{SITE}/", "fields": "url"} if spider is TopicSpider else {}
        result = await crawl(spider, noting([]), {**OBEY, "REPLICA_USABLE": "train-ai"}, **told)
        assert {item["url"] for item in result.items} == TRAINED
        assert result.stats["replica/usage/items_left_out"] == 4
        assert result.stats["replica/usage/train-ai/refused"] == 4

    async def test_an_unheard_of_use_is_refused_in_a_line(self):
        with pytest.raises(ConfigError, match="REPLICA_USABLE is 'train': it takes one of search, ai-use"):
            Config.from_settings(Settings({"REPLICA_USABLE": "train"}))

    async def test_where_robots_txt_is_not_asked_it_says_nothing(self):
        settings = {**OBEY, "ROBOTSTXT_OBEY": False}
        asked = []
        result = await crawl(TopicSpider, noting(asked), settings, seeds=f"{SITE}/", fields="url,uses")
        assert {item["url"]: item["uses"] for item in result.items}[f"{SITE}/no/1"] == {}
        assert asked == []

    @pytest.mark.parametrize("is_conditional", [True, False])
    async def test_what_a_site_says_later_of_the_same_page(self, tmp_path, is_conditional):
        def web(signal):
            def answer(request):
                if request.url == f"{SITE}/robots.txt":
                    return 200, PLAIN, f"User-agent: *\n{signal}\n"
                headers = {**HTML, "Content-Usage": "search=n", **({"ETag": '"1"'} if is_conditional else {})}
                if is_conditional and "If-None-Match" in request.headers:
                    return 304, {"ETag": '"1"'}, ""
                return 200, headers, page(seed=1)

            return answer

        job = tmp_path / "job"
        settings = {**OBEY, "JOBDIR": str(job), "REPLICA_REVISIT": True}
        told = []
        for signal in ("Content-Signal: ai-train=yes", "Content-Signal: ai-train=no"):
            result = await crawl(TopicSpider, web(signal), settings, seeds=f"{SITE}/")
            row = exported(job, "pages")[f"{SITE}/"]
            told.append((row["search"], row["train_ai"]))
        assert result.items == []
        assert told == [("refused", "allowed"), ("refused", "refused")]
