"""The directive ``replica-modules``: every module of a room with the first line of its docstring."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import scrapy_replica

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils import nodes
    from sphinx.application import Sphinx

PACKAGE = Path(scrapy_replica.__file__).parent


def modules_of(room: str) -> Iterator[tuple[str, str]]:
    """Yield path and purpose of each module below *room*; of ``.`` those of the package itself."""
    for path in sorted((PACKAGE / room).glob("*.py" if room == "." else "**/*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        yield path.relative_to(PACKAGE).as_posix(), docstring.partition("\n")[0]


class ReplicaModules(SphinxDirective):
    """Writes the table of one room."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lines = [".. list-table::", "   :widths: 36 64", ""]
        for path, purpose in modules_of(self.arguments[0]):
            lines += [f"   * - ``{path}``", f"     - {purpose}"]
        self.content = StringList(lines, "replica-modules")
        return self.parse_content_to_nodes()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("replica-modules", ReplicaModules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
