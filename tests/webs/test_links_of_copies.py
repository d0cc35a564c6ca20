"""What a mirror alone leads to is found, whatever it is: a document, a page of little text, a redirect to a page."""

from __future__ import annotations

import pytest
from hostile.building import page, path, site
from hostile.scenario import KEY, WAY, Scenario, outcomes_of

HOSTS = KEPT, COPY = "a.example", "www.a.example"
N, LATE = 72, 60


def leads(number, host):
    """A page leads to those behind it by either name."""
    other = KEPT if host == COPY else COPY
    return [f"http://{other}{path(n)}" for n in range(2 * number + 1, 2 * number + 3) if n < N]


def found(kind, number):
    """What stands at ``/KIND/NUMBER`` and ``/real/NUMBER``."""
    key = f"{kind} {number}"
    return {
        "file": (200, {"Content-Type": "application/pdf", KEY: key}, f"%PDF {number}"),
        "short": page(key, says=f"little {number}"),
        "to": (302, {"Location": f"/real/{number}", WAY: key}, ""),
        "real": page(f"to {number}"),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "hosts"),
    [("file", HOSTS), ("to", HOSTS), ("short", [COPY]), ("to", [COPY])],
    ids=["files", "redirects", "little text that the copy alone has", "redirects that the copy alone has"],
)
@pytest.mark.asyncio
async def test_what_the_last_pages_of_a_copy_alone_lead_to(kind, hosts):
    """Only links to pages of much text counted: the 12 contents were not asked for."""
    pages = site(KEPT, N, more=lambda n: leads(n, KEPT), fanout=2)
    pages |= site(COPY, N, of=KEPT, more=lambda n: [*leads(n, COPY), *[f"/{kind}/{n}"] * (n >= LATE)], fanout=2)
    for number in range(LATE, N):
        pages |= {f"http://{host}/{name}/{number}": found(name, number) for host in hosts for name in (kind, "real")}
    scenario = Scenario(
        name="links of a copy",
        tried="",
        pages=lambda: pages,
        seeds=[f"http://{KEPT}/"],
        contents=lambda crawled: {asked.key for asked in crawled.asked} - {""},
        copies=HOSTS,
    )
    (outcome,) = await outcomes_of(scenario)
    assert len(outcome.wanted) == N + N - LATE
    assert not outcome.problems
