from __future__ import annotations

import json

import pytest

from scrapy_replica.urls.context import Condition, Fact
from scrapy_replica.urls.interchange import clean_param, dumps, loads, priors
from scrapy_replica.urls.rule import Rule, Step
from scrapy_replica.urls.rulebook import RuleBook

FOREIGN = [
    {"order": 2, "urlPattern": {"include": ["example.org"]}, "processor": "subpathRemoval", "args": [0]},
    {"order": 1, "urlPattern": {"include": ["example.org/shop/"]}, "processor": "queryRemoval", "args": ["sid", "utm"]},
    {"order": 3, "urlPattern": {"include": ["keep.org"]}, "processor": "queryRemovalExcept", "args": ["id"]},
    {"order": 4, "urlPattern": {"include": ["slash.org"]}, "processor": "normalizer"},
]


class TestLoads:
    def test_four_processors(self):
        book = RuleBook(loads(json.dumps(FOREIGN[1:])))
        assert (
            book.canonical("http://www.example.org/shop/a?sid=1&id=2&utm=3")[0] == "http://www.example.org/shop/a?id=2"
        )
        assert book.canonical("http://keep.org/?a=1&id=2")[0] == "http://keep.org/?id=2"
        assert book.canonical("http://slash.org/a/")[0] == "http://slash.org/a"
        assert RuleBook(loads(json.dumps(FOREIGN[:1]))).canonical("http://example.org/en")[0] == "http://example.org/"

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "{}",
            "[1]",
            '[{"processor": "queryRemoval"}]',
            '[{"urlPattern": {"include": ["a"]}, "processor": "fly", "args": ["x"]}]',
            '[{"urlPattern": {"include": ["a"], "exclude": ["b"]}, "processor": "normalizer"}]',
        ],
    )
    def test_what_is_not_understood_is_refused(self, text):
        with pytest.raises(ValueError, match=r"not|no |list|exclude"):
            loads(text)


class TestDumps:
    def test_comes_back_the_same(self):
        rules = loads(json.dumps(FOREIGN))
        assert [rule.transformation for rule in loads(dumps(rules).text)] == [rule.transformation for rule in rules]

    def test_what_has_no_words_there_is_returned(self):
        valued = Rule("h", (), (Step("drop", "limit", "50"),))
        nested = Rule("h", (Condition(Fact("q:x", "has", "")),), (Step("drop", "sid"),))
        exported = dumps([valued, nested])
        assert json.loads(exported.text) == []
        assert exported.left_out == (valued, nested)

    def test_the_package_itself_reads_it(self, tmp_path):
        canonicalizer = pytest.importorskip("duplicate_url_discarder.url_canonicalizer").UrlCanonicalizer
        path = tmp_path / "rules.json"
        path.write_text(dumps([Rule("h.org", (), (Step("drop", "sid"),))]).text)
        assert canonicalizer([path]).process_url("http://h.org/?sid=1&a=2") == "http://h.org/?a=2"


class TestCleanParam:
    def test_names_and_path(self):
        rule = clean_param("h", "sid&sort /forum/")
        assert RuleBook([rule]).canonical("http://h/forum/1?id=2&sid=3&sort=a")[0] == "http://h/forum/1?id=2"
        assert RuleBook([rule]).canonical("http://h/shop/1?sid=3")[0] == "http://h/shop/1?sid=3"

    def test_empty_line_is_none(self):
        assert clean_param("h", " ") is None


class TestPriors:
    def test_session_ids_are_among_them_and_names_do_not_repeat(self):
        names = [rule.transformation[0].key for rule in priors()]
        assert "PHPSESSID" in names
        assert len(names) == len(set(names))
