from __future__ import annotations

import math
from dataclasses import replace

import pytest
from replica_sites import GERMAN, page, site, text_of

from scrapy_replica.lab.replicas.replica_published import Collection, address_groups, is_obvious_replica
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.evidence import HostEvidence, is_same_page, mark_of, path_of
from scrapy_replica.sites.features import FEATURES, Comparison


def evidence(name, pages):
    host = HostEvidence(name)
    for each in pages:
        path = normal_path(path_of(each.url))
        host.add_path(path, path_of(each.url))
        host.add_page(path, mark_of(each))
    return host


def compared(first, second, prefixes=("", "")):
    return Comparison(evidence("a.example", first), evidence("b.example", second), prefixes)


def value(name, *arguments, **keywords):
    return FEATURES[name](compared(*arguments, **keywords))


A = site("a.example", "w")


class TestStatesOther:
    def priced(self, host, factor):
        pages = (f"{each.text} for {number * factor + 5} EUR" for number, each in enumerate(site(host, "w")))
        return [page(host, f"/{number}", text) for number, text in enumerate(pages)]

    def test_other_prices_of_most_pages_and_prices_of_one_host_only(self):
        mine = self.priced("a.example", 1)
        assert compared(mine, self.priced("b.example", 3)).states_other
        assert compared(mine, self.priced("b.example", 1)[:4] + self.priced("b.example", 3)[4:]).states_other
        assert not compared(mine, self.priced("b.example", 1)[:7] + self.priced("b.example", 3)[7:]).states_other
        without = [page("b.example", f"/{number}", each.text) for number, each in enumerate(site("b.example", "w"))]
        assert compared(mine, without).states_other
        assert not compared(without, without).states_other

    def test_one_page_tells_nothing(self):
        assert not compared(self.priced("a.example", 1)[:2], self.priced("b.example", 3)[1:2]).states_other

    def test_pages_of_which_nothing_is_known_tell_nothing(self):
        pair = compared(self.priced("a.example", 1), self.priced("b.example", 3))
        pair.second.pages.update({path: replace(mark, offers=None) for path, mark in pair.second.pages.items()})
        assert not pair.states_other


class TestLeadsApart:
    """Where URLs in the same places of two hosts lead."""

    def pair(self, mine, theirs, n_pages=12, prefixes=("", "")):
        pair = compared(A[:n_pages], site("b.example", "w")[:n_pages], prefixes)
        for evidence, places in ((pair.first, mine), (pair.second, theirs)):
            for number, place in enumerate(places):
                evidence.add_redirect(f"go/{number}", place)
        return pair.leads_apart

    def test_three_that_lead_to_other_hosts_or_pages(self):
        assert self.pair(["x.example/1", "x.example/2", "x.example/3"], ["y.example/1", "y.example/2", "y.example/3"])
        assert self.pair(["x.example/a", "x.example/b", "x.example/c"], ["x.example/d", "x.example/e", "x.example/f"])
        assert not self.pair(["x.example/1", "x.example/2"], ["y.example/1", "y.example/2"])

    def test_each_to_its_own_page_or_to_the_other_host(self):
        mine = ["a.example/shop/1", "b.example/shop/2", "a.example/shop/3"]
        assert not self.pair(mine, [place.replace("a.example", "b.example") for place in mine])

    def test_one_in_twenty_may(self):
        same = [f"x.example/{number}" for number in range(60)]
        assert not self.pair([*same, "x.example/a", "x.example/b", "x.example/c"], [*same, "y/a", "y/b", "y/c"])

    def test_a_page_that_comes_in_place_of_a_redirect_ends_it(self):
        host = evidence("a.example", A[:1])
        host.add_redirect("go/1", "x.example/1")
        host.add_page("go/1", mark_of(A[0]))
        assert not host.redirects

    def test_below_prefixes_nothing_is_told(self):
        assert not self.pair(["x.example/1"] * 3, ["y.example/1"] * 3, prefixes=("", "m"))


class TestAligned:
    def test_pages_at_equal_relative_paths(self):
        assert len(compared(A, site("b.example", "w", prefix="/m"), ("", "m")).aligned) == 12

    def test_one_text_for_everything_counts_once(self):
        same = [page("a.example", each.url[16:], text_of("soft 404")) for each in A]
        assert len(compared(same, site("b.example", "w")).aligned) == 1
        assert len(compared(site("b.example", "w"), same).aligned) == 1

    def test_short_pages_are_left_out(self):
        assert compared([page("a.example", "/x", "too short")], [page("b.example", "/x", "too short")]).aligned == []

    @pytest.mark.parametrize(("items", "n_aligned"), [((1, 1), 1), ((1, 2), 1), ((1, 0), 0)])
    def test_short_pages_tell_by_what_a_callback_made_of_them(self, items, n_aligned):
        pair = compared([page("a.example", "/x", "too short")], [page("b.example", "/x", "too short")])
        for host, made in zip((pair.first, pair.second), items, strict=True):
            host.add_items(normal_path("/x"), made)
        assert len(pair.aligned) == n_aligned
        assert all(is_same_page(a, b) == (a.items == b.items) for a, b in pair.aligned)


class TestFeatures:
    def test_a_copy(self):
        copy = site("b.example", "w")
        shares = {name: value(name, A, copy) for name in ("cknown", "sm10", "bj25", "bj50", "teq", "lsame")}
        assert shares["cknown"] == 1.0
        # 12 of 12, shrunk towards the prior as by one more page
        assert shares["sm10"] == shares["teq"] == pytest.approx(12.3 / 13)
        assert shares["bj25"] == shares["bj50"] == pytest.approx(12.3 / 13)
        assert shares["lsame"] == pytest.approx(12.7 / 13)
        assert value("tnum", A, copy) == 0.0

    def test_another_site_of_the_same_layout(self):
        other = site("b.example", "v")
        assert value("cknown", A, other) == 1.0
        assert value("sm10", A, other) < 0.1
        assert value("bj25", A, other) < 0.1
        assert value("teq", A, other) < 0.1

    def test_edits_lower_shingles_before_paths(self):
        edited = site("b.example", "w", edit=0.1)
        assert 0.3 < value("bj25", A, edited) <= value("bj50", A, edited) < 0.8
        assert value("cknown", A, edited) == 1.0

    def test_another_version_shows_in_the_titles(self):
        old, new = site("a.example", "w", title=" 3.5"), site("b.example", "w", title=" 3.6")
        assert value("tnum", old, new) == pytest.approx(12 / 13)
        assert value("teq", old, new) < 0.1

    @pytest.mark.parametrize("later", [" 4", " 3.5.1", " 10.0rc1", " 3.6.0.dev3"])
    def test_a_version_of_more_or_fewer_parts_is_another_number(self, later):
        old, new = site("a.example", "w", title=" 3.5 manual"), site("b.example", "w", title=f"{later} manual")
        assert value("tnum", old, new) == pytest.approx(12 / 13)

    def test_titles_that_end_with_the_name_of_a_host(self):
        copy = site("b.example", "w", title=" - Manuals for everybody")
        assert value("teq", A, copy) == value("teq", copy, A) == pytest.approx(12.3 / 13)
        for mine, other in ((" | One", " | Two"), (" \u2014 Work 3.5", ""), ("", "-Work")):
            assert value("teq", site("a.example", "w", title=mine), site("b.example", "w", title=other)) < 0.1
        untitled = [page("a.example", each.url[16:], each.text, title="") for each in A]
        assert value("teq", untitled, copy) < 0.1

    def test_another_language(self):
        assert value("lsame", A, site("b.example", "w", words=GERMAN)) < 0.1

    def test_nothing_aligned_is_unknown_not_zero(self):
        other = [page("b.example", "/elsewhere", text_of(9))]
        for name in ("sm10", "bj25", "bj50", "teq", "lsame", "tnum"):
            assert math.isnan(value(name, A, other))

    def test_versions_in_names_and_prefixes(self):
        pair = compared(A, A)
        assert math.isnan(FEATURES["vmark"](pair))
        for first, second, expected in (
            ("docs-3.5.example", "docs-3.6.example", 1.0),
            ("x-2014.example", "2014.x.example", 0.0),
        ):
            both = Comparison(HostEvidence(first), HostEvidence(second), ("", ""))
            assert FEATURES["vmark"](both) == expected

    @pytest.mark.parametrize("hosts", [("192.0.2.4:8080", "192.0.2.5:8080"), ("[2001:db8::1]", "[1987:db8::2]:81")])
    def test_addresses_carry_no_versions(self, hosts):
        """Of a copy at another address 364 of 512 pages were fetched before it was known, in place of 44."""
        assert math.isnan(FEATURES["vmark"](Comparison(*map(HostEvidence, hosts), ("", ""))))
        old, new = Comparison(*map(HostEvidence, hosts), ("/3.5", "/3.6")), 1.0
        assert FEATURES["vmark"](old) == new

    def test_alternates(self):
        first, second = HostEvidence("a.example"), HostEvidence("b.example")
        pair = Comparison(first, second, ("", ""))
        assert math.isnan(FEATURES["hreflang"](pair))
        second.alternates_to["a.example"] += 1
        assert FEATURES["hreflang"](pair) == 1.0


class TestPublished:
    def collection(self):
        collection = Collection()
        collection.add("www.books.example", ["/a", "/b", "/index"], "192.0.2.1")
        collection.add("books.example", ["/a", "/b", "/c"], "192.0.2.1")
        collection.add("cars.example", ["/index"], "192.0.2.9")
        collection.add("v6.example", [], "2001:db8::1")
        collection.add("nowhere.example", ["/a"], None)
        return collection

    def test_by_hand(self):
        ndist, nmatch, ip4, ip3, fullpath = self.collection().values("books.example", "www.books.example")
        assert ndist == 4.0
        # books: df 2, example: df 5, www: df 1
        books, example, www = math.log(5) / (1 + math.log(2)), math.log(7) / (1 + math.log(5)), math.log(3)
        dot = books**2 + example**2
        assert nmatch == pytest.approx(dot / math.sqrt(dot * (dot + www**2)))
        assert (ip4, ip3) == (1.0, 0.5)
        a, b, c, index = 1 + math.log(100 / 3), 1 + math.log(100 / 2), 1 + math.log(100), 1 + math.log(100 / 2)
        dot = a**2 + b**2
        assert fullpath == pytest.approx(dot / math.sqrt((dot + c**2) * (dot + index**2)))

    def test_addresses(self):
        collection = self.collection()
        assert collection.values("cars.example", "books.example")[2:4] == [0.0, 0.5]
        assert collection.values("v6.example", "books.example")[2:4] == [0.0, 0.0]
        assert all(math.isnan(value) for value in collection.values("nowhere.example", "books.example")[2:4])
        assert address_groups("2001:db8::1") == ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:0db8:0000:0000")
        assert address_groups(None) == ()

    def test_paths_of_more_than_100_hosts_are_left_out(self):
        collection = Collection()
        for number in range(101):
            collection.add(f"h{number}.example", ["/index"], None)
        assert collection.fullpath("h1.example", "h2.example") == 0.0

    def test_obvious_replicas(self):
        assert is_obvious_replica("www.a.com", "a.com")
        assert is_obvious_replica("a.com", "www.a.net")
        assert is_obvious_replica("exemplo.gov.br", "exemplo.br")
        assert not is_obvious_replica("com", "org")
        assert not is_obvious_replica("www.gov.br", "br")
        assert not is_obvious_replica("b.com", "a.com")
        assert not is_obvious_replica("docs.a.com", "a.com")

    def test_two_users_of_one_platform_are_not_obvious(self):
        assert not is_obvious_replica("a.github.io", "b.github.io")
        assert not is_obvious_replica("a.github.io", "a.gitlab.io")

    def test_names_without_a_public_suffix_are_compared_as_they_are(self):
        assert is_obvious_replica("a.example", "www.a.example")
        assert not is_obvious_replica("a.example", "a.test")
        assert not is_obvious_replica("192.0.2.1", "192.0.2.2")
