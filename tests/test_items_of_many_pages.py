"""Items that several callbacks fill are whole, whatever pages of one text those got."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import partial

import pytest
from scrapy import Request, Spider
from web import REPLICA, crawl, text

pytestmark = pytest.mark.asyncio

SHOP = "http://shop.example/"
N_DISHES, N_MENUS, LENGTH = 150, 12, 60
N_WIZARDS = 120


def html(heading, seed, links=(), form=""):
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<html><body><h1>{heading}</h1><p>{text(seed, 80)}</p>{anchors}{form}</body></html>"


def menus(request):
    """Menus list dishes by URLs that say which menu led there; the page of a dish is the same for all of them."""
    path = request.url.removeprefix(SHOP)
    if path.startswith("menu"):
        number = path.removeprefix("menu")
        dishes = random.Random(number).sample(range(N_DISHES), LENGTH)
        return html(path, path, [f"/dish?id={dish}&from={number}" for dish in dishes])
    if path.startswith("dish"):
        dish = path.partition("=")[2].partition("&")[0]
        return html(dish, f"dish {dish}")
    return html("front", "front", [f"/menu{number}" for number in range(N_MENUS)])


class Menus(Spider):
    name = "menus"
    start_urls = (SHOP,)

    def parse(self, response):
        self.open = defaultdict(list)
        yield from response.follow_all(css="a", callback=self.menu)

    def menu(self, response):
        name = response.css("h1::text").get()
        for link in response.css("a"):
            yield self.ask(response, link, name)

    def ask(self, response, link, name):
        return response.follow(link, self.dish, cb_kwargs={"of": name})

    def dish(self, response, of):
        return self.fill(of, self.open[of], response)

    def fill(self, name, dishes, response):
        dishes.append(response.css("h1::text").get())
        if len(dishes) == LENGTH:
            yield {"menu": name, "dishes": sorted(dishes)}


class ByMeta(Menus):
    def ask(self, response, link, name):
        return response.follow(link, self.dish, meta={"of": name})

    def dish(self, response):
        return super().dish(response, response.meta["of"])


class Shared(Menus):
    """What its callbacks fill is handed to them."""

    def menu(self, response):
        dishes = []
        name = response.css("h1::text").get()
        for link in response.css("a"):
            yield response.follow(link, self.dish, cb_kwargs={"of": name, "dishes": dishes})

    def dish(self, response, of, dishes):
        return self.fill(of, dishes, response)


class Closed(Menus):
    def ask(self, response, link, name):
        return response.follow(link, lambda response, of=name: Menus.dish(self, response, of))


class Partial(Menus):
    def ask(self, response, link, name):
        return response.follow(link, partial(self.dish, of=name))


@pytest.mark.parametrize("spider", [Menus, ByMeta, Shared, Closed, Partial])
async def test_each_menu_has_all_its_dishes(spider):
    result = await crawl(spider, menus, REPLICA)
    assert sorted(item["menu"] for item in result.items) == sorted(f"menu{number}" for number in range(N_MENUS))


def wizards(request):
    """Four forms in a row say the same, until the second step that is posted to their own URL."""
    path = request.url.removeprefix(SHOP)
    if not path.startswith("wizard"):
        return html("front", "front", [f"/wizard?group={n // 4}&id={n}" for n in range(N_WIZARDS)])
    group, number = (part.partition("=")[2] for part in path.partition("?")[2].split("&"))
    step = int(request.body.decode().partition("=")[2] or 0)
    if step == 2:
        return html(f"result {number}", path)
    return html("wizard", f"{group} {step}", form=f'<form method="post"><input name="step" value="{step + 1}"></form>')


class Wizards(Spider):
    name = "wizards"
    start_urls = (SHOP,)

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.step)

    def step(self, response):
        heading = response.css("h1::text").get()
        if heading.startswith("result"):
            yield {"result": heading}
        else:
            step = response.css("input::attr(value)").get()
            yield Request(response.url, self.step, method="POST", body=f"step={step}")


async def test_forms_that_are_posted_to_their_own_url_are_asked_to_the_end():
    result = await crawl(Wizards, wizards, REPLICA)
    assert len({item["result"] for item in result.items}) == N_WIZARDS
