"""The page of a report: one file without network."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files

import vl_convert
from jinja2.utils import htmlsafe_json_dumps

from scrapy_replica.report.figures import Figures
from scrapy_replica.report.sections import TEMPLATES, drawn, sections, shown

STYLE = files(__package__).joinpath("report.css").read_text("utf-8")

SCRIPT = files(__package__).joinpath("report.js").read_text("utf-8")


@cache
def library() -> str:
    """Return Vega-Lite, and what it needs, as one script of about 1 MB; it takes a second to make."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # What would end the element that it stands in can stand in its strings only.
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def report(figures: Figures, name: str) -> str:
    """Return the page that shows *figures* of the job of that *name*.

    Its policy lets no other script run than its own, and nothing be loaded.
    """
    parts = sections(figures)
    scripts = [library(), SCRIPT]
    return TEMPLATES.get_template("page.html").render(
        f=figures,
        name=shown(name),
        sections=parts,
        charts=htmlsafe_json_dumps(drawn(parts)),
        style=STYLE,
        scripts=scripts,
        policy=_policy(scripts),
        version=version("scrapy-replica"),
    )


def _policy(scripts: list[str]) -> str:
    allowed = " ".join(map(_hash, scripts))
    return f"default-src 'none'; script-src {allowed}; style-src {_hash(STYLE)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
