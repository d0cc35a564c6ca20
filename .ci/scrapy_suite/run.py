"""Run Scrapy's own tests, of each release that is supported, with the add-on in every crawler.

``make test-scrapy``, or ``python3 .ci/scrapy_suite/run.py [RELEASE...]``, from anywhere. Everything is made in
``build/scrapy-suite``: a virtual environment, in which one release follows the other, and the source distribution of
each, from PyPI.

A test that fails is run once more, since some measure times and other programs run beside, and then without the add-on.
It fails the run if it passes only then, unless it is named in ``differences.txt`` with the reason why it may differ.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
BUILD = PROJECT / "build" / "scrapy-suite"
RELEASES = ("2.18", "2.19")

TOOLS = ("attrs", "pexpect", "psutil", "pyftpdlib", "pygments", "pytest>=8.4.1,<9", "pytest-rerunfailures", "sybil",
         "pytest-timeout", "pytest-twisted", "pytest-xdist", "testfixtures", "Pillow", "boto3")  # fmt: skip
"""What those tests need. With pytest 9 fixtures of theirs are errors."""

FILES = (
    *("addons", "closespider", "contracts", "core_*", "crawl", "crawler", "crawler_runners", "downloadermiddleware*"),
    *("downloaderslots*", "dupefilters", "engine*", "extension_*", "feedexport", "feedexport_batch", "logstats"),
    *("middleware", "pipeline_*", "pqueues", "request_attribute_binding", "request_cb_kwargs", "request_left"),
    *("resolver", "scheduler*", "signals", "spider*", "squeues_request", "stats", "utils_log", "utils_request"),
)
"""Tests that make crawlers in their own process. The commands, which start processes, are in tests of the add-on; the
rest (download handlers, selectors, exporters, utilities) makes none, or has nothing that an add-on could change."""

OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "with_addon", "-o", "addopts=--reactor=asyncio", "--timeout=300")


class Suite:
    """The tests of one release."""

    def __init__(self, release: str) -> None:
        self._folder = BUILD / release
        self._release = release
        self._python = BUILD / "venv" / "bin" / "python"

    def make(self) -> None:
        """Install the release in place of the one before, its tests and the add-on."""
        if not self._python.exists():
            venv.create(BUILD / "venv", with_pip=True)
        self._pip("install", "-q", "-e", PROJECT, f"scrapy=={self._release}.*", *TOOLS)
        found = [self._python, "-c", "import importlib.metadata as m; print(m.version('scrapy'))"]
        version = subprocess.run(found, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603
        self.source = self._folder / f"scrapy-{version}"
        if not self.source.is_dir():
            self._pip("download", "-q", "--no-binary", "scrapy", "--no-deps", "-d", self._folder, f"scrapy=={version}")
            with tarfile.open(self._folder / f"scrapy-{version}.tar.gz") as archive:
                # The argument filter came with a patch release of 3.10 and 3.11.
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(self._folder)  # noqa: S202 - filtered

    def _pip(self, *arguments: str | Path) -> None:
        subprocess.run([self._python, "-m", "pip", *arguments], check=True)  # noqa: S603 - our own command

    def files(self) -> list[str]:
        """Return the files of :data:`FILES` that this release has."""
        tests = self.source / "tests"
        return sorted({str(file.relative_to(self.source)) for name in FILES for file in tests.glob(f"test_{name}.py")})

    def failures(self, tests: list[str], mode: str | None) -> list[str]:
        """Run *tests* with the add-on in *mode*, or without; return the ids of those that fail.

        :raises SystemExit: pytest could not run them.
        """
        failed = self._folder / "failed.txt"
        failed.unlink(missing_ok=True)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REPLICA"))}
        variables |= {"PYTHONPATH": f"{HERE}:{PROJECT}", "OMP_NUM_THREADS": "1", "REPLICA_SUITE_FAILED": str(failed)}
        if mode is not None:
            variables["REPLICA_SUITE_MODE"] = mode
        command = [self._python, "-m", "pytest", *OPTIONS, *(("-n", "2") if mode is not None else ()), *tests]
        done = subprocess.run(command, cwd=self.source, env=variables, check=False)  # noqa: S603
        if done.returncode not in {0, 1}:
            sys.exit(f"pytest ended with {done.returncode}")
        return failed.read_text(encoding="utf-8").splitlines()


def differences() -> dict[str, str]:
    """Return the tests that may differ: beginning of the id -> the reason."""
    lines = (HERE / "differences.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def check(release: str, mode: str = "demote") -> list[str]:
    """Return the tests of *release* that fail because of the add-on and may not; show what differs."""
    begun = time.monotonic()
    suite, may_differ = Suite(release), differences()
    suite.make()
    made = time.monotonic()
    failed = suite.failures(suite.files(), mode)
    unknown = [test for test in failed if not test.startswith(tuple(may_differ))]
    unknown = suite.failures(unknown, mode) if unknown else []
    always = suite.failures(unknown, None) if unknown else []
    told = dict.fromkeys(failed, "passes when it is run again") | dict.fromkeys(unknown, "FAILS WITH THE ADD-ON")
    told |= dict.fromkeys(always, "fails without the add-on, too")
    for test in failed:
        print(f"{test}: {next((why for name, why in may_differ.items() if test.startswith(name)), told[test])}")
    now = time.monotonic()
    print(f"Scrapy {release}: {len(failed)} failed; {made - begun:.0f} s to install, {now - made:.0f} s to run")
    return [test for test in unknown if test not in always]


def main() -> None:
    wrong = [f"{release}: {test}" for release in sys.argv[1:] or RELEASES for test in check(release)]
    if wrong:
        sys.exit("\n".join(["These tests of Scrapy fail with the add-on, and pass without:", *wrong]))


if __name__ == "__main__":
    main()
