"""Where a crawl goes, changed by hand: more seeds, patterns to exclude, hosts that pause."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

import pytest
from command_line import replica
from web import REPLICA, crawl, job_states, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands.job import reading
from scrapy_replica.crawldb.orders import EXCLUDE, PAUSE, RESUME, SEEDS
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.host_order import HostOrder
from scrapy_replica.crawldb.sqlite.reader import open_orders

TOP = "http://a.example/"
N = 12
SITE = {
    TOP: page([f"/{n}" for n in range(N)] + [f"http://b.example/{n}" for n in range(N)], seed=TOP),
    **{f"http://{host}.example/{n}": page(seed=(host, n)) for host in "ab" for n in range(N)},
}


def give(job, *orders):
    with open_orders(job / FILE_NAME) as give:
        for kind, what in orders:
            give(kind, what)


def answers(job):
    with reading(str(job)) as reader:
        return [order.answer for order in sorted(reader.orders(20), key=lambda order: order.id)]


async def run(job, pages=SITE, until=0, seeds=TOP, **settings):
    settings = {"CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": until, "REPLICA_PROBES": 0, **settings}
    return await crawl(TopicSpider, pages, {**REPLICA, "JOBDIR": str(job), **settings}, seeds=seeds)


def acting(job, at, *orders):
    """The site whose page *at* gives *orders* and waits until the crawl has obeyed."""

    async def answer(request):
        await asyncio.to_thread(give, job, *orders)  # which waits until the crawl has committed
        while any(order.is_open for order in last(job)):
            await asyncio.sleep(0.01)
        return page(seed=at)

    return {**SITE, at: answer}


def last(job):
    with reading(str(job)) as reader:
        return reader.orders(20)


@pytest.mark.asyncio
class TestExclude:
    async def test_what_waits_is_dropped_when_its_turn_comes_and_comes_back(self, tmp_path):
        first = await run(tmp_path, until=2)
        give(tmp_path, (EXCLUDE, {"pattern": "*/b.example/*"}), (EXCLUDE, {"pattern": "nonsense"}))
        second = await run(tmp_path)
        states = Counter(tuple(states) for url, states in job_states(tmp_path).items() if "b.example" in url)
        assert not [url for url in second.urls if "b.example" in url]
        assert states == {("dropped",): N}
        assert answers(tmp_path)[1].startswith("not done: the pattern 'nonsense' matches no whole URL")
        third = await run(tmp_path)
        assert third.urls == []
        give(tmp_path, (EXCLUDE, {"pattern": "*/b.example/*", "lift": True}))
        fourth = await run(tmp_path)
        assert Counter([*first.urls, *second.urls, *fourth.urls]) == Counter([*SITE])

    async def test_links_found_meanwhile_come_back_as_well(self, tmp_path):
        SqliteCrawlDB(tmp_path, "topic").close()
        give(tmp_path, (EXCLUDE, {"pattern": "*/b.example/*"}))
        first = await run(tmp_path)
        assert {*first.urls} == {url for url in SITE if "a.example" in url}
        give(tmp_path, (EXCLUDE, {"pattern": "*/b.example/*", "lift": True}))
        assert {*(await run(tmp_path)).urls} == {url for url in SITE if "b.example" in url}

    async def test_a_running_crawl_obeys(self, tmp_path):
        at = f"{TOP}0"
        result = await run(tmp_path, acting(tmp_path, at, (EXCLUDE, {"pattern": "*/b.example/*"})), seeds=f"{TOP} {at}")
        assert [url for url in result.urls if "a.example" in url]
        assert not [url for url in result.urls if "b.example" in url]
        assert result.stats["replica/decision/excluded/drop"] == N

    async def test_lifting_what_nobody_excluded_is_answered(self, tmp_path):
        SqliteCrawlDB(tmp_path, "topic").close()
        give(
            tmp_path,
            (EXCLUDE, {"pattern": "*x*", "lift": True}),
            (EXCLUDE, {"pattern": "*y*"}),
            (EXCLUDE, {"pattern": "*y*"}),
        )
        await run(tmp_path)
        first, second, third = answers(tmp_path)
        assert first == "not done: *x* was not excluded while the crawl ran; nothing was"
        assert (second, third) == (None, "not done: *y* is excluded already")


@pytest.mark.asyncio
class TestSeeds:
    async def test_they_are_fetched_next_and_their_hosts_are_in_scope(self, tmp_path):
        new = {"http://c.example/": page(["/x", "http://b.example/x"], seed=3), "http://c.example/x": page(seed=4)}
        at = f"{TOP}0"
        pages = {**acting(tmp_path, at, (SEEDS, {"urls": ["http://c.example/", f"{TOP}0"]})), **new}
        result = await run(tmp_path, pages, seeds=f"{TOP} {at}", REPLICA_SCOPE="hosts")
        assert result.urls[result.urls.index(at) + 1] == "http://c.example/"
        assert "http://c.example/x" in result.urls
        assert not [url for url in result.urls if "b.example" in url]
        assert answers(tmp_path) == ["1 of them was known before"]

    async def test_a_finished_job_takes_them_up_when_it_is_next_run(self, tmp_path):
        await run(tmp_path, REPLICA_SCOPE="hosts")
        give(tmp_path, (SEEDS, {"urls": ["http://b.example/1"]}))
        pages = {**SITE, "http://b.example/1": page(["/2"], seed=1)}
        second = await run(tmp_path, pages, REPLICA_SCOPE="hosts")
        assert second.urls == ["http://b.example/1", "http://b.example/2"]
        third = await run(tmp_path, pages, REPLICA_SCOPE="hosts")
        assert third.urls == []

    async def test_what_brought_no_page_is_asked_for_once_more(self, tmp_path):
        url = f"{TOP}0"
        await run(tmp_path, {**SITE, url: (503, {}, "")}, RETRY_ENABLED=False)
        give(tmp_path, (SEEDS, {"urls": [url, url, f"{TOP}1"]}))
        second = await run(tmp_path)
        assert second.urls == [url]
        assert [item["url"] for item in second.items] == [url]

    async def test_a_page_of_an_earlier_pass_is_asked_for(self, tmp_path):
        await run(tmp_path)
        give(tmp_path, (SEEDS, {"urls": [f"{TOP}3"]}))
        second = await run(tmp_path, REPLICA_REVISIT=True, REPLICA_REVISIT_CHANCE=1, REPLICA_EXPLORE=0)
        assert second.urls == [f"{TOP}3"]

    async def test_they_are_let_in_wherever_they_lie(self, tmp_path):
        SqliteCrawlDB(tmp_path, "topic").close()
        give(tmp_path, (SEEDS, {"urls": ["http://127.0.0.1:8000/"]}))
        pages = {**SITE, "http://127.0.0.1:8000/": page(["/x"]), "http://127.0.0.1:8000/x": page(seed=9)}
        result = await run(tmp_path, pages, REPLICA_PRIVATE_ADDRESSES=False)
        assert {"http://127.0.0.1:8000/", "http://127.0.0.1:8000/x"} <= {*result.urls}


@pytest.mark.asyncio
class TestPause:
    async def test_a_host_that_pauses_keeps_what_waits(self, tmp_path):
        """It is paused at its first page, and goes on when everything else is done."""
        at = "http://b.example/0"
        pages = acting(tmp_path, at, (PAUSE, {"host": "b.example"}))

        async def last_page(request):
            await asyncio.to_thread(give, tmp_path, (RESUME, {"host": "b.example"}))
            return page(seed="last")

        pages[f"{TOP}{N - 1}"] = last_page
        result = await run(tmp_path, pages, seeds=f"{at} {TOP}")
        paused = result.urls[1 : result.urls.index(f"{TOP}{N - 1}") + 1]
        assert len(paused) == N + 1
        assert not [url for url in paused if "b.example" in url]
        assert Counter(result.urls) == Counter([*SITE])
        assert answers(tmp_path) == ["0 URLs of it wait", None]

    async def test_a_resumed_job_keeps_its_pauses(self, tmp_path):
        await run(tmp_path, until=1)
        give(tmp_path, (PAUSE, {"host": "b.example"}), (PAUSE, {"host": "nobody.example"}))
        second = await run(tmp_path, until=N)
        assert not [url for url in second.urls if "b.example" in url]
        assert answers(tmp_path)[1] == "not done: no URL on nobody.example is known"
        give(tmp_path, (RESUME, {"host": "b.example"}), (RESUME, {"host": "b.example"}))
        third = await run(tmp_path)
        assert {f"http://b.example/{n}" for n in range(N)} <= {*third.urls}
        assert answers(tmp_path)[3] == "not done: b.example does not pause"


def test_a_paused_host_keeps_no_demoted_url_of_others_waiting():
    heads = {1: (0, 0, 0.0, 11), 2: (1, 0, 0.0, 22)}
    order = HostOrder(heads.get)
    for host in heads:
        order.add_host(host, f"slot{host}")
    for host in heads:
        order.refresh(host)
    order.hold("slot1")
    assert order.pop() is None
    order.pause(1)
    assert order.pop() == (2, 22)
    order.offer(1, (0, 0, 0.0, 10))
    order.release("slot1")
    assert order.pop() is None
    order.resume(1)
    assert order.pop() == (1, 11)


class TestCommands:
    @pytest.fixture
    def job(self, tmp_path):
        db = SqliteCrawlDB(tmp_path, "topic")
        with contextlib.closing(db):
            db.urls.hosts.id_in("b.example")
        return tmp_path

    @pytest.mark.parametrize(
        ("arguments", "kind", "what", "says"),
        [
            (
                ["steer", "add", "HTTP://C.example/x#y"],
                SEEDS,
                {"urls": ["http://c.example/x"]},
                "http://c.example/x is fetched next",
            ),
            (
                ["steer", "add", "http://c.example/", "http://d.example/"],
                SEEDS,
                {"urls": ["http://c.example/", "http://d.example/"]},
                "2 URLs are fetched next",
            ),
            (
                ["steer", "exclude", "*/x/*"],
                EXCLUDE,
                {"pattern": "*/x/*"},
                "nothing more is fetched that matches */x/*",
            ),
            (["steer", "exclude", "*/x/*", "--lift"], EXCLUDE, {"pattern": "*/x/*", "lift": True}, "comes back"),
            (["steer", "pause", "B.example"], PAUSE, {"host": "b.example"}, "b.example pauses"),
            (["steer", "pause", "https://b.example/"], PAUSE, {"host": "b.example"}, "b.example pauses"),
            (["steer", "resume", "b.example"], RESUME, {"host": "b.example"}, "b.example goes on"),
        ],
    )
    def test_write_an_order_and_say_so(self, job, arguments, kind, what, says):
        code, out, err = replica(*arguments, "--job", job)
        assert (code, err) == (0, "")
        assert out.startswith("ordered, for no crawl has the job open; when it is next run: ")
        assert says in " ".join(out.split())
        assert [(order.kind, order.what) for order in last(job)] == [(kind, what)]

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["steer", "add", "ftp://c.example/"], "ftp://c.example/ is no http or https URL"),
            (["steer", "add", "http://"], "is no http or https URL"),
            (["steer", "add", "nowhere.txt"], "neither a URL nor a readable file"),
            (["steer", "exclude", "calendar"], "write '*calendar*'"),
            (["steer", "pause", "nobody.example"], "the job knows no host nobody.example"),
            (["steer", "resume", "http://b.example/x"], "is no host name"),
        ],
    )
    def test_wrong_use_is_one_line(self, job, arguments, says):
        code, out, err = replica(*arguments, "--job", job)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert says in err
        assert last(job) == []
