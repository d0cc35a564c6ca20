"""The text of the demo's web: pydoc's pages of this Python installation, made once and kept in a file.

Making them imports every module that is documented, hence ``python examples/pydoc_pages.py FILE COLLECTION LIMIT`` is a
process of its own; :func:`load_pages` runs it where the file is missing. Needs the standard library only.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import importlib
import importlib.metadata
import itertools
import json
import os
import pkgutil
import pydoc
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

Collections = dict[str, dict[str, str]]
"""Collection (library, packages, topics) -> name -> HTML, in which ``href="@name"`` links to a page of the same one."""

EXAMPLES = (
    "socket",
    "ssl",
    "http.client",
    "urllib.request",
    "smtplib",
    "ftplib",
    "socketserver",
    "asyncio.streams",
)
"""The modules whose texts are the examples of the topic."""

NETWORKING = re.compile(
    r"(socket|socketserver|ssl|select|selectors|asyncio|http|urllib|ftplib|smtplib|smtpd|poplib|imaplib|nntplib|telnetlib"
    r"|xmlrpc|ipaddress|wsgiref|urllib3|requests|aiohttp|aiohappyeyeballs|h11|h2|httpx|websockets|service_identity"
    r"|twisted\.(internet|web|names|mail|protocols|conch))(\.|$)"
)
"""Modules on the topic."""

# Importing these prints, opens windows or browsers, needs tkinter, warns, or runs tests.
_SKIPPED = frozenset(
    {
        *("__main__", "antigravity", "conftest", "distutils", "ensurepip", "idlelib", "lib2to3", "pip"),
        *("pkg_resources", "pydoc_data", "pytest", "setup", "setuptools", "test", "testing", "tests", "this"),
        *("tkinter", "trial", "turtle", "turtledemo"),
    }
)
_BUILD_SECONDS = 60
"""Of processor time, after which no further module is documented: far above what the web takes."""
_MODULES_PER_PACKAGE = 40
_MAX_PAGE_CHARS = 250_000


def library_names() -> Iterator[str]:
    """Public modules of the standard library, those on the topic first."""
    names = sorted(sys.stdlib_module_names, key=lambda name: (not NETWORKING.match(name), _shuffled(name)))
    return _some_of_each(names)


def package_names() -> Iterator[str]:
    """Public modules of the installed packages."""
    names = set(importlib.metadata.packages_distributions()) - sys.stdlib_module_names
    return _some_of_each(sorted((name for name in names if name.isidentifier()), key=_shuffled))


def _some_of_each(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield from itertools.islice(_with_submodules(name), _MODULES_PER_PACKAGE)


def _shuffled(name: str) -> str:
    """Key of an order without meaning, so that a limit takes from the whole alphabet."""
    return hashlib.sha256(name.encode()).hexdigest()


def _with_submodules(name: str) -> Iterator[str]:
    last = name.rpartition(".")[2]
    if name in _SKIPPED or last in _SKIPPED or last.startswith("_") or last.endswith("__mypyc"):
        return
    yield name
    # Whoever took the name has imported the module by now, if that can be done at all.
    path = getattr(sys.modules.get(name), "__path__", None)
    for item in pkgutil.iter_modules(path) if path and name.count(".") < 2 else ():
        yield from _with_submodules(f"{name}.{item.name}")


def module_html(name: str) -> str | None:
    """Pydoc's page of a module, its links to other modules as ``@name``; None where it cannot be imported."""
    try:
        module: ModuleType = importlib.import_module(name)
        text = pydoc.HTMLDoc().docmodule(module, name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  (some modules leave the interpreter when they are imported)
        return None
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text).replace("&nbsp;", " ")
    text = re.sub(r'<a href="file:[^"]*">[^<]*</a>', "", text)
    text = re.sub(r'href="([A-Za-z_][\w.]*)\.html(?:#[^"]*)?"', r'href="@\1"', text)
    text = re.sub(r' href="(?!@)[^"]*"', "", text)
    return text if len(text) <= _MAX_PAGE_CHARS else None


def topic_html(text: str, names: list[str]) -> str:
    """A page of the language reference, with links to the topics that it names."""
    paragraphs = "".join(f"<p>{html.escape(part)}</p>\n" for part in text.split("\n\n"))
    links = " ".join(
        f'<a href="@{name}">{name}</a>' for name in names if re.search(rf"\b{name}\b", text, re.IGNORECASE)
    )
    return f"{paragraphs}<p>See also: {links}</p>"


def build(collection: str, limit: int) -> dict[str, str]:
    """Return name -> HTML of at most *limit* modules of the library or of the packages, or of the topics.

    All modules are imported.
    """
    if collection == "topics":
        from pydoc_data.topics import topics  # noqa: PLC0415  (wanted in the building process only)

        others = [name for name in topics if len(name) > 6]
        return {name: topic_html(text, [other for other in others if other != name]) for name, text in topics.items()}
    names = itertools.chain(EXAMPLES, library_names()) if collection == "library" else package_names()
    return _documented(names, limit, time.process_time() + _BUILD_SECONDS)


def _documented(names: Iterable[str], limit: int, deadline: float) -> dict[str, str]:
    pages: dict[str, str] = {}
    for name in names:
        if len(pages) >= limit or time.process_time() > deadline:
            break
        text = None if name in pages else module_html(name)
        if text:
            pages[name] = text
    return pages


def load_pages(cache: Path | None, modules_limit: int) -> Collections:
    """The web's pages, from the folder *cache* if they were made before; else made by processes of their own.

    At most *modules_limit* are modules, two of three from the standard library.
    """
    version = ".".join(str(number) for number in sys.version_info[:3])
    library = max(modules_limit * 2 // 3, min(modules_limit, len(EXAMPLES)))
    limits = {"library": library, "packages": modules_limit - library, "topics": 0}
    with tempfile.TemporaryDirectory() as scratch:
        folder = cache or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        files = {name: folder.resolve() / f"pydoc-{version}-{name}-{limit}.json.gz" for name, limit in limits.items()}
        with ThreadPoolExecutor() as pool:
            made = [
                pool.submit(_make, file, name, limits[name], scratch)
                for name, file in files.items()
                if not file.exists()
            ]
        for one in made:
            one.result()
        return {name: json.loads(gzip.decompress(file.read_bytes())) for name, file in files.items()}


def _make(file: Path, collection: str, limit: int, scratch: str) -> None:
    """Make the pages of a collection in a bare process: pydoc prints the environment and arguments of modules."""
    kept = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "HOME", "VIRTUAL_ENV") if key in os.environ}
    command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve())]
    subprocess.run(  # noqa: S603  (this file itself)
        [*command, str(file), collection, str(limit)],
        check=True,
        cwd=scratch,
        env={**kept, "PYTHONHASHSEED": "0", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=300,
    )


def _stay_at_home(event: str, args: tuple[object, ...]) -> None:
    """Audit hook: some packages fetch something, or start a program, when they are imported."""
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "os.system", "os.fork"}:
        raise OSError(f"{event} {args} is not for importing")


def main(file: Path, collection: str, limit: int) -> None:
    """Write *file* at once, so that a stopped build leaves no broken one."""
    sys.addaudithook(_stay_at_home)
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(gzip.compress(json.dumps(build(collection, limit)).encode(), mtime=0))
    part.replace(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    # Some imported modules have started threads that would keep the process alive.
    os._exit(0)
