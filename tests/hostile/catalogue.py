"""All scenarios, by theme."""

from __future__ import annotations

from hostile import copies, links

SCENARIOS = [scenario for module in (copies, links) for scenario in module.SCENARIOS]
