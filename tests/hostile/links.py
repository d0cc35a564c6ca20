"""Hosts that want to be kept in place of others: with links, redirects, https and canonical links that they arrange."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from web import HTML, redirect

from hostile.building import Answer, Site, first, page, path, site, text
from hostile.copies import BAD, GOOD, top
from hostile.scenario import Scenario
from scrapy_replica.components.fingerprinter import UrlFingerprints

SECURE = f"https://{BAD}/"
N = 100
"""Pages of a site: enough for a verdict to come into force and to act on most of them."""


def mirror() -> Site:
    """Two honest hosts of one site, all of it: what the add-on is for."""
    return {**site(GOOD, N), **site("mirror.example", N, of=GOOD)}


def circle() -> Site:
    """Two mirrors; the one met second is the canonical one."""
    copy = site("mirror.example", N, of=GOOD, head=lambda k: f'<link rel="canonical" href="http://{GOOD}{path(k)}">')
    return {**copy, **site(GOOD, N)}


def partial_mirror() -> Site:
    """An old mirror, met first, with a third of the pages."""
    return {**site(GOOD, N), **first(site("mirror.example", N, of=GOOD), 0.33)}


def stale_mirror() -> Site:
    """A mirror, met first, whose every fifth page is as it was long ago, and which has ten pages that are gone."""
    old = site(
        "mirror.example",
        N,
        of=GOOD,
        says=lambda k: text(("old", k)) if k % 5 == 0 else None,
        more=lambda k: [f"/gone-{number}.html" for number in range(10)] if k == 0 else [],
    )
    old = {
        url: (status, {**headers, "X-Key": f"old {url}"} if url.endswith(("0.html", "5.html")) else headers, html)
        for url, (status, headers, html) in old.items()
    }
    gone = {f"http://mirror.example/gone-{number}.html": page(f"gone {number}", ["/"]) for number in range(10)}
    return {**old, **gone, **site(GOOD, N)}


def own_pages(answer_elsewhere: Any = None) -> Any:
    """A mirror that has 30 pages of its own; the canonical host answers their paths with *answer_elsewhere*."""
    own = [f"/more/own-{number}.html" for number in range(30)]
    pages = {
        **site(GOOD, N),
        **site("mirror.example", N, of=GOOD, more=lambda k: own[k % 30 : k % 30 + 1] if k < 60 else []),
        **{f"http://mirror.example{one}": page(f"own {one}", ["/"]) for one in own},
    }

    def answer(request: Request) -> Any:
        found = pages.get(request.url)
        if found is None and answer_elsewhere is not None and GOOD in request.url:
            return answer_elsewhere(request)
        return found

    return answer


def soft_missing(request: Request) -> Answer:
    said = f"we are sorry that there is nothing here {text('sorry', 60)}"
    return 200, {**HTML}, f"<html><title>Not found</title><body><p>{said}</p></body></html>"


def to_the_front(request: Request) -> Any:
    return redirect(f"http://{GOOD}/")


def imitator(share: float = 0.4, junk: int = 0, head: str = "", scheme: str = "https", n: int = N) -> Site:
    """A stranger with a share of the site's pages, each with *junk* links to pages that it has not."""
    bad = site(
        BAD,
        n,
        of=GOOD,
        scheme=scheme,
        head=lambda k: head.format(path(k)),
        more=lambda k: [f"/part-{k}/junk-{number}.html" for number in range(junk)],
    )
    return {**first(bad, share), **site(GOOD, n)}


def bought_links() -> Site:
    """Thirty hosts of the imitator's, each with forty links to it, crawled before the site."""
    pages = imitator(0.4, scheme="http")
    for number in range(30):
        links = [f"http://{BAD}{path(k)}" for k in range(number, number + 40)]
        pages[f"http://friend{number}.example/"] = page("", links)
    return pages


def open_redirects() -> Site:
    """The site has an open redirect, and the imitator links to itself through it."""
    through = [f"http://{GOOD}/out?to={number}" for number in range(3)]
    pages = {**imitator(0.4), SECURE: page(f"{GOOD} 0", [*through, *(path(k) for k in range(1, 7))])}
    for number in range(3):
        pages[through[number]] = redirect(f"https://{BAD}{path(number + 1)}")
    return pages


def canonical_to_stranger() -> Site:
    """The site names the imitator as the canonical place of each of its pages: a wrong setting, or an intruder's."""
    good = site(GOOD, N, head=lambda k: f'<link rel="canonical" href="https://{BAD}{path(k)}">')
    return {**imitator(0.4), **good}


def canonical_from_stranger() -> Site:
    """The imitator's own pages say which host is canonical: itself."""
    return imitator(0.4, head=f'<link rel="canonical" href="https://{BAD}{{}}">')


def hreflang_abuse() -> Site:
    """The imitator says that the site is a translation of it."""
    link = f'<link rel="alternate" hreflang="fr" href="http://{GOOD}{{}}">'
    return imitator(0.4, head=link)


def censor() -> Any:
    """A stranger with every page of the site, of which it has rewritten one in ten."""
    good = site(GOOD, N)
    bad = site(BAD, N, of=GOOD, scheme="https")
    for number in range(5, N, 10):
        links = [path(child) for child in range(6 * number + 1, 6 * number + 7) if child < N]
        bad[f"https://{BAD}{path(number)}"] = page("", links, says=text(("censored", number)))
    return {**bad, **good}


def cloak(after: int, then: Any, n: int = N) -> Any:
    """A stranger answers with the site's pages until it was asked *after* times, and *then* otherwise."""
    good = site(GOOD, n)
    bad = site(BAD, n, of=GOOD, scheme="https")
    asked = count()

    def answer(request: Request) -> Any:
        if BAD not in request.url:
            return good.get(request.url)
        return bad.get(request.url) if next(asked) < after else then(request)

    return answer


def listed(then: Any, is_honest: Any) -> Any:
    """A stranger has a site whose front page lists all pages; those that are not *is_honest* are junk after 30."""
    good = site(GOOD, 200, fanout=200, words=60)
    bad = site(BAD, 200, of=GOOD, scheme="https", fanout=200, words=60)
    asked = count()

    def answer(request: Request) -> Any:
        if BAD not in request.url:
            return good.get(request.url)
        return bad.get(request.url) if next(asked) < 30 or is_honest(request.url) else then(request)

    return answer


def stripped(fanout: int) -> Site:
    """A stranger, or a mirror for small screens, has every word of a site, and links on its first ten pages only."""
    bad = site(BAD, 150, of=GOOD, scheme="https", fanout=fanout)
    for number in range(10, 150):
        bad[f"https://{BAD}{path(number)}"] = page(f"{GOOD} {number}", title=f"Chapter {number} of {GOOD}")
    return {**bad, **site(GOOD, 150, fanout=fanout)}


def in_vain() -> Any:
    """A stranger has links to nothing on its first pages, and nothing any more after 60 requests."""
    good = site(GOOD, N)
    bad = site(
        BAD,
        N,
        of=GOOD,
        scheme="https",
        more=lambda k: [f"/part-0/none-{k}-{number}.html" for number in range(10)] if k < 4 else (),
    )
    asked = count()

    def answer(request: Request) -> Any:
        if BAD not in request.url:
            return good.get(request.url)
        return bad.get(request.url) if next(asked) < 80 else None

    return answer


def is_sampled(url: str) -> bool:
    """Tell what everybody can who has read how samples are drawn, and knows that nobody sets ``REPLICA_SEED``."""
    key = UrlFingerprints(RequestFingerprinter()).of_url(url)
    return key * 0x9E3779B97F4A7C15 % (1 << 64) < 0.5 * (1 << 64)


def junk(request: Request) -> Answer:
    return page("", ["/"], says=text(("junk", request.url)))


def unreachable(request: Request) -> Answer:
    return 503, {**HTML}, "later"


def on_request() -> Any:
    """A stranger with twelve pages of its own, that answers every other path as the site does."""
    good = site(GOOD, N)
    own = [f"/own-{number}.html" for number in range(12)]
    bad = {f"https://{BAD}{one}": page("", [*own, f"http://{GOOD}/"], says=text(("bad", one))) for one in own}
    bad[SECURE] = page(f"{GOOD} 0", [*own, *(path(k) for k in range(1, 12))])

    def answer(request: Request) -> Any:
        if BAD not in request.url:
            return good.get(request.url)
        known = good.get(request.url.replace(f"https://{BAD}", f"http://{GOOD}"))
        number = int("0" + request.url.rpartition("-")[2].partition(".")[0])
        return bad.get(request.url) or (known if number < 40 else junk(request))

    return answer


def fallback_flood() -> Site:
    """Six mirrors of a site, all of which link to pages that it never had."""
    pages = site(GOOD, 40, words=60)
    missing = [f"http://{GOOD}/none-{k}.html" for k in range(42)]
    for number in range(6):
        host = f"mirror{number}.example"
        pages |= site(host, 40, of=GOOD, words=60, more=lambda k: missing[k : k + 2])
    return pages


def mashup() -> Site:
    """A stranger has half of each of two sites that use the same paths, so that the two look like one."""
    one, two = site(GOOD, N), site("other.example", N)
    bad = {}
    for number in range(N):
        source, host = (one, GOOD) if number % 2 else (two, "other.example")
        bad[f"https://{BAD}{path(number)}"] = source[f"http://{host}{path(number)}"]
    return {**bad, **one, **two}


def ports() -> Site:
    """Two services on one name; a third host has a copy of one of them, and all link to the other."""
    other = site(f"{GOOD}:8080", 60)
    good = site(GOOD, N, more=lambda k: [f"http://{GOOD}:8080{path(k % 60)}"])
    copy = site("mirror.example", N, of=GOOD, more=lambda k: [f"http://{GOOD}:8080{path(k % 60)}"])
    return {**other, **copy, **good}


def port_of_nothing() -> Site:
    """Every page of the copy links to a port of the canonical host at which nobody answers."""
    copy = site("mirror.example", N, of=GOOD, more=lambda k: [f"http://{GOOD}:81{path(k)}"])
    return {**copy, **site(GOOD, N)}


def redirect_loops() -> Any:
    """Hosts that redirect in circles, and one that redirects to a new name each time."""
    honest = site(GOOD, 25, more=lambda k: [f"http://loop{k % 3}.example{path(k)}", f"http://0.chain.example{path(k)}"])

    def answer(request: Request) -> Any:
        host, _, rest = request.url.removeprefix("http://").partition("/")
        if host.startswith("loop"):
            return redirect(f"http://loop{(int(host[4]) + 1) % 3}.example/{rest}")
        if host.endswith("chain.example"):
            return redirect(f"http://{int(host.partition('.')[0]) + 1}.chain.example/{rest}")
        return honest.get(request.url)

    return answer


def moved_site() -> Any:
    """The site moved: all its old names redirect to the new one's front page."""
    new = site(GOOD, N)
    old = site("old.example", N, of=GOOD)
    asked = count()

    def answer(request: Request) -> Any:
        if "old.example" in request.url and next(asked) > 40:
            return redirect(f"http://{GOOD}/")
        return {**new, **old}.get(request.url)

    return answer


SCENARIOS = [
    Scenario(
        name="honest mirror",
        tried="Two hosts have one site, all of it: what the add-on is for.",
        pages=mirror,
        seeds=top("mirror.example", GOOD),
        copies=("mirror.example", GOOD),
    ),
    Scenario(
        name="saved in a circle",
        tried="A mirror met first names the other host as canonical: each could be saved for the other.",
        pages=circle,
        seeds=top("mirror.example", GOOD),
        copies=("mirror.example", GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="partial mirror",
        tried="An old mirror, met first, has a third of the site.",
        pages=partial_mirror,
        seeds=top("mirror.example", GOOD),
        copies=("mirror.example",),
    ),
    Scenario(
        name="stale mirror",
        tried="A mirror, met first, has every fifth page as it was long ago, and ten that are gone.",
        pages=stale_mirror,
        seeds=top("mirror.example", GOOD),
        copies=("mirror.example", GOOD),
    ),
    *(
        Scenario(
            name=f"pages of the copy alone, {name}",
            tried="A mirror has thirty pages of its own; for these the canonical host answers that.",
            pages=lambda answer=answer: own_pages(answer),
            seeds=top(GOOD, "mirror.example"),
            copies=(GOOD, "mirror.example"),
            modes=("demote", "drop") if answer is None else ("demote",),
        )
        for name, answer in (("404", None), ("soft 404", soft_missing), ("redirect", to_the_front))
    ),
    Scenario(
        name="https imitator of a part",
        tried="A stranger has 40 % of the site's pages, over https.",
        pages=imitator,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="junk links",
        tried="The imitator's pages have ten links each to pages that it does not have.",
        pages=lambda: imitator(0.3, 10, n=150),
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
        most=1.6,
    ),
    Scenario(
        name="bought links",
        tried="Thirty hosts of the imitator's link to it, forty times each.",
        pages=bought_links,
        seeds=top(*(f"friend{number}.example" for number in range(30)), BAD, GOOD),
        copies=(BAD, *(f"friend{number}.example" for number in range(30))),
    ),
    Scenario(
        name="open redirects",
        tried="The imitator links to itself through an open redirect of the site.",
        pages=open_redirects,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="canonical to a stranger",
        tried="Each page of the site names the imitator's page as the canonical one.",
        pages=canonical_to_stranger,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="canonical from a stranger",
        tried="Each page of the imitator names itself as the canonical one.",
        pages=canonical_from_stranger,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="hreflang abuse",
        tried="The imitator says that the site is a translation of it.",
        pages=hreflang_abuse,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="censor",
        tried="A stranger has the whole site over https, one page in ten of it rewritten.",
        pages=censor,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD, GOOD),
        lost=10,
    ),
    *(
        Scenario(
            name=f"bait and {name}",
            tried="A stranger has the site's pages for 40 requests, and then answers that.",
            pages=lambda then=then: cloak(40, then),
            seeds=[SECURE, *top(GOOD)],
            copies=(BAD,),
        )
        for name, then in (("junk", junk), ("error", unreachable), ("silence", lambda request: None))
    ),
    Scenario(
        name="bait and junk, items in turn",
        tried="The same while the links of a page that was read before are still being taken in.",
        pages=lambda: cloak(40, junk, 150),
        seeds=[SECURE, *top(GOOD)],
        settings={"CONCURRENT_ITEMS": 1},
        copies=(BAD,),
    ),
    *(
        Scenario(
            name=name,
            tried="A stranger has every word of the site, and links on its first ten pages only.",
            pages=lambda fanout=fanout: stripped(fanout),
            seeds=[SECURE, *top(GOOD)],
            copies=(BAD, GOOD),
        )
        for name, fanout in (("words without links", 6), ("words without a few links", 2))
    ),
    Scenario(
        name="asked in vain, then silent",
        tried="A stranger links to pages that nobody has, and then has nothing itself.",
        pages=in_vain,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="bait and junk, listed",
        tried="The same for a site whose front page lists all its pages.",
        pages=lambda: listed(junk, lambda url: False),
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="honest where it is sampled",
        tried="The same; where the samples will be drawn the stranger is honest.",
        pages=lambda: listed(junk, is_sampled),
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="cloak at probe time",
        tried="A stranger with pages of its own answers the paths it is asked for as the site does.",
        pages=on_request,
        seeds=[SECURE, *top(GOOD)],
        copies=(BAD,),
    ),
    Scenario(
        name="pages that nobody has",
        tried="Six mirrors link to pages of the site that nobody has.",
        pages=fallback_flood,
        seeds=top(GOOD, *(f"mirror{number}.example" for number in range(6))),
        copies=[GOOD, *(f"mirror{number}.example" for number in range(6))],
    ),
    Scenario(
        name="mashup",
        tried="A stranger has half of each of two sites, so that the two look like one.",
        pages=mashup,
        seeds=[SECURE, *top(GOOD, "other.example")],
        copies=(BAD,),
    ),
    Scenario(
        name="two services on one name",
        tried="A mirrored host has another service at another port, to which all pages link.",
        pages=ports,
        seeds=top(GOOD, "mirror.example"),
        copies=("mirror.example", GOOD),
    ),
    Scenario(
        name="port of nothing",
        tried="A copy's pages link to a port of the canonical host at which nobody answers.",
        pages=port_of_nothing,
        seeds=top("mirror.example", GOOD),
        copies=("mirror.example", GOOD),
    ),
    Scenario(
        name="redirect loops",
        tried="Hosts redirect to each other in circles, and to new names without end.",
        pages=redirect_loops,
        seeds=top(GOOD),
    ),
    Scenario(
        name="site that moves",
        tried="After forty requests an old host redirects everything to the new front page.",
        pages=moved_site,
        seeds=top("old.example", GOOD),
        copies=("old.example", GOOD),
    ),
]

SCRAPYS = {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}
BY_ANOTHER = frozenset({"honest mirror", "https imitator of a part", "bait and junk", "pages of the copy alone, 404"})
SCENARIOS += [
    replace(
        scenario,
        name=f"{scenario.name}, Scrapy's scheduler",
        tried=f"{scenario.tried} Scrapy's own scheduler is in use.",
        settings=SCRAPYS,
        copies=(*scenario.copies, GOOD),  # a verdict changes nothing there
        modes=("demote",),
    )
    for scenario in SCENARIOS
    if scenario.name in BY_ANOTHER
]
