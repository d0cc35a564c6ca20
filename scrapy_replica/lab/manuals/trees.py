"""The HTML pages of an unpacked package: the folder that holds its manual, and pages of it in a fixed order."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin

MAX_PAGES = 24
"""Pages of a manual that its hosts serve unless told otherwise; a crawl needs fewer for a verdict."""
MAX_RESERVE = 12
"""Further ones, of which hosts that quote have pages of their own."""
_MAX_REACHED = 150
_MAX_BYTES = 60_000
_MIN_BYTES = 600
_HREF = re.compile(rb"""(?i)\b(?:href|src)=["']?([^"'#?:<> ]+\.x?html?)\b""")
_SUFFIXES = (".html", ".htm", ".xhtml", ".html.gz")
_STARTS = ("index", "index-all", "toc", "contents", "overview-summary", "overview-tree", "book1")


@dataclass(frozen=True)
class Tree:
    """Pages of one manual.

    Attributes:
        pages: Path below the manual's folder -> HTML, the start page first.
        reserve: Further pages, none of them in *pages*.
    """

    pages: dict[str, bytes]
    reserve: dict[str, bytes]


def read_tree(folder: Path, max_pages: int = MAX_PAGES) -> Tree | None:
    """Return the manual below *folder*, of at most *max_pages* besides the reserve; None if it has no HTML.

    Pages are taken as a folder of captures takes them: the start page, then in the order of a hash of the path, so that
    two editions have the same ones, among those that links from the start page reach (all if these are few).
    """
    files = [path for path in sorted(folder.rglob("*")) if path.name.endswith(_SUFFIXES) and not path.is_symlink()]
    files = [path for path in files if path.is_file()]
    if not files:
        return None
    root = _root(folder, files)
    by_path = {path.relative_to(root).as_posix().removesuffix(".gz"): path for path in files if root in path.parents}
    start = min(by_path, key=_start_rank)
    reached = _reached(start, by_path)
    names = reached if len(reached) >= max_pages else list(dict.fromkeys([*reached, *by_path]))
    names = [start, *sorted((name for name in names if name != start), key=_hash)]
    texts: dict[str, bytes] = {}
    for name in names:
        body = _read(by_path[name])
        if name == start or _MIN_BYTES <= len(body) <= _MAX_BYTES:
            texts[name] = body
        if len(texts) == max_pages + MAX_RESERVE:
            break
    listed = list(texts.items())
    return Tree(dict(listed[:max_pages]), dict(listed[max_pages:]))


def _root(folder: Path, files: list[Path]) -> Path:
    """Return the deepest folder below which four fifths of the HTML files lie."""
    while True:
        below = Counter(path.relative_to(folder).parts[0] for path in files if folder in path.parents)
        name, n_files = below.most_common(1)[0]
        if not (folder / name).is_dir() or n_files < 0.8 * sum(below.values()):
            return folder
        folder = folder / name


def _start_rank(name: str) -> tuple[int, int, str]:
    stem = PurePosixPath(name).name.partition(".")[0].lower()
    return name.count("/"), _STARTS.index(stem) if stem in _STARTS else len(_STARTS), name


def _reached(start: str, by_path: dict[str, Path]) -> list[str]:
    """Return the pages that links lead to from *start*, breadth-first."""
    found, waiting = {start: None}, deque([start])
    while waiting and len(found) < _MAX_REACHED:
        name = waiting.popleft()
        for link in _links(_read(by_path[name])):
            target = unquote(urljoin(f"/{name}", link)).lstrip("/")
            if target in by_path and target not in found:
                found[target] = None
                waiting.append(target)
    return list(found)


def _links(body: bytes) -> list[str]:
    return [link.decode("utf-8", "replace") for link in _HREF.findall(body)]


def _read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _hash(name: str) -> bytes:
    return hashlib.sha1(name.encode()).digest()
