"""What the page on servers shows: the extension for Prometheus writes, and the image's commands are commands."""

from __future__ import annotations

import configparser
import json
import re
from pathlib import Path
from textwrap import dedent

import pytest
from web import REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands import command_named
from scrapy_replica.commands.parser import parser_of

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "deployment.rst").read_text(encoding="utf-8")
DOCKER = ROOT / "examples" / "docker"


@pytest.mark.asyncio
async def test_the_gauges_of_the_page_are_written(tmp_path):
    found = re.search(
        r"code-block:: python\n\n((?: {3}.*\n|\n)+?)\nWhat|code-block:: python\n\n((?: {3}.*\n|\n)+)", PAGE
    )
    names: dict[str, type] = {}
    exec(dedent(found[1] or found[2]), names)
    file = tmp_path / "replica.prom"
    settings = {**REPLICA, "EXTENSIONS": {names["Gauges"]: 500}, "GAUGES_FILE": str(file)}
    pages = {"http://a.example/": page(["/1"], seed=0), "http://a.example/1": page(seed=1)}
    await crawl(TopicSpider, pages, settings, seeds="http://a.example/")
    lines = dict(line.split(" ") for line in file.read_text().splitlines())
    label = '{spider="topic"}'
    assert lines[f"replica_page_observed{label}"] == lines[f"replica_page_novel{label}"] == "2"
    assert all(re.fullmatch(r'[a-z_]+{spider="\w+"}', name) and float(value) >= 0 for name, value in lines.items())


def test_the_board_shows_statistics_that_there_are():
    told = re.findall(r"^\.\. stat:: (\S+)$", (ROOT / "docs" / "stats.rst").read_text(encoding="utf-8"), re.MULTILINE)
    board = json.loads((ROOT / "examples" / "grafana" / "board.json").read_text())
    asked = " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])
    shown = set(re.findall(r"\breplica_[a-z_]+", asked))
    assert len(shown) == 9
    assert shown <= {re.sub("[/-]", "_", name) for name in told}


def test_the_commands_of_the_image_are_commands():
    compose = (DOCKER / "compose.yaml").read_text()
    told = re.findall(r"^ +command: (serve .*)$|exec scrapy replica (crawl [^\"]*)\"", compose, re.MULTILINE)
    told = ["".join(either) for either in told]
    told += re.findall(r"scrapy-replica (crawl .*)$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    assert len(told) == 3
    for line in told:
        name, *arguments = line.split()
        parser_of(command_named(name)).parse_args(arguments)


def test_the_image_copies_what_the_package_is_made_of():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    copied = re.findall(r"^COPY (.+) \S+$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    assert all((ROOT / name).exists() for name in names)
    licences = setup["metadata"]["license_files"].split()
    assert {name.partition("/")[0] for name in licences} | {"pyproject.toml", "setup.cfg", "README.md"} <= names


def test_the_image_has_extras_that_there_are():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    (extras,) = re.findall(r"/src\[([\w,]+)\]", (DOCKER / "Dockerfile").read_text())
    assert set(extras.split(",")) <= set(setup["options.extras_require"])
