"""Items of a job that goes on: added to those that are there, never lost, never spoilt."""

from __future__ import annotations

import csv
import json
import os
from argparse import Namespace

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings
from web import REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands.run import feeds
from scrapy_replica.components import feeds as feeds_module
from scrapy_replica.components.feeds import other_fields, refusal
from scrapy_replica.components.spider import FIELDS

PAGES = {f"http://a.example/{n}": page([f"/{n + 1}"], seed=n, title=f'two\nlines, "{n}"') for n in range(12)}
WHOLE = sorted(PAGES)


async def run(folder, format_, *, pages=0, **options):
    settings = {
        **REPLICA,
        "JOBDIR": folder / "job",
        "FEEDS": {str(folder / f"items.{format_}"): {"format": format_, **options}},
        "CLOSESPIDER_PAGECOUNT": pages,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    }
    return await crawl(TopicSpider, PAGES, settings, seeds="http://a.example/0")


def items_of(path):
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.asyncio
@pytest.mark.parametrize("format_", ["jsonl", "csv"])
async def test_a_job_that_goes_on_adds_its_items(tmp_path, format_):
    path = tmp_path / f"items.{format_}"
    await run(tmp_path, format_, pages=4)
    assert 4 <= len(items_of(path)) < len(WHOLE)
    await run(tmp_path, format_)
    found = items_of(path)
    assert sorted(item["url"] for item in found) == WHOLE
    assert all(item["title"].startswith("two") for item in found)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("format_", "half"), [("jsonl", '{"url": "http://a.example/half", "ti'), ("csv", 'http://a.example/half,"two\n')]
)
async def test_half_an_item_is_taken_away(tmp_path, format_, half):
    path = tmp_path / f"items.{format_}"
    await run(tmp_path, format_, pages=4)
    before = len(items_of(path))
    with path.open("a") as file:
        file.write(half)
    await run(tmp_path, format_)
    assert sorted(item["url"] for item in items_of(path)) == WHOLE
    assert before < len(WHOLE)


@pytest.mark.asyncio
async def test_an_item_whose_line_somebody_left_open_stays(tmp_path):
    path = tmp_path / "items.jsonl"
    await run(tmp_path, "jsonl", pages=4)
    path.write_text(path.read_text().rstrip("\n"))
    await run(tmp_path, "jsonl")
    assert sorted(item["url"] for item in items_of(path)) == WHOLE


@pytest.mark.asyncio
async def test_without_a_job_feeds_are_as_scrapy_has_them(tmp_path):
    path = tmp_path / "items.csv"
    settings = {**REPLICA, "FEEDS": {str(path): {"format": "csv"}}}
    for _ in range(2):
        await crawl(TopicSpider, PAGES, settings, seeds="http://a.example/11")
    assert path.read_text().count("url,title") == 2


@pytest.mark.asyncio
async def test_a_feed_that_cannot_be_written_stops_the_crawl(tmp_path, caplog):
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("needs /dev/full")
    settings = {**REPLICA, "JOBDIR": tmp_path / "job", "FEEDS": {"file:///dev/full": {"format": "jsonl"}}}
    result = await crawl(TopicSpider, PAGES, settings, seeds="http://a.example/0")
    assert result.stats["finish_reason"] == "output"
    assert "the feed file:///dev/full cannot be written to (No space left on device)" in caplog.text
    assert "done" not in result.states["http://a.example/0"]


class TestRefusal:
    @pytest.mark.parametrize(
        ("name", "options", "is_resumed", "says"),
        [
            ("old.json", {"format": "json"}, True, "nothing can be added to a json file"),
            ("old.xml", {"format": "xml"}, False, "nothing can be added to a xml file"),
            ("old.pickle", {"format": "pickle"}, True, "nothing can be added to a pickle file"),
            ("old.jsonl", {"format": "jsonl", "overwrite": True}, True, "would not bring again"),
            ("s3://bucket/x.jsonl", {"format": "jsonl"}, True, "put %(time)s into its name"),
            ("old.json", {"format": "json", "overwrite": True}, False, None),
            ("old.jsonl", {"format": "jsonl"}, True, None),
            ("new.json", {"format": "json"}, True, None),
            ("s3://bucket/%(time)s.jsonl", {"format": "jsonl"}, True, None),
            ("stdout:", {"format": "json"}, True, None),
        ],
    )
    def test_what_would_be_lost_or_spoilt(self, tmp_path, name, options, is_resumed, says):
        (tmp_path / name).write_text("[]") if name.startswith("old") else None
        uri = name if ":" in name else str(tmp_path / name)
        why = refusal(uri, options, is_resumed=is_resumed)
        assert why is None if says is None else says in why
        assert why is None or why.startswith(f"{uri}: ")

    @pytest.mark.parametrize(
        ("format_", "before", "says"),
        [
            ("csv", "url,title\nhttp://a.example/,A\n", None),
            ("csv", "title,url\n", None),
            ("csv", "\ufeffurl,title\n", None),
            ("csv", "url,text\n", "the fields text,url, and these would have title,url: give the same --fields"),
            ("csv", "", None),
            ("jsonl", '{"url": "u", "title": "t"}\n', None),
            (
                "jsonl",
                '{"url": "u"}\n{"url": "u", "text": "t"}\n',
                "the fields text,url, and these would have title,url",
            ),
            ("jsonl", '{"url": "u"}\n', None),
            ("jsonl", '{"url": "u", "ti', None),
            ("jsonl", '{"url": "u", "text": "t"}\n{"url": "u", "ti', "the fields text,url, and these"),
            ("jsonl", "[1]\n", None),
            ("jsonl", '{"url": "u", "title": "t", "added by a pipeline": 1}\n', None),
        ],
    )
    def test_items_with_other_fields(self, tmp_path, format_, before, says):
        path = tmp_path / "items"
        path.write_text(before)
        why = other_fields(str(path), {"format": format_}, ("url", "title"), FIELDS)
        assert why is None if says is None else says in why

    def test_columns_that_the_user_chose_for_all_feeds_stay_theirs(self, tmp_path):
        (tmp_path / "items.csv").write_text("url\n")
        opts = Namespace(output=str(tmp_path / "items.csv"), overwrite_output=None, fields="", join=None, job=None)
        assert feeds(opts, Settings({"FEED_EXPORT_FIELDS": ["url"]}))
        with pytest.raises(ValueError, match="its items have the fields url, and these would have"):
            feeds(opts, Settings())

    def test_the_command_refuses_other_fields_in_one_line(self, tmp_path, capsys):
        path = tmp_path / "items.csv"
        path.write_text("url,markdown\n")
        with pytest.raises(SystemExit) as end:
            execute(["scrapy", "replica", "crawl", "http://a.example/", "-o", str(path), "--fields", "url,text"])
        told = capsys.readouterr()
        assert (end.value.code, told.out, told.err.count("\n")) == (2, "", 1)
        assert "its items have the fields markdown,url, and these would have text,url" in told.err
        assert path.read_text() == "url,markdown\n"

    def test_a_store_whose_package_is_missing_is_refused(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setitem(feeds_module.REPLACED, "s3", "no-such-package")
        with pytest.raises(SystemExit) as end:
            execute(["scrapy", "replica", "crawl", "http://a.example/", "-o", "s3://bucket/%(time)s.jsonl"])
        told = capsys.readouterr()
        assert (end.value.code, told.out, told.err.count("\n")) == (2, "", 1)
        assert "needs: pip install no-such-package" in told.err

    @pytest.mark.parametrize(("option", "name"), [("-o", "items.json"), ("-O", "items.jsonl")])
    def test_the_command_says_so_in_one_line(self, tmp_path, capsys, option, name):
        (tmp_path / name).write_text("[]")
        (tmp_path / "replica.sqlite").write_bytes(b"")
        command = ["scrapy", "replica", "crawl", "http://a.example/", "--job", str(tmp_path), option]
        with pytest.raises(SystemExit) as end:
            execute([*command, str(tmp_path / name)])
        told = capsys.readouterr()
        assert (end.value.code, told.out, told.err.count("\n")) == (2, "", 1)
        assert name in told.err
