"""Result pages as other sites might have them: few records, or another site's menus and boxes around the records.

Of three vendors little is learnt about a fourth. What differs between vendors, and between one search and the next, can
be changed where the truth is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Change = Callable[[Any, Sequence[Any], int], "Sequence[Any] | None"]
"""Changes a page, given its root, its records and its number within the site; returns the records that are left,
``None`` if it cannot be done."""
_INNER = ("tbody", "thead", "tr", "td", "li", "dd", "dt")
"""Cannot stand without the element around it."""


def unchanged(root: Any, records: Sequence[Any], n: int) -> Sequence[Any]:  # noqa: ARG001 - a change
    """Leave the page as it is."""
    return records


def few(root: Any, records: Sequence[Any], n: int) -> Sequence[Any]:  # noqa: ARG001 - a change
    """Leave one, two or three records, in turn."""
    kept = 1 + n % 3
    for record in records[kept:]:
        record.getparent().remove(record)
    return records[:kept]


class Frame:
    """The page of another site: what its values stand in gives way to the result page's list of records."""

    def __init__(self, site: Path, parse: Callable[[Path], Any]) -> None:
        """Take the pages of *site*, a folder below ``swde/``, read by *parse*."""
        self._parse = parse
        self._pages = [(site / "pages" / f"{truth.stem}.html", truth) for truth in sorted(site.glob("truth/*.json"))]

    def __call__(self, root: Any, records: Sequence[Any], n: int) -> Sequence[Any] | None:
        """Put the list of records into page *n* of the frame."""
        page, truth = self._pages[n % len(self._pages)]
        frame = self._parse(page)
        (slot,) = frame.xpath(json.loads(truth.read_text(encoding="utf-8"))["attr_lca_xpath"])
        if not records or slot.tag in {"html", "body"}:
            return None
        while slot.tag in _INNER:
            slot = slot.getparent()
        around = _around(records)
        tail = slot.tail
        slot.clear()
        slot.tail = tail
        if around.tag == "body":
            slot.extend(list(around))
        else:
            around.tail = None
            slot.append(around)
        body = root.find("body")
        body.clear()
        body.extend(list(frame.find("body")))
        return records


def _around(records: Sequence[Any]) -> Any:
    """Return the smallest element around all *records* that can stand alone."""
    shared = set(records[0].iterancestors()).intersection(*(record.iterancestors() for record in records[1:]))
    found = next(element for element in records[0].iterancestors() if element in shared)
    while found.tag in _INNER:
        found = found.getparent()
    return found
