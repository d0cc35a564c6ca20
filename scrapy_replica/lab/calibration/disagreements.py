"""The pairs on which simhash and the legacy measure disagree most, to be looked at."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrapy_replica.address import has_secret, redacted
from scrapy_replica.lab.calibration.figures import LEGACY_DISTANCE
from scrapy_replica.lab.calibration.pairs import Pairs
from scrapy_replica.lab.calibration.prints import Prints
from scrapy_replica.numeric import IntArray
from scrapy_replica.pages.near_duplicates import MAX_DISTANCE
from scrapy_replica.words.text import cleaned, shortened

SHOWN = 20
"""Pairs of each kind."""
_MOST_LINES = 60
_KINDS = {
    "false": f"Simhash says duplicates (at most {MAX_DISTANCE} bits), the legacy measure says no",
    "missed": f"The legacy measure says duplicates (at most {LEGACY_DISTANCE} entries), simhash says no",
}
_STYLE = (
    "body{font:14px/1.4 sans-serif;margin:0 16px}table{width:100%;table-layout:fixed;border-spacing:8px 1px}"
    "td{vertical-align:top;padding:1px 6px;overflow-wrap:anywhere;color:#777}.own{color:#000;background:#fdeeb5}"
    "h2{margin:2em 0 0}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_HEAD = (
    f'<!doctype html><meta charset=utf-8><meta http-equiv=Content-Security-Policy content="{_POLICY}">'
    f"<title>Pairs that disagree</title><style>{_STYLE}</style>"
)


class Disagreement(NamedTuple):
    """A pair of pages by their numbers."""

    kind: str
    """``false``: simhash alone takes them for duplicates; ``missed``: the legacy measure alone does."""
    left: int
    right: int
    simhash: int
    legacy: int
    is_one: bool | None
    """What the labels say; ``None`` where they say nothing."""


def disagreements(pairs: Pairs, clusters: IntArray | None) -> list[Disagreement]:
    """Return the pairs that disagree most, at most 20 of each kind, a page in one of them alone."""
    is_near, is_alike = pairs.simhash <= MAX_DISTANCE, pairs.legacy <= LEGACY_DISTANCE
    false, missed = np.flatnonzero(is_near & ~is_alike), np.flatnonzero(~is_near & is_alike)
    orders = {
        "false": false[np.lexsort((pairs.simhash[false], -pairs.legacy[false].astype(int)))],
        "missed": missed[np.lexsort((pairs.legacy[missed], -pairs.simhash[missed].astype(int)))],
    }
    return [told for kind, order in orders.items() for told in _first_of(kind, order, pairs, clusters)]


def _first_of(kind: str, order: IntArray, pairs: Pairs, clusters: IntArray | None) -> list[Disagreement]:
    found: list[Disagreement] = []
    shown: set[int] = set()
    for place in order.tolist():
        left, right = sorted((int(pairs.left[place]), int(pairs.right[place])))
        if shown.isdisjoint((left, right)):
            shown |= {left, right}
            measured = int(pairs.simhash[place]), int(pairs.legacy[place])
            found.append(Disagreement(kind, left, right, *measured, _is_one(left, right, clusters)))
        if len(found) == SHOWN:
            break
    return found


def _is_one(left: int, right: int, clusters: IntArray | None) -> bool | None:
    if clusters is None or clusters[left] < 0 or clusters[right] < 0:
        return None
    return bool(clusters[left] == clusters[right])


def as_row(found: Disagreement, prints: Prints) -> dict[str, object]:
    """Return the pair with the URLs of its pages in place of their numbers, secrets in them blotted out."""
    urls = {"left": redacted(prints.urls[found.left]), "right": redacted(prints.urls[found.right])}
    labelled = {"labels_say": {None: "", True: "one page", False: "two pages"}[found.is_one]}
    return {"kind": found.kind, "simhash": found.simhash, "legacy": found.legacy, **labelled, **urls}


def as_page(found: Sequence[Disagreement], prints: Prints) -> str:
    """Return a page of HTML with both texts of each pair side by side, lines that the other lacks marked.

    Crawled text is never markup, its secrets are blotted out, and a policy lets the page run and load nothing.
    """
    parts = [_HEAD, "<p>Lines marked <b class=own>so</b> are not in the other page.</p>"]
    for kind, title in _KINDS.items():
        of_kind = [one for one in found if one.kind == kind]
        parts.append(f"<h1>{title}: {len(of_kind) or 'none'}</h1>")
        parts += [_table(one, prints) for one in of_kind]
    return "".join(parts)


def _table(found: Disagreement, prints: Prints) -> str:
    said = {None: "", True: "; labels: one page", False: "; labels: two pages"}[found.is_one]
    sides = found.left, found.right
    texts = [prints.text(page).splitlines() for page in sides]
    own = [_column(lines, set(other)) for lines, other in (texts, texts[::-1])]
    heads = "".join(f"<th>{_link(prints.urls[page])}</th>" for page in sides)
    rows = "".join(f"<tr>{left}{right}</tr>" for left, right in _beside(*own))
    told = f"<h2>{found.simhash} bits, {found.legacy} entries{said}</h2>"
    return f"{told}<table><tr>{heads}</tr>{rows}</table>"


def _column(lines: Sequence[str], other: set[str]) -> list[str]:
    marks: Mapping[bool, str] = {True: "", False: " class=own"}
    shown = [(line in other, redacted(cleaned(line, 300))) for line in lines[:_MOST_LINES]]
    cells = [f"<td{marks[is_common]}>{html.escape(line)}</td>" for is_common, line in shown]
    if len(lines) > _MOST_LINES:
        cells.append(f"<td>… and {len(lines) - _MOST_LINES:,} more lines</td>")
    return cells


def _beside(left: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    rows = max(len(left), len(right))
    padded = ([*column, *["<td></td>"] * (rows - len(column))] for column in (left, right))
    return list(zip(*padded, strict=True))


def _link(url: str) -> str:
    """Return a link to a page; with a secret in it, or a scheme that might do something, it is shown alone."""
    shown = shortened(redacted(url), 90)
    if ":" not in url.partition("/")[0]:
        target = Path(url).absolute().as_uri()
    elif url.startswith(("http://", "https://")) and url.isprintable() and not has_secret(url):
        target = url
    else:
        return html.escape(shown)
    return f"<a href='{html.escape(target)}'>{html.escape(shown)}</a>"
