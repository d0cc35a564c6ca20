"""Hosts that copy a site and would be kept for it: what they can arrange for nothing buys nothing."""

from __future__ import annotations

import pytest
from replica_sites import text_of
from test_live_replicas import ALL, held, html
from web import crawl, redirect

from scrapy_replica import TopicSpider

pytestmark = pytest.mark.asyncio

GOOD, BAD = "http://good.example", "https://bad.example"
N = 120
PATHS = ["/", *(f"/part-{number // 10}/page-{number}.html" for number in range(1, N))]


def site(origin, paths=PATHS, linked=PATHS, head="", junk=0):
    """The pages *paths* of one work at *origin*: the first links to all *linked*, each to its neighbours."""
    pages = {}
    for number, path in enumerate(PATHS):
        if path not in paths:
            continue
        near = PATHS[max(0, number - 2) : number + 3] if number else PATHS
        links = [origin + other for other in near if other in linked]
        links += [f"{origin}/junk/{number}-{one}.html" for one in range(junk)]
        pages[origin + path] = html(text_of(path), links, f"Page {number}").replace("<head>", f"<head>{head}")
    return pages


def partial(share=3):
    """Paths of which every so many is there, the front page among them."""
    return PATHS[::share]


def readers():
    """Thirty wildcard hosts of the imitator and five hosts of other domains, which all link to its front page."""
    hosts = [f"w{number}.bad.example" for number in range(30)] + [f"www.cheap{number}.example" for number in range(5)]
    return {f"http://{host}/": html(text_of(host), [f"{BAD}/"]) for host in hosts}


def open_redirects():
    """Three URLs of the good host that lead to the imitator, linked from its front page."""
    found = {f"{GOOD}/goto?to={number}": redirect(BAD + PATHS[number]) for number in (3, 6, 9)}
    pages = site(BAD, partial())
    links = "".join(f'<a href="{url}"></a>' for url in found)
    return found | pages | {f"{BAD}/": pages[f"{BAD}/"].replace("</body>", f"{links}</body>")}


ATTACKS = {
    "an https copy of a third, met first": ([BAD, GOOD], lambda: site(BAD, partial())),
    "that links to nothing else": ([BAD, GOOD], lambda: site(BAD, partial(), partial())),
    "an https copy of all": ([GOOD, BAD], lambda: site(BAD)),
    "junk links": ([BAD, GOOD], lambda: site(BAD, partial(), partial(), junk=15)),
    "links from hosts of its own": ([GOOD, BAD, *readers()], lambda: site(BAD) | readers()),
    "open redirects": ([BAD, GOOD], open_redirects),
    "canonical": ([GOOD, BAD], lambda: site(BAD, head=f'<link rel="canonical" href="{BAD}/">')),
    "canonical, partial and met first": (
        [BAD, GOOD],
        lambda: site(BAD, partial(), head=f'<link rel="canonical" href="{BAD}/">'),
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_the_site_is_not_blocked_and_nothing_is_lost(attack, tmp_path):
    first, pages = ATTACKS[attack]
    seeds = "\n".join(url if url.count("/") > 2 else f"{url}/" for url in first)
    result = await crawl(
        TopicSpider, site(GOOD) | pages(), ALL | {"JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 0.02}, seeds=seeds
    )
    assert "good.example" not in held(tmp_path)
    found = {url.removeprefix(GOOD).removeprefix(BAD) for url in result.urls}
    assert set(PATHS) <= found
    assert result.unfinished == {}


async def test_an_old_mirror_of_a_part_is_the_copy(tmp_path):
    old = site(BAD, PATHS[:60])
    result = await crawl(TopicSpider, site(GOOD) | old, ALL | {"JOBDIR": str(tmp_path)}, seeds=f"{BAD}/\n{GOOD}/")
    assert {verdict.canonical for verdict in held(tmp_path).values()} == {"good.example"}
    assert set(PATHS) <= {url.removeprefix(GOOD).removeprefix(BAD) for url in result.urls}
