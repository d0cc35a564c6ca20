"""Strategies that few people crawl with, in a live crawl."""

from __future__ import annotations

import pytest
from test_strategy_runner import ORDINARY, fetch_all_and_resume, topic  # noqa: F401 - a fixture

from scrapy_replica.lab.strategies import STRATEGIES, place_of


@pytest.mark.asyncio
@pytest.mark.parametrize("name", sorted({*STRATEGIES} - {*ORDINARY}))
async def test_fetches_all_and_resumes_in_the_same_order(name, topic, tmp_path):  # noqa: F811 - a fixture
    await fetch_all_and_resume(place_of(name), topic, tmp_path)
