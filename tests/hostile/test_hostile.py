"""Every scenario holds: nothing is lost, no host is blocked wrongly, no secret goes elsewhere, nothing stalls."""

from __future__ import annotations

import logging

import pytest

from hostile.catalogue import SCENARIOS
from hostile.scenario import outcomes_of

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Servers that fail are part of the webs; the errors are counted all the same."""
    caplog.set_level(logging.ERROR)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_holds(scenario):
    problems = {outcome.mode: outcome.problems for outcome in await outcomes_of(scenario)}
    assert not any(problems.values()), problems
