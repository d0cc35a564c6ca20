"""http and https of one host: a page is fetched once where samples show that it is one, and nothing is lost."""

from __future__ import annotations

import pytest
from hostile.building import page, path, site
from hostile.scenario import KEY, Follower, Scenario, outcomes_of, reasons
from scrapy import Request
from web import HTML, redirect
from web import page as web_page

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.hosts.schemes import MAX_HOSTS, PROVED, Schemes
from scrapy_replica.crawldb.contract import Known, State
from scrapy_replica.decision import Outcome

HOST = "site.example"
N = 50


def both(of_https: dict[str, object]) -> dict[str, object]:
    """The site by http, each page of which links to the same by https, and *of_https*."""
    other = site(HOST, N, more=lambda number: [f"https://{HOST}{path(number)}"])
    return {**other, **of_https}


async def crawled(pages, *modes, seeds=(f"http://{HOST}/",), **more):
    scenario = Scenario(name="schemes", tried="", pages=lambda: pages, seeds=seeds, modes=modes, **more)
    return await outcomes_of(scenario)


def asked(crawled):
    return sorted(one.url for one in crawled.asked)


@pytest.mark.asyncio
async def test_a_page_is_fetched_by_one_scheme():
    demote, drop = await crawled(both(site(HOST, N, scheme="https")), "demote", "drop")
    for outcome in (demote, drop):
        assert not outcome.problems
        assert len(outcome.plain.asked) >= 2 * N
        # Some ten samples, and three at the end.
        assert len(outcome.ours.asked) < 1.5 * N
        assert reasons(outcome.ours)["other-scheme/drop"] > N / 3


@pytest.mark.asyncio
async def test_observing_saves_nothing():
    (outcome,) = await crawled(both(site(HOST, N, scheme="https")), "observe")
    assert asked(outcome.ours) == asked(outcome.plain)
    assert reasons(outcome.ours)["other-scheme/fetch"] > N / 3


@pytest.mark.asyncio
async def test_another_site_by_https_is_found_whole():
    demote, drop = await crawled(both(site(HOST, N, of="another work", scheme="https")), "demote", "drop")
    for outcome in (demote, drop):
        assert len(outcome.wanted) == 2 * N
        assert not outcome.problems
        assert asked(outcome.ours) == asked(outcome.plain)


def lists(scheme):
    """Forty lists of one text, each of which leads to a page of its own; nothing leads to them by https."""
    origin = f"{scheme}://{HOST}"
    pages = {
        f"{origin}/list?part={n}": page("list", [f"/piece/{n}"], says="all that there is, in parts " * 10)
        for n in range(40)
    }
    return pages | {f"{origin}/piece/{n}": page(f"piece {n}") for n in range(40)}


@pytest.mark.asyncio
async def test_what_is_asked_by_https_as_a_test_leads_no_further():
    """Each list that says what another says was asked by https, and all that it led to there was fetched."""
    parts = [f"http://{HOST}/list?part={n}" for n in range(40)]
    more = {f"http://{HOST}/parts": page("parts", parts), **lists("http"), **lists("https")}
    pages = {**both(site(HOST, N, scheme="https")), **more}
    outcomes = await crawled(pages, "demote", "drop", seeds=(f"http://{HOST}/", f"http://{HOST}/parts"))
    for outcome in outcomes:
        assert not outcome.problems
        extra = {*asked(outcome.ours)} - {*asked(outcome.plain)}
        assert not any("/piece/" in url for url in extra)
        assert len(extra) <= 20


def priced(number, scheme):
    """A page whose price stands beside its main text."""
    price = 10 * number + (number > 30 and scheme == "https")
    links = [f"https://{HOST}/g/{number}", f"http://{HOST}/g/{number + 1}"] if number + 1 < N else []
    html = web_page(links, seed=number, title=f"Goods {number}").replace("<ul>", f"<p>Costs {price}.50 EUR</p><ul>")
    return 200, {**HTML, KEY: f"{number} {price}"}, html


class Silent(Follower):
    """Gives no items, which would tell."""

    def parse(self, response):
        return (found for found in super().parse(response) if isinstance(found, Request))


@pytest.mark.asyncio
async def test_another_price_beside_one_text_is_another_page():
    """Where the text is one the rest was not looked at: 12 of 18 were lost."""
    pages = {f"{scheme}://{HOST}/g/{n}": priced(n, scheme) for scheme in ("http", "https") for n in range(N)}
    found = {"spider": Silent, "contents": lambda crawled: {one.key for one in crawled.asked}}
    (outcome,) = await crawled(pages, "demote", seeds=[f"http://{HOST}/g/0"], **found)
    assert len(outcome.wanted) == N + 18
    assert not outcome.problems


@pytest.mark.parametrize(
    "answer",
    [(200, {"Content-Type": "application/pdf"}, "%PDF"), page("", says="little")],
    ids=["file", "little text"],
)
@pytest.mark.asyncio
async def test_a_page_that_alone_leads_to_a_file_is_another(answer):
    """Nobody can tell whether a file is news, so it did not count: 22 of 27 were not asked for."""
    pages = both(site(HOST, N, scheme="https", more=lambda number: [f"/file/{number}"] * (number > 35)))
    files = dict.fromkeys((f"https://{HOST}/file/{number}" for number in range(36, N)), answer)
    (outcome,) = await crawled({**pages, **files}, "demote")
    assert files.keys() <= {one.url for one in outcome.ours.asked}


@pytest.mark.asyncio
async def test_pages_that_differ_late_are_found():
    """The last third is another work by https: what samples show of it ends the claim, and all comes back."""
    mixed = site(HOST, N, scheme="https") | dict(
        list(site(HOST, N, of="another", scheme="https").items())[2 * N // 3 :]
    )
    (outcome,) = await crawled(both(mixed), "demote")
    assert len(outcome.wanted) > N + 10
    assert not outcome.problems


@pytest.mark.asyncio
async def test_http_that_leads_to_https_costs_nothing_and_loses_nothing():
    secure = site(HOST, N, scheme="https", more=lambda number: [f"http://{HOST}{path(number + 1)}"])
    leading = {f"http://{HOST}{path(number)}": redirect(f"https://{HOST}{path(number)}", 301) for number in range(N)}
    demote, drop = await crawled({**secure, **leading}, "demote", "drop")
    for outcome in (demote, drop):
        assert not outcome.problems
        assert len(outcome.ours.asked) <= len(outcome.plain.asked)


@pytest.mark.asyncio
async def test_what_fails_by_the_scheme_that_stands_comes_back():
    """By http each tenth page fails, and is there by https alone."""
    pages = both(site(HOST, N, scheme="https"))
    pages |= {f"http://{HOST}{path(number)}": (500, {}, "") for number in range(10, N, 10)}
    (outcome,) = await crawled(pages, "demote", settings={"RETRY_ENABLED": False})
    assert len(outcome.wanted) == N
    assert not outcome.problems


class Things(Follower):
    """Reads things in a callback of their own."""

    def parse(self, response):
        for request in super().parse(response):
            is_thing = isinstance(request, Request) and "/thing-" in request.url
            yield request.replace(callback=self.parse_thing) if is_thing else request

    def parse_thing(self, response):
        yield {"key": f"thing {response.headers[KEY].decode()}"}


@pytest.mark.asyncio
async def test_what_failed_before_the_claim_acted_is_asked_for_its_callback():
    """The things that one page leads to are there by https alone; that page is the same by both, and not drawn."""
    things = [f"/thing-{number}" for number in range(8)]
    pages = both(site(HOST, N, scheme="https", more=lambda number: things if number == 2 else []))
    pages[f"http://{HOST}{path(2)}"] = pages[f"https://{HOST}{path(2)}"]
    pages |= {f"http://{HOST}{one}": (500, {}, "") for one in things}
    pages |= {f"https://{HOST}{one}": page(one, [], words=80) for one in things}
    (outcome,) = await crawled(pages, "demote", spider=Things, settings={"RETRY_ENABLED": False, "REPLICA_SEED": 1})
    assert len(outcome.wanted) == N + len(things)
    assert not outcome.problems


@pytest.mark.asyncio
async def test_the_user_may_switch_it_off():
    (outcome,) = await crawled(both(site(HOST, N, scheme="https")), "drop", settings={"REPLICA_DUST": False})
    assert "other-scheme" not in outcome.ours.ledger


class States:
    """URL -> how it stands."""

    def __init__(self, **known):
        self.known, self.missing = known, set()

    def of(self, url):
        return self.known.get(url)

    def is_missing(self, url):
        return url in self.missing


class Standings:
    """No claim is refuted, but for those in *refuted*."""

    def __init__(self, *refuted):
        self.refuted = refuted

    def is_refuted(self, claim):
        return claim in self.refuted


class Agreed:
    """As many samples agreed as are told."""

    def __init__(self, same=0):
        self.outcomes = {Outcome.SAME: same}

    def test_of(self, claim):
        assert claim == Claim(Kind.SCHEME, "a.example")
        return self


def schemes(same=0, refuted=(), **known):
    states = States(**{url: Known(number, state, None) for number, (url, state) in enumerate(known.items(), 1)})
    found = Schemes(states, Agreed(same), Standings(*refuted))
    for scheme in ("http", "https"):
        found.same_of(f"{scheme}://a.example/first", "a.example")
    return found


HTTP, HTTPS = "http://a.example/x", "https://a.example/x"


def test_only_a_host_met_by_both_is_looked_up():
    found = Schemes(States(**{HTTP: Known(1, State.DONE, None)}), Agreed(), Standings())
    assert found.same_of("https://a.example/y", "a.example") is None
    assert found.same_of(HTTPS, "a.example") is None
    found.same_of("http://a.example/z", "a.example")
    assert found.same_of(HTTPS, "a.example").url == HTTP


@pytest.mark.parametrize(
    ("state", "is_found"), [("DONE", True), ("WAITING", True), ("LEASED", True), ("DROPPED", False)]
)
def test_what_stands_was_fetched_or_waits(state, is_found):
    assert (schemes(**{HTTP: State[state]}).same_of(HTTPS, "a.example") is not None) is is_found


def test_of_two_that_wait_the_first_stays():
    found = schemes(**{HTTPS: State.WAITING, HTTP: State.WAITING})
    assert found.same_of(HTTPS, "a.example") is None
    assert found.same_of(HTTP, "a.example").url == HTTPS


def test_three_that_agree_prove_it():
    assert not schemes(PROVED - 1, **{HTTP: State.DONE}).same_of(HTTPS, "a.example").is_proved
    assert schemes(PROVED, **{HTTP: State.DONE}).same_of(HTTPS, "a.example").is_proved


def test_what_is_refuted_suppresses_nothing():
    claim = Claim(Kind.SCHEME, "a.example")
    found = schemes(PROVED, refuted=[claim], **{HTTP: State.DONE})
    assert found.same_of(HTTPS, "a.example") is None
    assert found.instead_of(HTTP, "a.example") is None
    assert schemes(PROVED).instead_of(HTTP, "a.example") == HTTPS
    assert schemes(PROVED - 1).instead_of(HTTP, "a.example") is None


def test_a_port_has_one_scheme():
    found = schemes(**{"http://a.example:8080/x": State.DONE})
    found.same_of("http://a.example:8080/x", "a.example:8080")
    assert found.same_of("https://a.example:8080/x", "a.example:8080") is None
    assert found.same_of("ftp://a.example/x", "a.example") is None


def test_hosts_are_forgotten_before_they_are_too_many(monkeypatch):
    monkeypatch.setattr("scrapy_replica.crawl.hosts.schemes.MAX_HOSTS", 10)
    found = Schemes(States(), Agreed(), Standings())
    for number in range(100):
        found.same_of(f"http://{number}.example/", f"{number}.example")
    assert len(found._met) <= 10 < MAX_HOSTS
