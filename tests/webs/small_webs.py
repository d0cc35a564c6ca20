"""Random small webs, an ordinary spider over them, and what a crawl may not lose."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine
from scrapy import Request, Spider, signals
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from web import HTML, make_crawler, page, redirect, refused, text, web_settings

SECONDS = 4
"""A crawl takes a tenth of a second; one that takes so long hangs, or waits for the engine to ask by itself."""

# A web that shows a failure shrinks for 5 minutes otherwise.
engine.MAX_SHRINKING_SECONDS = 15

Key = tuple[str, str, str]
"""Method, URL and body: what a server sees of a request."""


@dataclass(frozen=True, repr=False)
class Node:
    """One URL of a small web, and how the spider asks for it."""

    kind: str = "page"
    """``page``; ``moved`` (302), ``kept`` (307); ``missing``, ``broken``, ``refused``; ``flaky`` (a 503 at first)."""
    host: int = 0
    target: int = 0
    """Where a redirect leads; perhaps to itself."""
    content: tuple[str, int] = ("own", 0)
    """``own`` text, or that of a group: the ``same``, ``near`` it, or ``short``."""
    is_titled: bool = False
    links: tuple[int, ...] = ()
    made: tuple[int, ...] = ()
    """Nodes that the callback asks for though no link leads there."""
    leaves: int = 0
    """Pages that only the callback knows of."""
    posts: tuple[int, ...] = ()
    again: int | None = None
    """A node asked for with ``dont_filter``: one that comes later, or there would be no end."""
    raises_after: int | None = None
    """The callback raises after so many requests."""
    is_slow: bool = False
    """The callback waits between its requests."""
    is_asynchronous: bool = False
    priority: int = 0
    carries: str = "nothing"
    """What ``meta`` and ``cb_kwargs`` hold: ``plain``, ``mutable``, ``shared`` with the spider, ``unpicklable``."""
    has_errback: bool = False

    def __repr__(self) -> str:
        """Only what is not ordinary."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default)
        return f"Node({', '.join(f'{name}={value!r}' for name, value in values)})"


@dataclass(frozen=True)
class SmallWeb:
    """Nodes by number, and the start requests: (node, ``dont_filter``)."""

    nodes: tuple[Node, ...]
    starts: tuple[tuple[int, bool], ...] = ((0, True),)

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        """How hypothesis shows a web that fails: what is not ordinary, a node a line."""
        lines = (f"{number}: {node!r}" for number, node in enumerate(self.nodes) if node != Node())
        printer.text("\n".join([f"{len(self.nodes)} nodes, starts={self.starts}", *lines]))

    def url(self, number: int) -> str:
        return f"http://h{self.nodes[number].host}.example/{number}"

    def of(self, url: str) -> tuple[int, Node] | None:
        """Return the node at *url*; ``None`` for a leaf."""
        number = int(url.rpartition("/")[2])
        return None if "/leaf/" in url else (number, self.nodes[number])

    def end(self, number: int) -> Node:
        """Return the node that redirects lead to from node *number*, or one of a ring of them."""
        for _ in self.nodes:
            node = self.nodes[number]
            number = node.target if node.kind in {"moved", "kept"} else number
        return self.nodes[number]

    def content(self, key: Key) -> object:
        """Return what is equal for two requests that bring the same text."""
        found = self.of(key[1])
        if key[0] == "POST" or found is None:
            return key
        number, node = found
        kind, group = node.content
        return (kind, number) if kind == "own" else ("group", group)


def quirks(n: int, number: int, *, is_storable: bool, is_slow: bool) -> st.SearchStrategy[dict[str, Any]]:
    """What is not ordinary about node *number* of *n*: few things at a time, so that a web that fails shrinks fast."""
    numbers = st.lists(st.integers(0, n - 1), min_size=1, max_size=2).map(tuple)
    one_of: dict[str, st.SearchStrategy[Any]] = {
        "is_titled": st.just(True),
        "made": numbers,
        "leaves": st.integers(1, 2),
        "posts": numbers,
        "raises_after": st.integers(0, 3),
        "is_asynchronous": st.just(True),
        "priority": st.sampled_from([5, -5, -1000]),
        "carries": st.sampled_from(["plain", "mutable"] + ([] if is_storable else ["shared", "unpicklable"])),
        "has_errback": st.just(True),
    }
    if is_slow:
        one_of["is_slow"] = st.just(True)
    if number < n - 1:
        one_of["again"] = st.integers(number + 1, n - 1)
    pairs = st.sampled_from(list(one_of)).flatmap(lambda name: st.tuples(st.just(name), one_of[name]))
    return st.lists(pairs, max_size=4).map(dict)


@st.composite
def small_webs(draw: st.DrawFn, *, is_storable: bool = False, is_slow: bool = True) -> SmallWeb:
    """Webs of 3 to 12 nodes; *is_storable*: every request can be written to disk; not *is_slow*: no callback waits."""
    n = draw(st.integers(3, 12))
    numbers = st.integers(0, n - 1)
    # Two of three nodes are pages: otherwise most webs would end at their first.
    kinds = st.sampled_from(["page"] * 12 + ["moved", "kept", "missing", "broken", "refused", "flaky"])
    contents = st.sampled_from([("own", 0)] * 3 + [("same", 0)] * 2 + [("same", 1), ("near", 0), ("short", 0)])
    # Every node is linked from one before it: otherwise few would be reached.
    parents = [draw(st.integers(0, number - 1)) for number in range(1, n)]
    nodes = []
    for number in range(n):
        quirk = dict(draw(quirks(n, number, is_storable=is_storable, is_slow=is_slow)))
        if quirk.get("is_slow"):
            quirk["is_asynchronous"] = True
        kind = draw(kinds) if number else "page"
        if kind in {"moved", "kept"}:
            quirk["target"] = draw(numbers)
        links = [child for child, parent in enumerate(parents, 1) if parent == number]
        links += draw(st.lists(numbers, max_size=3))
        nodes.append(Node(kind, draw(st.integers(0, 2)), content=draw(contents), links=tuple(links), **quirk))
    starts = draw(st.lists(st.tuples(numbers, st.booleans()), max_size=2))
    return SmallWeb(tuple(nodes), ((0, True), *starts))


class Server:
    """Answers requests as a small web says, and keeps a record of both."""

    def __init__(self, web: SmallWeb) -> None:
        self.web = web
        self.answers: list[tuple[Key, int]] = []
        """Every request, with the status that it was answered with; 0 where there was no response."""
        self._failed: set[Key] = set()

    def __call__(self, request: Request) -> Any:
        answer = self._answer(request)
        status = 0 if isinstance(answer, Exception) else 200 if isinstance(answer, str) else answer[0]
        self.answers.append((key_of(request), status))
        return answer

    def _answer(self, request: Request) -> Any:
        found = self.web.of(request.url)
        if found is None:
            return page(seed=request.url)
        number, node = found
        if node.kind == "flaky" and key_of(request) not in self._failed:
            self._failed.add(key_of(request))
            return 503, HTML, ""
        if node.kind in {"moved", "kept"}:
            return redirect(self.web.url(node.target), 302 if node.kind == "moved" else 307)
        if node.kind in {"missing", "broken", "refused"}:
            return {"missing": (404, HTML, "gone"), "broken": (500, HTML, ""), "refused": refused(request)}[node.kind]
        if request.method == "POST":
            return page(seed=(request.url, request.body))
        return self._page(number, node)

    def _page(self, number: int, node: Node) -> str:
        kind, group = node.content
        words = 5 if kind == "short" else 120
        links = [self.web.url(link) for link in node.links]
        html = page(links, number if kind == "own" else ("group", group), f"{number}" if node.is_titled else "", words)
        return html.replace("<p>", f"<p>{text(number, 1)} ") if kind == "near" else html


def key_of(request: Request) -> Key:
    return request.method, request.url, request.body.decode()


@dataclass
class Asked:
    """A request as the spider yielded it."""

    key: Key
    is_link: bool
    is_unfiltered: bool
    """It is to be fetched once more, whatever is known; a start may be known from an earlier run."""


class SmallSpider(Spider):
    """Ordinary: a ``LinkExtractor``, a ``Request`` for each link, and some that no link asked for.

    What a response leads to depends on its URL alone, not on who asked for it first: so two crawls in different order
    fetch the same.
    """

    name = "small"
    extractor = LinkExtractor()

    def __init__(self, web: SmallWeb, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.web = web
        self.asked: list[Asked] = []
        self.shared: list[int] = []
        self.unpicklable = lambda: None

    async def start(self) -> Any:
        for number, dont_filter in self.web.starts:
            request = self.ask(number, dont_filter=dont_filter)
            self.asked[-1].is_unfiltered = False
            yield request

    def ask(self, number: int, url: str | None = None, *, is_link: bool = False, **arguments: Any) -> Request:
        """A request for a node, or for a leaf of it at *url*."""
        node = Node() if url else self.web.nodes[number]
        request = Request(
            url or self.web.url(number),
            self.parse_later if node.is_asynchronous else self.parse,
            errback=self.failed if url is None and self.web.end(number).has_errback else None,
            priority=node.priority,
            meta=self.carried_by(node, number),
            cb_kwargs={"carried": self.carried_by(node, number)},
            **arguments,
        )
        self.asked.append(Asked(key_of(request), is_link, request.dont_filter))
        return request

    def carried_by(self, node: Node, number: int) -> dict[str, Any]:
        return {
            "nothing": {},
            "plain": {"number": number, "words": "a b"},
            "mutable": {"box": [number, {"n": None}], "tuple": (1, b"2")},
            "shared": {"shared": self.shared},
            "unpicklable": {"function": self.unpicklable},
        }[node.carries]

    def parse(self, response: Any, carried: Any) -> Iterator[Any]:
        yield self.item(response, carried, is_asynchronous=False)
        yield from self.requests(response)

    async def parse_later(self, response: Any, carried: Any) -> Any:
        found = self.web.of(response.url)
        yield self.item(response, carried, is_asynchronous=True)
        for request in self.requests(response):
            if found is not None and found[1].is_slow:
                await asyncio.sleep(0.002)
            yield request

    def requests(self, response: Any) -> Iterator[Request]:
        """What a response leads to, until its callback raises."""
        found = self.web.of(response.url)
        if found is None or response.request.method == "POST":
            return
        number, node = found
        for count, ask in enumerate(self.wanted(response, number, node)):
            if count == node.raises_after:
                raise RuntimeError
            yield self.ask(**ask)

    def wanted(self, response: HtmlResponse, number: int, node: Node) -> Iterator[dict[str, Any]]:
        for link in self.extractor.extract_links(response):
            yield {"number": int(link.url.rpartition("/")[2]), "is_link": True}
        for to in node.posts:
            yield {"number": to, "method": "POST", "body": f"from={number}"}
        for to in node.made:
            # A link of the page as well: then it is one.
            yield {"number": to, "is_link": to in node.links}
        for leaf in range(node.leaves):
            yield {"number": leaf, "url": f"{self.web.url(number)}/leaf/{leaf}"}
        # A redirect that is asked for with dont_filter may lead back here, and there would be no end.
        if node.again is not None and self.web.nodes[node.again].kind not in {"moved", "kept"}:
            yield {"number": node.again, "dont_filter": True}

    def item(self, response: Any, carried: Any, *, is_asynchronous: bool) -> dict[str, Any]:
        origin = response.meta.get("redirect_urls", [response.url])[0]
        number, node = self.web.of(origin) or (int(origin.rpartition("/")[2]), Node())
        expected = self.carried_by(node, number)
        is_whole = node.is_asynchronous == is_asynchronous and all(
            equal(got, expected) for got in (carried, {key: response.meta.get(key) for key in expected})
        )
        return {"key": key_of(response.request), "is_whole": is_whole}

    def failed(self, failure: Any) -> Iterator[dict[str, Any]]:
        yield {"failed": failure.request.url}


def equal(got: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Tell whether *got* has what *expected* has; what is shared or cannot be stored must be the object itself."""
    return got.keys() == expected.keys() and all(
        got[key] is value if key in {"shared", "function"} else got[key] == value for key, value in expected.items()
    )


@dataclass
class Crawled:
    """What came of one crawl, or of several on one job."""

    answers: list[tuple[Key, int]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""
    """Why the last one ended."""

    @property
    def fetched(self) -> Counter[Key]:
        return Counter(key for key, _ in self.answers)

    @property
    def items_by_key(self) -> Counter[str]:
        return Counter(json.dumps(item, sort_keys=True) for item in self.items)

    @property
    def has_saved(self) -> bool:
        return any(decision["action"] in {"drop", "rewrite"} for decision in self.decisions)


async def crawl(server: Server, settings: dict[str, Any], crawled: Crawled | None = None) -> Crawled:
    """Crawl what *server* serves; *crawled* is what came of earlier runs of the same job."""
    crawled = crawled or Crawled()
    quiet = {"LOG_LEVEL": "CRITICAL", "CONCURRENT_ITEMS": 4, "REPLICA_TRAPS": False}
    quiet = {name: value for name, value in quiet.items() if "ADDONS" in settings or "REPLICA" not in name}
    crawler = make_crawler(SmallSpider, {**web_settings(server, []), **quiet, **settings})

    def scraped(item: Any) -> None:
        crawled.items.append(item)

    crawler.signals.connect(scraped, signals.item_scraped)
    await asyncio.wait_for(crawler.crawl_async(web=server.web), SECONDS)
    assert isinstance(crawler.spider, SmallSpider)
    crawled.answers = server.answers
    crawled.asked += crawler.spider.asked
    crawled.reason = crawler.stats.get_value("finish_reason")
    if "REPLICA_LEDGER" in settings:
        with open(settings["REPLICA_LEDGER"]) as ledger:  # noqa: PTH123
            crawled.decisions = [json.loads(line) for line in ledger]
    return crawled


# What a crawl may not lose


def lost(web: SmallWeb, crawled: Crawled) -> list[str]:
    """Return every request that was neither fetched nor saved for a good reason, in words.

    By induction nothing of the web is lost then: all starts were fetched, and all that each fetched page led to.
    """
    return [*lost_requests(web, crawled), *lost_redirects(web, crawled), *lost_items(web, crawled)]


def lost_requests(web: SmallWeb, crawled: Crawled) -> Iterator[str]:
    fetched = crawled.fetched
    unfiltered = Counter(asked.key for asked in crawled.asked if asked.is_unfiltered)
    for asked in crawled.asked:
        is_enough = fetched[asked.key] >= max(1, unfiltered[asked.key])
        if is_enough or (asked.is_link and is_saved(web, crawled, asked.key[1])):
            continue
        kind = "link" if asked.is_link else "request that no link led to"
        wanted = f" instead of {unfiltered[asked.key]}" if unfiltered[asked.key] else ""
        decisions = [decision for decision in crawled.decisions if decision["url"] == asked.key[1]]
        yield f"{kind} {asked.key} fetched {fetched[asked.key]} times{wanted}; decisions: {decisions or 'none'}"


def is_saved(web: SmallWeb, crawled: Crawled, url: str) -> bool:
    """Tell whether a decision about *url* names a fetched page that stands in its place."""
    return any(
        decision["url"] == url and decision["action"] in {"drop", "rewrite"} and is_sound(web, crawled, decision)
        for decision in crawled.decisions
    )


def is_sound(web: SmallWeb, crawled: Crawled, decision: dict[str, Any]) -> bool:
    """Tell whether what *decision* names was fetched and has the same content.

    Links of a page that repeats another are saved because the other was fetched; else it is the URL itself.
    """
    evidence = decision["evidence"]
    instead = evidence.get("repeats") or evidence.get("canonical")
    if instead is None:
        return False
    keys = [("GET", str(url), "") for url in (evidence.get("page", decision["url"]), instead)]
    return web.content(keys[0]) == web.content(keys[1]) and crawled.fetched[keys[1]] > 0


def lost_redirects(web: SmallWeb, crawled: Crawled) -> Iterator[str]:
    fetched = crawled.fetched
    for (method, url, body), status in crawled.answers:
        if status not in {302, 307}:
            continue
        found = web.of(url)
        assert found is not None
        to = web.url(found[1].target)
        key = (method, to, body) if status == 307 else ("GET", to, "")
        if not fetched[key]:
            yield f"{url} redirects to {key}, which was not fetched"


def lost_items(web: SmallWeb, crawled: Crawled) -> Iterator[str]:
    expected = Counter(key for key, status in crawled.answers if status == 200)
    got = Counter(tuple(item["key"]) for item in crawled.items if "key" in item)
    yield from (
        f"{key} was answered {n} times, and gave {got[key]} items" for key, n in expected.items() if got[key] < n
    )
    yield from (
        f"{item} came without what its request carried" for item in crawled.items if not item.get("is_whole", 1)
    )


def differences(plain: Crawled, ours: Crawled, *, is_counted: bool = True) -> list[str]:
    """Return in words what two crawls that should be equal did not both do; not *is_counted*: at all."""
    pairs = (("request", plain.fetched, ours.fetched), ("item", plain.items_by_key, ours.items_by_key))
    return [
        f"{what} {key}: plain Scrapy {before[key]}, with the add-on {after[key]}"
        for what, before, after in pairs
        for key in {**before, **after}
        if (before[key] != after[key] if is_counted else bool(before[key]) != bool(after[key]))
    ]
