"""The table of constants says what the code says, of all of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import scrapy_replica

ROOT = Path(scrapy_replica.__file__).parent
TABLE = ROOT.parent / "docs" / "constants.rst"
ROOMS = ("sites", "urls", "crawl/claims", "crawl/hosts", "crawl/pages", "crawl/urls")
ROW = re.compile(r"^   ``([\w.]+)``, ([-\d.e_]+), \"", re.MULTILINE)


def numbers_in(tree: ast.Module):
    """Yield the names of a module to which a number is assigned, and the numbers."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            are_many = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=False) if are_many else [(target, value)]
            for name, one in pairs:
                number = one.operand if isinstance(one, ast.UnaryOp) else one
                is_number = isinstance(number, ast.Constant) and type(number.value) in {int, float}
                if isinstance(name, ast.Name) and is_number:
                    yield name.id, ast.literal_eval(one)


def in_the_code():
    found = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for name, value in numbers_in(ast.parse(path.read_text(encoding="utf-8"))):
                if name.isupper():
                    found[f"{module}.{name}"] = float(value)
    return found


def test_each_constant_stands_in_the_table_with_its_value():
    told = {name: float(value) for name, value in ROW.findall(TABLE.read_text(encoding="utf-8"))}
    assert told == in_the_code()


def test_the_code_has_constants_to_tell_of():
    assert in_the_code()["urls.validation.PROVED"] == 3
