from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A run in CI finds what it found before; new examples are looked for at the desk.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

pytest.register_assert_rewrite("crawldb_contract")

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not SHARED.is_dir():
        skip = pytest.mark.skip(reason="the test data ../shared/data is not here")
        for item in items:
            if "shared" in item.keywords:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real test data, present in CI only."""
    return SHARED
