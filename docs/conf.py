"""Sphinx configuration; the pages of settings and modules are made from the source by what is in ``_ext``."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "scrapy-replica"
copyright = "the scrapy-replica contributors"  # noqa: A001 - Sphinx's own name
release = version = version_of("scrapy-replica")

extensions = ["sphinx.ext.autodoc", "replica_settings", "replica_modules"]
exclude_patterns = ["_build"]
nitpicky = True
autodoc_typehints = "none"
default_role = "any"

html_theme = "furo"
html_title = f"scrapy-replica {release}"
html_show_sourcelink = False
