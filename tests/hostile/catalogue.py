"""All scenarios, by theme."""

from __future__ import annotations

from hostile import copies, faults, inputs, links, rules, secrets, traps

THEMES = (copies, links, rules, traps, secrets, inputs, faults)
SCENARIOS = [scenario for module in THEMES for scenario in module.SCENARIOS]
