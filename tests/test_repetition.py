from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Spider
from web import REPLICA, crawl, text

from scrapy_replica import page_of
from scrapy_replica.pages.repetition import MAX_BLOCKS, MIN_PAGES, WINDOW_PAGES, HostBlocks

NOTE = "This site uses cookies"


def counted(pages):
    blocks = HostBlocks()
    for page in pages:
        blocks.add(page)
    return blocks


class TestHostBlocks:
    def test_a_text_on_many_pages_is_repeated_and_others_are_not(self):
        blocks = counted(
            f"Menu\nMenu\nArticle {n}\n{'Often' if n < MIN_PAGES else 'Rarely' if n < 2 * MIN_PAGES - 1 else ''}"
            for n in range(WINDOW_PAGES)
        )
        assert blocks.without_repeated("MENU\nArticle 3\nOften\nRarely\nNew") == "Article 3\nRarely\nNew"

    def test_nothing_is_repeated_before_enough_pages(self):
        blocks = counted(["Menu\nText"] * (WINDOW_PAGES - 1))
        assert blocks.without_repeated("Menu\nText") == "Menu\nText"

    def test_what_is_known_stays(self):
        blocks = counted(["Menu"] * WINDOW_PAGES)
        for n in range(100):
            blocks.add(f"Other menu\nPage {n}")
        assert blocks.is_repeated("Menu")
        assert not blocks.is_repeated("Other menu")

    @given(st.lists(st.lists(st.sampled_from("abcdefg")).map("\n".join), max_size=WINDOW_PAGES + 5), st.integers(0, 30))
    def test_saved_and_read_again_it_goes_on(self, pages, cut):
        blocks = counted(pages[:cut])
        again = HostBlocks(blocks.save())
        for page in pages[cut:]:
            again.add(page)
        assert again.pages == min(len(pages), WINDOW_PAGES)
        slow = {x for x in "abcdefg" if sum(x in page.split("\n") for page in pages[:WINDOW_PAGES]) >= MIN_PAGES}
        expected = slow if len(pages) >= WINDOW_PAGES else set()
        assert {x for x in "abcdefg" if again.is_repeated(x)} == expected

    def test_is_bounded(self):
        blocks = HostBlocks()
        for page in range(WINDOW_PAGES - 1):
            blocks.add("\n".join(f"{page} {line}" for line in range(5_000)))
        assert len(blocks.save()) <= 8 * WINDOW_PAGES * MAX_BLOCKS
        blocks.add("x")
        assert len(blocks.save()) == 8


class Walks(Spider):
    name = "walks"
    host = "http://a.example"

    def __init__(self, first=0, last=0, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [f"{self.host}/{n}" for n in range(first, last)]

    def parse(self, response):
        page = page_of(response).page
        yield {"url": response.url, "cookies": page.terms.get("cooki", 0), "text": page.text, "simhash": page.simhash}


def site(request):
    number = request.url.rpartition("/")[2]
    story = "".join(f"<p>{text((number, part), 40)}.</p>" for part in range(3))
    return f"<body><title>{number}</title><div><p>{NOTE}</p>{story}</div></body>"


@pytest.mark.asyncio
class TestCrawl:
    @pytest.mark.parametrize("noise", ["cetd", "learned"])
    async def test_terms_are_taken_without_what_a_host_repeats_over_a_restart(self, tmp_path, noise):
        settings = REPLICA | {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1, "REPLICA_NOISE": noise}
        first = await crawl(Walks, site, settings, last=WINDOW_PAGES - 1)
        then = await crawl(Walks, site, settings, first=WINDOW_PAGES - 1, last=WINDOW_PAGES + 5)
        assert [item["cookies"] for item in first.items] == [1] * (WINDOW_PAGES - 1)
        assert [item["cookies"] for item in then.items] == [1] + [0] * 5
        assert all(NOTE in item["text"] for item in first.items + then.items)

    async def test_fingerprints_do_not_change_with_what_is_known_of_the_host(self):
        settings = REPLICA | {"CONCURRENT_REQUESTS": 1}
        early = await crawl(Walks, site, settings, first=25, last=26)
        late = await crawl(Walks, site, settings, last=26)
        assert late.items[-1]["cookies"] == 0
        assert late.items[-1]["simhash"] == early.items[0]["simhash"]

    async def test_without_noise_removal_terms_are_of_the_whole_page(self):
        result = await crawl(Walks, site, REPLICA | {"REPLICA_NOISE": "none"}, last=WINDOW_PAGES + 5)
        assert {item["cookies"] for item in result.items} == {1}

    async def test_copies_of_one_page_repeat_nothing(self):
        def copies(request):
            return site(request.replace(url=Walks.host + "/0"))

        result = await crawl(Walks, copies, REPLICA | {"CONCURRENT_REQUESTS": 1}, last=WINDOW_PAGES + 5)
        assert {item["cookies"] for item in result.items} == {1}
