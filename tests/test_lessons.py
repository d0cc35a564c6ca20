"""A lesson is learnt in steps: no turn of a crawl waits for all of it."""

from __future__ import annotations

from unittest import mock

from scrapy_replica.urls.learners import candidates as candidates_module
from scrapy_replica.urls.learners import combined, selection

URLS = [
    f"http://shop.example/product/{one}/name-{one}" + (f"?ref={way}" if way % 2 else f"/{way}/all.html")
    for one in range(60)
    for way in range(6)
]
CLUSTERS = [one for one in range(60) for _ in range(6)]


def test_comparing_urls_takes_many_steps_where_they_are_many():
    n_pairs = [0]
    paired = candidates_module.pairs

    def counting(*args):
        for pair in paired(*args):
            n_pairs[0] += 1
            yield pair

    most = before = 0
    with mock.patch.object(candidates_module, "pairs", counting):
        for _ in combined.learn_in_steps(URLS, CLUSTERS):
            most, before = max(most, n_pairs[0] - before), n_pairs[0]
    assert n_pairs[0] > 800
    assert most < 500


def test_trying_rules_takes_many_steps_where_they_change_many_urls():
    n_tried = [0]
    tried = selection.Selection.try_out

    def counting(self, proposal):
        trial = tried(self, proposal)
        n_tried[0] += len(trial.moved)
        return trial

    most = before = 0
    with mock.patch.object(selection.Selection, "try_out", counting):
        for _ in combined.learn_in_steps(URLS, CLUSTERS):
            most, before = max(most, n_tried[0] - before), n_tried[0]
    assert n_tried[0] > 700
    assert most < 300


def learnt(*forms: str) -> set[str]:
    """What is made of which URLs by the rules that twenty pages teach, each of them at all of *forms*."""
    urls = [form.format(n=f"x{n}y", slug=f"t{n * 7}u", m=n % 3 + 1) for n in range(20) for form in forms]
    rules = combined.learn(urls, [n for n in range(20) for _ in forms])
    return {f"{step.key} -> {step.value}" for rule in rules for step in rule.transformation if step.kind == "template"}


def test_one_part_of_the_path_may_be_any():
    host = "http://shop.example"
    assert learnt(f"{host}/item/{{n}}/{{slug}}", f"{host}/item/{{n}}/{{slug}}old") == {"/item/{0}/{1} -> /item/{0}"}
    assert learnt(f"{host}/item/{{n}}", f"{host}/item/{{n}}/ref={{slug}}") == {"/item/{0}/ref={1} -> /item/{0}"}
    assert learnt(f"{host}/{{n}}/dp/1", f"{host}/{{n}}/dp/1/ref={{slug}}") == {"/{0}/dp/1/ref={1} -> /{0}/dp/1"}
    assert learnt(f"{host}/a/{{n}}", f"{host}/2020/{{m}}/{{n}}") == {"/{0}/{1}/{2} -> /a/{2}"}
    assert learnt(f"{host}/item//{{n}}", f"{host}/item//{{n}}/{{slug}}") == {"/item//{0}/{1} -> /item//{0}"}
