"""All shapes, by theme."""

from __future__ import annotations

from shapes import lists, results, shells, shops, times

THEMES = (shells, lists, shops, times, results)
SHAPES = [shape for module in THEMES for shape in module.SHAPES]
