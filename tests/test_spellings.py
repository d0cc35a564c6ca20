"""One rule for all spellings of a path, and for all parts that mean nothing; a page with a menu is the page without."""

from __future__ import annotations

from dataclasses import replace

from replica_sites import page, text_of

from scrapy_replica.sites.evidence import is_said_by, is_same_page, mark_of
from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.pattern import size_of
from scrapy_replica.urls.rule import Step
from scrapy_replica.urls.rulebook import RuleBook


def test_small_letters_are_learnt_for_the_whole_host():
    urls = [
        f"http://a.example/{spelt}/Item.aspx?id={n}" for n in range(12) for spelt in (f"Dept{n % 4}", f"DEPT{n % 4}")
    ]
    rules = combined.learn(urls, [n // 2 for n in range(len(urls))])
    assert (Step("lower", ""),) in [rule.transformation for rule in rules]
    told, _ = RuleBook(rules).canonical("http://a.example/DEPT9/ITEM.ASPX?id=77")
    assert told == "http://a.example/dept9/item.aspx?id=77"


def test_small_letters_are_not_learnt_where_case_tells_pages_apart():
    urls = [f"http://a.example/{spelt}" for n in range(12) for spelt in (f"Page{n}", f"page{n}")]
    assert combined.learn(urls, list(range(len(urls)))) == []


NAMES = ("oak", "elm", "fir", "yew", "ash", "box", "may", "bay", "fig", "gum", "koa", "sal")


def test_an_ending_that_means_nothing_is_learnt_for_all_names_and_years():
    """A rule for each name saved nothing: 314 requests of 314."""
    urls = [f"http://a.example/{2020 + n % 4}/the-{name}{end}" for n, name in enumerate(NAMES) for end in ("", ".html")]
    rules = combined.learn(urls, [n // 2 for n in range(len(urls))])
    assert [rule.transformation for rule in rules] == [(Step("template", "/{0}/{1}.html", "/{0}/{1}"),)]
    assert RuleBook(rules).canonical("http://a.example/2031/a-new.tree.html")[0] == "http://a.example/2031/a-new.tree"


def test_an_ending_is_not_learnt_where_it_tells_pages_apart():
    urls = [f"http://a.example/tree/{name}{end}" for name in NAMES for end in ("", ".map")]
    assert combined.learn(urls, list(range(len(urls)))) == []


def test_a_slash_at_the_end_is_learnt_for_the_whole_host():
    places = [path for n in range(4) for path in (f"/list/{n}", f"/id/{n}", f"/show.php?of={n}")]
    urls = [
        f"http://a.example{spelt}"
        for path in places
        for spelt in (path, path.replace("?", "/?") + "/" * ("?" not in path))
    ]
    rules = combined.learn(urls, [n // 2 for n in range(len(urls))])
    assert [rule.transformation for rule in rules] == [(Step("unslash", ""),)]
    assert RuleBook(rules).canonical("http://a.example/item/7/")[0] == "http://a.example/item/7"


def test_a_slash_is_not_learnt_where_it_tells_pages_apart():
    urls = [f"http://a.example/page/{n}{end}" for n in range(12) for end in ("", "/")]
    assert combined.learn(urls, list(range(len(urls)))) == []


def test_a_part_of_the_path_is_left_out_whatever_it_is():
    posts = [f"http://a.example/t/topic-{n}/{n}{post}" for n in range(12) for post in ("", f"/{n % 5 + 1}")]
    others = [f"http://a.example/u/person-{n}/posts/{n}" for n in range(12)]
    rules = combined.learn([*posts, *others], [*(n // 2 for n in range(24)), *range(12, 24)])
    told, _ = RuleBook(rules).canonical("http://a.example/t/topic-99/99/17")
    assert told == "http://a.example/t/topic-99/99"
    assert all(RuleBook(rules).canonical(url)[0] == url for url in others)


def test_small_letters_are_smaller_than_capitals():
    assert size_of("/a") < size_of("/A") < size_of("/aa")


def test_a_page_is_said_by_the_same_with_a_menu_and_not_the_other_way_round():
    text, menu = text_of("work", 60), text_of("menu", 110)
    bare, whole, other = (
        mark_of(replace(page("a.example", f"/{n}", told), words=len(told.split())))
        for n, told in enumerate((text, f"{menu} {text}", text_of("another", 170)))
    )
    assert not is_same_page(bare, whole)
    assert is_said_by(bare, whole)
    assert not is_said_by(whole, bare)
    assert not is_said_by(bare, other)
