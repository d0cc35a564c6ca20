"""The documentation says what is there: commands parse, Python runs, names exist, and nothing is left out."""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import sqlite3
from collections import defaultdict
from contextlib import closing
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from scrapy_replica.commands import COMMANDS, command_named, load_commands
from scrapy_replica.commands.figures import NAMES
from scrapy_replica.commands.parser import parser_of
from scrapy_replica.config import INTERNAL, PREFIX, Config
from scrapy_replica.crawldb.sqlite.schema import SCHEMA
from scrapy_replica.decision import Reason

ROOT = Path(__file__).parent.parent
PAGES = [*sorted((ROOT / "docs").glob("*.rst")), ROOT / "README.md", ROOT / "examples" / "README.md"]
PACKAGE = ROOT / "scrapy_replica"

BLOCKS = (
    re.compile(
        r"^(?P<indent> *)\.\. code-block:: (?P<language>\w+)\n(?P<body>(?:(?P=indent) {3}.*\n|\s*\n)*)", re.MULTILINE
    ),
    re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL),
)
RUN = re.compile(r"^(?:\$ )?(scrapy replica (?:.*\\\n)*.*)", re.MULTILINE)
SAID = re.compile(r"``(scrapy replica [^`]+)``|`(scrapy replica [^`]+)`")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
ENDS = {"|", ">", "2>", "&&", "&", ";"}
"""What follows these on a command line is the shell's."""


def blocks(*languages):
    """Yield (where, text) of each code block in one of the *languages*."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for match in (match for pattern in BLOCKS for match in pattern.finditer(text)):
            if match["language"] in languages:
                yield f"{path.name}:{text.count(chr(10), 0, match.start()) + 1}", dedent(match["body"]).strip("\n")


def command_lines():
    for where, body in blocks("sh", "none", "text"):
        for match in RUN.finditer(body):
            yield where, match[1].replace("\\\n", " ")


def usages():
    """Yield (where, command line with placeholders) of each usage and each command that a sentence names."""
    for where, body in blocks("none"):
        for match in re.finditer(r"^scrapy replica .*(?:\n {8,}\S.*)*", body, re.MULTILINE):
            yield where, " ".join(match[0].split())
    for path in PAGES:
        for match in SAID.finditer(" ".join(path.read_text(encoding="utf-8").split())):
            yield path.name, match[1] or match[2]


def arguments_in(line):
    """Return the words of a command line after ``scrapy replica``, up to where the shell takes over."""
    words = shlex.split(line, comments=True)[2:]
    end = next((n for n, word in enumerate(words) if word in ENDS), len(words))
    return words[:end]


def is_usage(line):
    words = line.split()[2:]
    is_told = not words or any(word.endswith(":") for word in words[:2])  # "scrapy replica: ..." is an answer
    has_choice = re.search(r"\[|\.\.\.|\|[a-z]|COMMAND", line) is not None
    return is_told or has_choice or any(word.isupper() for word in words)


def options_of(parser):
    """Return the option strings of *parser* and of those below it."""
    found = set()
    for action in parser._actions:
        found.update(action.option_strings or (["--job"] if action.dest == "job" else []))
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= options_of(below)
    return found


def subcommands(parser):
    below = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return [name for action in below for name in action.choices]


def test_that_there_are_blocks_to_look_at():
    assert len(list(blocks("python"))) > 5
    assert list(blocks("sql"))
    assert len(list(command_lines())) > 40
    assert len(list(usages())) > 60


def test_command_lines_parse():
    wrong = []
    for where, line in command_lines():
        if is_usage(line):
            continue
        name, *given = arguments_in(line)
        try:
            parser_of(command_named(name)).parse_args(given)
        except (SystemExit, Exception) as error:  # noqa: BLE001 - all of them are told
            wrong.append(f"{where}: {line}: {error}")
    assert wrong == []


def test_usages_name_commands_and_options_that_exist():
    wrong = []
    for where, line in usages():
        names = line.split("scrapy replica ", 1)[1].split()
        if not names[0].islower():
            continue  # "scrapy replica COMMAND"
        for name in names[0].rstrip(",;:.").split("|"):
            known = options_of(parser_of(command_named(name)))
            wrong += [f"{where}: {name} has no {option}" for option in OPTION.findall(line) if option not in known]
    assert wrong == []


def test_the_page_of_commands_has_every_command_and_option():
    page = (ROOT / "docs" / "commands.rst").read_text(encoding="utf-8")
    everywhere = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    missing = []
    for command in load_commands():
        if not re.search(rf"scrapy replica {command.name}\b", page):
            missing.append(command.name)
        missing += [
            f"{command.name} {below}"
            for below in subcommands(parser_of(command))
            if not re.search(rf"scrapy replica {command.name} (?:[\w|]+\|)?{below}\b", page)
        ]
        known = {option for option in options_of(parser_of(command)) if option.startswith("--")}
        known -= {"--help", "--set", "--loglevel", "--logfile", "--output", "--overwrite-output"}
        missing += [f"{command.name} {option}" for option in sorted(known) if option not in everywhere]
    assert missing == []
    assert len(COMMANDS) == len(list(load_commands())) <= 14


def test_every_room_has_its_modules_told_and_each_says_what_it_is():
    page = (ROOT / "docs" / "modules.rst").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"lab"}
    assert set(re.findall(r"^\.\. replica-modules:: (\w+)$", page, re.MULTILINE)) == rooms
    modules = [path for path in PACKAGE.rglob("*.py") if "lab" not in path.parts]
    assert [path for path in modules if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))] == []


@cache
def classes():
    """Name of a class of the product -> of each that has it: where it stands, what it says, its parts, its bases."""
    found = defaultdict(list)
    for path in (path for path in PACKAGE.rglob("*.py") if "lab" not in path.parts):
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.ClassDef):
                said = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                parts = {*re.findall(r"(?:self\.|^    (?:async )?(?:def )?)(\w+)", said, re.MULTILINE)}
                bases = [getattr(base, "id", "") for base in node.bases]
                found[node.name].append((path.name, said, parts, bases))
    return dict(found)


def parts_of(name):
    return {part for _, _, parts, bases in classes().get(name, ()) for part in parts.union(*map(parts_of, bases))}


def test_docstrings_name_methods_that_exist():
    wrong = []
    for name, (file, said, _, _) in ((name, one) for name, same in classes().items() for one in same):
        for reference in re.findall(r":(?:meth|attr):`~?([\w.]+)`", said):
            *of, part = reference.split(".")
            if part not in parts_of(of[-1] if of else name):
                wrong.append(f"{file}: {reference}")
    assert wrong == []


def test_classes_that_the_architecture_names_exist():
    text = (ROOT / "docs" / "architecture.rst").read_text(encoding="utf-8")
    assert [name for name in re.findall(r"``[a-z.]+\.([A-Z]\w+)``", text) if name not in classes()] == []
    for name, part in re.findall(r"``([A-Z][a-z]\w+)\.(\w+)``", text):
        assert name == "CrawlDB" or part in parts_of(name), name  # which is two classes


def test_readme_names_the_commands_that_a_newcomer_needs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("crawl", "status", "report", "serve", "judge", "explain", "export", "doctor", "rehearse"):
        assert f"scrapy replica {name}" in readme
    for option in ("--scope", "--warc", "--revisit"):
        assert option in readme


def test_settings_that_are_named_exist():
    known = {name for name, *_ in Config.documentation()} | INTERNAL
    wrong = [
        f"{path.name}: {name}"
        for path in PAGES
        for name in re.findall(rf"\b{PREFIX}[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))
        if name not in known
    ]
    assert wrong == []
    assert ".. replica-settings::" in (ROOT / "docs" / "settings.rst").read_text(encoding="utf-8")


def keys_counted():
    """Yield each key of Scrapy's statistics that the source counts under, with ``*`` for what is put in."""
    for path in [*PACKAGE.glob("crawl/**/*.py"), *PACKAGE.glob("components/*.py")]:
        source = path.read_text(encoding="utf-8")
        for subscript in re.findall(r"counts\[(.+?)\] \+?=|set_value\((.+?),", source):
            for key in re.findall(r'f?"([a-z_{}./-]+/[^"]+)"', "".join(subscript)):
                whole = re.sub(r"\{[^}]*\}", "*", key)
                yield whole if whole.startswith(("scheduler/", "dupefilter/", "replica/")) else f"replica/{whole}"


def test_statistics_are_told():
    page = (ROOT / "docs" / "stats.rst").read_text(encoding="utf-8")
    told = re.findall(r"^\.\. stat:: (\S+)$", page, re.MULTILINE)
    counted = set(keys_counted()) - {"replica/*"}
    assert len(counted) > 25
    missing = [key for key in counted if not any(same_key(key, known) for known in told)]
    assert missing == []


def test_figures_of_a_crawl_are_told_in_words():
    page = (ROOT / "docs" / "stats.rst").read_text(encoding="utf-8")
    told = re.findall(r"^\.\. stat:: replica/((?:scope|revisit)/\S+)$", page, re.MULTILINE)
    assert len(told) > 12
    assert [key for key in told if key.replace("/", ".") not in NAMES] == []


def same_key(counted, told):
    """Tell whether a counted key, in which ``*`` is anything, is the key *told*, in which capitals and <...> are."""
    is_open = re.compile(r"\*|<.*>|[A-Z]+")
    parts = list(zip(counted.split("/"), told.split("/"), strict=False))
    is_as_long = counted.count("/") == told.count("/")
    return is_as_long and all(a == b or is_open.fullmatch(a) or is_open.fullmatch(b) for a, b in parts)


@pytest.mark.parametrize("page", ["stats.rst", "why-dropped.rst"])
def test_reasons_are_told(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [reason.value for reason in Reason if f"``{reason.value}``" not in text] == []


@pytest.mark.parametrize(("where", "body"), list(blocks("python")))
def test_python_runs(where, body, tmp_path, monkeypatch):
    names = {}
    item = {"url": "http://a.test/", "text": "bread " * 500_000, "repeats": None, "links": [{"url": "/", "anchor": ""}]}
    (tmp_path / "pages.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    compiled = compile(ast.parse(body, where), where, "exec")
    if "import" in body or "class " not in body:
        exec(compiled, names)
    Config.from_settings({name: value for name, value in names.items() if name.startswith(PREFIX)})


def test_json_can_be_read():
    for _, body in blocks("json"):
        json.loads(body)


@pytest.mark.parametrize(("where", "body"), list(blocks("sql")))
def test_sql_fits_the_tables(where, body):
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for statement in filter(str.strip, body.split(";")):
            database.execute(statement)


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "images").glob("*.png")), ids=lambda path: path.name)
def test_pictures_are_small_and_used(path):
    assert path.stat().st_size < 150_000
    assert any(f"images/{path.name}" in page.read_text(encoding="utf-8") for page in PAGES)
