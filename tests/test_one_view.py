"""The same figures wherever they are shown: status, report, control page, statistics and the line at the end."""

from __future__ import annotations

import json
import logging
import re

import pytest
from command_line import replica
from lxml import html
from web import REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands.served import ServedJob
from scrapy_replica.words.terminal import percent

HOST, N = "http://a.example/", 40


def answer(request):
    """Pages with and without a session id, two that say the same, one that is gone, and the same again on a mirror."""
    path = request.url.split("/", 3)[3].partition("?")[0]
    number = int(path or 0) if path.isdigit() or not path else N
    if number >= N:
        return 404, {}, ""
    links = [f"/{(3 * number + k) % N}{session}" for k in range(1, 5) for session in ("", f"?sid={number}")]
    outside = ["/gone", f"http://b.example/{number}"] if number % 4 == 0 else []
    return page([*links, *outside], seed=min(number, N - 3))


def number(text):
    return float(re.search(r"[\d,]+(?:\.\d+)?", text)[0].replace(",", ""))


def printed(*arguments):
    done = replica(*arguments)
    assert done.code == 0
    return done.out


def of_status(job):
    return json.loads(printed("status", job, "--json"))["figures"], printed("status", job)


def of_report(job, tmp_path):
    """Return the tiles of the report, the text of its summary and that of what was left out."""
    printed("report", job, "--out", str(tmp_path / "report.html"))
    tree = html.parse(tmp_path / "report.html")
    tiles = {
        tile.find("dt").text_content(): number(tile.find("dd").text_content())
        for tile in tree.findall(".//dl[@class='tiles']/div")
    }
    texts = [" ".join(tree.find(f".//section[@id='{name}']").text_content().split()) for name in ("summary", "saved")]
    return tiles, *texts


@pytest.mark.asyncio
@pytest.mark.parametrize("most", [0, 60])
async def test_no_number_differs(most, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="scrapy_replica")
    job = str(tmp_path / "job")
    (tmp_path / "aliases").write_text("b.example a.example\n")
    settings = {
        **REPLICA,
        "REPLICA_ALIASES": str(tmp_path / "aliases"),
        "JOBDIR": job,
        "LOG_LEVEL": "INFO",
        "CLOSESPIDER_PAGECOUNT": most,
        "CONCURRENT_REQUESTS": 1,
    }
    result = await crawl(TopicSpider, answer, settings, seeds=HOST)
    stats = {name.removeprefix("replica/"): value for name, value in result.stats.items()}
    found, text = of_status(job)
    assert found["saved"] > 10
    assert found["samples"] > 3 or most
    assert found["dropped.manual-alias"] > 0
    assert bool(found["urls.waiting"]) is bool(most)

    same = {"page/observed": "pages", "page/novel": "novel", "page/exact-duplicate": "exact_duplicates"}
    same |= {"page/near-duplicate": "near_duplicates", "page/other": "refused", "frontier/waiting": "urls.waiting"}
    same |= {"saved": "saved", "sample/settled": "samples", "sample/false_drops": "false_drops"}
    same |= {f"sample/false_drop_rate{end}": f"false_drop_rate{end}" for end in ("", "_low", "_high")}
    assert {name: stats.get(name, 0) for name in same} == {name: found.get(other, 0) for name, other in same.items()}
    assert {name.replace("/", "."): n for name, n in stats.items() if name.startswith("decision/")} == {
        name: n for name, n in found.items() if name.startswith("decision.")
    }

    tiles, summary, left_out = of_report(job, tmp_path)
    duplicates = found["exact_duplicates"] + found["near_duplicates"]
    shown = {
        name: json.loads(shown) for name, (shown, _) in ServedJob(job).look(["state", "figures", "report"]).items()
    }
    served = {tile["name"]: number(tile["value"]) for tile in shown["figures"]["figures"]}
    errors = found["failed"] + found["refused"]
    share = percent(found["saved"] / (found["saved"] + found["fetches"]))
    assert tiles["new pages"] == served["new"] == found["novel"]
    assert tiles["repeats of other pages"] == served["duplicates"] == duplicates
    assert tiles["errors"] == served["errors"] == errors
    assert tiles[f"fetches saved, at least ({share})"] == served["fetches saved"] == found["saved"]
    assert (served["pages"], served["waiting"]) == (found["pages"], found["urls.waiting"])
    headline = shown["figures"]["headline"]
    assert summary.removeprefix("In short").strip().startswith(headline)
    assert " ".join(text.split()).startswith(headline)
    assert f"{found['fetches']:,} URLs were fetched" in summary
    dropped = sum(n for name, n in found.items() if name.startswith("dropped."))
    assert f"{dropped:,} URLs are left out now" in left_out
    assert f"at least {found['saved']:,} requests fewer" in left_out
    assert f"At least {found['saved']:,} of {found['saved'] + found['fetches']:,} requests saved ({share})" in text
    again = html.fromstring(shown["report"]["update"]["sections"]["saved"]).text_content()
    assert left_out.endswith(" ".join(again.split()))
    assert caplog.text.count("Rule 1 is in force: ") == 1
    end = next(record.getMessage() for record in reversed(caplog.records) if "requests saved" in record.getMessage())
    assert f"at least {found['saved']:,} of {found['saved'] + found['fetches']:,} requests saved" in end
