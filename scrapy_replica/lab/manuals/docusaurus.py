"""Manuals that packages of npm hold as Markdown, rendered by Docusaurus, whose own sites no package holds."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Mapping, Set
from functools import partial
from pathlib import Path, PurePath

PACKAGES = ("@docusaurus/core@3.10.2", "@docusaurus/preset-classic@3.10.2", "react@18.3.1", "react-dom@18.3.1")
_TIMEOUT = 1_200
"""Seconds that npm may take to bring these 760 packages, or Docusaurus to render one manual (26 s for 46 pages)."""
_MIN_FILES = 12
_FROM_ROOT = re.compile(r'href="/([^"#?]*)')
_QUIET: Mapping[str, str] = {"CI": "1", "DOCUSAURUS_NO_TELEMETRY": "1"}


def render(package: Path, title: str, tools: Path) -> None:
    """Put the site of the Markdown files of an unpacked *package* in the place of its files.

    What renders is installed into the folder *tools* once. Markdown is read as CommonMark: older manuals are no MDX.

    :raises OSError: npm is missing, or it or Docusaurus failed.
    """
    if not (tools / "node_modules").is_dir():
        tools.mkdir(parents=True, exist_ok=True)
        _run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(tools), *PACKAGES], tools, title)
    site = tools / "sites" / package.name
    shutil.rmtree(site, ignore_errors=True)
    _copy_manual(package, site / "docs")
    (site / "package.json").write_text("{}", encoding="utf-8")
    (site / "docusaurus.config.js").write_text(f"module.exports = {json.dumps(_config(title))}", encoding="utf-8")
    _run([str(tools / "node_modules" / ".bin" / "docusaurus"), "build"], site, title)
    (site / "build" / "404.html").unlink(missing_ok=True)
    _make_relative(site / "build")
    shutil.rmtree(package)
    (site / "build").rename(package)
    shutil.rmtree(site)


def _copy_manual(package: Path, docs: Path) -> None:
    """Copy the Markdown of the folder ``docs`` if it is a manual, otherwise that of the whole package."""
    files = [path for path in sorted(package.rglob("*")) if _is_page(path.relative_to(package))]
    within = [path for path in files if "docs" in path.relative_to(package).parts]
    for path in within if len(within) >= _MIN_FILES else files:
        target = docs / path.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _is_page(path: PurePath) -> bool:
    return path.suffix in (".md", ".mdx") and "node_modules" not in path.parts and path.stem.lower() != "changelog"


def _make_relative(folder: Path) -> None:
    """Let links of pages in *folder* lead on wherever they are served; Docusaurus writes them from the root on."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in files:
        if name.endswith(".html"):
            page = (folder / name).read_text(encoding="utf-8")
            (folder / name).write_text(_FROM_ROOT.sub(partial(_relative, name, files), page), encoding="utf-8")


def _relative(page: str, files: Set[str], link: re.Match[str]) -> str:
    target = next((name for name in (link[1], posixpath.join(link[1], "index.html")) if name in files), None)
    return link[0] if target is None else f'href="{posixpath.relpath(target, posixpath.dirname(page) or ".")}'


def _config(title: str) -> dict[str, object]:
    return {
        "title": title,
        "url": f"https://{title}.example",
        "baseUrl": "/",
        "onBrokenLinks": "ignore",
        "onBrokenAnchors": "ignore",
        "onDuplicateRoutes": "ignore",
        "markdown": {
            "format": "md",
            "hooks": {"onBrokenMarkdownLinks": "ignore", "onBrokenMarkdownImages": "ignore"},
        },
        "presets": [["classic", {"docs": {"routeBasePath": "/"}, "blog": False, "pages": False}]],
        "themeConfig": {"navbar": {"title": title}},
    }


def _run(command: list[str], folder: Path, title: str) -> None:
    try:
        subprocess.run(  # noqa: S603
            command, cwd=folder, check=True, timeout=_TIMEOUT, capture_output=True, env={**os.environ, **_QUIET}
        )
    except subprocess.SubprocessError as error:
        raise OSError(f"{Path(command[0]).name} failed, so {title} is not rendered") from error
