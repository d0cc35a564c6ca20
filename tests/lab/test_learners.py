from __future__ import annotations

import hashlib

import pytest

from scrapy_replica.lab.dust.dust_learners import LEARNERS
from scrapy_replica.lab.dust.dust_learners.duster import consensus
from scrapy_replica.urls.rulebook import RuleBook


def learnt(name, pages, epsilon=0.0):
    """The rule book learnt from (url, cluster) pairs."""
    return RuleBook(LEARNERS[name]([url for url, _ in pages], [cluster for _, cluster in pages], epsilon))


SESSIONS = [(f"http://h/item?id={i}&sid=s{i}{j}", f"item {i}") for i in range(20) for j in range(3)]
SORTED = [(f"http://h/list{i}/?o={o}", f"list {i}") for i in range(20) for o in ("asc", "desc")]
INDEX = [(f"http://h/dir{i}/{name}", f"dir {i}") for i in range(20) for name in ("", "index.html")]


class TestEveryLearner:
    @pytest.mark.parametrize("name", ["rewrite", "duster", "pattern_tree", "pairwise", "combined"])
    def test_session_id_is_dropped_and_the_page_kept(self, name):
        book = learnt(name, SESSIONS)
        assert book.canonical("http://h/item?id=99&sid=new1")[0] == book.canonical("http://h/item?id=99&sid=new2")[0]
        assert book.canonical("http://h/item?id=98&sid=new1")[0] != book.canonical("http://h/item?id=99&sid=new1")[0]

    @pytest.mark.parametrize("name", LEARNERS)
    def test_sort_order_is_learnt(self, name):
        book = learnt(name, SORTED)
        assert book.canonical("http://h/new/?o=asc")[0] == book.canonical("http://h/new/?o=desc")[0]

    @pytest.mark.parametrize("name", ["rewrite", "duster", "pairwise", "dustbuster", "combined"])
    def test_index_page_is_learnt(self, name):
        assert learnt(name, INDEX).canonical("http://h/new/index.html")[0] == "http://h/new/"

    @pytest.mark.parametrize("name", LEARNERS)
    def test_nothing_is_learnt_from_different_pages(self, name):
        assert len(learnt(name, [(f"http://h/item?id={i}&o={o}", (i, o)) for i in range(10) for o in range(3)])) == 0

    @pytest.mark.parametrize("name", LEARNERS)
    def test_soft_404_teaches_nothing(self, name):
        pages = [(f"http://h/gone{i}?id={j}", "not found") for i in range(10) for j in range(10)]
        assert len(learnt(name, pages)) == 0

    @pytest.mark.parametrize("name", LEARNERS)
    def test_one_cluster_cannot_merge_a_site(self, name):
        pages = [(f"http://h/page?id={i}", "all one" if i < 200 else str(i)) for i in range(260)]
        book = learnt(name, pages)
        assert len({book.canonical(url)[0] for url, _ in pages[200:]}) == 60

    @pytest.mark.parametrize("name", LEARNERS)
    def test_hash_that_is_content_is_kept(self, name):
        hashes = [hashlib.sha1(str(i).encode()).hexdigest() for i in range(60)]
        pages = [(f"http://h/commit?id={value}", value) for value in hashes]
        pages += [(f"http://h/commit?id={value}&p=1", value) for value in hashes]
        book = learnt(name, pages)
        assert len({book.canonical(f"http://h/commit?id={value}")[0] for value in hashes}) == 60

    @pytest.mark.parametrize("name", LEARNERS)
    @pytest.mark.parametrize(
        "forms",
        [
            ("http://h/{}/read", "http://h/{}/Read"),
            ("http://h/{}?x=1&y=2", "http://h/{}?y=2&x=1"),
            ("http://h/{}/a%2Fb", "http://h/{}/a/b"),
            ("http://h/{}?q=a+b", "http://h/{}?q=a%2Bb"),
            ("http://h/{};v=1", "http://h/{};v=2"),
            ("http://h/{}/a", "http://h/{}//a"),
            ("http://h/{}/a/b", "http://h/{}/a/./b"),
        ],
    )
    def test_forms_that_are_different_pages_stay_apart(self, name, forms):
        pages = [(form.format(i) + s, (form, i)) for i in range(20) for form in forms for s in ("", "#s")]
        pages += [(f"http://h/shop?id={i}&sid={s}{i}", i) for i in range(20) for s in range(2)]
        book = learnt(name, pages)
        assert len({book.canonical(form.format(99))[0] for form in forms}) == 2

    @pytest.mark.parametrize("name", LEARNERS)
    def test_odd_urls_do_not_stop_it(self, name):
        odd = [
            "http://h//a/../b;m=1?&&=x&;#f",
            "http://h/?" + "&".join(f"a{i}={i}" for i in range(200)),
            "h",
            "",
            "http://h/%zz?{0}=1",
        ]
        learnt(name, [(url, place % 2) for place, url in enumerate(odd)])

    @pytest.mark.parametrize("name", LEARNERS)
    def test_same_input_same_rules(self, name):
        assert list(learnt(name, SORTED)) == list(learnt(name, SORTED))


class TestCombined:
    @pytest.mark.parametrize(
        ("form", "clean"), [("/x{n};zid={s}", "/x{n}"), ("/x{n};zid={s}?a=1", "/x{n}?a=1"), ("/s/{s}/x{n}", "/s/x{n}")]
    )
    def test_session_ids_in_the_path(self, form, clean):
        pages = [("http://h" + form.format(n=n, s=f"{7919 * n + s:x}"), n) for n in range(20) for s in range(3)]
        book = learnt("combined", pages)
        assert book.canonical("http://h" + form.format(n=99, s="abc"))[0] == "http://h" + clean.format(n=99)

    def test_names_of_content_in_the_path_are_kept(self):
        pages = [(f"http://h/commit/{7919 * n + s:x}/x{n}", (n, s)) for n in range(20) for s in range(3)]
        assert len(learnt("combined", pages)) == 0

    def test_order_with_a_meaning_is_found(self):
        pages = [
            (f"http://h/?{q}&n={i}&sid={s}", (q, i))
            for i in range(20)
            for q in ("x=1&y=2", "y=2&x=1")
            for s in range(2)
        ]
        book = learnt("combined", pages)
        assert len({book.canonical(url)[0] for url, _ in pages}) >= 40

    def test_context_is_found_where_the_rule_is_not_true_everywhere(self):
        pages = [(f"http://h/shop/{i}?v={v}", i) for i in range(30) for v in range(3)]
        pages += [(f"http://h/wiki/{i}?v={v}", (i, v)) for i in range(30) for v in range(3)]
        book = learnt("combined", pages)
        assert book.canonical("http://h/shop/99?v=1")[0] == book.canonical("http://h/shop/99?v=2")[0]
        assert book.canonical("http://h/wiki/99?v=1")[0] != book.canonical("http://h/wiki/99?v=2")[0]

    def test_epsilon_allows_a_rule_that_is_mostly_true(self):
        pages = [(f"http://h/{i}?v={v}", (i, v if i == 7 else 0)) for i in range(40) for v in range(2)]
        strict, loose = learnt("combined", pages[:30]), learnt("combined", pages, epsilon=0.1)
        assert strict.canonical("http://h/7?v=0")[0] != strict.canonical("http://h/7?v=1")[0]
        assert loose.canonical("http://h/99?v=0")[0] == loose.canonical("http://h/99?v=1")[0]


class TestConsensus:
    def test_gap_stands_where_one_sequence_is_shorter(self):
        assert consensus([["/", "a", "/", "b"], ["/", "b"]]) in (
            [{"/"}, {"a", ""}, {"/", ""}, {"b"}],
            [{"/", ""}, {"a", ""}, {"/"}, {"b"}],
        )
