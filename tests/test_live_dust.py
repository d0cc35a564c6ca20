"""Whole crawls in which DUST rules are learnt, proved, put in force, watched and withdrawn."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import shutil
import sqlite3
from urllib.parse import urljoin

import pytest
from command_line import replica
from lxml.html import fromstring
from scrapy import Request
from web import HTML, REPLICA, crawl, job_states, page, redirect, text

from scrapy_replica import TopicSpider
from scrapy_replica.components import extension
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB

TOP = "http://a.example/"
ALONE = {**REPLICA, "CONCURRENT_REQUESTS": 1, "REPLICA_EXPLORE": 0.0, "REPLICA_TRAPS": False}
N = 120
"""Articles of the sites below."""
DEFAULTS = ("", "index.html", "index.php")


def tree(number, n=N):
    """The articles that an article links to: all of them are reached from number 0."""
    return [child for child in (2 * number + 1, 2 * number + 2) if child < n] + [number // 2]


def number_of(url):
    path = url.partition("?")[0].partition(";")[0].removeprefix(TOP)
    digits = "".join(character for character in path if character.isdigit())
    return int(digits or 0)


def article(number, links):
    return page(links, seed=("article", number), title=f"Article {number}")


async def run(web, settings=None, seeds=TOP):
    return await crawl(TopicSpider, web, {**ALONE, **(settings or {})}, seeds=seeds)


def rules(folder):
    db = sqlite3.connect(folder / FILE_NAME)
    try:
        return db.execute("SELECT id, rule, state, right_pairs, wrong_pairs FROM rules ORDER BY id").fetchall()
    finally:
        db.close()


def acting(folder):
    found = [json.loads(rule) for _, rule, state, *_ in rules(folder) if state == "in force"]
    return [(rule["host"], rule["transformation"]) for rule in found]


def fetches(result):
    """Number of an article -> how often it was fetched."""
    found = {}
    for url in result.urls:
        found.setdefault(number_of(url), []).append(url)
    return found


def sessions(request):
    """Every page hands out another session id to each of its links."""
    number = number_of(request.url)
    mark = random.Random(request.url).randrange(10**6)
    links = [f"/a/{child}?zsid={mark + place}" for place, child in enumerate(tree(number))]
    return article(number, links)


def sessions_in_the_path(request):
    """The same with servlets' session ids."""
    number = number_of(request.url)
    mark = random.Random(request.url).randrange(10**6)
    return article(number, [f"/a/{child};zid={mark + place}" for place, child in enumerate(tree(number))])


def sort_orders(request, n=N):
    """Listings of a shop whose goods come in four orders."""
    path, _, query = request.url.partition("?")
    number = number_of(request.url)
    goods = [text((number, item), 12) for item in range(8)]
    random.Random(query).shuffle(goods)
    links = [f"/a/{child}" for child in tree(number, n)] + [f"{path}?zorder={order}" for order in ("up", "down", "new")]
    html = page(links, words=0, title=f"List {number}")
    return html.replace("<p></p>", "".join(f"<p>{item}</p>" for item in goods))


def few_sort_orders(request):
    """The same of half as many lists: enough to learn what sorts them."""
    return sort_orders(request, N // 2)


def index_pages(request):
    number = number_of(request.url)
    forms = ("", "index.html")
    links = [f"/a/{child}/{forms[(child + number) % 2]}" for child in tree(number)]
    return article(number, links)


def slashes(request):
    number = number_of(request.url)
    links = [f"/a/{child}{'/' * ((child + number) % 2)}" for child in tree(number)]
    return article(number, links)


def argument_order(request):
    number = number_of(request.url)
    pairs = [("x=1&y=2", "y=2&x=1")[(child + number) % 2] for child in tree(number)]
    return article(number, [f"/a/{child}?{pair}" for child, pair in zip(tree(number), pairs, strict=True)])


def reachable(web, most):
    """The URLs that links lead to, *most* at most, in the order in which a crawl without rules meets them."""
    found = {TOP: None}
    for url in (waiting := [TOP]):
        answer = web(Request(url))
        links = fromstring(answer).xpath("//a/@href") if isinstance(answer, str) else []
        new = {urljoin(url, link): None for link in links}
        waiting += [link for link in new if link not in found]
        found |= new
        if len(found) >= most:
            break
    return list(found)[:most]


@pytest.mark.asyncio
class TestLearning:
    @pytest.mark.parametrize("web", [sessions, sessions_in_the_path, sort_orders, index_pages, slashes])
    async def test_within_a_few_dozen_pages_and_then_not_fetched_twice(self, web, tmp_path):
        without = reachable(web, 1_200)
        result = await run(web, {"JOBDIR": str(tmp_path)})
        assert set(fetches(result)) == {number_of(url) for url in without} == set(range(N))
        assert acting(tmp_path)
        # 40 pages before it is learnt, up to 16 to prove it, and what was fetched before by its other names.
        again = len(result.urls) - N
        assert again <= 60 < len(without) - N
        late = [url for url in result.urls[100:] if len(fetches(result)[number_of(url)]) > 1]
        assert len(late) <= 16
        assert result.unfinished == {}

    async def test_order_of_arguments(self):
        result = await run(argument_order)
        assert max(len(urls) for number, urls in fetches(result).items() if number) == 1

    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_every_page_is_reached_in_every_mode(self, mode, tmp_path):
        result = await run(sessions, {"REPLICA_MODE": mode, "JOBDIR": str(tmp_path)})
        assert set(fetches(result)) == set(range(N))
        assert any(key.startswith("replica/decision/dust-rule/") for key in result.stats)

    async def test_observing_changes_nothing(self):
        result = await run(few_sort_orders, {"REPLICA_MODE": "observe"})
        assert sorted(result.urls) == sorted(reachable(few_sort_orders, 1_000))
        assert "replica/dust/probes" not in result.stats

    async def test_obligatory_session_ids_are_not_taken_off(self, tmp_path):
        def web(request):
            is_refused = "/a/" in request.url and "zsid=" not in request.url
            return (404, HTML, "no session") if is_refused else sessions(request)

        result = await run(web, {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 600})
        assert set(fetches(result)) == set(range(N))
        assert len(result.urls) < 1.6 * N


class Turncoat:
    """Links carry ``zref``, which means nothing until *turns_at* pages were given out, and names the page after."""

    def __init__(self, turns_at):
        self.left = turns_at

    def __call__(self, request):
        self.left -= 1
        number = number_of(request.url)
        query = request.url.partition("?")[2]
        links = [f"/a/{child}?zref={place}" for child in tree(number, 140) for place in range(3)]
        seed = ("article", number) if self.left > 0 else ("article", number, query)
        return page(links, seed=seed, title=f"Article {number}")


@pytest.mark.asyncio
class TestWrongRules:
    async def test_withdrawn_and_its_urls_back(self, tmp_path):
        settings = {"JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 0.2}
        result = await run(Turncoat(130), settings)
        wrong = [rule for rule in rules(tmp_path) if '"zref"' in rule[1]]
        assert any(state == "refuted" and n_wrong for *_, state, _, n_wrong in wrong)
        assert not any(state == "in force" for *_, state, _, _ in wrong)
        assert result.stats["replica/dust/withdrawn"] >= 1
        db = sqlite3.connect(tmp_path / FILE_NAME)
        (told,) = db.execute("SELECT COUNT(*) FROM decisions WHERE evidence LIKE '%refuted%'").fetchone()
        (dropped,) = db.execute("SELECT COUNT(*) FROM decisions WHERE reason = 'dust-rule' AND action != 'fetch'")
        db.close()
        assert told > 0
        assert dropped[0] > 0
        assert result.unfinished == {}
        assert len(set(result.urls)) > 400  # 1 + 3 * 139 and what the front page leads to, the dropped ones too

    async def test_content_that_looks_like_a_session_id(self, tmp_path):
        """Hashes in paths and arguments name commits, each with a page of its own."""

        def name(number):
            return hashlib.sha1(str(number).encode()).hexdigest()

        numbers = {name(number): number for number in range(N)}

        def web(request):
            mark = request.url.rpartition("=")[2].rpartition("/")[2]
            number = numbers.get(mark, 0)
            links = [link for n in tree(number) for link in (f"/commit/{name(n)}", f"/show?sid={name(n)}")]
            return page(links, seed=("commit", number), title=f"Commit {number}")

        result = await run(web, {"JOBDIR": str(tmp_path)})
        shown = {url.rpartition("=")[2] for url in result.urls if "sid=" in url}
        # Each commit is one page under two names; one commit is never another.
        seen = shown | {url.rpartition("/")[2] for url in result.urls if "/commit/" in url}
        assert seen >= set(numbers)
        assert not any("drop" in str(change) for _, change in acting(tmp_path))

    async def test_soft_404_and_login_teach_nothing(self, tmp_path):
        def web(request):
            path = request.url.removeprefix(TOP)
            if path.startswith(("gone/", "login")):
                return page(["/"], seed="not found", title="Not found")
            number = number_of(request.url)
            missing = [f"/gone/{number}-{place}?id={number}{place}" for place in range(2)]
            links = [f"/a/{child}" for child in tree(number)]
            return article(number, [*links, *missing, f"/login?back=/a/{number}", f"/login/{number}"])

        result = await run(web, {"JOBDIR": str(tmp_path)})
        assert set(fetches(result)) >= set(range(N))
        assert acting(tmp_path) == []
        assert [row for row in rules(tmp_path) if '"combined"' in row[1]] == []

    @pytest.mark.parametrize("texts", [1, 4])
    async def test_a_site_that_answers_everything_with_a_few_texts(self, tmp_path, texts):
        """No rule that would merge the site comes of it, and nothing is lost when the site is itself again."""
        is_open = [0]

        def web(request):
            is_open[0] += 1
            number = number_of(request.url)
            links = [f"/{'abc'[child % 3]}/{child}?id={child}" for child in tree(number, 200)]
            if is_open[0] < 80:
                return page(links, seed=("closed", number % texts), title="Closed")
            return article(number, links)

        result = await run(web, {"JOBDIR": str(tmp_path)})
        assert acting(tmp_path) == []
        assert set(result.urls) >= set(reachable(web, 1_000))

    async def test_alternates_of_hreflang_are_never_merged(self, tmp_path):
        def web(request):
            number = number_of(request.url)
            links = [f"/a/{child}?lang={lang}" for child in tree(number) for lang in ("en", "de")]
            own = f"{TOP}a/{number}?lang="
            heads = "".join(f'<link rel="alternate" hreflang="{lang}" href="{own}{lang}">' for lang in ("en", "de"))
            return article(number, links).replace("<title>", f"{heads}<title>")

        result = await run(web, {"JOBDIR": str(tmp_path)})
        assert len({url for url in result.urls if "lang=" in url}) >= 2 * (N - 1)
        assert acting(tmp_path) == []


@pytest.mark.asyncio
class TestFreeLabels:
    async def test_canonical_and_redirects_teach(self, tmp_path):
        def web(request):
            number = number_of(request.url)
            if "zold=" in request.url:
                return redirect(f"{TOP}a/{number}")
            links = [f"/a/{child}?{'zold' if child % 3 == 0 else 'znew'}={child}" for child in tree(number)]
            return article(number, links).replace("<title>", f'<link rel="canonical" href="{TOP}a/{number}"><title>')

        await run(web, {"JOBDIR": str(tmp_path)})
        names = {change[0][1] for _, change in acting(tmp_path)}
        assert "znew" in names

    async def test_a_front_page_as_canonical_of_all_teaches_nothing(self, tmp_path):
        def web(request):
            number = int(request.url.partition("id=")[2] or 0)
            links = [f"/a?id={child}" for child in tree(number)]
            return article(number, links).replace("<title>", f'<link rel="canonical" href="{TOP}a"><title>')

        result = await run(web, {"JOBDIR": str(tmp_path)})
        assert len(result.urls) == N + 1
        assert acting(tmp_path) == []

    async def test_clean_param(self, tmp_path):
        def web(request):
            if request.url.endswith("/robots.txt"):
                return 200, {"Content-Type": "text/plain"}, "User-agent: *\nAllow: /\nClean-param: zsid&zref /a\n"
            return sessions(request)

        settings = {"JOBDIR": str(tmp_path), "ROBOTSTXT_OBEY": True}
        result = await run(web, settings)
        (rule,) = [json.loads(row[1]) for row in rules(tmp_path) if "clean-param" in row[1]]
        assert rule["host"] == "a.example"
        assert (acting(tmp_path)[0]) == ("a.example", [["drop", "zsid", None], ["drop", "zref", None]])
        assert len(result.urls) < N + 40

    async def test_a_clean_param_line_that_lies(self, tmp_path):
        def web(request):
            if request.url.endswith("/robots.txt"):
                return 200, {"Content-Type": "text/plain"}, "Clean-param: id\n"
            number = int(request.url.partition("id=")[2] or 0)
            return article(number, [f"/a?id={child}" for child in tree(number)])

        result = await run(web, {"JOBDIR": str(tmp_path), "ROBOTSTXT_OBEY": True})
        assert {f"{TOP}a?id={number}" for number in range(N)} <= set(result.urls)
        assert acting(tmp_path) == []


def shop(name):
    """A host whose links carry *name*."""
    sign = ";" if name.startswith("j") else "?"

    def web(request):
        number = int("".join(filter(str.isdigit, request.url.partition(sign)[0].partition("example/")[2])) or 0)
        mark = random.Random(request.url).randrange(10**6)
        links = [f"/a/{child}{sign}{name}={mark + place}" for place, child in enumerate(tree(number))]
        return page(links, seed=("article", number, request.url.split("/")[2]), title=f"Article {number}")

    return web


@pytest.mark.asyncio
class TestWhereUrlsLead:
    async def test_images_that_lead_elsewhere_are_not_asked_for_in_the_place_of_urls(self):
        """Of articles at ``/records/7`` and ``/record/7``, with an older number at one of them that leads there."""
        older = 1000

        def web(request):
            number = number_of(request.url)
            if number >= older:
                return redirect(f"{TOP}records/{number - older}")
            names = [f"/{name}/{child}" for child in tree(number, 200) for name in ("records", "record")]
            return article(number, [*names, *(f"/records/{child + older}" for child in tree(number, 200))])

        result = await run(web)
        assert set(range(200)) <= set(fetches(result))
        assert result.stats["replica/decision/dust-rule/rewrite"] > 0
        assert len([url for url in result.urls if "/record/" in url and number_of(url) >= older]) <= 15
        assert len(result.urls) <= 630  # of 600; where each was asked for there are 770

    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_what_rules_change_one_after_the_other_says_nothing_of_one_of_them(self, tmp_path, mode):
        """``index.html`` -> ``index.php`` -> ``/``: that the first is the last says nothing of what lies between."""

        def web(request):
            is_list = "?page=" in request.url or request.url == TOP
            number = int(request.url.partition("=")[2] or 0) if is_list else number_of(request.url)
            if is_list:
                names = [f"/d{n}/{name}" for n in range(10 * number, 10 * number + 10) for name in DEFAULTS[n < 20 :]]
                return page([*names, *([f"/?page={number + 1}"] if number < 7 else [])], seed=("list", number))
            is_other = request.url.endswith("php") and number >= 60
            return page(["/"], seed=("other" if is_other else "article", number))

        settings = {"REPLICA_MODE": mode, "REPLICA_EXPLORE": 0.02, "JOBDIR": str(tmp_path)}
        result = await run(web, settings)
        assert {*range(60, 80)} <= {number_of(url) for url in result.urls if url.endswith("php")}
        changed = {f"rule {number}": json.loads(rule)["transformation"][0][1:] for number, rule, *_ in rules(tmp_path)}
        with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as db:
            tested = db.execute("SELECT claim, urls.url FROM samples JOIN urls ON urls.id = samples.url").fetchall()
        assert {claim for claim, _ in tested} - changed.keys()  # rules together
        assert all(any(part in url for part in changed[claim]) for claim, url in tested if claim in changed)

    async def test_links_with_a_token_that_lead_to_one_page_tell_no_pages_apart(self):
        tokens = iter(range(10**6))

        def web(request):
            if "/wish/" in request.url:
                return redirect(f"{TOP}login")
            number = number_of(request.url)
            links = [f"/{name}/{child}" for child in tree(number) for name in ("a", "shop")]
            wishes = [f'<a href="/wish/{number}/{next(tokens):x}z/">Remember</a>' for _ in range(2)]
            return article(number, links).replace("<ul>", f"{''.join(wishes)}<ul>")

        result = await run(web)
        found = fetches(type(result)(**{**vars(result), "urls": [url for url in result.urls if "/wish/" not in url]}))
        assert set(range(N)) <= set(found)
        assert sum(map(len, found.values())) < 1.6 * N  # of 2 N


@pytest.mark.asyncio
class TestPriors:
    @pytest.mark.parametrize(
        ("name", "step"),
        [("PHPSESSID", ["drop", "PHPSESSID", None]), ("jsessionid", ["replace", ";jsessionid={0}", ""])],
    )
    async def test_a_shipped_prior_is_confirmed_before_there_is_enough_to_learn_from(self, tmp_path, name, step):
        settings = {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 35}
        await run(shop(name), settings)
        assert acting(tmp_path) == [("a.example", [step])]

    async def test_what_holds_on_three_hosts_is_tried_on_the_next(self, tmp_path):
        for name in "abcd":
            limit = 35 if name == "d" else 150
            settings = {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": limit}
            await run(shop("zsid"), settings, seeds=f"http://{name}.example/")
        assert ("d.example", [["drop", "zsid", None]]) in acting(tmp_path)


def import_rule(job, argument):
    """Put a rule that drops *argument* in force, as a person does."""
    rule = {"order": 0, "urlPattern": {"include": ["a.example"]}, "processor": "queryRemoval", "args": [argument]}
    (job / "rules.json").write_text(json.dumps([rule]))
    done = replica("rules", "import", job / "rules.json", "--job", job)
    assert "1 rule put in force" in done.out


@pytest.mark.asyncio
class TestRestart:
    async def test_rules_survive(self, tmp_path):
        settings = {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 80}
        first = await run(sessions, settings)
        before = acting(tmp_path)
        assert before
        second = await run(sessions, {"JOBDIR": str(tmp_path)})
        assert acting(tmp_path) == before
        again = [url for url in second.urls if number_of(url) in fetches(first)]
        assert len(again) <= 3  # the seed, and what was in flight
        assert set(fetches(first)) | set(fetches(second)) == set(range(N))
        assert all(states <= {"done", "dropped"} for states in map(set, job_states(tmp_path).values()))

    @pytest.mark.parametrize("name", ["zsid", "zorder"])
    async def test_says_the_same_of_every_url_as_before(self, tmp_path, name):
        """Canonical forms that were fetched, that are no page, and that are awaited."""

        def web(request):
            if number_of(request.url) % 5 == 4:
                return 404, HTML, "gone"
            return sessions(request) if name == "zsid" else sort_orders(request)

        await run(web, {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 20})
        import_rule(tmp_path, name)
        result = await run(web, {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 40})
        live = result.spider.crawler.get_extension(extension.ReplicaExtension).crawl
        db = SqliteCrawlDB(tmp_path, "topic")
        again = CrawlRules(live.config, db, now=float)
        urls = [f"{TOP}a/{number}{query}" for number in range(N) for query in ("", f"?{name}=x")]
        hits = [live.rules.hit(url, "a.example") for url in urls]
        assert [again.hit(url, "a.example") for url in urls] == hits
        assert {hit.is_fetched for hit in hits if hit is not None} == {True, False}
        db.close()

    @staticmethod
    async def in_pieces(web, folder, pages):
        """Crawl on until nothing waits, at most *pages* at a time; return the URLs fetched and the probes."""
        urls, probes = [], 0
        for _ in range(60):
            result = await run(web, {"JOBDIR": str(folder), "CLOSESPIDER_PAGECOUNT": pages})
            urls += result.urls
            probes += result.stats.get("replica/dust/probes", 0)
            if all(set(states) <= {"done", "dropped"} for states in job_states(folder).values()):
                return urls, probes
        raise AssertionError("the crawl does not end")

    @pytest.mark.parametrize(
        "gone", [(404, HTML, "gone"), (500, HTML, "down"), redirect(TOP)], ids=["404", "500", "front"]
    )
    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_spellings_that_stand_for_others_and_are_no_page_give_these_back(self, gone, mode):
        def web(request):
            number = number_of(request.url)
            if number > N // 3 and number % 3 == 0 and "zref=c" not in request.url:
                return gone
            elsewhere = [f"/a/{(7 * number + 3) % N}?zref=b", f"/a/{(11 * number + 5) % N}?zref=c"]
            return article(number, [*(f"/a/{child}?zref=a" for child in tree(number)), *elsewhere])

        alive = {number_of(url) for url in reachable(web, 1_000) if web(Request(url)) != gone}
        result = await run(web, {"REPLICA_MODE": mode, "CONCURRENT_REQUESTS": 8, "RETRY_ENABLED": False})
        assert alive == {number_of(url) for url in result.urls if web(Request(url)) != gone}
        assert len(alive) > 0.9 * N
        assert result.stats["replica/decision/dust-rule/rewrite"] > 0

    async def test_canonical_forms_that_are_no_page_give_their_urls_back(self, tmp_path):
        """Whether that was seen before the crawl stopped or after, by a link to the form or in the place of others."""

        def web(request):
            number = number_of(request.url)
            if "?" not in request.url and number % 5 == 4:
                return 404, HTML, "gone"
            old = "".join(f'<a href="/a/{number}">old</a>' for number in range(4, N, 10))
            return sessions(request).replace("<ul>", old if number == 0 else "<ul>")

        first = await run(web, {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 20})
        import_rule(tmp_path, "zsid")
        urls, _ = await self.in_pieces(web, tmp_path, 15)
        found = {number_of(url) for url in first.urls + urls if "?" in url or number_of(url) % 5 != 4}
        assert found == set(range(N))

    async def test_proofs_are_paid_for_once(self, tmp_path):
        def web(request):
            is_refused = "/a/" in request.url and "zsid=" not in request.url
            return (404, HTML, "no session") if is_refused else sessions(request)

        settings = {"JOBDIR": str(tmp_path / "whole"), "CLOSESPIDER_PAGECOUNT": 400}
        whole = await run(web, settings)
        _, probes = await self.in_pieces(web, tmp_path / "pieces", 20)
        assert 0 < probes <= whole.stats["replica/dust/probes"] + 2


@pytest.mark.asyncio
class TestOrders:
    """What a person does to the table of rules while the crawl runs."""

    @pytest.fixture(autouse=True)
    def often(self, monkeypatch):
        monkeypatch.setattr(extension, "ORDERS_SECONDS", 0.001)

    async def test_disabled_while_it_runs(self, tmp_path):
        told = []

        def web(request):
            if not told and (tmp_path / FILE_NAME).exists():
                db = sqlite3.connect(tmp_path / FILE_NAME, timeout=0)
                # The crawl may be writing, and this is its own thread: then the next request tries again.
                with contextlib.suppress(sqlite3.OperationalError), db:
                    order = "SELECT 1.0, 'disable-rule', json_object('id', id) FROM rules WHERE state = 'in force'"
                    if db.execute(f"INSERT INTO orders (at, kind, what) {order}").rowcount:
                        told.append(request.url)
                db.close()
            return few_sort_orders(request)

        result = await run(web, {"JOBDIR": str(tmp_path)})
        assert told
        assert [row[2] for row in rules(tmp_path)] == ["disabled"]
        assert sum("zorder" in url for url in result.urls) >= 3 * (N // 2) - 3
        assert result.unfinished == {}

    async def test_imported_acts_at_once_and_is_watched(self, tmp_path):
        await run(sort_orders, {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 5})
        import_rule(tmp_path, "zorder")
        result = await run(sort_orders, {"JOBDIR": str(tmp_path)})
        assert sum("zorder" in url for url in result.urls) == 0
        assert {number_of(url) for url in result.urls} >= set(range(10, N))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A job that learnt a rule and came to its end."""
    job = tmp_path_factory.mktemp("finished")
    asyncio.run(run(few_sort_orders, {"JOBDIR": str(job)}))
    return job


class TestCommands:
    @pytest.fixture
    def job(self, finished, tmp_path):
        return shutil.copytree(finished, tmp_path / "job")

    def test_list(self, job):
        told = replica("rules", "list", "--job", job)
        assert "on a.example the page is the same without the argument zorder" in told.out
        assert "in force; learnt in this crawl; " in told.out
        found = json.loads(replica("rules", "list", "--job", job, "--json").out)
        assert found["figures"]["in_force"] == 1
        assert found["figures"]["urls_saved"] > N // 2
        assert found["rules"][0]["right"] >= 3

    def test_export_is_read_by_the_other_tool(self, job, tmp_path):
        canonicaliser = pytest.importorskip("duplicate_url_discarder.url_canonicalizer").UrlCanonicalizer
        told = replica("rules", "export", "--job", job)
        (tmp_path / "rules.json").write_text(told.out)
        discarder = canonicaliser([tmp_path / "rules.json"])
        assert discarder.process_url("http://a.example/a/7?zorder=up") == "http://a.example/a/7"

    @pytest.mark.asyncio
    async def test_disable(self, job):
        assert replica("rules", "disable", 1, "--job", job).code == 0
        assert "in force until the crawl goes on" in replica("rules", "list", "--job", job).out
        await run(few_sort_orders, {"JOBDIR": str(job)})
        assert rules(job)[0][2] == "disabled"
        assert "rule 1 acts no more: it is switched off by hand" in replica("rules", "disable", 1, "--job", job).err
        done = replica("rules", "disable", 99, "--job", job)
        assert done.code == 2
        assert "there is no rule 99" in done.err

    @pytest.mark.parametrize("content", ["not json", "{}", '[{"processor": "normalizer"}]'])
    def test_files_that_are_no_rules(self, job, tmp_path, content):
        (tmp_path / "rules.json").write_text(content)
        done = replica("rules", "import", tmp_path / "rules.json", "--job", job)
        assert done.code == 2
        assert "Traceback" not in done.err
