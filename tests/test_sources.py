"""The page of sources has every section, table and figure of the documents, and names what exists."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from scrapy_replica.commands import command_named
from scrapy_replica.commands.parser import parser_of
from scrapy_replica.lab.strategies import STRATEGIES

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "sources.rst").read_text(encoding="utf-8")
NUMBER = r"\d+(?:\.\d+)*"
CHAPTER = {
    "Carvalho 2014": {"1": 3, "2": 5, "2.1": 2, "2.2": 3, "2.3": 3, "3": 3, "3.3": 4, "4": 7, "5": 0},
    "Carvalho and others 2017": {"1": 0, "2": 0, "3": 5, "4": 2, "4.1": 3, "4.2": 3, "5": 0},
    "Orlandi 2007": {"1": 4, "1.3": 5, "2": 3, "2.1": 4, "3": 7, "4": 5, "4.2": 2, "4.3": 2, "5": 3, "6": 3},
    "Lutz 2013": {"1": 5, "2": 2, "2.1": 5, "3": 4, "4": 3, "4.1": 2, "4.2": 2, "4.3": 5, "5": 1},
}
"""Document -> how many sections each chapter or section has, by the tables of contents."""
HEADINGS = ("Melhorando a medida", "O problema", "A solução", "Escolhendo um limiar", "Os resultados visíveis")
PICTURES = ("agg", "agg_linear", "agg_log_unbounded", "agg_log_pesky", "agg_log_bounded")
TABLES = {
    "Carvalho 2014": {"3": 1, "4": 6},
    "Carvalho and others 2017": {"": 5},
    "Orlandi 2007": {},
    "Lutz 2013": {"2": 3, "3": 1, "4": 5},
}
"""Document -> how many tables each chapter has."""
FIGURES = {
    "Carvalho 2014": {"2": 3, "3": 5, "4": 10},
    "Carvalho and others 2017": {"": 5},
    "Orlandi 2007": {"3": 4, "6": 7},
    "Lutz 2013": {"1": 4, "2": 9, "3": 4, "4": 6},
}
UNNUMBERED = ("Table of 4.5", "First table of 6.1", "Second table of 6.1", "first table of 6.2", "second table of 6.2")


def part(document):
    """Return what the page says of a document."""
    found = re.search(rf"^{document}: [^\n]*\n-+\n(.*?)(?=^\.\. _|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, document
    return found[1]


def first_cells(document):
    """Return the first cells of all rows of a document, each in one line."""
    rows = re.findall(r"^   \* - (.*?)\n     - ", part(document), re.MULTILINE | re.DOTALL)
    return [" ".join(row.split()) for row in rows]


def numbers_of(cells):
    """Return the numbers with which cells begin: ``2, 2.1 A title`` has two."""
    lists = (re.match(rf"{NUMBER}(?:, {NUMBER})*", cell) for cell in cells)
    return [number for each in lists if each for number in each[0].split(", ")]


def numbered(chapters):
    return {f"{chapter}.{n}".lstrip(".") for chapter, count in chapters.items() for n in range(1, count + 1)}


@pytest.mark.parametrize("document", CHAPTER)
def test_every_section_has_a_row(document):
    chapters = CHAPTER[document]
    assert set(numbers_of(first_cells(document))) == set(chapters) | numbered(chapters)


@pytest.mark.parametrize(("kind", "documents"), [("table", TABLES), ("figure", FIGURES)])
def test_every_table_and_figure_has_a_row(kind, documents):
    for document, chapters in documents.items():
        lists = re.findall(rf"\b{kind}s? ({NUMBER}(?:, {NUMBER})*)", "\n".join(first_cells(document)), re.IGNORECASE)
        assert {number for each in lists for number in each.split(", ")} == numbered(chapters), document


def test_what_bears_no_number_has_a_row():
    orlandi, fingerprints = "\n".join(first_cells("Orlandi 2007")), "\n".join(first_cells("Fingerprints 2013"))
    assert [name for name in UNNUMBERED if name not in orlandi] == []
    assert [name for name in HEADINGS if f'"{name}' not in fingerprints] == []
    assert [name for name in PICTURES if f"``{name}``" not in fingerprints] == []


def test_no_cell_is_open():
    assert "TODO" not in TEXT
    assert re.findall(r"^ +[*-] *(?:- *)?$", TEXT, re.MULTILINE) == []


def test_modules_exist():
    paths = set(re.findall(r"``((?:\w+/)+\w*(?:\.py)?|\w+\.py)``", TEXT)) - {"scrapy_replica/"}
    missing = [path for path in paths if not any((ROOT / below / path).exists() for below in ("scrapy_replica", ""))]
    assert len(paths) > 50
    assert missing == []


def test_commands_and_their_options_exist():
    lines = [line.split()[2:] for line in re.findall(r"``(scrapy replica [^`]+)``", " ".join(TEXT.split()))]
    wrong = []
    for words in lines:
        parser, options = parser_of(command_named(words[0])), {word for word in words if word.startswith("-")}
        for word in words[1:]:
            below = next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)
            if parser is None or below is None:
                break
            parser = below.choices.get(word)
        known = {"--job"}.union(*(each.option_strings for each in parser._actions)) if parser else set()
        if parser is None or not options <= known:
            wrong.append(" ".join(words))
    assert len(lines) > 30
    assert wrong == []


def test_pages_labels_and_strategies_exist():
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.rst")}
    labels = {label for page in pages.values() for label in re.findall(r"^\.\. _([\w-]+):$", page, re.MULTILINE)}
    assert set(re.findall(r":doc:`([\w-]+)`", TEXT)) <= set(pages)
    assert set(re.findall(r":ref:`(?:[^`<]+<)?([\w-]+)>?`", TEXT)) <= labels
    lists = re.findall(r"[Ss]trateg(?:y|ies) ((?:``[\w-]+``(?:, )?)+)", " ".join(TEXT.split()))
    assert {name for each in lists for name in re.findall(r"``([\w-]+)``", each)} <= set(STRATEGIES)
