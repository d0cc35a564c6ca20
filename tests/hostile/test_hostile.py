"""Every scenario holds: nothing is lost, no host is blocked wrongly, no secret goes elsewhere, nothing stalls."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from test_webs_in_short import HOSTILE

from hostile.catalogue import SCENARIOS
from hostile.families import scenario as family
from hostile.scenario import outcomes_of

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Servers that fail are part of the webs; the errors are counted all the same."""
    caplog.set_level(logging.ERROR)


DISORDERED = [
    ("words without links", 7),
    ("pages of the copy alone, 404", 1),
    ("argument that matters later", 1),
]
"""Scenarios, and seeds of the order in which answers come in; the first lost 71 of 150 contents."""


OTHERS = [scenario for scenario in SCENARIOS if scenario.name not in HOSTILE.values()]


@pytest.mark.parametrize("scenario", OTHERS, ids=lambda scenario: scenario.name)
async def test_holds(scenario):
    problems = {outcome.mode: outcome.problems for outcome in await outcomes_of(scenario)}
    assert not any(problems.values()), problems


@pytest.mark.parametrize(("name", "seed"), DISORDERED)
async def test_holds_in_another_order_of_answers(name, seed):
    scenario = next(one for one in SCENARIOS if one.name == name)
    outcomes = await outcomes_of(replace(scenario, settings={**scenario.settings, "TEST_DISORDER": seed}))
    problems = {outcome.mode: outcome.problems for outcome in outcomes}
    assert not any(problems.values()), problems


async def test_what_waits_in_the_place_of_others_alone_is_forgotten_when_they_come_back():
    """Other names for the same pages: what was decided again stood there once more, 334 requests in place of 256."""
    [outcome] = await outcomes_of(family(45))
    assert not outcome.lost
    assert len(outcome.ours.asked) < 1.2 * len(outcome.plain.asked)
