"""Whole crawls in which an argument, a text or a line of robots.txt misleads: every content is found all the same."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from urllib.parse import urljoin

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from web import REPLICA, crawl, page, redirect, text

from scrapy_replica import TopicSpider
from scrapy_replica.claim import Standing
from scrapy_replica.config import Config
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.decision import Outcome
from scrapy_replica.records import Novelty, Page
from scrapy_replica.urls.rule import Rule as DustRule
from scrapy_replica.urls.rule import Step

TOP = "http://a.example/"
SETTINGS = {**REPLICA, "CONCURRENT_REQUESTS": 4, "REPLICA_TRAPS": False}
JSON = {"Content-Type": "application/json"}
ROBOTS = {"Content-Type": "text/plain"}

pytestmark = pytest.mark.asyncio


class Ordinary(Spider):
    """A link extractor, and a ``Request`` for each link."""

    name = "ordinary"
    extractor = LinkExtractor()

    def __init__(self, seeds=TOP, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [seeds]

    def parse(self, response):
        for link in self.extractor.extract_links(response):
            yield Request(link.url)


each_spider_and_mode = pytest.mark.parametrize(("spider", "mode"), [(TopicSpider, "demote"), (Ordinary, "drop")])
both_spiders = pytest.mark.parametrize("spider", [TopicSpider, Ordinary])
both_modes = pytest.mark.parametrize("mode", ["demote", "drop"])


class Site:
    """Pages, and which contents were given out.

    :param content: number of a page, value of its argument -> what stands there.
    :param links: number of a page -> the links on it.
    """

    def __init__(self, content, links, robots=None):
        self._content, self._links, self._robots = content, links, robots
        self.contents = set()

    def __call__(self, request):
        if request.url.endswith("/robots.txt"):
            return 200, ROBOTS, self._robots
        number, value = place_of(request.url)
        content = self._content(number, value)
        self.contents.add(content)
        return page(self._links(number), seed=content, title=f"Article {number}")


def place_of(url):
    """Number of a page and value of its last argument, empty without one."""
    path, _, query = url.removeprefix(TOP).partition("?")
    return int("".join(filter(str.isdigit, path)) or 0), query.rpartition("=")[2]


def walked(site):
    """Return *site* after all links were followed, as plain Scrapy does, which takes ten times as long."""
    seen, waiting = {TOP}, [TOP]
    for url in waiting:
        answer = site(Request(url))
        status, headers, body = (200, {}, answer) if isinstance(answer, str) else answer
        if status == 302:
            found = [urljoin(url, headers["Location"])]
        else:
            links = Ordinary.extractor.extract_links(HtmlResponse(url, body=body.encode())) if "<" in body else ()
            found = [link.url for link in links]
        waiting += (new := [*dict.fromkeys(one for one in found if one not in seen)])
        seen.update(new)
    return site


async def lost(spider, make_site, settings):
    """What plain Scrapy finds and a crawl with these settings does not."""
    plain, ours = walked(make_site()), make_site()
    result = await crawl(spider, ours, {**SETTINGS, **settings}, seeds=TOP)
    assert len(plain.contents) > 100
    return plain.contents - ours.contents, result


def rules(folder):
    db = sqlite3.connect(folder / FILE_NAME)
    try:
        return [(json.loads(rule), state) for rule, state in db.execute("SELECT rule, state FROM rules ORDER BY id")]
    finally:
        db.close()


def tree(number, n):
    return [child for child in (2 * number + 1, 2 * number + 2) if child < n]


def grows(n, matters, folder=lambda _: "a", values=("", 1, 2)):
    """A tree of *n* pages, each linked with several values of ``zref``, which names the page where it *matters*."""

    def links(number):
        return [
            f"/{folder(child)}/{child}{f'?zref={value}' if value else ''}"
            for child in tree(number, n)
            for value in values
        ]

    return lambda: Site(lambda number, value: (number, value) if matters(number) else number, links)


class TestAnArgumentThatMattersLater:
    @each_spider_and_mode
    async def test_in_the_same_folder(self, spider, mode):
        missing, result = await lost(spider, grows(260, lambda n: n >= 180), {"REPLICA_MODE": mode})
        assert missing == set()
        assert result.stats["replica/dust/withdrawn"] >= 1

    @both_spiders
    async def test_in_another_folder(self, spider):
        site = grows(200, lambda n: n >= 130, lambda n: "old" if n < 130 else "new")
        missing, result = await lost(spider, site, {"REPLICA_EXPLORE": 0})
        assert missing == set()
        assert result.stats["replica/dust/begun"] >= 1

    @both_spiders
    async def test_for_pages_between_the_others(self, spider):
        missing, result = await lost(spider, grows(260, lambda n: n > 80 and n % 3 == 0), {})
        assert missing == set()
        assert result.stats["replica/dust/begun"] >= 1

    @both_spiders
    async def test_where_no_link_leads_to_the_page_without_it(self, spider):
        missing, result = await lost(spider, grows(200, lambda n: n >= 130, values=(1, 2, 3)), {})
        assert missing == set()
        assert result.stats["replica/dust/begun"] >= 1


def attached(answer):
    """Articles, each linked with ``zref`` and without, of which the last ones are *answer* with it."""

    class Attached(Site):
        def __call__(self, request):
            number, value = place_of(request.url)
            if "/file/" not in request.url and not (value and number > 70):
                return super().__call__(request)
            self.contents.add(("file", number))
            return redirect(f"/file/{number}") if callable(answer) and value else file

    file = answer() if callable(answer) else answer
    links = grows(100, lambda n: False, values=("", 1))()._links
    return lambda: Attached(lambda number, value: number, links)


@each_spider_and_mode
@pytest.mark.parametrize(
    "answer",
    [
        (200, JSON, '{"a": 1}'),
        (200, {"Content-Type": "application/pdf"}, "%PDF"),
        page((), words=5),
        lambda: (200, {"Content-Type": "application/pdf"}, "%PDF"),
    ],
    ids=["data", "file", "little text", "leads to a file"],
)
async def test_a_file_is_not_the_page_that_a_rule_takes_it_for(spider, mode, answer):
    """What had no text to tell said nothing of the rule: 30 to 66 of these were not asked for."""
    missing, _ = await lost(spider, attached(answer), {"REPLICA_MODE": mode})
    assert missing == set()


class ForPrint:
    """Articles in a tree, each with a version for print, which has no links; some alone lead to an appendix."""

    def __init__(self, leads_on):
        self._leads_on, self.contents = leads_on, set()

    def __call__(self, request):
        part, _, number = request.url.removeprefix(TOP).partition("?")[0].partition("/")
        number = int(number or 0)
        content = ("appendix" if part == "appendix" else "article", number)
        self.contents.add(content)
        links = [f"/article/{child}?from={number}" for child in tree(number, 150)] + [f"/print/{number}"]
        links += [f"/appendix/{number}"] if self._leads_on(number) else []
        return page(links if part in {"", "article"} else [], seed=content, title=f"{content}")


@each_spider_and_mode
@pytest.mark.parametrize(
    "leads_on", [lambda n: False, lambda n: n % 5 == 0, lambda n: n > 90, lambda n: True], ids=range(4)
)
async def test_a_version_for_print_is_the_page_unless_that_leads_further(spider, mode, leads_on):
    """The version for print is left out once it was seen to be the article that leads to it, never the other way."""
    missing, result = await lost(spider, lambda: ForPrint(leads_on), {"REPLICA_MODE": mode})
    assert missing == set()
    if not leads_on(0):
        assert sum("/print/" in url for url in result.urls) < 0.75 * 150


class Rotating:
    """Goods in lists, each linked with ``zview`` and without; every answer shows three others, as "also bought" does.

    The links of these have a ``zref``, unless the page with ``zview`` alone leads to what *further* is, from 60 on.
    """

    def __init__(self, further=None):
        self._further, self._random = further, random.Random(1)
        self.contents, self.asked = set(), 0

    def __call__(self, request):
        path, _, query = request.url.removeprefix(TOP).partition("?")
        self.asked += 1
        self.contents.add(path)
        kind, _, number = path.partition("/")
        if kind == "more":
            return self._further(path)
        if kind != "p":
            lists = [f"/list/{n}" for n in range(13)] if not path else []
            goods = range(int(number) * 10, int(number) * 10 + 10) if kind == "list" else ()
            forms = ("", "?zview=1") if self._further else ("", "?zview=1", "?zref=list")
            return page(lists + [f"/p/{n}{form}" for n in goods for form in forms], seed=path)
        side = "" if self._further else "?zref=side"
        links = [f"/p/{self._random.randrange(130)}{side}" for _ in range(3)]
        is_further = self._further and int(number) >= 60 and query == "zview=1"
        return page([*links, f"/more/{number}"] if is_further else links, seed=path, title=path)


class TestListsThatChangeWithEachFetch:
    @each_spider_and_mode
    async def test_rules_hold_all_the_same(self, spider, mode):
        plain, ours = walked(Rotating()), Rotating()
        await crawl(spider, ours, {**SETTINGS, "REPLICA_MODE": mode}, seeds=TOP)
        assert ours.contents == plain.contents
        assert ours.asked < 0.9 * plain.asked

    @pytest.mark.parametrize(
        ("spider", "mode", "further"),
        [
            (TopicSpider, "demote", lambda path: page((), seed=path)),
            (Ordinary, "drop", lambda path: page((), seed=path, words=5)),
            (Ordinary, "demote", lambda path: (200, JSON, f'{{"of": "{path}"}}')),
            (TopicSpider, "demote", lambda path: redirect(TOP + path.replace("more", "real"))),
        ],
        ids=["page", "little text", "document", "redirect"],
    )
    async def test_a_page_that_leads_further_is_another(self, spider, mode, further):
        plain, ours = walked(Rotating(further)), Rotating(further)
        await crawl(spider, ours, {**SETTINGS, "REPLICA_MODE": mode}, seeds=TOP)
        assert len(plain.contents) >= 13 + 1 + 130 + 70
        assert ours.contents == plain.contents


@each_spider_and_mode
async def test_a_clean_param_line_that_names_an_argument_that_matters(spider, mode):
    """One of its two names means nothing, and so proves nothing of the other."""

    def links(number):
        children = tree(number, 200)
        links = [link for n in children for link in (f"/a/{n}?zsid={number}{n}", f"/a/{n}?zsid=7")]
        return links + [f"/a/{n}?id=1" for n in children if n > 60]

    def site():
        return Site(lambda n, value: (n, value) if value == "1" else n, links, "User-agent: *\nClean-param: zsid&id\n")

    missing, result = await lost(spider, site, {"REPLICA_MODE": mode, "ROBOTSTXT_OBEY": True})
    assert missing == set()
    assert result.stats["replica/dust/begun"] >= 1


async def test_a_rule_over_two_arguments_of_which_one_matters_later(tmp_path):
    """Both are met on the same pages, the one that means nothing first: one page is a sample of each of the two."""
    (tmp_path / "rules.json").write_text(
        json.dumps([{"processor": "queryRemoval", "args": ["zone", "ztwo"], "order": 0, "urlPattern": {"include": []}}])
    )

    def links(number):
        children = [child for child in range(3 * number + 1, 3 * number + 4) if child < 120]
        forms = ("", "?zone=1", "?zone=2", "?zone=3", "?ztwo=4")
        return [f"/a/{n}{form}" for n in children for form in forms if form[1:5] != "ztwo" or n < 45 or n % 2 == 0]

    def site():
        return Site(lambda n, value: (n, value) if value == "4" and n >= 45 else n, links)

    missing, result = await lost(Ordinary, site, {"REPLICA_RULES": str(tmp_path / "rules.json")})
    assert missing == set()
    assert result.stats["replica/dust/begun"] >= 1


class TestSamples:
    @both_modes
    async def test_the_page_that_a_sample_is_held_against_is_fetched(self, mode, tmp_path):
        site = grows(150, lambda _: False, values=(1, 2))
        settings = {"REPLICA_MODE": mode, "REPLICA_EXPLORE": 0.2, "JOBDIR": str(tmp_path)}
        _, result = await lost(TopicSpider, site, settings)
        db = sqlite3.connect(tmp_path / FILE_NAME)
        samples = db.execute(
            "SELECT DISTINCT urls.url FROM decisions JOIN urls ON urls.id = decisions.url"
            " WHERE reason = 'dust-rule' AND is_sampled"
        ).fetchall()
        db.close()
        assert len(samples) > 5
        fetched = Counter(url.partition("?")[0] for url in result.urls)
        assert all(fetched[url.partition("?")[0]] > 1 for (url,) in samples)


class TestSiblings:
    async def test_a_wrong_rule_takes_others_over_its_argument_along_for_good(self):
        db = SqliteCrawlDB(None)
        steps = {"drop": ("drop", "zref"), "set": ("set", "zref", "0"), "other": ("drop", "zsid")}
        ids = {name: db.rules.enter(rule(step).to_dict(), 0.0) for name, step in steps.items()}
        for rule_id in ids.values():
            db.rules.update(rule_id, Standing.IN_FORCE, 5, 0, 2)
        rules = CrawlRules(Config(), db, now=float)
        dust = Dust(Config(), db, rules)
        ended = [watched.id for number in range(3) for watched in see(dust, db, number)]
        assert sorted(ended) == [ids["drop"], ids["set"]]
        assert db.rules.row(ids["other"]).state == Standing.IN_FORCE
        rules.clean_param("a.example", "zref")
        rules.clean_param("a.example", "znew")
        new = [row.rule["transformation"] for row in db.rules.rows() if row.id > max(ids.values())]
        assert new == [[["drop", "znew", None]]]
        assert CrawlRules(Config(), db, now=float).hit(f"{TOP}9?zref=1", "a.example") is None


class TestChains:
    async def test_a_redirect_that_two_rules_change_one_after_the_other_tells_of_both(self):
        """Of a site whose links led through such redirects four contents of 157 were lost: no sample told anything."""
        db = SqliteCrawlDB(None)
        chain = (
            DustRule("a.example", (), (Step("drop", "from", "2"), Step("set", "from", "1"))),
            rule(("replace", "/go?from=1&id=", "/")),
        )
        ids = [db.rules.enter(one.to_dict(), 0.0) for one in chain]
        for rule_id in ids:
            db.rules.update(rule_id, Standing.IN_FORCE, 5, 0, 2)
        dust = Dust(Config(), db, CrawlRules(Config(), db, now=float))
        show(dust, db, "7")
        assert told_together(show(dust, db, "alt/7", via="go?id=7&from=2"), ids) == [Outcome.OTHER]
        assert told_together(show(dust, db, "8", via="go?id=8&from=2"), ids) == [Outcome.SAME]


def told_together(findings, ids):
    return [settled.outcome for settled in findings.settled if list(settled.rules) == ids]


def rule(step):
    return DustRule("a.example", (), (Step(*step),))


def see(dust, db, number):
    """Show a page of which an argument tells the content; return the rules that this ends."""
    return [one for query in ("", "?zref=0", "?zref=1") for one in show(dust, db, f"{number}{query}").ended]


def show(dust, db, name, via=None):
    """Show the page of that name, to which *via* leads, if it is given."""
    url = f"{TOP}{name}"
    ((url_id, _),) = db.urls.discover([NewUrl(f"{TOP}{via or name}", "a.example", hash(url))])
    db.pages.enter(Fetched(url_id, 0.0, 200))
    words = text(url)
    came_by = (f"{TOP}{via}",) if via else ()
    shown = Page(url, "a.example", title=url, text=words, words=60, signature=words.encode(), redirected_from=came_by)
    return dust.observe(Observation(shown, url_id, 0, 0.0, Novelty.NOVEL))


class Shells(Ordinary):
    """Pages that say nothing until a script has asked for what belongs on them."""

    name = "shells"

    def parse(self, response):
        yield from super().parse(response)
        number = response.url.rpartition("=")[2]
        if number.isdigit():
            yield Request(f"{TOP}api?id={number}", self.parse_api)

    def parse_api(self, response):
        yield {"id": response.json()["id"]}


def shell_site(request):
    if request.url.endswith("/robots.txt"):
        return 200, ROBOTS, "User-agent: *\nClean-param: id /show\n"
    if "/api" in request.url:
        return 200, JSON, json.dumps({"id": request.url.rpartition("=")[2]})
    if request.url == TOP:
        return page([f"/show?kind={n % 5}&id={n}" for n in range(50)], title="All")
    number = int(request.url.rpartition("=")[2])
    links = [f"/show?kind={number % 5}&id={number + 50}"] if number < 100 else ()
    return page(links, seed=("shell", number % 5), title="App")


@both_modes
async def test_shells_that_scripts_fill_are_pages_of_their_own(mode, tmp_path):
    settings = {**SETTINGS, "REPLICA_MODE": mode, "JOBDIR": str(tmp_path), "ROBOTSTXT_OBEY": True}
    first = await crawl(Shells, shell_site, {**settings, "CLOSESPIDER_PAGECOUNT": 120})
    second = await crawl(Shells, shell_site, settings)
    assert {item["id"] for item in first.items + second.items} == {str(n) for n in range(150)}
    assert [rule for rule, state in rules(tmp_path) if state == "in force"] == []


class Prints(Ordinary):
    """Reads the print view of a page with another callback than the page."""

    name = "prints"

    def parse(self, response):
        for link in self.extractor.extract_links(response):
            is_print = "print=" in link.url
            yield Request(link.url, self.parse_print if is_print else self.parse)

    def parse_print(self, response):
        yield {"printed": response.url.partition("?")[0]}


class PrintsByRules(CrawlSpider):
    name = "prints by rules"
    start_urls = (TOP,)
    rules = (
        Rule(LinkExtractor(allow="print="), callback="parse_print"),
        Rule(LinkExtractor(deny="print="), follow=True),
    )

    def parse_print(self, response):
        yield {"printed": response.url.partition("?")[0]}


def print_site(request):
    number, _ = place_of(request.url)
    children = tree(number, 150)
    links = [link for n in children for link in (f"/a/{n}", f"/a/{n}?zsid={number}{n}", f"/a/{n}?print=1")]
    return page(links, seed=number, title=f"Article {number}")


@pytest.mark.parametrize(("spider", "mode"), [(Prints, "demote"), (PrintsByRules, "drop")])
async def test_a_page_is_not_saved_by_one_that_another_callback_gets(spider, mode):
    result = await crawl(spider, print_site, {**SETTINGS, "REPLICA_MODE": mode})
    assert {item["printed"] for item in result.items} == {f"{TOP}a/{n}" for n in range(1, 150)}
    assert len(result.urls) < 3 * 149 - 50  # session ids are saved all the same
