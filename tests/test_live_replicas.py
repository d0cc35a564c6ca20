"""Replica hosts in whole crawls of a web in memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lxml.html import fromstring
from replica_sites import ENGLISH, GERMAN, edited, text_of
from scrapy import Request, Spider
from web import REPLICA, crawl, job_states

from scrapy_replica import TopicSpider
from scrapy_replica.address import host_of
from scrapy_replica.commands.job import reading
from scrapy_replica.components.payloads import RequestPayloads
from scrapy_replica.config import Config
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawldb.contract import NewUrl, State
from scrapy_replica.crawldb.orders import ALLOW, BLOCK
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.reader import open_orders
from scrapy_replica.crawldb.verdicts import VerdictTable
from scrapy_replica.decision import FETCH
from scrapy_replica.pages.near_duplicates import NearDuplicates
from scrapy_replica.pages.page import page_from_tree
from scrapy_replica.records import Verdict
from scrapy_replica.sites.aliases import Aliases

pytestmark = pytest.mark.asyncio

ONE = REPLICA | {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
"""One request of a host in flight, so that few come after a verdict."""
ALL = ONE | {"REPLICA_EXPLORE": 0}


def html(text, links=(), title=""):
    items = "".join(f'<li><a href="{link}"></a></li>' for link in links)
    return f"<html><head><title>{title}</title></head><body><ul>{items}</ul><p>{text}</p></body></html>"


def site(origin, work, n=40, edit=0.0, title="", words=ENGLISH, extra=()):
    """The *n* pages of *work* below *origin*; the first, with a text of its own, links to all others and to *extra*."""
    paths = ["/", *(f"/chapter-{number}.html" for number in range(1, n)), *extra]
    pages = {}
    for number, path in enumerate(paths):
        text = edited(text_of(f"{work}{path if number else origin}", words=words), edit, seed=f"{origin}{number}")
        links = [origin + other for other in paths] if number == 0 else [f"{origin}/", origin + paths[number - 1]]
        pages[origin + path] = html(text, links, f"Chapter {number} of {work}{title}")
    return pages


def seeds(*sites):
    return "\n".join(next(iter(pages)) for pages in sites)


async def crawl_sites(*sites, settings=ALL, spidercls=TopicSpider, served=None):
    pages = {url: page for each in sites for url, page in each.items()}
    return await crawl(spidercls, served or pages, settings, seeds=seeds(*sites))


def per_host(result):
    return Counter(urlsplit(url).hostname for url in result.urls)


def blocked(result):
    return result.stats.get("replica/host/blocked", 0)


def held(job):
    connection = Connection(Path(job) / FILE_NAME)
    found = {verdict.copy: verdict for verdict in VerdictTable(connection).holding()}
    connection.close()
    return found


class TestCopies:
    @pytest.mark.parametrize("copy", ["http://www.a.example", "http://b.example/mirror/of/a"])
    async def test_blocked_in_the_middle_of_the_crawl(self, copy):
        kept, copied = site("http://a.example", "w"), site(copy, "w", edit=0.01)
        result = await crawl_sites(kept, copied)
        assert blocked(result) == 1
        assert set(kept) <= set(result.urls)
        assert per_host(result)[urlsplit(copy).hostname] <= 12
        assert result.unfinished == {}

    async def test_three_copies_of_one_site(self):
        hosts = ["http://a.example", "http://b.example/m", "http://c.example", "http://d.example/x/y"]
        result = await crawl_sites(*(site(host, "w") for host in hosts))
        fetched = sorted(per_host(result).values())
        assert blocked(result) == 3
        assert fetched[-1] == 40
        assert fetched[-2] <= 12

    async def test_waiting_urls_are_asked_of_the_kept_host(self):
        extra = [f"/extra-{number}.html" for number in range(8)]
        kept, copied = site("https://a.example", "w"), site("http://b.example/m", "w", extra=extra)
        hidden = {url: page for url, page in site("https://a.example", "w", extra=extra[:5]).items() if "extra" in url}
        no_probes = ALL | {"REPLICA_PROBES": 0}
        result = await crawl_sites(kept, copied, served={**kept, **copied, **hidden}, settings=no_probes)
        assert set(hidden) <= set(result.urls)
        # What the canonical host does not have comes back.
        only_there = {f"http://b.example/m{path}" for path in extra[5:]}
        assert {url for url in result.urls if "extra" in url and "b.example" in url} == only_there
        assert result.stats["replica/decision/replica-host/rewrite"] >= 28

    async def test_observe_mode_changes_nothing(self, tmp_path):
        sites = site("http://a.example", "w"), site("http://b.example", "w")
        settings = {"REPLICA_MODE": "observe", "JOBDIR": str(tmp_path), "REPLICA_PROBES": 0}
        result = await crawl_sites(*sites, settings=ONE | settings)
        assert Counter(result.urls) == Counter(url for pages in sites for url in pages)
        assert held(tmp_path)["b.example"].canonical == "a.example"
        assert result.stats["replica/decision/replica-host/fetch"] >= 28
        assert result.stats["replica/sample/false_drop_rate"] == 0

    async def test_the_sample_of_a_copy_finds_no_false_drop(self):
        result = await crawl_sites(
            *(site(f"http://{name}.example", "w", 120) for name in "ab"), settings=ONE | {"REPLICA_EXPLORE": 0.3}
        )
        assert blocked(result) == 1
        assert result.stats["replica/sample/settled"] >= 15
        assert result.stats["replica/sample/false_drops"] == 0

    async def test_a_wrong_verdict_is_found_out_and_costs_no_page(self, tmp_path):
        """Whatever led to it: the first things that it would save are fetched, and bring the others back."""
        judged(tmp_path, "b.example", "a.example")
        kept, other = site("http://a.example", "w", 80), site("http://b.example", "v", 80)
        portal = {"http://portal.example/": html(text_of("portal"), other)}
        settings = REPLICA | {"JOBDIR": str(tmp_path)}
        result = await crawl_sites(kept, portal, served={**kept, **other, **portal}, settings=settings)
        assert result.stats["replica/host/withdrawn"] == 1
        assert sorted(result.urls) == sorted({**kept, **other, **portal})
        assert 3 <= result.stats["replica/sample/false_drops"] == result.stats["replica/sample/settled"]

    async def test_what_a_person_blocked_is_not_asked_for(self, tmp_path):
        order(tmp_path, "b.example", "a.example")
        kept, other = site("http://a.example", "w", 80), site("http://b.example", "v", 80)
        portal = {"http://portal.example/": html(text_of("portal"), other)}
        settings = REPLICA | {"JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 0.5}
        result = await crawl_sites(kept, portal, served={**kept, **other, **portal}, settings=settings)
        assert per_host(result)["b.example"] == 0

    async def test_the_other_hosts_pages_are_fetched_whatever_was_fetched_of_a_host_that_a_person_blocked(
        self, tmp_path
    ):
        kept, copied = site("http://a.example", "w", 20), site("http://b.example", "w", 20)
        settings = REPLICA | {"JOBDIR": str(tmp_path)}
        await crawl_sites(copied, settings=settings)
        order(tmp_path, "b.example", "a.example")
        result = await crawl_sites(kept, settings=settings)
        assert set(kept) <= set(result.urls)

    async def test_what_a_copy_had_before_its_verdict_is_not_fetched_again(self, tmp_path):
        kept, copied = site("http://a.example", "w", 20), site("http://b.example", "w", 20)
        settings = ALL | {"JOBDIR": str(tmp_path)}
        await crawl_sites(copied, settings=settings)
        judged(tmp_path, "b.example", "a.example")
        result = await crawl_sites(kept, settings=settings)
        assert per_host(result)["a.example"] == 0
        assert job_states(tmp_path)["http://a.example/"] == ["dropped"]

    async def test_what_a_person_blocks_is_not_asked_for_even_as_a_sample(self, tmp_path):
        judged(tmp_path, "b.example", "a.example")
        kept, other = site("http://a.example", "w", 40), site("http://b.example", "w", 40)
        portal = {"http://portal.example/": html(text_of("portal"), other)}
        settings = ONE | {"JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 1, "CONCURRENT_REQUESTS": 1}
        pages = {**kept, **other, **portal}
        begun = await crawl_sites(kept, portal, served=pages, settings=settings | {"CLOSESPIDER_PAGECOUNT": 4})
        assert begun.stats["replica/sample/fetched"] == 40
        order(tmp_path, "b.example", "a.example")
        result = await crawl_sites(kept, portal, served=pages, settings=settings)
        assert per_host(result)["b.example"] == 0
        assert set(kept) <= {*begun.urls, *result.urls}

    async def test_a_block_by_hand_that_is_taken_back_leaves_nothing_of_the_verdict_before_it(self, tmp_path):
        judged(tmp_path, "b.example", "a.example")
        kept, other = site("http://a.example", "w", 20), site("http://b.example", "v", 20)
        portal = {"http://portal.example/": html(text_of("portal"), [*other, *kept])}
        pages, settings = {**kept, **other, **portal}, ALL | {"JOBDIR": str(tmp_path)}
        first = await crawl_sites(portal, served=pages, settings=settings)
        assert per_host(first)["b.example"] == 0
        order(tmp_path, "b.example", "c.example")
        assert per_host(await crawl_sites(portal, served=pages, settings=settings))["b.example"] == 0
        with open_orders(tmp_path / FILE_NAME) as give:
            give(ALLOW, {"host": "b.example"})
        assert set(other) <= set((await crawl_sites(portal, served=pages, settings=settings)).urls)

    async def test_a_block_after_an_order_to_allow_holds_when_the_crawl_goes_on(self, tmp_path):
        kept, other = site("http://a.example", "w", 20), site("http://b.example", "v", 20)
        with_links = {"http://portal.example/": html(text_of("portal"), [*kept, *other])}
        pages, settings = {**kept, **other, **with_links}, ALL | {"JOBDIR": str(tmp_path)}
        SqliteCrawlDB(tmp_path, "topic").close()
        with open_orders(tmp_path / FILE_NAME) as give:
            for host in ("a.example", "b.example"):
                give(ALLOW, {"host": host})
            give(BLOCK, {"host": "b.example", "canonical": "a.example"})
        for pagecount in (3, 0):
            result = await crawl_sites(
                with_links, served=pages, settings=settings | {"CLOSESPIDER_PAGECOUNT": pagecount}
            )
            assert per_host(result)["b.example"] == 0
        assert set(held(tmp_path)) == {"b.example"}

    async def test_what_the_commands_tell_of_a_crawl_that_saved_something(self, tmp_path):
        kept, copied = site("http://a.example", "w", 60), site("http://b.example/m", "w", 60)
        result = await crawl_sites(kept, copied, settings=ALL | {"JOBDIR": str(tmp_path)})
        assert blocked(result) == 1
        (verdict,) = verdicts_of_job(tmp_path)
        assert verdict.saved >= 40


def verdicts_of_job(job):
    with reading(str(job)) as reader:
        return reader.verdicts()


def judged(job, copy, canonical):
    """A job in which *copy* was found to be a copy of *canonical*."""
    db = SqliteCrawlDB(Path(job), "topic")
    db.verdicts.enter(Verdict(copy, canonical, "", "", 0.9, 8), 0.0, 4e9)
    db.close()


def order(job, host, canonical):
    SqliteCrawlDB(Path(job), "topic").close()
    with open_orders(Path(job) / FILE_NAME) as give:
        give(BLOCK, {"host": host, "canonical": canonical})


class TestRestart:
    async def test_verdicts_hold_when_the_crawl_goes_on(self, tmp_path):
        sites = site("http://a.example", "w", 80), site("http://b.example/m", "w", 80)
        settings = ALL | {"JOBDIR": str(tmp_path)}
        first = await crawl_sites(*sites, settings=settings | {"CLOSESPIDER_PAGECOUNT": 40})
        assert blocked(first) == 1
        before = held(tmp_path)
        second = await crawl_sites(*sites, settings=settings)
        assert held(tmp_path) == before
        assert blocked(second) == 0
        assert not any("b.example" in url for url in second.urls if url != "http://b.example/m/")
        assert set(sites[0]) <= {*first.urls, *second.urls}


class TestTurning:
    """Sites that change while the crawl runs."""

    async def test_a_copy_that_turns_into_its_own_site_gets_its_urls_back(self):
        kept, copied = site("http://a.example", "w", 100), site("http://b.example", "w", 100)
        own, asked = site("http://b.example", "own", 100), []

        def served(request):
            if "b.example" not in request.url:
                return kept.get(request.url, (404, {}, ""))
            asked.append(request.url)
            return (copied if len(asked) <= 12 else own).get(request.url, (404, {}, ""))

        result = await crawl_sites(kept, copied, served=served, settings=ONE | {"REPLICA_EXPLORE": 0.2})
        assert blocked(result) == 1
        assert result.stats["replica/host/withdrawn"] == 1
        assert set(copied) <= set(result.urls)
        assert result.unfinished == {}

    async def test_a_site_that_turns_into_a_copy(self):
        kept, copied, own = (
            site("http://a.example", "w", 80),
            site("http://b.example", "w", 80),
            site("http://b.example", "v", 80),
        )
        asked = []

        def served(request):
            if "b.example" not in request.url:
                return kept.get(request.url, (404, {}, ""))
            asked.append(request.url)
            return (own if len(asked) <= 8 else copied).get(request.url, (404, {}, ""))

        result = await crawl_sites(kept, copied, served=served)
        assert blocked(result) == 1
        assert len(asked) < 60
        assert set(kept) <= set(result.urls)

    async def test_a_verdict_ends_by_age_and_is_reached_anew(self):
        now = [0.0]
        sites = site("http://a.example", "w"), site("http://b.example", "w")
        store = SqliteCrawlDB(None)
        payloads = RequestPayloads(is_stored=False, url_of=store.urls.url_of, counts=Counter())
        crawl = Crawl(
            Config(explore=0),
            store,
            key=hash,
            now=lambda: now[0],
            aliases=Aliases({}),
            payloads=payloads,
            counts=Counter(),
        )
        for url in (url for pair in zip(*sites, strict=True) for url in pair):
            crawl.frontier.enter([(NewUrl(url, urlsplit(url).hostname, hash(url)), FETCH)])

        def run():
            while (taken := crawl.take()) is not None:
                body = {**sites[0], **sites[1]}[taken.url]
                crawl.fetches.observe(page_from_tree(fromstring(body), taken.url), taken.id, 0)
                store.urls.finish([taken.id])

        def states():
            return Counter(known.state for known in store.urls.find([hash(url) for url in sites[1]]).values())

        run()
        verdict = crawl.replicas.verdict_of("b.example")
        n_dropped = states()[State.DROPPED]
        assert n_dropped >= 28
        now[0] = 30 * 86_400 - 1
        crawl.obey()
        assert states()[State.DROPPED] == n_dropped
        now[0] = 30 * 86_400 + 1
        crawl.obey()
        crawl.restorer.work()
        assert states()[State.WAITING] == n_dropped
        assert list(store.verdicts.holding()) == []
        run()
        again = crawl.replicas.verdict_of("b.example")
        assert again.canonical == verdict.canonical
        assert states()[State.WAITING] == 0
        store.close()


class TestPorts:
    async def test_a_link_to_another_port_does_not_steer_rewrites(self, tmp_path):
        order(tmp_path, "b.example", "a.example")
        db = SqliteCrawlDB(tmp_path, "topic")
        replicas = Replicas(Config(), db, lambda: 0.0, NearDuplicates())
        for url in ("http://a.example:8080/x", "https://a.example/x", "http://b.example/x", "http://b.example:8080/x"):
            db.urls.discover([NewUrl(url, host_of(url), hash(url))])
            replicas.add_url(url, host_of(url), "")
        replicas.block("b.example", "a.example")
        block = replicas.block_of("http://b.example/x", "b.example")
        assert block is not None
        assert block.url == "https://a.example/x"
        assert replicas.block_of("http://b.example:8080/x", "b.example:8080") is None
        db.close()


class TestNoCopies:
    """Hosts that look alike and are not one site: every page is fetched."""

    async def check(self, *sites, settings=None):
        pages = {url for each in sites for url in each}
        result = await crawl_sites(*sites, settings=ALL | {"REPLICA_PROBES": 0} | (settings or {}))
        assert blocked(result) == 0
        assert set(result.urls) == pages

    async def test_hosts_of_one_page(self):
        await self.check(*(site(f"http://h{number}.example", "w" if number % 2 else number, 1) for number in range(30)))

    async def test_two_sites_on_one_template(self):
        menu = text_of("menu", 60)
        sites = [
            {url: page.replace("<p>", f"<p>{menu} ") for url, page in site(f"http://{name}.example", name).items()}
            for name in "ab"
        ]
        await self.check(*sites)

    async def test_translations_and_versions(self):
        await self.check(
            site("http://a.example", "w", title=" 3.5"),
            site("http://b.example", "w", title=" 3.6", edit=0.02),
            site("http://c.example", "w", words=GERMAN),
        )

    @pytest.mark.parametrize("quotes", [False, True])
    async def test_parked_hosts(self, quotes):
        """Every path gives one page, which may name the host and the path."""
        parked = text_of("this domain is for sale", 120)

        def pages(number):
            host = f"h{number}.example"
            paths = ["/", "/about.html", "/contact.html", "/news.html"]
            return {
                f"http://{host}{path}": html(f"{path} of {host} {parked}" if quotes else parked, paths, "For sale")
                for path in paths
            }

        result = await crawl_sites(*(pages(number) for number in range(105)))
        assert blocked(result) == 0

    @pytest.mark.parametrize("address", [None, "2001:db8::1"])
    async def test_one_address(self, address, monkeypatch):
        monkeypatch.setattr("web.ip_address", lambda _: address)
        await self.check(site("http://a.example", "w"), site("http://b.example", "v"))


class TestWildcard:
    async def test_more_names_of_one_site_than_a_list_may_have(self):
        sites = [site(f"http://w{number}.example", "w", 6) for number in range(105)]
        result = await crawl_sites(*sites)
        assert blocked(result) == 104
        assert set(per_host(result)) == {f"w{number}.example" for number in range(105)}
        assert result.unfinished == {}


class Careful(Spider):
    """Its callbacks break on a page that they did not ask for."""

    name = "careful"

    async def start(self):
        for host in ("a.example", "b.example"):
            yield Request(f"http://{host}/", self.parse_top)

    def parse_top(self, response):
        for number, link in enumerate(response.css("a::attr(href)").getall()):
            if "chapter" in link and number % 2 == ("b.example" in link):
                yield response.follow(link, self.parse_chapter, cb_kwargs={"number": number})

    def parse_chapter(self, response, number):
        assert f"chapter-{number}.html" in response.url
        yield {"url": response.url, "number": number}


class TestExistingSpider:
    async def test_gets_no_page_that_it_did_not_ask_for(self):
        pages = {**site("http://a.example", "w"), **site("http://b.example", "w")}
        plain = await crawl(Careful, pages)
        ours = await crawl(Careful, pages, ALL)
        assert set(ours.urls) <= set(plain.urls)
        assert {item["url"] for item in ours.items} <= {item["url"] for item in plain.items}
        assert "spider_exceptions/count" not in ours.stats
        assert len(ours.items) >= 30


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_of_two_releases_of_a_manual_what_is_new_in_a_third_of_the_pages_is_not_lost(seed):
    n = 60
    paragraphs = {number: [text_of(f"{number} {part}", 25) for part in range(8)] for number in range(n)}
    web = {}
    for origin in ("http://one.example", "http://two.example"):
        for number, said in paragraphs.items():
            links = [f"{origin}/part-{(7 * number + step) % n}.html" for step in range(1, 6)]
            is_new = origin.endswith("two.example") and number % 10 < 3
            told = [*said[:6], text_of(f"new {number}", 50)] if is_new else said
            web[f"{origin}/part-{number}.html"] = html("</p><p>".join(told), links, f"Part {number}")

    class Readers(Spider):
        name = "readers"
        start_urls = ("http://one.example/part-0.html", "http://two.example/part-0.html")

        def parse(self, response):
            yield {"url": response.url}
            yield from response.follow_all(css="a")

    result = await crawl(Readers, web, REPLICA | {"REPLICA_SEED": seed})
    texts = {fromstring(web[item["url"]]).findtext(".//p[last()]") for item in result.items}
    assert len(texts) == n + n * 3 // 10
