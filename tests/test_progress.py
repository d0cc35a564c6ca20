"""The crawl's own progress line."""

from __future__ import annotations

import logging
import re

import pytest
from web import make_crawler, page, web_settings

from scrapy_replica import Addon, TopicSpider
from scrapy_replica.components import meter
from scrapy_replica.components.meter import PageMeter

pytestmark = pytest.mark.asyncio

PAGES = {f"http://a.example/{n}": page([f"/{2 * n + 1}", f"/{2 * n + 2}"], seed=n) for n in range(20)}
TOLD = r"\d+ (of 15 )?pages?, (\d+ % (new|on topic), )?\d+ avoided, \d+ waiting, \d+\.\d/s"


async def crawled(*, max_pages=0, has_meter=True, is_plain=False, **settings):
    addons = {} if is_plain else {"ADDONS": {Addon: 500}}
    crawler = make_crawler(TopicSpider, {**web_settings(PAGES, []), **addons, **settings})
    counted = PageMeter(crawler, max_pages) if has_meter else None
    await crawler.crawl_async(seeds="http://a.example/0")
    return counted


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(meter, "is_terminal", lambda: True)
    monkeypatch.setattr(meter, "LIVE_SECONDS", 0.001)
    monkeypatch.setenv("COLUMNS", "80")


async def test_on_a_terminal_one_line_changes(terminal, capsys):
    counted = await crawled(max_pages=15)
    err = capsys.readouterr().err
    lines = err.removesuffix("\n").split("\r\x1b[K")
    assert lines[0] == ""
    assert len(lines) > 3
    assert [line for line in lines[1:] if not re.fullmatch(TOLD, line)] == []
    assert lines[-1].startswith(f"{len(counted.urls)} of 15 pages, ")
    assert err.count("\n") == 1


async def test_it_is_as_wide_as_the_terminal(terminal, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    await crawled()
    assert max(map(len, capsys.readouterr().err.rstrip("\n").split("\r\x1b[K"))) == 19


async def test_what_is_logged_stands_on_lines_of_its_own(capsys):
    handler = logging.StreamHandler()
    logging.getLogger().addHandler(handler)
    try:
        line = meter.LiveLine()
        line.open()
        line.show("30 pages")
        logging.getLogger("x").error("something went wrong")
        line.close()
        logging.getLogger("x").error("later")
    finally:
        logging.getLogger().removeHandler(handler)
    # of each handler of the root logger one wipes the line
    assert re.fullmatch("\r\x1b\\[K30 pages(\r\x1b\\[K)+something went wrong\n\nlater\n", capsys.readouterr().err)


async def test_without_a_terminal_a_line_every_so_often(capsys, monkeypatch):
    monkeypatch.setattr(meter, "LINE_SECONDS", 0.001)
    await crawled()
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(TOLD, line)] == []


async def test_plain_scrapy_has_pages_and_speed(capsys, monkeypatch):
    monkeypatch.setattr(meter, "LINE_SECONDS", 0.001)
    await crawled(is_plain=True)
    assert re.fullmatch(r"\d+ pages?, \d+\.\d/s", capsys.readouterr().err.splitlines()[-1])


async def test_scrapy_crawl_logs_it(caplog):
    caplog.set_level(logging.INFO)
    await crawled(has_meter=False, LOGSTATS_INTERVAL=0.01)
    told = [record.message for record in caplog.records if record.name.startswith("scrapy_replica")]
    assert any(re.fullmatch(TOLD, line) for line in told)


async def test_scrapy_crawl_is_silent_where_log_stats_are(caplog):
    caplog.set_level(logging.INFO)
    await crawled(has_meter=False, LOGSTATS_INTERVAL=0)
    assert not [record for record in caplog.records if "avoided" in record.getMessage()]


async def test_a_line_that_cannot_be_written_ends_no_crawl(monkeypatch):
    def full(self, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(meter, "LINE_SECONDS", 0.001)
    monkeypatch.setattr(PageMeter, "_say", full)
    assert len((await crawled()).urls) == 20
