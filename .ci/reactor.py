"""Pytest plug-in: the tests run on Twisted's asyncio reactor, as crawls started by the command ``scrapy`` do.

``PYTHONPATH=.ci pytest -p reactor``. Without it they run without a reactor, on asyncio alone.
"""

from __future__ import annotations

import asyncio

import pytest
from twisted.internet import asyncioreactor


class _Loop(asyncio.SelectorEventLoop):
    def close(self) -> None:
        """Stay open: the reactor lives as long as the process, a test's loop as long as the test."""


_loop = _Loop()
asyncio.set_event_loop(_loop)
asyncioreactor.install(_loop)


class _Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return _loop


@pytest.fixture(scope="session")
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    """The policy that pytest-asyncio takes its loops from."""
    return _Policy()


@pytest.fixture(scope="session", autouse=True)
def _running_reactor() -> None:
    from twisted.internet import reactor  # noqa: PLC0415 - it is what was installed above

    reactor.startRunning(installSignalHandlers=False)  # type: ignore[attr-defined]
