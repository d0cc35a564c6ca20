from __future__ import annotations

import json
from typing import ClassVar

import pytest
from command_line import replica
from scrapy.settings import Settings
from web import HTML, REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands.explain import ExplainCommand
from scrapy_replica.commands.parser import parser_of
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.sites.aliases import Aliases

TOP = "http://a.example/"


def explain(what, job, *options):
    return replica("explain", what, "--job", job, *options)


def decisions(result):
    """(reason, action) -> count."""
    prefix = "replica/decision/"
    return {k.removeprefix(prefix): v for k, v in result.stats.items() if k.startswith(prefix)}


def repeated(copy):
    """A page, its copy, and behind each a page of its own."""
    return {
        TOP: page(["/one", "/two", "/other"], seed="top"),
        f"{TOP}one": page(["/behind-one"], seed="same", words=200),
        f"{TOP}two": copy,
        f"{TOP}other": page(["/behind-other"], seed="other"),
        **{f"{TOP}behind-{name}": page(seed=name) for name in ("one", "two", "other")},
    }


EXACT = repeated(page(["/behind-two"], seed="same", words=200))
NEAR = repeated(page(["/behind-two"], seed="same", words=200).replace("<p>", "<p>bander "))


async def of_mode(mode, pages, **settings):
    settings = {**REPLICA, "REPLICA_MODE": mode, "REPLICA_EXPLORE": 0, "CONCURRENT_REQUESTS": 1, **settings}
    return await crawl(TopicSpider, pages, settings, seeds=TOP, domains="a.example,b.example")


@pytest.mark.asyncio
class TestDuplicates:
    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_links_of_an_exact_duplicate_wait(self, mode):
        """Equal text says little of what it links to: nothing stands in the place of what only the copy links to."""
        result = await of_mode(mode, EXACT)
        assert result.urls[-1] == f"{TOP}behind-two"
        assert set(result.urls) == set(EXACT)
        assert decisions(result) == {"exact-duplicate-links/demote": 1}
        assert result.unfinished == {}

    @pytest.mark.parametrize(("mode", "action"), [("demote", "demote"), ("drop", "drop")])
    async def test_a_link_whose_counterpart_is_known_names_it(self, mode, action, tmp_path):
        pages = {
            TOP: page(["/x/one", "http://b.example/y/x/one"], seed="top"),
            f"{TOP}x/one": page(["/x/behind"], seed="same"),
            f"{TOP}x/behind": page(seed="behind"),
            "http://b.example/y/x/one": page(["/y/x/behind", "/y/x/own"], seed="same"),
            "http://b.example/y/x/behind": page(seed="behind"),
            "http://b.example/y/x/own": page(seed="own"),
        }
        ledger = tmp_path / "ledger.jsonl"
        result = await of_mode(mode, pages, REPLICA_LEDGER=str(ledger), REPLICA_MIRRORS=False)
        assert set(pages) - set(result.urls) == ({"http://b.example/y/x/behind"} if action == "drop" else set())
        lines = {line["url"]: line for line in map(json.loads, ledger.read_text().splitlines())}
        assert lines["http://b.example/y/x/behind"]["action"] == action
        assert lines["http://b.example/y/x/behind"]["representative"] == f"{TOP}x/behind"
        assert lines["http://b.example/y/x/own"]["action"] == "demote"
        assert lines["http://b.example/y/x/own"]["representative"] is None

    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_links_of_a_near_duplicate_wait(self, mode):
        result = await of_mode(mode, NEAR)
        assert result.urls[-1] == f"{TOP}behind-two"
        assert set(result.urls) == set(NEAR)
        assert decisions(result) == {"near-duplicate-links/demote": 1}

    @pytest.mark.parametrize(("pages", "reason"), [(EXACT, "exact"), (NEAR, "near")])
    async def test_observing_changes_nothing(self, pages, reason):
        result = await of_mode("observe", pages)
        plain = await crawl(TopicSpider, pages, {"CONCURRENT_REQUESTS": 1}, seeds=TOP)
        assert result.urls == plain.urls
        assert set(result.urls) == set(pages)
        assert decisions(result) == {f"{reason}-duplicate-links/fetch": 1}

    @pytest.mark.parametrize("is_gone_first", [True, False])
    async def test_a_link_whose_counterpart_is_no_page_comes_back(self, is_gone_first):
        """Whether that is known when the link is met, or turns out later."""
        other = "http://b.example/y/x/behind"
        steps = ["/step1", "/step2", "/step3"] if is_gone_first else []
        ways = dict(zip(["/", *steps], [*steps, "http://b.example/y/x/one"], strict=True))
        pages = {
            f"http://a.example{path}": page(["/x/one", to] if path == "/" else [to], seed=path)
            for path, to in ways.items()
        } | {
            f"{TOP}x/one": page(["/x/behind"], seed="same"),
            "http://b.example/y/x/one": page(["/y/x/behind"], seed="same"),
            other: page(seed="only here"),
        }
        result = await of_mode("drop", pages, REPLICA_MIRRORS=False)
        asked = [url for url in result.urls if "behind" in url]
        assert asked == [f"{TOP}x/behind", other]
        assert decisions(result)[f"exact-duplicate-links/{'demote' if is_gone_first else 'drop'}"] == 1
        assert result.states[other] == ["done"]
        assert result.unfinished == {}

    async def test_a_dropped_url_comes_back_by_a_better_page(self):
        other = "http://b.example/behind-one"
        pages = {
            TOP: page(["/one", "http://b.example/one", "/other"], seed="top"),
            f"{TOP}one": page(["/behind-one"], seed="same"),
            f"{TOP}behind-one": page(seed="behind"),
            "http://b.example/one": page(["/behind-one"], seed="same"),
            other: page(seed="not the same"),
            f"{TOP}other": page([other], seed="found again"),
        }
        result = await of_mode("drop", pages, REPLICA_MIRRORS=False)
        assert set(result.urls) == set(pages)
        assert decisions(result) == {"exact-duplicate-links/drop": 1}
        assert result.states[other] == ["done"]

    async def test_a_demoted_url_is_demoted_no_more_when_a_better_page_links_to_it(self):
        pages = {
            **NEAR,
            f"{TOP}other": page(["/behind-two"], seed="other"),
            f"{TOP}behind-one": page(["/last"], seed="one"),
            f"{TOP}last": page(seed="last"),
        }
        result = await of_mode("demote", pages)
        assert result.urls[-1] == f"{TOP}last"

    async def test_same_text_on_one_host_with_another_title_is_another_page(self):
        pages = repeated(page(["/behind-two"], seed="same", words=200, title="second"))
        assert decisions(await of_mode("drop", pages)) == {}

    async def test_short_pages_are_never_duplicates(self):
        pages = repeated(page(["/behind-two"], seed="short", words=10))
        pages[f"{TOP}one"] = page(["/behind-one"], seed="short", words=10)
        assert decisions(await of_mode("drop", pages)) == {}

    async def test_page_fetched_again_is_judged_as_before(self):
        """A killed crawl fetches pages again that others were found to repeat meanwhile."""
        from scrapy_replica.crawl.fetches import Fetches

        observe, seen = Fetches.observe, []

        def twice(self, page, url_id, depth, size=None):
            first = observe(self, page, url_id, depth, size)
            if page.url.endswith("/two"):
                self._store.urls._leased.pop(seen[-1][1])  # another process took it
                again = observe(self, *seen[-1])
                assert (again.novelty.value, again.twin) == ("novel", None)
            elif page.url.endswith("/one"):
                seen.append((page, url_id, depth))
            return first

        Fetches.observe = twice
        try:
            result = await of_mode("drop", EXACT, LOG_LEVEL="CRITICAL")
        finally:
            Fetches.observe = observe
        assert "replica/page/error" not in result.stats
        assert len(seen) == 1


def calendar(request):
    """A site of 30 pages, and a calendar that goes on for ever, each day a near duplicate."""
    path = request.url.removeprefix(TOP)
    if path.startswith("cal/"):
        day = int(path.rpartition("/")[2])
        days = page([f"/cal/{day + 1}", f"/cal/{day + 2}"], seed="calendar", words=300)
        return days.replace("<p>", f"<p>day{day} ")
    number = int(path or 0)
    links = [f"/{n}" for n in (2 * number + 1, 2 * number + 2) if n < 30]
    return page([*links, "/cal/0"], seed=("article", number))


def short_calendar(request):
    """The same with a few words a day, each day others."""
    answer = calendar(request)
    day = request.url.rpartition("/")[2]
    return page([f"/cal/{int(day) + 1}"], seed=day, words=4) if "/cal/" in request.url else answer


@pytest.mark.asyncio
class TestTraps:
    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_calendar_ends(self, mode):
        result = await of_mode(mode, calendar, REPLICA_TRAP_CREDIT=5, CLOSESPIDER_PAGECOUNT=200)
        articles = [url for url in result.urls if "/cal/" not in url]
        assert len(set(articles)) == len(articles) == 30
        assert len(result.urls) - len(articles) <= 5 * (5 + 6)
        assert result.stats["finish_reason"] == "finished"
        assert "trap-budget/drop" in decisions(result)
        assert result.unfinished == {}

    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_what_cannot_be_told_from_pages_of_a_few_words_each_waits(self, mode):
        """Nothing is dropped where nothing is proved; the user's own limit ends it."""
        result = await of_mode(mode, short_calendar, REPLICA_TRAP_CREDIT=5, CLOSESPIDER_PAGECOUNT=150)
        days = [place for place, url in enumerate(result.urls) if "/cal/" in url]
        assert len(result.urls) - len(days) == 30
        assert len(days) > 100
        assert set(decisions(result)) == {"trap-budget/demote"}

    async def test_observing_counts_only(self):
        result = await of_mode("observe", calendar, REPLICA_TRAP_CREDIT=5, CLOSESPIDER_PAGECOUNT=80)
        assert len(result.urls) >= 80
        assert {key.rpartition("/")[2] for key in decisions(result)} == {"fetch"}

    async def test_path_budget(self):
        pages = {TOP: page([f"/{d}/{n}" for n in range(10) for d in "xy"] + ["http://b.example/"], seed="top")}
        pages |= {f"{TOP}{d}/{n}": page(seed=(d, n)) for n in range(10) for d in "xy"}
        pages["http://b.example/"] = page(seed="b")
        result = await of_mode("demote", pages, REPLICA_PATH_BUDGET=3)
        assert len(result.urls) == 1 + 3 + 3 + 1
        assert decisions(result) == {"path-budget/drop": 14}

    async def test_a_limit_of_the_user_is_not_tested(self):
        """In ``observe`` what is beyond it is fetched, and was told as samples of which each was wrong."""
        pages = {TOP: page([f"/x/{n}" for n in range(10)], seed="top")}
        pages |= {f"{TOP}x/{n}": page(seed=n) for n in range(10)}
        result = await of_mode("observe", pages, REPLICA_PATH_BUDGET=3)
        assert len(result.urls) == 11
        assert decisions(result) == {"path-budget/fetch": 7}
        assert "replica/sample/fetched" not in result.stats


@pytest.mark.asyncio
class TestAliases:
    @pytest.fixture
    def aliased(self, tmp_path):
        def settings(lines):
            (tmp_path / "aliases").write_text(lines)
            return {"REPLICA_ALIASES": str(tmp_path / "aliases")}

        return settings

    PAGES: ClassVar = {
        TOP: page(["http://m.b.example/x?q=1", "http://b.example/x?q=1", "http://m.b.example:8080/y"], seed="top"),
        "http://b.example/x?q=1": page(seed="x"),
        "http://m.b.example/x?q=1": page(seed="x"),
        "http://b.example:8080/y": page(seed="y"),
        "http://m.b.example:8080/y": page(seed="y"),
    }

    @pytest.mark.parametrize(
        "lines", ["m.b.example b.example", "*.b.example b.example", "# mine\n\nM.B.example\tb.example # x"]
    )
    async def test_the_canonical_host_is_fetched(self, aliased, lines):
        result = await of_mode("demote", self.PAGES, **aliased(lines))
        assert sorted(result.urls) == [TOP, "http://b.example/x?q=1", "http://b.example:8080/y"]
        assert decisions(result) == {"manual-alias/rewrite": 2}
        assert result.unfinished == {}

    async def test_observing_fetches_both(self, aliased):
        result = await of_mode("observe", self.PAGES, **aliased("m.b.example b.example"))
        assert set(result.urls) == {TOP, "http://m.b.example/x?q=1", "http://b.example/x?q=1"}
        assert decisions(result) == {"manual-alias/fetch": 1}

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("a.example b.example\nb.example a.example", "run in a circle"),
            ("*.a.example x.b.example\n*.b.example x.a.example", "run in a circle"),
            ("a.example", "expected 'mirror canonical'"),
            ("http://a.example b.example", "expected 'mirror canonical'"),
        ],
    )
    async def test_wrong_files_are_refused(self, tmp_path, lines, message):
        path = tmp_path / "aliases"
        path.write_text(lines)
        with pytest.raises(ValueError, match=message):
            Aliases.from_file(path)

    async def test_missing_file(self, tmp_path):
        with pytest.raises(ValueError, match="REPLICA_ALIASES: cannot read"):
            Aliases.from_file(tmp_path / "none")


@pytest.mark.asyncio
class TestExploration:
    HOSTS = (TOP, "http://b.example/")
    PAGES: ClassVar = {
        TOP: page([f"{host}list{n}" for host in HOSTS for n in range(10)], seed="top"),
        # The same ten lists on two hosts, and of the five pages that each links to one differs.
        **{f"{host}list{n}": page([f"/{n}/{k}" for k in range(5)], seed=n) for host in HOSTS for n in range(10)},
        **{
            f"{host}{n}/{k}": page(seed=(n, k, host if k == 0 else ""))
            for host in HOSTS
            for n in range(10)
            for k in range(5)
        },
    }
    SETTINGS: ClassVar = {"REPLICA_MIRRORS": False, "REPLICA_TRAPS": False}

    async def test_a_sample_is_fetched_and_measured(self):
        result = await of_mode("drop", self.PAGES, REPLICA_EXPLORE=1, **self.SETTINGS)
        assert set(result.urls) == set(self.PAGES)
        stats = {k.rpartition("/")[2]: v for k, v in result.stats.items() if k.startswith("replica/sample")}
        assert stats["settled"] == stats["fetched"] == 50
        assert stats["false_drops"] == 10
        assert stats["false_drop_rate"] == 0.2
        # Wilson's interval of 10 in 50
        assert (stats["false_drop_rate_low"], stats["false_drop_rate_high"]) == (0.11244, 0.33037)

    async def test_share_and_repetition(self):
        first = await of_mode("drop", self.PAGES, REPLICA_EXPLORE=0.3, **self.SETTINGS)
        second = await of_mode("drop", self.PAGES, REPLICA_EXPLORE=0.3, **self.SETTINGS)
        assert 5 < first.stats["replica/sample/settled"] < 25
        assert first.urls == second.urls

    async def test_none(self):
        result = await of_mode("drop", self.PAGES, REPLICA_EXPLORE=0, **self.SETTINGS)
        assert len(result.urls) == 1 + 20 + 50
        assert "replica/sample/settled" not in result.stats

    async def test_what_cannot_be_fetched_tells_nothing(self):
        pages = {url: html if url.count("/") == 3 else (500, HTML, "") for url, html in self.PAGES.items()}
        result = await of_mode("drop", pages, REPLICA_EXPLORE=1, RETRY_ENABLED=False, **self.SETTINGS)
        assert "replica/sample/settled" not in result.stats


class TestLedger:
    @pytest.fixture
    def job(self, tmp_path):
        import asyncio

        (tmp_path / "aliases").write_text("www.b.example b.example")
        pages = {
            **EXACT,
            f"{TOP}other": page(
                ["/near", "/asked?x=1&y=2", "http://www.b.example/", "/gone", *(f"/d/{n}" for n in range(5))],
                seed="other",
            ),
            f"{TOP}near": page(["/behind-near"], seed="same", words=200).replace("<p>", "<p>bander "),
            f"{TOP}behind-near": page(seed="behind near"),
            "http://b.example/": page(seed="b"),
            **{f"{TOP}d/{n}": page(seed=("d", n)) for n in range(5)},
        }
        settings = {
            "JOBDIR": str(tmp_path / "job"),
            "REPLICA_LEDGER": str(tmp_path / "ledger.jsonl"),
            "REPLICA_ALIASES": str(tmp_path / "aliases"),
            "REPLICA_PATH_BUDGET": 3,
        }
        result = asyncio.run(of_mode("demote", pages, **settings))
        assert result.unfinished == {}
        return tmp_path

    def test_lines_of_json(self, job):
        lines = [json.loads(line) for line in (job / "ledger.jsonl").read_text().splitlines()]
        found = {(line["url"], line["reason"], line["action"]) for line in lines}
        assert found == {
            (f"{TOP}behind-two", "exact-duplicate-links", "demote"),
            (f"{TOP}behind-near", "near-duplicate-links", "demote"),
            ("http://www.b.example/", "manual-alias", "rewrite"),
            (f"{TOP}d/3", "path-budget", "drop"),
            (f"{TOP}d/4", "path-budget", "drop"),
        }
        fields = {"at", "url", "action", "wanted", "reason", "probability", "is_sampled", "representative", "evidence"}
        assert {*lines[0]} == fields

    def test_explained(self, job, capsys):
        job = job / "job"
        for what, words in {
            f"{TOP}behind-two": ("state: fetched", "has the text of", f"{TOP}one"),
            f"{TOP}behind-near": ("state: fetched", "page is: new", "nearly the text of"),
            "http://www.b.example/": (
                "state: not fetched",
                "in its place: http://b.example/ (fetched, status 200)",
                "REPLICA_ALIASES",
            ),
            f"{TOP}d/4": ("not fetched: as many new pages as REPLICA_PATH_BUDGET allows", "fetched of a.example/d"),
            f"{TOP}two#top": (
                "a text that another page has",
                f"it repeats: {TOP}one",
                f"found on: {TOP}",
                "decisions: none",
            ),
            f"{TOP}gone": ("status: 404", "state: fetched"),
            "a.example/asked": ("asked for: a.example/asked; not known", f"url: {TOP}asked?x=1&y=2"),
            "a.example/asked?y=2": ("asked for: a.example/asked?y=2; not known", f"url: {TOP}asked?x=1&y=2"),
            "a.example/gone": (f"url: {TOP}gone", "status: 404"),
            "https://A.example:443/gone/": (f"url: {TOP}gone", "not known to the letter"),
            f"{TOP}d/%34": (f"asked for: {TOP}d/%34; not known to the letter, but as: url: {TOP}d/4",),
            "a.example": (
                "ip: 192.0.2.1",
                "URLs: 13 fetched, 2 not fetched",
                "2 URLs: limit of pages below its path; not fetched",
            ),
        }.items():
            command = ExplainCommand()
            assert command.run(parser_of(command).parse_args([what, "--job", str(job)]), Settings()) == 0
            told = " ".join(capsys.readouterr().out.split())
            for word in words:
                assert word in told

    def test_as_json_and_unknown(self, job):
        job = job / "job"
        known = json.loads(explain(f"{TOP}behind-two", job, "--json").out)
        assert known["state"] == "done"
        assert len(known["decisions"]) == 1
        done = explain("http://nowhere.example/", job)
        assert (done.code, done.out) == (1, "")
        assert "nothing is known" in done.err

    def test_no_job(self, tmp_path):
        done = explain(TOP, tmp_path)
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert "name the JOBDIR of a crawl" in done.err


def test_unknown_settings_are_refused():

    with pytest.raises(ConfigError, match="did you mean REPLICA_MODE"):
        Config.from_settings({"REPLICA_MOD": "drop"})
