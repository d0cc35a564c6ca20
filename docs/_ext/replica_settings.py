"""The directive ``replica-settings``: every setting of ``Config``, with type, default and meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from scrapy_replica.config import Config

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


class ReplicaSettings(SphinxDirective):
    """Writes a section for each setting, in the order of ``Config``."""

    def run(self) -> list[nodes.Node]:
        lines = StringList()
        for setting, kind, default, meaning in Config.documentation():
            facts = f"Type: {kind}. Default: ``{default}``."
            for line in (f".. setting:: {setting}", "", f"   {facts}", "", f"   {meaning}", ""):
                lines.append(line, "replica-settings")
        self.content = lines
        return self.parse_content_to_nodes()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("replica-settings", ReplicaSettings)
    app.add_object_type("setting", "setting", indextemplate="pair: %s; setting")
    app.add_object_type("stat", "stat", indextemplate="pair: %s; statistic")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
