"""What one process does where others share its crawl, with a store that nobody else shares."""

from __future__ import annotations

import json
import os
import pickle
from collections import Counter

import pytest
from processes_target import Unshareable
from scrapy import Request, Spider
from scrapy.http import FormRequest
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from web import REPLICA, crawl, page

from scrapy_replica.components import opened_job
from scrapy_replica.components.feeds import claimed
from scrapy_replica.components.payloads import RequestPayloads
from scrapy_replica.components.plain_data import UnsharedError
from scrapy_replica.components.store import check_settings
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawldb.contract import NewUrl, Permission, UrlRow
from scrapy_replica.crawldb.reader import Process
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.warc.folder import WarcFolder

ADDRESS = "redis://user:secret@127.0.0.1:1/0?prefix=x"
SHARED = {**REPLICA, "REPLICA_CRAWLDB": ADDRESS}


class AloneOfMany(SqliteCrawlDB):
    """A shared store with one process, or with others that are busy for some looks."""

    busy_looks = 0
    prepared = ()

    def __init__(self, config, spider):
        super().__init__(None, spider)
        self.log = []
        self.urls.discover(self.prepared)

    @property
    def are_all_idle(self):
        AloneOfMany.busy_looks -= 1
        return AloneOfMany.busy_looks < 0

    @property
    def is_over(self):
        return "end" in self.log

    def idle(self, is_idle):
        self.log.append(is_idle)

    def end(self):
        self.log.append("end")

    def tell(self, stats):
        self.told = stats

    def stats(self):
        return {name: 2 * count for name, count in self.told.items()}

    def processes(self):
        return [Process("a", 0.0, True, 1), Process("b", 1.0, False, 2)]


@pytest.fixture
def store(monkeypatch):
    stores = []

    def made(config, spider):
        stores.append(AloneOfMany(config, spider))
        return stores[-1]

    monkeypatch.setattr(opened_job, "shared_store", made)
    monkeypatch.setattr(AloneOfMany, "busy_looks", 0)
    monkeypatch.setattr(AloneOfMany, "prepared", ())
    return stores


class Follow(Spider):
    name = "follow"
    start_urls = ("http://a.example/",)

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")


class ByRules(CrawlSpider):
    """Whose requests hold the text of their link as lxml gives it."""

    name = "by-rules"
    start_urls = ("http://a.example/",)
    rules = (Rule(LinkExtractor(), callback="item"),)

    def item(self, response):
        return {"url": response.url, "link": response.meta["link_text"]}


WEB = {
    "http://a.example/": page(["http://a.example/1", "http://b.example/2"], seed=0),
    "http://a.example/1": page(seed=1),
    "http://b.example/2": page(seed=2),
}


@pytest.mark.asyncio
class TestEnd:
    async def test_the_crawl_ends_when_all_are_idle(self, store, monkeypatch):
        monkeypatch.setattr(AloneOfMany, "busy_looks", 3)
        result = await crawl(Follow, WEB, SHARED)
        assert sorted(result.urls) == sorted(WEB)
        assert len(result.items) == len(WEB)
        assert AloneOfMany.busy_looks < 0, "it asked until the others had nothing to do"
        assert store[0].log[-1] == "end"
        assert True in store[0].log
        assert result.stats["finish_reason"] == "finished"

    async def test_a_crawl_spider_is_shared(self, store):
        web = {**WEB, "http://a.example/": '<html><body><a href="/1">One</a></body></html>'}
        result = await crawl(ByRules, web, SHARED)
        assert [item["link"] for item in result.items] == ["One"]

    async def test_statistics_are_summed(self, store):
        result = await crawl(Follow, WEB, SHARED)
        assert result.stats["replica/all/page/observed"] == 2 * len(WEB)
        assert result.stats["replica/all/downloader/request_count"] == 2 * len(WEB)
        assert result.stats["replica/all/item_scraped_count"] == 2 * len(WEB)
        assert result.stats["replica/all/processes"] == 2
        assert result.stats["replica/page/observed"] == len(WEB)


@pytest.mark.asyncio
class TestUnshareable:
    async def test_what_no_other_process_could_have_is_refused_by_name(self, store, caplog):
        result = await crawl(Unshareable, lambda request: page(seed=request.url), SHARED, seeds="http://a.example/")
        assert sorted(result.urls) == ["http://a.example/", "http://a.example/good"]
        assert result.stats["scheduler/unserializable"] == 3
        told = [record.getMessage() for record in caplog.records if "is not fetched" in record.getMessage()]
        assert len(told) == 3
        for line, what in zip(told, ("meta['item']", "cb_kwargs['loader']", "callback or errback"), strict=True):
            assert line.startswith("spider 'unshareable': http://a.example/")
            assert what in line
            assert "\n" not in line

    async def test_nothing_that_was_read_is_unpickled(self, store, monkeypatch, tmp_path, caplog):
        class Bomb:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "exploded"),)

        bomb, alien = pickle.dumps(Bomb()), json.dumps({"_class": "os.PathLike"}).encode()
        prepared = [
            NewUrl(f"http://a.example/{n}", "a.example", n, payload=payload)
            for n, payload in enumerate((bomb, alien, b"{", b'{"meta":1}'))
        ]
        monkeypatch.setattr(AloneOfMany, "prepared", prepared)
        result = await crawl(Follow, WEB, SHARED)
        assert not (tmp_path / "exploded").exists()
        assert len(result.items) == len(WEB)
        assert result.unfinished == {}
        assert caplog.text.count("cannot be made again") == 4


class TestPayloads:
    @pytest.fixture
    def payloads(self):
        made = RequestPayloads(is_stored=True, url_of=lambda _: "http://p.example/", counts=Counter(), is_shared=True)
        made.spider = Follow()
        return made

    @staticmethod
    def again(payloads, request):
        payload = payloads.dump(request, None)
        assert payload.startswith(b"{")
        return payloads.load(
            UrlRow(1, "", "", request.url, 1, 0.0, request.priority, False, 0, None, payload, Permission.MOVE)
        )

    def test_all_that_is_plain_data_comes_back(self, payloads):
        request = FormRequest(
            "http://a.example/",
            payloads.spider.parse,
            formdata={"ä": "ö"},
            meta={"box": [1, {"a": None}]},
            cb_kwargs={"x": "ü"},
            headers={"X": ["1", "2"]},
            cookies={"a": "b"},
        )
        assert self.again(payloads, request).to_dict(spider=payloads.spider) == request.to_dict(spider=payloads.spider)

    def test_any_body_comes_back(self, payloads):
        request = Request("http://a.example/", method="PUT", body=bytes(range(256)))
        assert self.again(payloads, request).body == request.body

    def test_a_box_that_holds_itself_is_refused(self, payloads):
        box = []
        box.append(box)
        with pytest.raises(UnsharedError, match="is not fetched"):
            payloads.dump(Request("http://a.example/", meta={"box": box}), None)


class TestSettings:
    def test_of_others_are_refused(self, tmp_path):
        store = SqliteCrawlDB(None, "x")
        topic, other = tmp_path / "topic", tmp_path / "other"
        topic.mkdir()
        (topic / "a.txt").write_text("words")
        other.write_text("others")
        check_settings(Config(topic=topic), store)
        check_settings(Config(topic=topic), store)
        for config, told in (
            (Config(topic=other), "REPLICA_TOPIC"),
            (Config(), "REPLICA_TOPIC"),
            (Config(topic=topic, strategy="best-first"), "REPLICA_STRATEGY.*auto"),
            (Config(topic=topic, min_words=7), "REPLICA_MIN_WORDS.*20"),
        ):
            with pytest.raises(ConfigError, match=told):
                check_settings(config, store)

    @pytest.mark.asyncio
    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"REPLICA_REVISIT": True}, "REPLICA_REVISIT"),
            ({"SCHEDULER": "scrapy.core.scheduler.Scheduler"}, "REPLICA_CRAWLDB"),
        ],
    )
    async def test_what_cannot_be_shared_is_refused(self, settings, told, tmp_path):
        with pytest.raises(ConfigError, match=told) as refused:
            await crawl(Follow, WEB, SHARED | settings | {"JOBDIR": str(tmp_path)})
        assert "secret" not in str(refused.value)


class TestFiles:
    def test_a_file_belongs_to_one_process(self, tmp_path):
        with claimed(tmp_path / "new" / "items.jsonl"):
            with pytest.raises(ConfigError, match="another process writes to it"):
                claimed(tmp_path / "new" / "items.jsonl")
            claimed(tmp_path / "other.jsonl").close()
        claimed(tmp_path / "new" / "items.jsonl").close()

    def test_warc_files_of_two_processes(self, tmp_path):
        """Two write to one folder; what a third left when it was killed is finished, what they write is not."""
        folders = [WarcFolder(tmp_path, "s", "job", 1 << 20, {}, name) for name in ("a", "b")]
        for folder in folders:
            folder.write([b"record"])
        left = tmp_path / "s-job-c-20260101000000-00001.warc.gz.open"
        left.write_bytes(next(tmp_path.glob("s-job-a-*")).read_bytes() + b"half")
        late = WarcFolder(tmp_path, "s", "job", 1 << 20, {}, "d")
        assert not left.exists()
        assert len(list(tmp_path.glob("*.open"))) == 2
        for folder in (*folders, late):
            folder.write([b"more"])
            folder.close()
        names = sorted(path.name for path in tmp_path.iterdir())
        assert [name.split("-")[2] for name in names] == ["a", "b", "c", "d"]
        assert all(name.endswith(".warc.gz") for name in names)
