from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# A run in CI finds what it found before; new examples are looked for at the desk. No test asserts a time.
settings.register_profile("tests", derandomize=bool(os.environ.get("CI")), deadline=None)
settings.load_profile("tests")

pytest.register_assert_rewrite("crawldb_contract")

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not SHARED.is_dir():
        skip = pytest.mark.skip(reason="the test data ../shared/data is not here")
        for item in items:
            if "shared" in item.keywords:
                item.add_marker(skip)


class Spared:
    """Lets full collections pass over modules and what Hypothesis keeps: they were 5 to 7 % of a crawl's CPU time.

    A crawl that spared something, too, spares nothing when it ends. Whether anything is spared ``gc.get_freeze_count``
    would tell, which walks over all of it: half of the time of all tests.
    """

    def __init__(self) -> None:
        self._is_spared, self._unfreeze = False, gc.unfreeze
        gc.unfreeze = self._spare_nothing

    def _spare_nothing(self) -> None:
        self._unfreeze()
        self._is_spared = False

    def pytest_runtest_setup(self) -> None:
        if not self._is_spared:
            gc.freeze()
            self._is_spared = True


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Spared())


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real test data, present in CI only."""
    return SHARED


@pytest.fixture
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in found:
        assert os.environ.get("CI") != "true", "chromium and chromium-driver must be installed"
        pytest.skip("chromium and chromium-driver are not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    # What scrolls smoothly is elsewhere by the time that it is clicked.
    for option in ("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
                   "disable-background-networking", "disable-component-update", "window-size=1200,1600",
                   "force-prefers-reduced-motion"):  # fmt: skip
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
    yield driver
    driver.quit()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[Any]:
    """A Redis server of its own."""
    from redis_server import RedisServer

    with RedisServer(tmp_path) as server:
        yield server


@pytest.fixture
def started(tmp_path: Path, redis_server: Any) -> Iterator[Any]:
    """Starts processes of one job: ``started(SPIDER, NAME, SETTINGS)``; what runs at the end of the test is killed."""
    from job_processes import Process

    processes: list[Process] = []

    def start(spider: str, name: str, settings: dict[str, Any] | None = None, lease: int = 5, **arguments: str) -> Any:
        address = redis_server.address(prefix="job", lease=lease)
        given = {"REPLICA_CRAWLDB": address, **(settings or {})}
        processes.append(Process(spider, tmp_path, name, given, **arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
