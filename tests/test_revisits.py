"""A job is crawled again."""

from __future__ import annotations

import pytest
from web import HTML, REPLICA, crawl, page

from scrapy_replica import TopicSpider


class Site:
    """Pages that change, with an ETag each that tells, unless the site lies."""

    def __init__(self, texts, *, tag="honest", status=200):
        self.texts, self.tag = dict(texts), tag
        self.links = {}
        self.log = []

    def url(self, name):
        return f"http://a.example/{name}"

    def etag(self, name):
        return {"honest": f'"{self.texts[name]}"', "weak": f'W/"{self.texts[name]}"', "liar": '"same"', "none": None}[
            self.tag
        ]

    def __call__(self, request):
        name = request.url.rpartition("/")[2]
        if request.url.endswith("robots.txt") or name not in self.texts:
            self.log.append((name, 404))
            return 404, HTML, ""
        etag, asked = self.etag(name), request.headers.get("If-None-Match")
        headers = {**HTML, **({"ETag": etag} if etag else {})}
        if asked is not None and etag is not None and asked.decode() == etag:
            self.log.append((name, 304))
            return 304, headers, ""
        self.log.append((name, 200))
        links = [self.url(one) for one in self.links.get(name, [])]
        return 200, headers, page(links, seed=self.texts[name], title=name)

    def asked(self):
        log, self.log = self.log, []
        return dict(log)


def site(n=6, **kwargs):
    made = Site({str(number): f"text{number}" for number in range(n)}, **kwargs)
    made.links = {"0": [str(number) for number in range(1, n)]}
    return made


def settings(job, **more):
    return {**REPLICA, "JOBDIR": str(job), "REPLICA_EXPLORE": 0, "ROBOTSTXT_OBEY": False, **more}


async def first(job, web, **more):
    result = await crawl(TopicSpider, web, settings(job, **more), seeds=web.url("0"))
    web.asked()
    return result


async def again(job, web, **more):
    return await crawl(TopicSpider, web, settings(job, REPLICA_REVISIT=True, **more), seeds=web.url("0"))


def counts(result):
    prefix = "replica/revisit/"
    return {key.removeprefix(prefix): n for key, n in result.stats.items() if key.startswith(prefix)}


@pytest.mark.asyncio
async def test_unchanged_pages_send_no_body_and_changed_ones_are_followed(tmp_path):
    web = site()
    await first(tmp_path, web)
    web.texts["2"], web.links["2"] = "other text", ["new"]
    web.texts["new"] = "text of the new page"
    result = await again(tmp_path, web)
    assert web.asked() == {"0": 304, "1": 304, "2": 200, "3": 304, "4": 304, "5": 304, "new": 200}
    assert [item["url"] for item in result.items] == [web.url("2"), web.url("new")]
    told = counts(result)
    assert (told["not_modified"], told["changed"], told["due"]) == (5, 1, 6)
    assert told["bytes_saved"] > 1000
    assert result.unfinished == {}
