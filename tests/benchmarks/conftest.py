"""At the end of a run of benchmarks, what they found beside their peers in one table."""

from __future__ import annotations

from typing import Any

import pytest

COLUMNS = ("What; its peer", "Here", "Peer", "Ratio", "Wanted")
WIDTHS = (42, 10, 10, 7, 11)


class Figures:
    """The lines of the table."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, ...]] = []

    def add(self, what: str, here: float, unit: str, wanted: str, *, peer: float | None = None) -> None:
        """Add *here* and what its *peer* takes, both in *unit*, and what is *wanted* of it or of their ratio."""
        beside = ("", "") if peer is None else (f"{peer:,.3g} {unit}", f"{here / peer:.3g}")
        self.rows.append((what, f"{here:,.3g} {unit}", *beside, wanted))


FIGURES = pytest.StashKey[Figures]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = Figures()


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Where a benchmark says what it found."""
    return request.config.stash[FIGURES]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if config.stash[FIGURES].rows:
        terminalreporter.section("what was found")
        for first, *others in [COLUMNS, *config.stash[FIGURES].rows]:
            cells = (f"{cell:>{width}}" for cell, width in zip(others, WIDTHS[1:], strict=True))
            terminalreporter.write_line(f"{first:<{WIDTHS[0]}}{''.join(cells)}")
