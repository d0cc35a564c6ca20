from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.sites.alignment import Election, joined, normal_path, relative, suffixes, unshared


class TestNormalPath:
    @pytest.mark.parametrize(
        ("path", "normal"),
        [
            ("/", ""),
            ("/index.html", ""),
            ("/docs/Default.aspx", "docs"),
            ("/docs/intro.html", "docs/intro"),
            ("//docs//intro/", "docs/intro"),
            ("/a/page.tar.gz", "a/page.tar.gz"),
            ("/blog/?p=1", "blog/?p=1"),
            ("/index.php?p=1&q=/x/y", "?p=1&q=/x/y"),
            ("/a/b?", "a/b"),
            ("/a/b.html?sid=5scevl7b", "a/b"),
            ("/a/b.html?sid=zdt52epu", "a/b"),
            ("/a/b.html?sid=ltgbzsj3", "a/b"),
            ("/a/b.html?sid=story12", "a/b/?sid=story12"),
            ("/a/b.php;jsessionid=1C9BE0A72F?p=1&PHPSESSID=qk3v9s8t2m", "a/b/?p=1"),
            ("/a/b?sid=5scevl7b&p=1&q=2", "a/b/?p=1&q=2"),
            ("/story?sid=20210304", "story/?sid=20210304"),
            ("/story?sid=politics&x=1", "story/?sid=politics&x=1"),
            ("/a?residents=5scevl7b", "a/?residents=5scevl7b"),
            ("/%7Euser/a.htm", "~user/a"),
        ],
    )
    def test_table(self, path, normal):
        assert normal_path(path) == normal


class TestSuffixes:
    def test_cuts_leading_segments_but_five_at_most(self):
        assert suffixes("a/b/c") == [("", "a/b/c"), ("a", "b/c"), ("a/b", "c")]
        assert [suffix for _, suffix in suffixes("1/2/3/4/5/6/7")][-1] == "6/7"

    def test_a_query_alone_is_no_evidence(self):
        # "?p=1" under any directory is what every blog has
        assert suffixes("blog/?p=1") == [("", "blog/?p=1")]
        assert suffixes("") == []

    @given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
    def test_prefix_and_suffix_make_the_path(self, segments):
        path = "/".join(segments)
        for prefix, suffix in suffixes(path):
            assert joined(prefix, suffix) == path
            assert relative(path, prefix) == suffix


class TestRelative:
    def test_only_whole_segments_count(self):
        assert relative("docs2/a", "docs") is None
        assert relative("docs", "docs") == ""
        assert relative("docs/a", "docs") == "a"
        assert relative("docs/a", "") == "docs/a"


class TestUnshared:
    def test_table(self):
        assert unshared("a/b/one", "c/one") == ("a/b", "c")
        assert unshared("a/b/one", "b/one") == ("a", "")
        assert unshared("one", "two") is None
        assert unshared("", "") is None


class TestElection:
    def test_most_votes_win(self):
        election = Election()
        for name in ("intro", "usage"):
            for prefix, _ in suffixes(f"book/{name}"):
                election.add(("", prefix) if not prefix else (prefix, ""), 2)
        election.add(("book", ""), 2)
        assert election.winner() == ("book", "")

    def test_ties_go_to_the_shortest(self):
        election = Election()
        for prefix, _ in suffixes("a/b/c"):
            election.add((prefix, prefix), 2)
        assert election.winner() == ("", "")

    def test_rare_suffixes_weigh_more(self):
        election = Election()
        election.add(("a", ""), 100)
        election.add(("b", ""), 2)
        assert election.winner() == ("b", "")

    def test_nothing_shared_aligns_roots(self):
        assert Election().winner() == ("", "")
