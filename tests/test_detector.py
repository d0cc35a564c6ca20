from __future__ import annotations

import dataclasses
import random
from itertools import combinations

import pytest
from replica_sites import GERMAN, page, site, text_of

from scrapy_replica.address import host_of
from scrapy_replica.lab.replicas.held import HeldDetector
from scrapy_replica.mining.obvious import taught
from scrapy_replica.records import Doubt
from scrapy_replica.sites.detector import MIN_LED
from scrapy_replica.sites.evidence import is_same_page, mark_of, path_of
from scrapy_replica.sites.features import Comparison
from scrapy_replica.sites.judge import Judge
from scrapy_replica.words.phrases import evidence_of

JUDGE = Judge.load()


def crawl(*sites, detector=None, links=True):
    """Hand the pages of the *sites* over in turn; blocked hosts are fetched no further. Returns all findings."""
    detector = detector or HeldDetector(JUDGE)
    found = []
    fetched = {}
    waiting = [list(pages) for pages in sites]
    while any(waiting):
        for pages in waiting:
            if not pages:
                continue
            if pages[0].host in detector.verdicts:
                pages.clear()
                continue
            each = pages.pop(0)
            fetched[each.host] = fetched.get(each.host, 0) + 1
            found.append(detector.add_fetched(each))
            if links:
                for link in each.links:
                    detector.add_url(host_of(link.url), path_of(link.url))
    return detector, found, fetched


def shuffled(pages, seed):
    return [pages[0], *random.Random(seed).sample(pages[1:], len(pages) - 1)]


class TestVerdicts:
    def test_a_copy_under_a_prefix_is_found_early(self):
        detector, found, fetched = crawl(site("a.example", "w", 40), site("b.example", "w", 40, prefix="/mirror/of"))
        verdict = next(verdict for each in found for verdict in each.verdicts)
        assert (verdict.copy, verdict.canonical) == ("b.example", "a.example")
        assert (verdict.copy_prefix, verdict.canonical_prefix) == ("mirror/of", "")
        assert fetched["b.example"] <= 10
        assert verdict.evidence["sm10"] > 0.8
        assert detector.copies.canonical("b.example") == "a.example"

    def test_every_other_visiting_order_is_probed_into_agreement(self):
        pages = site("a.example", "w", 60), shuffled(site("b.example", "w", 60), 1)
        _, found, fetched = crawl(*pages)
        assert any(each.probes for each in found)
        probe = next(probe for each in found for probe in each.probes)
        assert probe.is_known
        assert sum(len(each.probes) for each in found) <= 12
        assert fetched["b.example"] < 60

    def test_several_copies_come_to_one_canonical(self):
        detector, _, _ = crawl(*(site(f"{name}.example", "w", 30) for name in "abcd"))
        assert {detector.copies.canonical(f"{name}.example") for name in "abcd"} == {"a.example"}

    def test_redirects_choose_the_canonical(self):
        first = site("a.example", "w", 30)
        second = [
            dataclasses.replace(each, redirected_from=(each.url.replace("b.example", "a.example"),))
            for each in shuffled(site("b.example", "w", 30), 1)
        ]
        detector, _, _ = crawl(first, second)
        assert list(detector.verdicts) == ["a.example"]

    def test_open_redirects_choose_nothing(self):
        led = [
            dataclasses.replace(each, redirected_from=(f"http://a.example/goto?to={each.url}",))
            for each in site("b.example", "w", 30)
        ]
        detector, _, _ = crawl(site("a.example", "w", 30), led)
        assert list(detector.verdicts) == ["b.example"]

    def test_other_sites_languages_and_versions_are_left_alone(self):
        detector, _, _ = crawl(
            site("a.example", "w", 30, title=" 3.5"),
            site("b.example", "v", 30),
            site("c.example", "w", 30, words=GERMAN),
            site("d.example", "w", 30, title=" 3.6", edit=0.02),
        )
        assert not detector.verdicts


def told(host, name, n=30, say=lambda number, rng: ""):
    """The *n* pages of the work *name*, each with what *say* says on *host*, drawn by host and page."""
    pages = site(host, name, n)
    return [
        page(
            host,
            each.url.partition(host)[2],
            f"{each.text} {say(number, random.Random(f'{host}{number}'))}",
            title=each.title,
            links=[link.url for link in each.links],
        )
        for number, each in enumerate(pages)
    ]


class TestFacts:
    """Hosts whose texts are one and which state different things, and copies whose pages differ in what passes."""

    @pytest.mark.parametrize("n_hosts", [3, 10])
    def test_shops_of_countries_are_no_copies(self, n_hosts):
        currencies = ["EUR", "CHF", "GBP", "PLN", "SEK", "DKK", "NOK", "CZK", "HUF", "RON"][:n_hosts]
        detector, _, _ = crawl(
            *(
                told(f"{c}.example", "w", say=lambda _, rng, c=c: f"{rng.randint(5, 500)}.{rng.randint(10, 99)} {c}")
                for c in map(str.upper, currencies)
            )
        )
        assert not detector.verdicts

    def test_one_currency_and_other_prices_beside_equal_data_sheets(self):
        def say(number, rng):
            return f"{number + 3} mm, {number + 40} W, {number + 7} kg, 230 V: {rng.randint(5, 5_000)}.99 EUR"

        detector, _, _ = crawl(*(told(f"{country}.example", "w", say=say) for country in ("de", "at")))
        assert not detector.verdicts

    def test_tenants_that_have_numbers_of_their_own(self):
        def say(_, rng):
            return f"your contract {rng.randint(10**6, 10**7)}, used {rng.randint(1, 999)} of {rng.randint(999, 9_999)}"

        detector, _, _ = crawl(*(told(f"{name}.example", "w", say=say) for name in "ab"))
        assert not detector.verdicts

    def test_two_country_shops_that_a_third_host_is_like_are_not_joined_through_it(self):
        without_prices = told("c.example", "w")
        shops = (told(f"{name}.example", "w", say=lambda _, rng: f"{rng.randint(5, 5_000)} EUR") for name in "ab")
        detector, _, _ = crawl(without_prices, *shops)
        assert detector.copies.canonical("a.example") != detector.copies.canonical("b.example")

    @pytest.mark.parametrize(
        "say",
        [
            lambda number, rng: f"{number * 7 + 12}.95 EUR, viewed {rng.randint(1, 99_999)} times",
            lambda _, rng: f"Last modified: {rng.randint(1, 28)} March 2024 {rng.randint(0, 23)}:{rng.randint(10, 59)}",
            lambda _, rng: f"Visitors: {rng.randint(1, 99_999)}, generated in 0.{rng.randint(10, 999)} seconds",
            lambda number, rng: f"{number * 7 + 12}.95 EUR" if rng.random() < 0.9 else f"{rng.randint(5, 99)}.5 EUR",
        ],
        ids=["views", "dates", "visitors", "stale prices"],
    )
    def test_copies_are_found_whatever_passes_on_their_pages(self, say):
        detector, _, fetched = crawl(*(told(f"{name}.example", "w", 40, say=say) for name in "ab"))
        assert detector.copies.canonical("b.example") == "a.example"
        assert fetched["b.example"] <= 20

    def test_pairs_that_state_other_things_teach_the_judge_nothing(self):
        shops = [told(f"{name}.example", "w", say=lambda _, rng: f"{rng.randint(5, 5_000)} EUR") for name in "ab"]
        detector, _, _ = crawl(*shops)
        compared = Comparison(*(detector.candidates.host(f"{name}.example") for name in "ab"), ("", ""))
        assert len(compared.aligned) >= 3
        assert taught(JUDGE, [(True, compared)]) is JUDGE


class TestItems:
    """What callbacks make of pages."""

    @staticmethod
    def crawl(items_of, n=30, *, need=True, sites=None):
        """Two hosts with one text a page, fetched in turn, of which a callback makes *items_of* host and number."""
        detector = HeldDetector(JUDGE, need_items=lambda *_: need)
        for pages in zip(*(sites or (site(f"{name}.example", "w", n) for name in "ab")), strict=True):
            for host, each in enumerate(pages):
                number = int("".join(filter(str.isdigit, each.title)) or 0)
                if each.host in detector.verdicts:
                    continue
                detector.add_fetched(each)
                for link in each.links:
                    detector.add_url(host_of(link.url), path_of(link.url))
                if items := items_of(host, number):
                    detector.add_items(each.host, path_of(each.url), items)
        return detector

    def test_hosts_that_need_items_are_one_where_three_pages_agree(self):
        detector = self.crawl(lambda _, number: 100 + number)
        assert detector.copies.canonical("b.example") == "a.example"
        # Its start page and three others: the verdict comes with the items of the third, not with another page.
        assert detector.candidates.host("b.example").n_pages <= 4

    def test_hosts_that_need_items_are_two_where_few_pages_give_any(self):
        detector = self.crawl(lambda _, number: 100 + number if number < 2 else 0)
        assert not detector.verdicts

    def test_hosts_whose_items_differ_are_two_whether_they_need_them_or_not(self):
        for need in (True, False):
            assert not self.crawl(lambda host, number: 1_000 * host + number + 1, need=need).verdicts

    def test_items_outweigh_what_the_text_states(self):
        shops = [told(f"{name}.example", "w", say=lambda _, rng: f"{rng.randint(5, 5_000)} EUR") for name in "ab"]
        detector = self.crawl(lambda _, number: 100 + number, sites=shops)
        assert detector.copies.canonical("b.example") == "a.example"


class TestCommonLayouts:
    def test_copies_are_found_where_hundreds_of_hosts_have_the_same_paths(self):
        others = [site(f"h{number}.example", f"v{number}", 6) for number in range(120)]
        detector, _, _ = crawl(
            *others, site("a.example", "w", 30, prefix="/x"), site("b.example", "w", 30, prefix="/y/z")
        )
        assert detector.copies.canonical("b.example") == "a.example"
        assert len(detector.verdicts) == 1


class TestBadInput:
    def test_hosts_with_one_page(self):
        detector, _, _ = crawl(*(site(f"h{number}.example", "w", 1) for number in range(5)))
        assert not detector.verdicts

    def test_one_text_for_every_page_makes_no_group(self):
        def parked(host):
            text = text_of("this domain is for sale")
            return [page(host, f"/page-{number}", text, title="For sale") for number in range(30)]

        detector, _, _ = crawl(*(parked(f"h{number}.example") for number in range(20)))
        assert not detector.verdicts

    def test_soft_404_behind_different_front_pages_makes_no_group(self):
        def shop(host):
            pages = [page(host, f"/item-{number}", text_of("not found")) for number in range(30)]
            return [page(host, "/", text_of(host)), page(host, "/about", text_of(host + "about")), *pages]

        detector, _, _ = crawl(*(shop(f"h{number}.example") for number in range(6)))
        assert not detector.verdicts

    def test_two_unrelated_sites_on_one_template(self):
        menu = text_of("menu", 60)

        def templated(host):
            return [
                dataclasses.replace(page(host, f"/page-{n}", f"{menu} {text_of(f'{host}{n}', 150)}", title=f"Page {n}"))
                for n in range(30)
            ]

        detector, _, _ = crawl(templated("a.example"), templated("b.example"))
        assert not detector.verdicts

    def test_wildcard_names_collapse_to_one_host(self):
        detector = HeldDetector(JUDGE)
        for number in range(8):
            crawl(site(f"w{number}.example", "w", 15), site("w0.example", "w", 15), detector=detector)
        assert {detector.copies.canonical(f"w{number}.example") for number in range(8)} == {"w0.example"}

    def test_thousands_of_wildcard_names_at_once_stay_linear(self):
        # with one page each there is nothing to judge, and lists of more than 100 hosts keep nothing
        detector = HeldDetector(JUDGE)
        for number in range(1500):
            detector.add_fetched(site(f"w{number}.example", "w", 1)[0])
        assert not detector.verdicts
        assert len(detector.candidates.pairs) <= 100 * 101 / 2

    @pytest.mark.parametrize("ip", [None, "2001:db8::1", "192.0.2.1"])
    def test_addresses_are_no_evidence(self, ip):
        pages = [[dataclasses.replace(each, ip=ip) for each in site(f"{name}.example", name, 20)] for name in "ab"]
        assert not crawl(*pages)[0].verdicts

    def test_a_site_that_turns_into_a_copy(self):
        own = site("b.example", "own", 4)
        turned = site("b.example", "w", 60)[4:]
        detector, _, _ = crawl(site("a.example", "w", 60), [*own, *turned])
        assert detector.copies.canonical("b.example") == "a.example"

    def test_a_copy_that_was_let_go_may_be_found_out_as_one_of_another_host(self):
        detector, _, _ = crawl(site("a.example", "w", 40), site("b.example", "w", 40))
        detector.withdraw("b.example")
        assert not crawl(site("b.example", "own", 40), detector=detector)[0].verdicts
        crawl(site("c.example", "own", 40), detector=detector)
        assert detector.copies.canonical("c.example") == "b.example"


class TestChains:
    def test_a_verdict_that_would_join_contradicting_hosts_is_reported(self):
        detector = HeldDetector(JUDGE)
        # a ~ b; c holds a's first pages and later other ones, b and c are known to differ
        crawl(site("a.example", "w", 20), site("b.example", "w", 20), detector=detector)
        assert detector.copies.canonical("b.example") == "a.example"
        detector.keep_apart("b.example", "c.example")
        _, found, _ = crawl(site("c.example", "w", 20), detector=detector)
        assert any(pair.doubt is Doubt.CONFLICT for each in found for pair in each.uncertain)
        assert "c.example" not in detector.verdicts


class TestByHandAndAfterRestart:
    def blocked(self):
        return crawl(site("a.example", "w", 20), site("b.example", "w", 20, prefix="/m"))[0]

    def test_urls_of_a_copy_are_rewritten_where_the_canonical_has_them(self):
        detector = self.blocked()
        assert detector.copies.canonical_place("b.example", "/m/chapter-3.html") == ("a.example", "/chapter-3.html")
        assert detector.copies.canonical_place("b.example", "/m/only-here.html") is None
        assert detector.copies.canonical_place("b.example", "/elsewhere.html") is None
        assert detector.copies.canonical_place("a.example", "/chapter-3.html") is None

    def test_an_argument_that_changes_nothing_on_the_copy_is_left_out(self):
        def with_session(argument, text_of_page):
            return [text_of_page(each, f"{each.url}?{argument}") for each in site("b.example", "w", 20)]

        def again(each, url):
            return dataclasses.replace(each, url=url)

        def other(each, url):
            return page("b.example", path_of(url), text_of(url))

        detector, _, _ = crawl(
            site("a.example", "w", 20), with_session("sid=7", again)[:6] + site("b.example", "w", 20)
        )
        assert detector.copies.canonical_place("b.example", "/chapter-9.html?sid=8") == ("a.example", "/chapter-9.html")
        assert detector.copies.canonical_place("b.example", "/chapter-9.html?page=2") is None
        assert detector.copies.canonical_place("b.example", "/only-here.html?sid=8") is None
        # what changes the page keeps it from being another spelling
        paged = with_session("page=7", other)[:6]
        detector, _, _ = crawl(site("a.example", "w", 20), paged + site("b.example", "w", 20))
        assert detector.verdicts
        assert detector.copies.canonical_place("b.example", "/chapter-9.html?page=8") is None

    def test_an_allowed_host_is_never_blocked_again(self):
        detector = self.blocked()
        assert [verdict.copy for verdict in detector.allow("b.example")] == ["b.example"]
        crawl(site("b.example", "w", 20, prefix="/m"), detector=detector)
        assert not detector.verdicts

    def test_verdicts_survive_a_restart(self):
        verdict = self.blocked().verdicts["b.example"]
        detector = HeldDetector(JUDGE)
        detector.copies.enter(verdict)
        assert detector.copies.canonical("b.example") == "a.example"
        crawl(site("a.example", "w", 20), site("c.example", "w", 20), detector=detector)
        assert set(detector.verdicts) == {"b.example", "c.example"}

    def test_what_was_learnt_from_others_finds_copies_as_before(self):
        detector, _, _ = crawl(*(site(f"{name}.example", name, 20) for name in "abcd"))
        hosts = [detector.candidates.host(f"{name}.example") for name in "abcd"]
        detector.judge = taught(JUDGE, ((False, Comparison(*pair, ("", ""))) for pair in combinations(hosts, 2)))
        assert detector.judge.lac.cube.counts.sum() > JUDGE.lac.cube.counts.sum()
        assert detector.judge.threshold >= JUDGE.threshold
        crawl(site("e.example", "a", 20), detector=detector)
        assert detector.copies.canonical("e.example") == "a.example"


class TestIsSamePage:
    def test_small_edits_are_the_same_and_other_texts_are_not(self):
        one = page("a.example", "/x", text_of(1))
        assert is_same_page(mark_of(one), mark_of(page("b.example", "/x", text_of(1) + " and one more")))
        assert not is_same_page(mark_of(one), mark_of(page("b.example", "/x", text_of(2))))


class TestRedirects:
    """A host all of whose URLs lead to their places on another one, as the former name of a site, is a copy of that."""

    def led(self, detector, n, other="new.example", first=0):
        found = [detector.add_redirect("old.example", f"/{one}", other, f"/{one}") for one in range(first, first + n)]
        return [verdict for each in found for verdict in each.verdicts]

    @pytest.fixture(autouse=True)
    def _site(self, monkeypatch):
        """The host that is led to has a page."""
        make = HeldDetector.__init__

        def with_page(self, *args, **more):
            make(self, *args, **more)
            self.add_fetched(page("new.example", "/", text_of("home", 0)))

        monkeypatch.setattr(HeldDetector, "__init__", with_page)

    def test_hosts_that_lead_on_without_end_are_none(self):
        detector = HeldDetector(JUDGE)
        assert self.led(detector, 5 * MIN_LED, other="next.example") == []

    def test_it_is_found(self):
        detector = HeldDetector(JUDGE)
        assert self.led(detector, MIN_LED - 1) == []
        (verdict,) = self.led(detector, 3, first=MIN_LED)
        assert (verdict.copy, verdict.canonical, verdict.n_aligned) == ("old.example", "new.example", MIN_LED)
        assert evidence_of(verdict) == [f"URLs that lead to their own places there: {MIN_LED}"]
        assert detector.copies.canonical("old.example") == "new.example"

    def test_leading_to_the_other_scheme_first_says_nothing(self):
        detector = HeldDetector(JUDGE)
        for one in range(MIN_LED):
            detector.add_redirect("old.example", f"/{one}", "old.example", f"/{one}")
            assert bool(self.led(detector, 1, first=one)) == (one == MIN_LED - 1)

    @pytest.mark.parametrize(("other", "place"), [("new.example", "/"), ("third.example", "/7"), ("old.example", "/8")])
    def test_one_that_leads_elsewhere_speaks_against_it(self, other, place):
        detector = HeldDetector(JUDGE)
        self.led(detector, MIN_LED - 1)
        detector.add_redirect("old.example", "/7", other, place)
        assert self.led(detector, 5 * MIN_LED, first=9) == []

    def test_a_page_of_its_own_does(self):
        detector = HeldDetector(JUDGE)
        detector.add_fetched(page("old.example", "/about", text_of("about", 0)))
        assert self.led(detector, 5 * MIN_LED) == []

    def test_what_a_person_said_does(self):
        detector, other = HeldDetector(JUDGE), HeldDetector(JUDGE)
        detector.keep_apart("new.example", "old.example")
        other.never_judge("old.example")
        assert self.led(detector, 5 * MIN_LED) == self.led(other, 5 * MIN_LED) == []

    def test_no_two_hosts_are_copies_of_each_other(self):
        detector = HeldDetector(JUDGE)
        self.led(detector, MIN_LED)
        found = [
            detector.add_redirect("new.example", f"/{one}", "old.example", f"/{one}") for one in range(5 * MIN_LED)
        ]
        assert not any(each.verdicts for each in found)
