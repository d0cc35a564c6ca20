"""The charts of a report as Vega-Lite specifications, without their rows.

Colours are names of the style sheet, so that dark and printed pages need no other chart. Each chart stands beside a
table or sentences that say the same; what Vega would read aloud of its axes is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Spec = dict[str, Any]

Rows = Sequence[Mapping[str, object]]


class Chart(NamedTuple):
    """A chart and what it shows."""

    id: str
    label: str
    """What it shows, in a few words: what a screen reader says."""
    spec: Spec
    data: Mapping[str, Rows]
    """Name of a data set in the specification -> its rows."""


ROW = 24
"""Height of a row of a chart of hosts or reasons, in pixels."""

_CONFIG: Spec = {
    "aria": False,
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--line)",
        "gridColor": "var(--line)",
        "labelColor": "var(--muted)",
        "labelFontSize": 12,
        "tickColor": "var(--line)",
        "titleColor": "var(--muted)",
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "labelFontSize": 13,
        "columns": {"expr": "containerSize()[0] < 420 ? 1 : 0"},  # below each other; 0 is all in one row
        "orient": "top",
        "symbolStrokeWidth": 3,
        "title": None,
    },
    "text": {"color": "var(--ink)", "fontSize": 13},
}

_TICKS: Spec = {"expr": "containerSize()[0] < 420 ? 3 : 5"}
"""Few enough that their labels do not touch each other on a phone."""

KINDS = {
    "new pages": "var(--new)",
    "repeats": "var(--repeat)",
    "on topic": "var(--topic)",
    "errors": "var(--error)",
    "short pages, files": "var(--other)",
    "left out": "var(--left-out)",
}
"""What comes of a URL, and its colour."""


_NAMES: Spec = {
    "title": None,
    "domain": False,
    "ticks": False,
    "labelColor": "var(--ink)",
    "labelLimit": {"expr": "containerSize()[0] / 3"},
    "labelPadding": 12,
}


_TOLD: Spec = {"field": "told", "type": "nominal"}
"""What is told of a row when it is pointed at: a sentence."""


def chart(name: str, label: str, spec: Spec, data: Mapping[str, Rows]) -> Chart:
    """Return a chart as wide as the page lets it be."""
    width = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    return Chart(name, label, {**width, **spec, "config": _CONFIG}, data)


def _number(field: str, title: str | None, **axis: object) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "axis": {"title": title, "format": ",.0f", "tickMinStep": 1, "tickCount": _TICKS, **axis},
    }


def _of_kinds(kinds: Sequence[str]) -> Spec:
    return {"domain": list(kinds), "range": [KINDS[kind] for kind in kinds]}


def course(rows: Rows, kinds: Sequence[str], label: str) -> Chart:
    """Return the curves of what was found over the fetches; rows of fetches, kind and number.

    The rule stands where the slider beside the chart does: the data set ``cursor`` has one row with its fetches.
    """
    dashes = {"domain": list(kinds), "range": [[1, 0], [6, 3], [2, 3]][: len(kinds)]}
    curves: Spec = {
        "data": {"name": "points"},
        "mark": {"type": "line", "strokeWidth": 2.5, "strokeJoin": "round"},
        "encoding": {
            "y": _number("number", "pages"),
            "color": {"field": "kind", "type": "nominal", "scale": _of_kinds(kinds)},
            "strokeDash": {"field": "kind", "type": "nominal", "scale": dashes},
        },
    }
    cursor: Spec = {"data": {"name": "cursor"}, "mark": {"type": "rule", "color": "var(--ink)", "opacity": 0.6}}
    spec = {
        "height": 280,
        "encoding": {"x": {**_number("fetches", "URLs fetched"), "scale": {"nice": False}}},
        "layer": [curves, cursor],
    }
    return chart("course", label, spec, {"points": rows, "cursor": rows[-1:]})


def false_drops(rows: Rows, label: str) -> Chart:
    """Return shares with their intervals; rows of reason, share, low and high."""
    percent = {"format": ".0%", "title": ["share wrong and", "its 95 % interval"], "tickCount": _TICKS}
    spec = {
        "data": {"name": "rates"},
        "height": (ROW + 8) * len(rows),
        "encoding": {"y": {"field": "reason", "type": "nominal", "sort": None, "axis": _NAMES}},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 6, "color": "var(--error)", "opacity": 0.35},
                "encoding": {
                    "x": {"field": "low", "type": "quantitative", "axis": percent, "scale": {"domainMin": 0}},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "color": "var(--error)", "opacity": 1},
                "encoding": {"x": {"field": "share", "type": "quantitative"}, "tooltip": _TOLD},
            },
        ],
    }
    return chart("false-drops", label, spec, {"rates": rows})


_ROW: Spec = {"type": "ordinal", "axis": None, "scale": {"paddingOuter": 0.6}}
_LEVEL: Spec = {"type": "quantitative", "axis": None, "scale": {"domain": [-0.2, 9], "nice": False}}


def groups(nodes: Rows, edges: Rows, label: str) -> Chart:
    """Return the graph of the hosts that are one site, a row for each host below the one that it is a copy of.

    Nodes have a row, a level, host, pages and kind (kept, copy); edges a row, that of the other end, the levels of both
    and what was saved.
    """
    layers = [*_lines_of_copies(), *_hosts_of_groups()]
    spec = {"height": ROW * len(nodes), "layer": layers, "resolve": {"scale": {"size": "independent"}}}
    return chart("groups", label, spec, {"nodes": nodes, "edges": edges})


def _lines_of_copies() -> list[Spec]:
    """Return the layers of lines down from a host, and from there to each copy, as wide as what was saved."""
    line = {"type": "rule", "color": "var(--repeat)", "opacity": 0.55, "strokeCap": "round"}
    width = {"field": "saved", "type": "quantitative", "scale": {"range": [1, 9]}, "legend": None}
    start = {"field": "from", **_LEVEL}
    down = {"y": {"field": "canonical", **_ROW}, "y2": {"field": "row"}, "x": start}
    across = {"y": {"field": "row", **_ROW}, "x": start, "x2": {"field": "to"}, "size": width}
    return [{"data": {"name": "edges"}, "mark": line, "encoding": encoding} for encoding in (down, across)]


def _hosts_of_groups() -> list[Spec]:
    """Return the layers of circles, as large as the pages of a host, and of their names."""
    place = {"y": {"field": "row", **_ROW}, "x": {"field": "level", **_LEVEL}, "tooltip": _TOLD}
    kinds = {"domain": ["kept", "copy"], "range": ["var(--new)", "var(--repeat)"]}
    area = {"type": "sqrt", "range": [40, 400]}
    look = {
        "color": {"field": "kind", "type": "nominal", "scale": kinds, "legend": None},
        "size": {"field": "pages", "type": "quantitative", "scale": area, "legend": None},
    }
    name = {"type": "text", "align": "left", "dx": 14, "limit": 250}
    return [
        {"data": {"name": "nodes"}, "mark": {"type": "circle", "opacity": 1}, "encoding": {**place, **look}},
        {"data": {"name": "nodes"}, "mark": name, "encoding": {**place, "text": {"field": "name"}}},
    ]


def scores(rows: Rows, label: str) -> Chart:
    """Return the histogram of the scores of what waits; rows of low, high, first, behind and what is told of them."""
    kinds = {"domain": ["in their turn", "behind the others"], "range": ["var(--new)", "var(--repeat)"]}
    bars: Spec = {
        "mark": {"type": "bar", "binSpacing": 1},
        "encoding": {
            "x": {"field": "low", "type": "quantitative", "bin": {"binned": True}, "axis": _SCORE},
            "x2": {"field": "high"},
            "y": {**_number("first", "URLs, drawn by their square root"), "scale": {"type": "sqrt"}},
            "color": {"datum": "in their turn", "type": "nominal", "scale": kinds},
            "tooltip": _TOLD,
        },
    }
    steps: Spec = {
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
        "encoding": {
            "x": {"field": "low", "type": "quantitative"},
            "y": {"field": "behind", "type": "quantitative"},
            "color": {"datum": "behind the others", "type": "nominal"},
        },
    }
    spec = {"data": {"name": "bins"}, "height": 220, "layer": [bars, steps]}
    return chart("scores", label, spec, {"bins": rows})


_SCORE: Spec = {"title": "score", "format": ".2f", "tickCount": 6}


def bars(name: str, rows: Rows, kinds: Sequence[str], label: str) -> Chart:
    """Return a bar for each host or directory; rows of name, kind, number of URLs, order and place."""
    spec = {
        "data": {"name": "bars"},
        "height": ROW * len({row["name"] for row in rows}),
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": {"field": "place"}, "axis": _NAMES},
            "x": _number("number", "URLs"),
            "color": {"field": "kind", "type": "nominal", "scale": _of_kinds(kinds)},
            "order": {"field": "order"},
            "tooltip": _TOLD,
        },
    }
    return chart(name, label, spec, {"bars": rows})
