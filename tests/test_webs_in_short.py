"""A few of the whole webs, one of each kind, so that each is met on every run; ``make test-webs`` crawls the others."""

from __future__ import annotations

import logging

import pytest
from everyday.catalogue import SITES
from everyday.figures import problems_of as problems_of_site
from hostile.catalogue import THEMES
from hostile.scenario import outcomes_of
from shapes.catalogue import SHAPES
from shapes.shape import problems_of as problems_of_shape

HOSTILE = {
    "hostile.copies": "shops of two countries",
    "hostile.links": "honest mirror",
    "hostile.rules": "sold out",
    "hostile.traps": "endless calendar",
    "hostile.secrets": "links to this machine",
    "hostile.inputs": "encodings",
    "hostile.faults": "first host refuses",
}
"""Theme -> the scenario that stands for it."""
ALIKE = ("lists by argument", "stores nearby, microdata", "calendar by path, 18 months")
SEVERAL_URLS = ("staging host", "tracker", "clean")

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Servers that fail are part of the webs; the errors are counted all the same."""
    caplog.set_level(logging.ERROR)


def named(parts, name):
    return next(part for part in parts if part.name == name)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.__name__)
async def test_one_that_misleads(theme):
    outcomes = await outcomes_of(named(theme.SCENARIOS, HOSTILE[theme.__name__]))
    assert not [problem for outcome in outcomes for problem in outcome.problems]


@pytest.mark.parametrize("name", ALIKE)
async def test_one_whose_pages_look_alike(name):
    shape = named(SHAPES, name)
    outcomes = await outcomes_of(shape.fast)
    assert not [problem for outcome in outcomes for problem in problems_of_shape(shape, shape.small, outcome)]


@pytest.mark.parametrize("name", SEVERAL_URLS)
async def test_one_whose_pages_have_several_urls(name):
    site = named(SITES, name)
    (outcome,) = await outcomes_of(site.scenario(site.small, modes=("demote",)))
    assert not problems_of_site(outcome)
