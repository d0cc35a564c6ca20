"""All scenarios, by theme."""

from __future__ import annotations

from hostile import copies, links, rules, traps

SCENARIOS = [scenario for module in (copies, links, rules, traps) for scenario in module.SCENARIOS]
