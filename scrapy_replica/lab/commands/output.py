"""What the experiments share: how they name inputs and print what was measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import as_object

if TYPE_CHECKING:
    from collections.abc import Mapping


def print_measures(figures: Mapping[str, float], inputs: Mapping[str, object], *, as_json: bool) -> None:
    """Print what was measured as one JSON object with inputs and versions, or as a table of names and numbers."""
    if as_json:
        sys.stdout.write(json.dumps(as_object(figures, inputs)) + "\n")
        return
    width = max(map(len, figures), default=0)
    for name, value in figures.items():
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
        sys.stdout.write(f"{name:<{width}}  {text:>12}\n")


def existing(name: str) -> Path:
    """Return *name* as a path.

    :raises ValueError: there is no such file or folder.
    """
    path = Path(name)
    if not path.exists():
        raise ValueError(f"there is no {path}")
    return path
