"""Install the bare wheel, without extras, beside each Scrapy that is supported, and use it as a newcomer does.

``python3 .ci/bare.py``, from anywhere; a minute. Everything is made in a temporary folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import venv
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parent.parent
NEEDED = ("scrapy_replica", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")
SCRAPY = ("scrapy>=2.18,<2.19", "scrapy>=2.19,<2.20")

PAGES = {"/": ["/a", "/b"], "/a": ["/b", "/c"], "/b": ["/"], "/c": []}
SPIDER = """
from scrapy import Spider

class Pages(Spider):
    name = "pages"
    start_urls = ["{url}"]

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")
"""
QUICK = ("-s", "DOWNLOAD_DELAY=0", "-s", "JOBDIR=jobs/pages")
"""A new project waits a second between two pages."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        links = PAGES.get(self.path)
        anchors = "".join(f'<a href="{link}">to {link}</a> ' for link in links or ())
        body = f"<title>{self.path}</title><p>The page {self.path} leads on. {anchors}</p>".encode()
        self.send_response(404 if links is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def local_web() -> Iterator[str]:
    """Serve :data:`PAGES` on this machine and give their address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Environment:
    """A virtual environment of its own, in which nothing of the source tree can be imported."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self._bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self._variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SCRAPY"))}

    def run(self, *arguments: str | Path, cwd: Path, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run ``python -m`` *arguments*; whatever it says is shown where it ends with another exit code."""
        command = [str(self._bin / "python"), "-m", *map(str, arguments)]
        done = subprocess.run(  # noqa: S603 - our own commands
            command, cwd=cwd, env=self._variables, capture_output=True, text=True, check=False
        )
        if done.returncode != exit_code:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done


def build_wheel(environment: Environment, folder: Path) -> Path:
    """Build the wheel from a copy, so that no file of an earlier build gets into it."""
    copy = folder / "source"
    copy.mkdir()
    for name in NEEDED:
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(SOURCE / name, copy)
    environment.run("pip", "wheel", "-q", "--no-deps", "-w", folder, copy, cwd=folder)
    return next(folder.glob("*.whl"))


def use(environment: Environment, folder: Path, url: str) -> None:
    """Do what the README's first page says, and a little more."""
    environment.run("scrapy", "version", cwd=folder)
    environment.run("scrapy", "startproject", "shop", folder, cwd=folder)
    with (folder / "shop" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write('\nADDONS = {"scrapy_replica.Addon": 500}\n')
    (folder / "shop" / "spiders" / "pages.py").write_text(SPIDER.format(url=f"{url}/"), encoding="utf-8")
    environment.run("scrapy", "fetch", "--nolog", f"{url}/", *QUICK, cwd=folder)
    environment.run("scrapy", "crawl", "pages", "-O", "items.jsonl", *QUICK, cwd=folder)
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    expect({json.loads(line)["url"] for line in lines}, {url + path for path in PAGES})

    commands = environment.run("scrapy", "replica", "-h", cwd=folder).stdout
    expect([name for name in ("crawl", "rehearse", "status", "explain", "doctor", "steer") if name not in commands], [])
    explained = environment.run("scrapy", "replica", "explain", f"{url}/c", "--job", "jobs/pages", cwd=folder).stdout
    expect("state: fetched" in explained, True)
    crawled = environment.run("scrapy", "replica", "crawl", f"{url}/", "--json", "-s", "DOWNLOAD_DELAY=0", cwd=folder)
    expect(json.loads(crawled.stdout)["figures"]["pages"], len(PAGES))
    refused = environment.run(
        *("scrapy", "replica", "rehearse", folder / "items.jsonl", "--seeds", url), cwd=folder, exit_code=2
    )
    expect("pip install 'scrapy-replica[warc]'" in refused.stderr, True)


def expect(found: object, wanted: object) -> None:
    """End with a message where the two differ."""
    if found != wanted:
        sys.exit(f"expected {wanted}, found {found}")


def main() -> None:
    with TemporaryDirectory() as name, local_web() as url:
        folder = Path(name)
        wheel: Path | None = None
        for number, requirement in enumerate(SCRAPY):
            environment = Environment(folder / f"venv{number}")
            wheel = wheel or build_wheel(environment, folder)
            environment.run("pip", "install", "-q", wheel, requirement, cwd=folder)
            work = folder / f"work{number}"
            work.mkdir()
            use(environment, work, url)
            sys.stdout.write(f"the bare wheel works with {requirement}\n")


if __name__ == "__main__":
    main()
