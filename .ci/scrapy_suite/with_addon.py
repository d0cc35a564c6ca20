"""Pytest plug-in: every crawler of Scrapy's own tests has the add-on; what fails is written down.

``REPLICA_SUITE_MODE`` is the mode; without it the tests run as they are. ``REPLICA_SUITE_FAILED`` is the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import default_settings

if TYPE_CHECKING:
    import pytest

if mode := os.environ.get("REPLICA_SUITE_MODE"):
    default_settings.ADDONS = {"scrapy_replica.Addon": 500}
    default_settings.REPLICA_MODE = mode  # type: ignore[attr-defined]


class Failures:
    """Writes the id of each test that failed in whatever phase, once."""

    def __init__(self) -> None:
        self._failed: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        Path(os.environ["REPLICA_SUITE_FAILED"]).write_text("\n".join(self._failed), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures())
