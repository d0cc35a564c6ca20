"""How much of what is within reach was found: the interval holds, and a crawl ends when it has enough."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from math import comb

import pytest
from hostile.building import path, site
from hypothesis import given
from hypothesis import strategies as st
from web import REPLICA, crawl

from scrapy_replica import TopicSpider
from scrapy_replica.commands.job import reading
from scrapy_replica.coverage import Coverage
from scrapy_replica.crawl.checks import Checks
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.numeric import most_left
from scrapy_replica.words.phrases import coverage

HOST = "site.example"
N, COPIES = 60, 5


def slow_most_left(drawn: int, hits: int, left: int) -> int:
    """The last number of hits that is not excluded, by counting draws."""

    def chance(n: int, more: int) -> Fraction:
        whole, total = hits + more, drawn + left
        return Fraction(comb(whole, n) * comb(total - whole, drawn - n), comb(total, drawn))

    return max(more for more in range(left + 1) if sum(chance(n, more) for n in range(hits + 1)) > Fraction(1, 20))


class TestMostLeft:
    @given(st.data())
    def test_it_is_that_of_counting(self, data):
        drawn = data.draw(st.integers(1, 25))
        hits, left = data.draw(st.integers(0, drawn)), data.draw(st.integers(0, 40))
        assert most_left(drawn, hits, left) == slow_most_left(drawn, hits, left)

    @pytest.mark.parametrize(("news", "drawn"), [(0, 30), (3, 60), (20, 60), (150, 150)])
    def test_it_holds_in_19_of_20_draws(self, news, drawn):
        """Of 400 URLs that wait *news* bring something; *drawn* of them are checks."""
        rng, holds = random.Random(news), 0
        for _ in range(500):
            hits = sum(number < news for number in rng.sample(range(400), drawn))
            holds += news - hits <= most_left(drawn, hits, 400 - drawn)
        assert holds >= 470

    def test_nothing_is_known_before_a_check(self):
        assert Coverage(found=10, waiting=5, checked=0, news=0).share is None
        assert coverage(Coverage(found=10, waiting=5, checked=0, news=0)) == ""

    def test_in_words(self):
        told = coverage(Coverage(found=330, waiting=1_121, checked=200, news=0))
        assert told == (
            "Found 100 % (at least 94) of the contents within reach: of 1,121 URLs that wait, 0 (18 at most) would "
            "bring another one"
        )


class TestDrawing:
    def test_what_waits_is_drawn_alike_where_it_is_few(self):
        """It was the next one after a random id: the last of what was found together was drawn last."""
        db = SqliteCrawlDB(None, "x")
        few = range(1_000, 1_030)
        urls = [NewUrl(f"http://{HOST}/{one}", HOST, one, is_dropped=one not in few) for one in range(2_000)]
        ids = [url_id for url_id, _ in db.urls.discover(urls)]
        rng = random.Random(0)
        drawn = [db.urls.draw(rng) for _ in few]
        assert sorted(drawn) == [ids[one] for one in few]
        assert sum(after == before + 1 for before, after in pairwise(drawn)) <= 4
        assert db.urls.draw(rng) is None
        db.close()

    def test_what_is_drawn_comes_next_whatever_its_priority(self):
        """With DEPTH_PRIORITY the deepest of what was drawn came last, and all before it told of what is not deep."""
        db = SqliteCrawlDB(None, "x")
        db.urls.discover([NewUrl(f"http://{HOST}/{one}", HOST, one, priority=-one // 10) for one in range(100)])
        rng = random.Random(0)
        assert all(db.urls.draw(rng) == db.urls.take().id for _ in range(30))
        db.close()

    def test_what_was_drawn_before_is_not_passed_over(self):
        """It was while anything waited of a higher priority, as redirects have: what told was no random sample."""
        db = SqliteCrawlDB(None, "x")
        db.urls.discover([NewUrl(f"http://{HOST}/{one}", HOST, one) for one in range(100)])
        rng = random.Random(0)
        drawn = {db.urls.draw(rng) for _ in range(5)}
        db.urls.discover([NewUrl(f"http://{HOST}/moved/{one}", HOST, 100 + one, priority=2) for one in range(50)])
        drawn.add(db.urls.draw(rng, drawn))
        assert {db.urls.take().id for _ in drawn} == drawn
        db.close()


def aliases() -> dict[str, object]:
    """A site of N pages, each of which leads to five other URLs of all pages, that nothing in the URL tells."""
    rng = random.Random(0)
    names = {f"/{rng.getrandbits(60):x}": number for _ in range(COPIES) for number in range(N)}
    pages = site(HOST, N, more=lambda number: [f"http://{HOST}{name}" for name, of in names.items() if of == number])
    return pages | {f"http://{HOST}{name}": pages[f"http://{HOST}{path(number)}"] for name, number in names.items()}


def asked(result) -> list[str]:
    return [url for url in result.urls if "robots" not in url]


class TestChecks:
    @pytest.fixture
    def db(self):
        """A crawl of which many URLs wait."""
        db = SqliteCrawlDB(None, "x")
        db.urls.discover([NewUrl(f"http://{HOST}/{one}", HOST, one) for one in range(400)])
        yield db
        db.close()

    @staticmethod
    def checks(db, stop_at=0.95):
        checks = Checks(db, stop_at, 0, is_topic=False)
        checks.begin()
        return checks

    def test_those_of_an_end_tell_nothing_when_it_is_over(self, db):
        """A hundred in vain told of the few that the content led to which ended it: 25 of 315 contents were lost."""
        checks = self.checks(db)
        for number in range(200):
            checks.end(db.urls.take().id, is_content=number < 20)
        at_the_end = checks.coverage
        checks.end(db.urls.take().id, is_content=True)
        assert at_the_end.checked > 100
        assert checks.coverage.checked == 0
        assert not checks.has_enough

    def test_a_crawl_that_finds_contents_has_not_enough(self, db):
        """Few wait where each page of a list leads to the next: 22 of 242 contents were lost, all of them lists."""
        checks = self.checks(db, stop_at=0.5)
        for number in range(395):
            checks.end(db.urls.take().id, is_content=number % 20 == 0)
        assert checks.coverage.share[1] > 0.5
        assert not checks.has_enough

    def test_those_that_are_done_sooner_tell_no_sooner(self, db):
        """Copies are dropped at their turn and contents fetched: 140 of an end told of copies alone."""
        checks = self.checks(db)
        while not checks.coverage.checked:
            checks.end(db.urls.take().id, is_content=False)
        before, slow = checks.coverage.checked, db.urls.take().id
        assert checks.is_check(slow)
        for _ in range(20):
            checks.end(db.urls.take().id, is_content=False)
        assert checks.coverage.checked == before
        checks.end(slow, is_content=False)
        assert checks.coverage.checked == before + 20


@pytest.mark.asyncio
class TestStopAt:
    async def test_the_crawl_ends_when_it_has_enough_and_goes_on_where_it_was(self, tmp_path):
        settings = REPLICA | {"JOBDIR": str(tmp_path), "REPLICA_STOP_AT": 0.9}
        first = await crawl(TopicSpider, aliases(), settings, seeds=f"http://{HOST}/")
        assert first.stats["finish_reason"] == "enough"
        assert N <= len(asked(first)) < N * COPIES
        assert {f"http://{HOST}{path(number)}" for number in range(1, N)} <= set(first.urls)
        with reading(str(tmp_path)) as job:
            told = job.status(None, 5).coverage
        assert told.found == N
        assert told.share is not None
        assert told.share[1] >= 0.9
        again = await crawl(TopicSpider, aliases(), settings, seeds=f"http://{HOST}/")
        assert again.stats["finish_reason"] == "enough"
        assert len(asked(again)) < 50  # what is under way by then
        rest = await crawl(TopicSpider, aliases(), REPLICA | {"JOBDIR": str(tmp_path)}, seeds=f"http://{HOST}/")
        assert rest.stats["finish_reason"] == "finished"
        assert {*first.urls, *again.urls}.isdisjoint(asked(rest)[1:])
        assert sum(len(asked(one)) for one in (first, again, rest)) > N * COPIES

    async def test_nothing_is_left_where_everything_is_new(self, tmp_path):
        pages = site(HOST, N)
        result = await crawl(TopicSpider, pages, REPLICA | {"REPLICA_STOP_AT": 0.9}, seeds=f"http://{HOST}/")
        assert set(pages) <= set(result.urls)
        assert result.stats["finish_reason"] == "finished"

    async def test_it_takes_the_scheduler(self):
        settings = {"REPLICA_STOP_AT": 0.9, "SCHEDULER": "scrapy.core.scheduler.Scheduler"}
        with pytest.raises(Exception, match="REPLICA_STOP_AT: it takes the add-on's scheduler"):
            await crawl(TopicSpider, {}, REPLICA | settings, seeds=f"http://{HOST}/")
