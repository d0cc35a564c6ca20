"""The idioms: spiders, and the small web that they crawl."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import scrapy
from scrapy import FormRequest, Request, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider, DropItem, IgnoreRequest
from scrapy.http import HtmlResponse, JsonRequest
from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spiders import CrawlSpider, CSVFeedSpider, Rule, SitemapSpider, XMLFeedSpider
from web import HTML, refused, text

HOST = "http://a.example"
ONE = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}


class Server:
    """Answers by the path: each page has a text of its own, and may fail at first, redirect, or list others."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.requests: list[str] = []

    def __call__(self, request: Request) -> Any:
        path = request.url.partition("://")[2].partition("/")[2]
        self.asked[request.url] += 1
        if path != "robots.txt":
            cookie = (request.headers.get("Cookie") or b"").decode()
            told = (request.method, request.url, request.body.decode("latin-1"), cookie)
            self.requests.append(" ".join(filter(None, told)))
        kind, _, rest = path.partition("/")
        answer = getattr(self, f"_{kind.partition('?')[0]}", None)
        return answer(request, rest) if answer is not None else html(request)

    def _list(self, request: Request, rest: str) -> str:
        """``list/N/NAME``: a page with N links to pages of that name."""
        count, _, name = rest.partition("/")
        return html(request, [f"/page/{name}-{number}" for number in range(int(count))])

    def _tree(self, request: Request, rest: str) -> str:
        return html(request, [f"/tree/{rest}{digit}" for digit in "123"] if len(rest) < 3 else [])

    def _fails(self, request: Request, rest: str) -> Any:
        """``fails/N/NAME``: fails N times."""
        is_failing = self.asked[request.url] <= int(rest.partition("/")[0])
        return (503, HTML, "not yet") if is_failing else html(request)

    def _refused(self, request: Request, rest: str) -> Any:
        return refused(request)

    def _status(self, request: Request, rest: str) -> Any:
        return int(rest.partition("/")[0]), HTML, html(request)

    def _redirect(self, request: Request, rest: str) -> Any:
        return 302, {"Location": f"/{rest}"}, ""

    def _refresh(self, request: Request, rest: str) -> str:
        return f'<html><head><meta http-equiv="refresh" content="0; url=/{rest}"></head><body></body></html>'

    def _json(self, request: Request, rest: str) -> Any:
        body = {"path": rest, "asked": request.body.decode(), "text": text(request.url)}
        return 200, {"Content-Type": "application/json"}, json.dumps(body)

    def _pages(self, request: Request, rest: str) -> Any:
        """``pages?page=N``: three pages of an interface, then empty ones."""
        page = int(request.url.rpartition("=")[2])
        return 200, {"Content-Type": "application/json"}, json.dumps([f"{page}-{n}" for n in range(4 * (page < 4))])

    def _ready(self, request: Request, rest: str) -> str:
        return f"<p>{'ready' if self.asked[request.url] > 3 else 'wait'} {text(self.asked[request.url])}</p>"

    def _login(self, request: Request, rest: str) -> Any:
        if request.method == "POST":
            return 302, {"Location": "/list/3/member", "Set-Cookie": "session=yes; Path=/"}, ""
        form = '<form method="post" action="/login"><input name="token" value="t7"><input name="user"></form>'
        return f"<html><body>{form}<p>{text('login')}</p></body></html>"

    def _cookie(self, request: Request, rest: str) -> Any:
        return 200, {**HTML, "Set-Cookie": f"jar={rest}; Path=/"}, html(request)

    def _xml(self, request: Request, rest: str) -> Any:
        records = "".join(f"<item><name>{n}</name></item>" for n in range(4))
        return 200, {"Content-Type": "text/xml"}, f"<?xml version='1.0'?><all>{records}</all>"

    def _csv(self, request: Request, rest: str) -> Any:
        return 200, {"Content-Type": "text/csv"}, "name,size\na,1\nb,2\nc,3\n"

    def _sitemap(self, request: Request, rest: str) -> Any:
        places = "".join(f"<url><loc>{HOST}/page/mapped-{n}</loc></url>" for n in range(4))
        xmlns = "http://www.sitemaps.org/schemas/sitemap/0.9"
        body = f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{xmlns}">{places}</urlset>'
        return 200, {"Content-Type": "application/xml"}, body

    def _file(self, request: Request, rest: str) -> Any:
        return 200, {"Content-Type": "application/octet-stream"}, bytes(range(256)) * 4

    def _empty(self, request: Request, rest: str) -> str:
        return ""


def html(request: Request, links: list[str] | None = None) -> str:
    anchors = "".join(f'<li><a href="{link}">{link.rpartition("/")[2]}</a></li>' for link in links or ())
    body = f"<h1>{request.url}</h1><p>{text(request.url)}</p><ul>{anchors}</ul>"
    return f"<html><head><title>{request.url}</title></head><body>{body}</body></html>"


@dataclass
class Idiom:
    """A spider class, made anew for each crawl, and how it is crawled."""

    make: Callable[[], type[scrapy.Spider]]
    settings: dict[str, Any] = field(default_factory=dict)
    is_ordered: bool = False
    """The order of requests is part of what the spider does."""
    has_job: bool = False
    """It is crawled in a job: once until it stops itself, and once more."""

    @property
    def name(self) -> str:
        return self.make.__name__


IDIOMS: list[Idiom] = []


def idiom(**how: Any) -> Callable[[Callable[[], type[scrapy.Spider]]], Callable[[], type[scrapy.Spider]]]:
    def enter(make: Callable[[], type[scrapy.Spider]]) -> Callable[[], type[scrapy.Spider]]:
        IDIOMS.append(Idiom(make, **how))
        return make

    return enter


class Base(scrapy.Spider):
    name = "idiom"
    start_urls = (f"{HOST}/list/5/of",)

    def told(self, response: Any, **more: Any) -> dict[str, Any]:
        return {"url": response.url, "status": response.status, **more}

    def item(self, response: Any, **more: Any) -> Any:
        yield self.told(response, **more)


# Links


@idiom()
def follow_all():
    class S(Base):
        start_urls = (f"{HOST}/tree/",)

        def parse(self, response):
            yield self.told(response)
            yield from response.follow_all(css="a")

    return S


@idiom()
def rules_of_a_crawl_spider():
    class S(CrawlSpider):
        name = "rules"
        start_urls = (f"{HOST}/tree/",)
        rules = (
            Rule(LinkExtractor(allow=r"/tree/\d\d\d$"), callback="leaf"),
            Rule(LinkExtractor(allow="/tree/"), follow=True, process_request="marked"),
        )

        def marked(self, request, response):
            return request.replace(meta={**request.meta, "via": response.url})

        def leaf(self, response):
            yield {"leaf": response.url, "text": response.meta["link_text"]}

    return S


@idiom()
def sitemap():
    class S(SitemapSpider):
        name = "sitemap"
        sitemap_urls = (f"{HOST}/sitemap/one.xml",)

        def parse(self, response):
            yield {"url": response.url}

    return S


@idiom()
def relative_links_and_fragments():
    class S(Base):
        start_urls = (f"{HOST}/page/dir/",)

        def parse(self, response):
            for link in ("one", "./two", "../three#part", "?q=b&a=1", "?a=1&q=b", "//a.example/page/four", "one#x"):
                yield response.follow(link, self.item)

    return S


@idiom(settings={"DEPTH_LIMIT": 2})
def depth_limit():
    return follow_all()


@idiom(settings={"ROBOTSTXT_OBEY": True})
def robots_txt():
    return follow_all()


@idiom()
def allowed_domains():
    class S(Base):
        allowed_domains = ("a.example",)

        def parse(self, response):
            yield self.told(response)
            for url in ("http://b.example/page/1", "http://sub.a.example/page/1", f"{HOST}/page/1"):
                yield Request(url, self.item)
            yield Request("http://b.example/page/2", self.item, meta={"allow_offsite": True})

    return S


# Where callbacks and what they share come from


@idiom()
def one_item_of_three_pages():
    class S(Base):
        def parse(self, response):
            for n in range(5):
                yield Request(f"{HOST}/page/a{n}", self.second, cb_kwargs={"item": {"n": n, "first": response.url}})

        def second(self, response, item):
            item["second"] = response.url
            yield response.follow(f"/page/b{item['n']}", self.third, meta={"item": item})

        def third(self, response):
            yield {**response.meta["item"], "third": response.url}

    return S


@idiom()
def shared_list():
    class S(Base):
        def parse(self, response):
            self.found = []
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link, self.collect, meta={"found": self.found})

        def collect(self, response):
            response.meta["found"].append(response.url)
            if len(response.meta["found"]) == 5:
                yield {"found": sorted(response.meta["found"])}

    return S


@idiom()
def lambdas_and_partials():
    class S(Base):
        def parse(self, response):
            for n, link in enumerate(response.css("a::attr(href)").getall()):
                yield response.follow(link, lambda r, n=n: [self.told(r, n=n)])
                yield response.follow(link + "-p", partial(self.made, more=n))

        def made(self, response, more):
            yield self.told(response, more=more)

    return S


@idiom()
def callbacks_that_return():
    class S(Base):
        def parse(self, response):
            kinds = (self.a_list, self.a_dict, self.nothing, self.a_request)
            return [response.follow(f"/page/{n}", kind) for n, kind in enumerate(kinds)]

        def a_list(self, response):
            return [self.told(response), self.told(response, second=1)]

        def a_dict(self, response):
            return self.told(response)

        def nothing(self, response):
            return None

        def a_request(self, response):
            return Request(f"{HOST}/page/of-return", self.item)

    return S


@idiom()
def callback_that_raises_in_the_middle():
    class S(Base):
        def parse(self, response):
            for n, link in enumerate(response.css("a::attr(href)").getall()):
                yield self.told(response, n=n)
                yield response.follow(link, self.item)
                if n == 2:
                    raise ValueError("on purpose")

    return S


@idiom()
def coroutine_callbacks():
    class S(Base):
        async def parse(self, response):
            for link in response.css("a::attr(href)").getall():
                await asyncio.sleep(0.001)
                yield response.follow(link, self.late)

        async def late(self, response):
            await asyncio.sleep(0.001)
            return [self.told(response, late=True)]

    return S


@idiom()
def downloads_within_callbacks():
    class S(Base):
        async def parse(self, response):
            engine = self.crawler.engine
            both = await asyncio.gather(*(engine.download_async(Request(f"{HOST}/page/{n}")) for n in "xy"))
            for other in both:
                yield self.told(other, within=response.url)
            yield Request(f"{HOST}/page/x", self.item)

    return S


# Where requests come from


@idiom()
def start_that_waits_and_gives_items():
    class S(Base):
        async def start(self):
            for n in range(4):
                await asyncio.sleep(0.002)
                yield Request(f"{HOST}/page/{n}", self.item)
                yield {"made": n}
            answer = await self.crawler.engine.download_async(Request(f"{HOST}/page/token"))
            yield Request(f"{HOST}/page/after", self.item, cb_kwargs={"token": answer.status})

    return S


@idiom()
def start_urls_given_twice():
    class S(Base):
        start_urls = (f"{HOST}/page/1", f"{HOST}/page/1", f"{HOST}/page/2")
        parse = Base.item

    return S


@idiom()
def batches_when_idle():
    class S(Base):
        start_urls = ()
        batches = ((1, 2, 3), (4, 5), (1, 6))

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            spider.left = list(cls.batches)
            crawler.signals.connect(spider.idle, signals.spider_idle)
            return spider

        def idle(self):
            if self.left:
                for n in self.left.pop(0):
                    self.crawler.engine.crawl(Request(f"{HOST}/page/{n}", self.with_child))
                raise DontCloseSpider

        def with_child(self, response):
            yield self.told(response)
            yield response.follow(response.url + "-child", self.item)

    return S


@idiom()
def requests_given_to_the_engine():
    class S(Base):
        def parse(self, response):
            for n in range(3):
                self.crawler.engine.crawl(Request(f"{HOST}/page/{n}", self.item))
            yield self.told(response)

    return S


@idiom()
def arguments_and_name_of_the_spider():
    class S(Base):
        custom_settings = {"USER_AGENT": "idiom"}  # noqa: RUF012

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.start_urls = [f"{HOST}/list/2/argument"]

        def parse(self, response):
            agent = response.request.headers["User-Agent"].decode()
            yield self.told(response, agent=agent, name=self.name)
            yield from response.follow_all(css="a")

    return S


# Again and again


@idiom()
def asked_until_it_is_ready():
    class S(Base):
        start_urls = (f"{HOST}/ready/job",)

        def parse(self, response):
            if "ready" in response.text:
                yield self.told(response)
            else:
                yield response.request.replace(dont_filter=True)

    return S


@idiom()
def pages_of_an_interface():
    class S(Base):
        start_urls = (f"{HOST}/pages?page=1",)

        def parse(self, response):
            found = response.json()
            yield from ({"found": one} for one in found)
            if found:
                page = int(response.url.rpartition("=")[2])
                yield response.follow(f"/pages?page={page + 1}")

    return S


@idiom()
def json_requests():
    class S(Base):
        start_urls = ()

        async def start(self):
            for n in range(5):
                yield JsonRequest(f"{HOST}/json/search", data={"page": n}, callback=self.answer)
            yield JsonRequest(f"{HOST}/json/search", data={"page": 1}, callback=self.answer)

        def answer(self, response):
            yield {"asked": response.json()["asked"]}

    return S


@idiom()
def other_methods():
    class S(Base):
        def parse(self, response):
            for method in ("HEAD", "POST", "PUT", "DELETE", "GET"):
                yield Request(f"{HOST}/page/one", self.item, method=method, cb_kwargs={"method": method})

    return S


@idiom(settings={"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"})
def no_dupefilter():
    class S(Base):
        def parse(self, response):
            for _ in range(5):
                yield Request(f"{HOST}/page/one", self.item)

    return S


class ByWholeUrl:
    """Knows URLs by their fragments, too."""

    def fingerprint(self, request):
        return f"{request.method} {request.url}".encode()


@idiom(settings={"REQUEST_FINGERPRINTER_CLASS": ByWholeUrl})
def fingerprints_with_fragments():
    class S(Base):
        def parse(self, response):
            for part in ("a", "b", "a"):
                yield Request(f"{HOST}/page/one#{part}", self.item)

    return S


# Sessions


@idiom()
def login_by_a_form():
    class S(Base):
        start_urls = (f"{HOST}/login",)

        def parse(self, response):
            sent = {field: response.css(f"[name={field}]").attrib.get("value", "me") for field in ("token", "user")}
            yield FormRequest(response.urljoin("/login"), self.inside, formdata=sent)

        def inside(self, response):
            yield self.told(response, cookie=response.request.headers["Cookie"].decode())
            yield from response.follow_all(css="a", callback=self.member)

        def member(self, response):
            yield self.told(response, cookie=response.request.headers["Cookie"].decode())

    return S


@idiom()
def cookie_jars():
    class S(Base):
        start_urls = ()

        async def start(self):
            for n in range(3):
                yield Request(f"{HOST}/cookie/{n}", meta={"cookiejar": n})

        def parse(self, response):
            jar = response.meta["cookiejar"]
            url = f"{HOST}/page/shared"
            yield Request(url, self.shared, meta={"cookiejar": jar}, dont_filter=True, cb_kwargs={"jar": jar})

        def shared(self, response, jar):
            yield {"jar": jar, "cookie": response.request.headers["Cookie"].decode()}

    return S


@idiom()
def headers_and_cookies_of_requests():
    class S(Base):
        def parse(self, response):
            for n in range(3):
                yield Request(f"{HOST}/page/{n}", self.sent, headers={"X-Own": str(n)}, cookies={"own": str(n)})

        def sent(self, response):
            headers = response.request.headers
            yield self.told(response, own=headers["X-Own"].decode(), cookie=headers["Cookie"].decode())

    return S


# What goes wrong


@idiom()
def errbacks():
    class S(Base):
        def parse(self, response):
            for url in ("status/404/x", "refused/x", "page/fine", "status/500/x"):
                yield Request(f"{HOST}/{url}", self.item, errback=self.failed, cb_kwargs={"of": url})

        def failed(self, failure):
            url = failure.request.url
            yield {"failed": url, "of": failure.request.cb_kwargs["of"], "why": failure.type.__name__}
            if "404" in url:
                yield Request(f"{HOST}/page/instead", self.item)

    return S


@idiom()
def pages_with_other_status():
    class S(Base):
        handle_httpstatus_list = (404, 410)

        def parse(self, response):
            yield self.told(response)
            for status in (404, 410, 403):
                yield Request(f"{HOST}/status/{status}/x", self.item)

    return S


@idiom(settings={"RETRY_TIMES": 3})
def retries():
    class S(Base):
        start_urls = tuple(f"{HOST}/fails/{n}/x" for n in range(5))
        parse = Base.item

    return S


@idiom()
def redirects():
    class S(Base):
        def parse(self, response):
            for url in ("redirect/page/end", "redirect/redirect/page/far", "page/end", "refresh/page/refreshed"):
                yield Request(f"{HOST}/{url}", self.came, cb_kwargs={"asked": url})

        def came(self, response, asked):
            yield self.told(response, via=len(response.meta.get("redirect_urls", ())))

    # Two ways lead to one page; which comes first is chance where several are on their way.
    S.custom_settings = ONE
    return S


@idiom()
def pages_that_are_no_html():
    class S(Base):
        def parse(self, response):
            for url in ("json/a", "csv/a", "xml/a", "file/a", "empty/a"):
                yield Request(f"{HOST}/{url}", self.item, cb_kwargs={"of": url})

    return S


# Items and what becomes of them


@dataclass
class Place:
    url: str
    size: int


class Thing(scrapy.Item):
    url = scrapy.Field()
    heading = scrapy.Field()


@idiom()
def items_of_all_kinds():
    class S(Base):
        def parse(self, response):
            yield Place(response.url, 1)
            loader = ItemLoader(Thing(), response=response)
            loader.add_value("url", response.url)
            loader.add_css("heading", "h1::text")
            yield loader.load_item()
            yield from response.follow_all(css="a", callback=self.parse)

    return S


class Keeps:
    """Drops every second item, and changes the others."""

    @classmethod
    def from_crawler(cls, crawler):
        return cls()

    async def process_item(self, item):
        await asyncio.sleep(0)
        if item["url"][-1] in "13":
            raise DropItem("on purpose")
        return {**item, "kept": True}


@idiom(settings={"ITEM_PIPELINES": {Keeps: 1}})
def pipeline_that_drops():
    return follow_all()


@idiom()
def one_item_object_given_again_and_again():
    class S(Base):
        def parse(self, response):
            item = {}
            for n in range(3):
                item = {**item, "url": response.url, "n": n}
                yield item
            yield from response.follow_all(css="a")

    return S


@idiom(settings={**ONE, "CLOSESPIDER_ITEMCOUNT": 4})
def closed_after_some_items():
    class S(Base):
        start_urls = tuple(f"{HOST}/page/{n}" for n in range(10))
        parse = Base.item

    return S


@idiom(settings=ONE)
def closes_itself():
    class S(Base):
        start_urls = tuple(f"{HOST}/page/{n}" for n in range(10))

        def parse(self, response):
            yield self.told(response)
            if response.url.endswith("4"):
                raise CloseSpider("enough")

    return S


# Middlewares of one's own


class FromShelf:
    """Answers some requests by itself, refuses some, and sends some with a token."""

    def process_request(self, request):
        if request.url.endswith("-1"):
            return HtmlResponse(request.url, body=b"<p>from the shelf</p>", encoding="utf-8")
        if request.url.endswith("-2"):
            raise IgnoreRequest("on purpose")
        return None

    def process_response(self, request, response):
        if request.url.endswith("-3") and "token" not in request.meta:
            return request.replace(meta={**request.meta, "token": 1}, dont_filter=True)
        return response


@idiom(settings={"DOWNLOADER_MIDDLEWARES": {FromShelf: 500}})
def downloader_middleware():
    class S(Base):
        def parse(self, response):
            yield self.told(response, token=response.meta.get("token"))
            yield from response.follow_all(css="a")

    return S


class Adds:
    """Leaves out and adds requests and items."""

    async def process_spider_output(self, response, result):
        async for one in result:
            if isinstance(one, Request) and one.url.endswith("-2"):
                continue
            yield one
        if response.url.endswith("-0"):
            yield {"added": response.url}
            yield Request(f"{HOST}/page/added")

    async def process_start(self, start):
        async for one in start:
            yield one
        yield Request(f"{HOST}/page/also")


@idiom(settings={"SPIDER_MIDDLEWARES": {Adds: 543}})
def spider_middleware():
    class S(Base):
        def parse(self, response):
            yield self.told(response)
            yield from response.follow_all(css="a")

    return S


# Order, places, feeds


@idiom(settings=ONE, is_ordered=True)
def priorities():
    class S(Base):
        start_urls = (f"{HOST}/page/start",)

        def parse(self, response):
            for n, priority in enumerate((0, 5, -3, 10**6, -(10**9), 7)):
                yield Request(f"{HOST}/page/{n}", self.item, priority=priority)

    return S


@idiom(settings={**ONE, "DEPTH_PRIORITY": 1}, is_ordered=True)
def breadth_first_as_documented():
    class S(Base):
        start_urls = (f"{HOST}/tree/",)
        custom_settings = {  # noqa: RUF012
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
        }

        def parse(self, response):
            yield self.told(response)
            yield from response.follow_all(css="a")

    return S


@idiom(settings={"DOWNLOAD_SLOTS": {"slow": {"delay": 0.01, "randomize_delay": False, "concurrency": 1}}})
def download_slots():
    class S(Base):
        start_urls = ()

        async def start(self):
            for n in range(4):
                yield Request(f"{HOST}/page/s{n}", meta={"download_slot": "slow"})
                yield Request(f"{HOST}/page/f{n}", meta={"download_slot": "fast"})

        def parse(self, response):
            yield self.told(response, slot=response.meta["download_slot"])

    return S


@idiom()
def xml_feed():
    class S(XMLFeedSpider):
        name = "xml"
        start_urls = (f"{HOST}/xml/a",)
        itertag = "item"

        def parse_node(self, response, node):
            return {"name": node.xpath("name/text()").get()}

    return S


@idiom()
def csv_feed():
    class S(CSVFeedSpider):
        name = "csv"
        start_urls = (f"{HOST}/csv/a",)

        def parse_row(self, response, row):
            yield dict(row)
            yield Request(f"{HOST}/page/{row['name']}", self.more)

        def more(self, response):
            yield {"url": response.url}

    return S


class OwnRequest(Request):
    """Has something that is none of its attributes."""

    own = None


@idiom()
def requests_of_a_class_of_ones_own():
    class S(Base):
        def parse(self, response):
            for n in range(3):
                request = OwnRequest(f"{HOST}/page/{n}", self.made)
                request.own = n
                yield request

        def made(self, response):
            yield self.told(response, own=response.request.own)

    return S


@idiom(settings=ONE, has_job=True)
def stopped_and_gone_on_with():
    class S(Base):
        async def start(self):
            yield Request(f"{HOST}/tree/")

        def parse(self, response):
            yield self.told(response, depth=response.meta.get("depth", 0))
            yield from response.follow_all(css="a", callback=self.parse, cb_kwargs={})
            self.state["pages"] = self.state.get("pages", 0) + 1
            if self.state["pages"] == 9:
                raise CloseSpider("enough")

    return S
