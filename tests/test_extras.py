"""Without extras everything works but what needs them, and that says in one line what to install."""

from __future__ import annotations

import re
import subprocess
import sys
from configparser import ConfigParser
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from web import page

BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
from scrapy.cmdline import execute
execute(sys.argv)
"""


def normal(name):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", name)[0]).lower()


@pytest.fixture(scope="module")
def blocked():
    """Top-level modules of all that the extras bring and Scrapy does without."""
    setup = ConfigParser()
    setup.read(Path(__file__).parent.parent / "setup.cfg")
    lines = "".join(setup["options.extras_require"].values()).split()
    extras = set(map(normal, lines)) - {"scrapy-replica", *map(normal, requires("scrapy"))}
    found = packages_distributions()
    modules = {module for module, names in found.items() if extras & set(map(normal, names))}
    assert modules >= {"tqdm", "fastwarc", "sklearn", "matplotlib", "jinja2", "vl_convert", "pytest"}
    return modules


@pytest.fixture
def bare(blocked, tmp_path):
    """Run ``scrapy`` where none of the extras can be imported."""

    def run(*arguments):
        command = [sys.executable, "-W", "error", "-c", f"BLOCKED = {blocked!r}{BLOCK}", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.parametrize("arguments", [["version"], ["startproject", "new"], [], ["replica", "-h"]])
def test_scrapys_commands(bare, arguments):
    done = bare(*arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_crawl(bare, tmp_path):
    (tmp_path / "page.html").write_text(page(seed=1))
    done = bare("replica", "crawl", (tmp_path / "page.html").as_uri(), "-o", "items.jsonl", "--job", "job")
    assert done.returncode == 0, done.stderr
    assert '"novelty": "novel"' in (tmp_path / "items.jsonl").read_text()


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["crawl", "http://a.example/", "--warc", "warc"], "warc"),
        (["rehearse", "file", "--seeds", "http://a.example/"], "warc"),
        (["eval", "visits", "file", "--topic", "x"], "eval"),
        (["eval", "text", "file"], "eval"),
        (["report", "file"], "report"),
        (["serve", "job"], "report"),
    ],
)
def test_what_needs_an_extra_names_it(bare, tmp_path, arguments, extra):
    (tmp_path / "file").write_text("something")
    done = bare("replica", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"pip install 'scrapy-replica[{extra}]'" in done.stderr


def test_a_file_that_is_not_there_is_named_first(bare):
    """Who installs an extra to hear of a wrong name has been sent on an errand."""
    done = bare("replica", "eval", "text", "nowhere.parquet")
    assert (done.returncode, done.stderr) == (2, "scrapy replica eval: there is no nowhere.parquet\n")
