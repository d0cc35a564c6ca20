"""The sections of a report: what each says in words, its charts, and its tables, as HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scrapy_replica.address import redacted
from scrapy_replica.report import charts
from scrapy_replica.report.charts import Chart
from scrapy_replica.report.figures import Figures, Group, HostDirectories
from scrapy_replica.report.headline import headline
from scrapy_replica.words import phrases
from scrapy_replica.words.rules import rule
from scrapy_replica.words.terminal import amount, counted, day, lasting, percent, score
from scrapy_replica.words.terminal import share as of_all
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from scrapy_replica.crawldb.results import Directory
    from scrapy_replica.crawldb.status import Traffic

BARS = 15
"""Hosts that have a bar."""

NODES = 60
"""Copies in the graph."""

DEEPEST = 5
"""Level from which on copies of copies stand below each other."""

ROWS = 10
"""Rows of the table that says what the curves do."""


class Section(NamedTuple):
    """A part of the page."""

    id: str
    title: str
    html: str
    """With an empty ``<div id="chart-ID">`` for each chart."""
    charts: Sequence[Chart]


def sections(figures: Figures) -> list[Section]:
    """Return the sections in the order of the page."""
    return [_section(name, title, make(figures), figures) for name, title, make in SECTIONS]


def update(figures: Figures) -> dict[str, Any]:
    """Return what brings a page that is open up to date (``replicaReport.update`` in ``report.js``), as plain JSON."""
    made = sections(figures)
    return {"sections": {section.id: section.html for section in made}, "charts": drawn(made)}


def drawn(made: Sequence[Section]) -> list[dict[str, Any]]:
    """Return the charts of sections as ``report.js`` takes them, as plain JSON."""
    return [chart._asdict() for section in made for chart in section.charts]


def _section(name: str, title: str, made: Sequence[Chart], figures: Figures) -> Section:
    html = TEMPLATES.get_template(f"{name}.html").render(f=figures, charts={chart.id: chart for chart in made})
    return Section(name, title, html, made)


# Charts and their rows


def _course(figures: Figures) -> list[Chart]:
    kinds = ["new pages", "repeats", *["on topic"] * figures.status.has_topic]
    rows: list[dict[str, object]] = [{"fetches": 0, "kind": kind, "number": 0} for kind in kinds]
    for point in figures.course:
        traffic = point.traffic
        numbers = (traffic.novel, traffic.duplicates, traffic.relevant)
        rows += [
            {"fetches": traffic.fetches, "kind": kind, "number": number}
            for kind, number in zip(kinds, numbers, strict=False)
        ]
    return [charts.course(rows, kinds, f"Curves: {', '.join(kinds)} over the URLs fetched.")]


def _saved(figures: Figures) -> list[Chart]:
    rows = []
    for because in figures.reasons:
        if (rate := because.tested.rate) is not None:
            share, low, high = rate
            name, n = (
                phrases.REASONS[because.reason],
                of_all(because.tested.false_drops, because.tested.samples),
            )
            told = f"{name}: {n} tested were wrong, {percent(low)} to {percent(high)} of all"
            rows.append({"reason": name, "share": share, "low": low, "high": high, "told": told})
    return [charts.false_drops(rows, "Share of what was wrongly left out, by reason, with intervals.")] * bool(rows)


def _groups(figures: Figures) -> list[Chart]:
    nodes: list[dict[str, object]] = []
    edges: list[dict[str, object]] = []
    for group in figures.groups:
        if len(nodes) < NODES:
            _draw(group, nodes, edges)
    label = "Graph: each canonical host, and below it its copies; the wider a line, the more URLs were not fetched."
    return [charts.groups(nodes, edges, label)] * bool(nodes)


def _draw(group: Group, nodes: list[dict[str, object]], edges: list[dict[str, object]]) -> None:
    rows = {group.canonical: len(nodes)}
    kept = f"{shown(group.canonical)} is kept: {counted(group.pages, 'page')} fetched"
    nodes.append(_node(len(nodes), 0, group.canonical, group.pages, "kept", kept))
    for view, depth, _ in group.copies:
        verdict, level = view.verdict, min(depth, DEEPEST)
        told = f"{shown(verdict.copy)} is a copy of {shown(verdict.canonical)}: {counted(view.saved, 'URL')} saved"
        row = rows[verdict.copy] = len(nodes)
        edges.append(
            {"row": row, "canonical": rows[verdict.canonical], "from": level - 1, "to": level, "saved": view.saved}
        )
        nodes.append(_node(row, level, verdict.copy, view.pages, "copy", told))


def _node(row: int, level: int, host: str, pages: int, kind: str, told: str) -> dict[str, object]:
    return {"row": row, "level": level, "name": shown(host), "pages": pages, "kind": kind, "told": told}


def _frontier(figures: Figures) -> list[Chart]:
    scores = figures.scores
    if scores is None or scores.low == scores.high:
        return []
    width = (scores.high - scores.low) / len(scores.first)
    rows = []
    for place, (first, behind) in enumerate(zip(scores.first, scores.demoted, strict=True)):
        low, high = scores.low + place * width, scores.low + (place + 1) * width
        told = f"{low:.2f} to {high:.2f}: {counted(first, 'URL')} in their turn, {behind:,} behind the others"
        rows.append({"low": low, "high": high, "first": first, "behind": behind, "told": told})
    return [charts.scores(rows, "Histogram of the scores of the URLs that wait.")]


def _sites(figures: Figures) -> list[Chart]:
    return [_site(n, site) for n, site in enumerate(figures.sites)]


def _site(n: int, site: HostDirectories) -> Chart:
    parts = [(place.path, _came_of(place) | {"left out": place.dropped}) for place in site.places]
    return _bars(f"site-{n}", parts, f"Bars: what came of the URLs of {shown(site.host)}, by directory.")


def _hosts(figures: Figures) -> list[Chart]:
    parts = [(host.host, _came_of(host.traffic)) for host in figures.status.hosts[:BARS]]
    return [_bars("hosts", parts, f"Bars: what came of the URLs fetched, of at most {BARS} hosts.")]


def _came_of(some: Directory | Traffic) -> dict[str, int]:
    counts = some.novel, some.duplicates, some.errors, some.others
    return dict(zip(("new pages", "repeats", "errors", "short pages, files"), counts, strict=True))


def _bars(chart: str, parts: Sequence[tuple[str, dict[str, int]]], label: str) -> Chart:
    """Return a bar for each of *parts*: its name, and the number of URLs of each kind."""
    rows: list[dict[str, object]] = []
    for place, (name, numbers) in enumerate(parts):
        told = f"{shown(name)}: " + ", ".join(f"{number:,} {kind}" for kind, number in numbers.items())
        rows += [
            {"name": shown(name), "place": place, "kind": kind, "order": order, "number": number, "told": told}
            for order, (kind, number) in enumerate(numbers.items())
        ]
    return charts.bars(chart, rows, [*parts[0][1]] if parts else [], label)


def _none(figures: Figures) -> list[Chart]:  # noqa: ARG001
    return []


SECTIONS: tuple[tuple[str, str, Callable[[Figures], list[Chart]]], ...] = (
    ("summary", "In short", _none),
    ("groups", "Hosts that are one site", _groups),
    ("rules", "URLs that are one page", _none),
    ("course", "What was found", _course),
    ("saved", "What was left out", _saved),
    ("sites", "Where the new pages are", _sites),
    ("traps", "Where nothing new comes", _none),
    ("frontier", "What waits", _frontier),
    ("hosts", "Hosts", _hosts),
)
"""Name of each section and of its template, title, and what makes its charts."""


# Words


def shown(text: str) -> str:
    """Return a crawled text or URL as it is shown: without secrets, without what steers the reader, not too long."""
    return cleaned(redacted(text), 200)


def breakable(text: str) -> Markup:
    """Return *text* as HTML that may be broken where the parts of a URL end."""
    return Markup("<wbr>").join(_PARTS.split(text))


_PARTS = re.compile(r"(?<=[/.?&=_])")

TEMPLATES = Environment(
    loader=PackageLoader("scrapy_replica.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "amount": amount,
    "breakable": breakable,
    "day": day,
    "lasting": lasting,
    "percent": percent,
    "score": score,
    "shown": shown,
}
TEMPLATES.globals |= {
    "headline": headline,
    "REASONS": phrases.REASONS,
    "STANDINGS": phrases.STANDINGS,
    "rule_standing": phrases.rule_standing,
    "TRAPS": phrases.TRAPS,
    "counted": counted,
    "evidence_of": phrases.evidence_of,
    "place_of": phrases.place_of,
    "rule": rule,
    "ROWS": ROWS,
    "BARS": BARS,
}
