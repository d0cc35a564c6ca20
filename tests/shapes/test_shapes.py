"""No shape of site loses an item, and what can be saved is saved."""

from __future__ import annotations

import logging

import pytest
from hostile.scenario import outcomes_of
from test_webs_in_short import ALIKE

from shapes.catalogue import SHAPES
from shapes.shape import problems_of

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.ERROR)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.name not in ALIKE], ids=lambda shape: shape.name)
async def test_nothing_is_lost(shape):
    outcomes = await outcomes_of(shape.fast)
    assert not [problem for outcome in outcomes for problem in problems_of(shape, shape.small, outcome)]
