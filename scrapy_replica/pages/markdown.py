"""Main text as Markdown: headings, lists, tables, quotes, code and links of the blocks that the extractor keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from scrapy_replica.pages.blocks import BLOCK, BREAK, KINDS, LINK, SKIPPED, BlockReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_EMPHASIS = {"b": "**", "strong": "**", "em": "*", "i": "*", "code": "`", "kbd": "`", "samp": "`", "tt": "`"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPECIAL = re.compile(r"\\(?=[!-/:-@\[-`{-~])|[`*]|(?<!\w)_|_(?!\w)|\](?=\()|<(?=[A-Za-z/!?])")
"""What would be read as Markdown where it stands."""
_BEGINS_BLOCK = re.compile(r"(?=#{1,6} |[-+>] |(?:=+|-+)$)|(\d{1,9})(?=[.)] )")
_LANGUAGE = re.compile(r"(?:language-|lang-|highlight-(?:source-)?|brush: ?)([\w+#-]+)")
_PERMALINK = "#\u00b6\u00a7\u200b\U0001f517"
"""What is shown of a heading's link to itself."""
MOST_CELL_RUNS = 4
"""Blocks of a cell that make it a cell of data; one with more holds a part of the page's layout."""


class _Span(NamedTuple):
    """Text under one set of inline marks."""

    text: str
    marks: tuple[str, ...] = ()
    href: str | None = None


@dataclass(slots=True)
class _Run:
    """A run of :class:`~scrapy_replica.pages.blocks.Blocks`, with its marks and the block-level elements around it."""

    spans: list[_Span]
    around: tuple[etree._Element, ...]
    """From the outermost to the innermost."""

    def inner(self, *tags: str) -> etree._Element | None:
        return next((element for element in reversed(self.around) if element.tag in tags), None)


class _Reader(BlockReader):
    """Reads the runs that :func:`~scrapy_replica.pages.blocks.read_blocks` reads, and how they are marked."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[_Run] = []
        self._spans: list[_Span] = []
        self._around: list[etree._Element] = []
        self._inline: list[tuple[str | None, str | None]] = []
        """Mark and target of the open inline elements."""

    def add(self, text: str) -> None:
        super().add(text)
        marks = tuple(dict.fromkeys(mark for mark, _ in self._inline if mark is not None))
        href = next((href for _, href in reversed(self._inline) if href is not None), None)
        self._spans.append(_Span(text, marks, href))

    def end_run(self) -> None:
        if self.has_words:
            self.runs.append(_Run(self._spans, tuple(self._around)))
        super().end_run()
        self._spans = []

    def walk(self, root: etree._Element) -> None:
        n_tags = 0
        walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
        kinds: list[int] = []
        for event, element in walk:
            if event == "start":
                n_tags += 1
                kinds.append(kind := self._open(element, n_tags))
                if kind == SKIPPED:
                    walk.skip_subtree()
                else:
                    self._add_shown(element.text)
                continue
            if event == "end":
                self._close(kinds.pop(), n_tags)
            if element is not root:
                self._add_shown(element.tail)
        self.close_node(n_tags)

    def _open(self, element: etree._Element, n_tags: int) -> int:
        tag = str(element.tag)
        kind = KINDS.get(tag, BLOCK)
        if kind == BLOCK:
            kind = kind if self.open_node(tag, element, n_tags) else SKIPPED
        elif kind != SKIPPED:
            kind = self.open_inline(kind, element)
            if kind == BREAK:
                self._spans.append(_Span("\n"))
        if kind == BLOCK:
            self._around.append(element)
        elif kind != SKIPPED:
            self._inline.append((_EMPHASIS.get(tag), element.get("href") if kind == LINK else None))
        return kind

    def _close(self, kind: int, n_tags: int) -> None:
        if kind == BLOCK:
            self.close_node(n_tags)
            self._around.pop()
        elif kind != SKIPPED:
            self._inline.pop()
            self.open_links -= kind == LINK

    def _add_shown(self, text: str | None) -> None:
        if text and (self.is_open or not text.isspace()):
            self.add(text)


def markdown(root: etree._Element, is_kept: Sequence[bool], absolute: Callable[[str], str | None]) -> str:
    """Return the runs of *root* that are kept as Markdown (CommonMark, and tables of GitHub).

    Empty where the page is too large to be read as a whole.

    :param is_kept: for each run of the page, in order, as :func:`~scrapy_replica.pages.extractor.kept_runs` tells.
    :param absolute: the URL that a reference of the page means, ``None`` if it is none.
    """
    reader = _Reader()
    reader.walk(root)
    if len(reader.runs) != len(is_kept):
        return ""
    kept = [run for run, keep in zip(reader.runs, is_kept, strict=True) if keep]
    blocks: list[tuple[str, bool]] = []
    """Each block of Markdown, and whether it stands right below the one before."""
    seen: set[etree._Element] = set()
    for table, of_table in groupby(kept, lambda run: run.inner("table")):
        runs = list(of_table)
        cells = _cells(runs, absolute) if table is not None else None
        if cells is not None:
            blocks.append((_in_quotes(_table(cells), runs[0]), False))
            continue
        for code, of_code in groupby(runs, lambda run: run.inner("pre")):
            if code is not None:
                blocks.append((_code(code, of_code), False))
            else:
                blocks += [_block(run, seen, absolute) for run in of_code]
    text = ""
    for block, is_tight in blocks:
        is_quoted = block.startswith(">") and text.rpartition("\n")[2].startswith(">")
        text += ("\n" if is_tight else "\n>\n" if is_quoted else "\n\n") * bool(text) + block
    return text


def _block(run: _Run, seen: set[etree._Element], absolute: Callable[[str], str | None]) -> tuple[str, bool]:
    """Return a heading, an item of a list or a paragraph; items after the first of a list are tight."""
    text = _inline(run.spans, absolute)
    heading = run.inner(*_HEADINGS)
    if heading is not None:
        text = f"{'#' * _HEADINGS[str(heading.tag)]} {text}"
    elif not text.startswith(("[", "*", "`")):
        text = f"{begin[1] or ''}\\{text[begin.end() :]}" if (begin := _BEGINS_BLOCK.match(text)) else text
    items = [element for element in run.around if element.tag == "li"]
    is_tight = False
    if items:
        marker = "" if items[-1] in seen else _marker(items[-1])
        is_tight = bool(marker) and any(item in seen for item in (*items[:-1], *_before(items[-1])))
        seen.update(items)
        indent = "  " * (len(items) - 1)
        text = indent + (marker or "  ") + text
    return _in_quotes(text, run), is_tight


def _before(item: etree._Element) -> Iterator[etree._Element]:
    return item.itersiblings("li", preceding=True)


def _marker(item: etree._Element) -> str:
    parent = item.getparent()
    if parent is None or parent.tag != "ol":
        return "- "
    start = parent.get("start") or "1"
    first = int(start) if start.isdecimal() and len(start) < 6 else 1
    return f"{first + sum(1 for _ in _before(item))}. "


def _in_quotes(text: str, run: _Run) -> str:
    depth = sum(element.tag == "blockquote" for element in run.around)
    return "\n".join("> " * depth + line for line in text.split("\n")) if depth else text


def _code(code: etree._Element, runs: Iterable[_Run]) -> str:
    text = "\n".join("".join(span.text for span in run.spans) for run in runs).strip("\n").rstrip()
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in re.findall("`+", text)), default=0))
    named = (element.get("class") or "" for element in (code, *code.iter("code"), *code.iterancestors("div")))
    language = next((found[1] for name in named if (found := _LANGUAGE.search(name))), "")
    return f"{fence}{language}\n{text}\n{fence}"


def _cells(runs: Sequence[_Run], absolute: Callable[[str], str | None]) -> list[list[str]] | None:
    """Return the rows of a table of data; ``None`` if it is there for the layout of the page."""
    rows: dict[etree._Element, dict[etree._Element, list[str]]] = {}
    for run in runs:
        row, cell = run.inner("tr"), run.inner("td", "th")
        if cell is None or row is None or sum(element.tag == "table" for element in run.around) > 1:
            return None
        if run.inner(*_HEADINGS, "pre", "li", "blockquote") is not None:
            return None
        rows.setdefault(row, {}).setdefault(cell, []).append(_inline(run.spans, absolute).replace("|", r"\|"))
    found = [[" ".join(told) for told in _row(row, cells)] for row, cells in rows.items()]
    is_layout = any(len(told) > MOST_CELL_RUNS for cells in rows.values() for told in cells.values())
    return None if is_layout or len(found) < 2 or max(map(len, found)) < 2 else found


def _row(row: etree._Element, cells: dict[etree._Element, list[str]]) -> Iterator[list[str]]:
    for cell in row.iterchildren("td", "th"):
        yield cells.get(cell, [])


def _table(rows: Sequence[Sequence[str]]) -> str:
    width = max(map(len, rows))
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])


def _inline(spans: Iterable[_Span], absolute: Callable[[str], str | None]) -> str:
    """Return *spans* in one line: white space folded, marks around the words alone."""
    text = ""
    for (marks, href), same in groupby(spans, lambda span: (span.marks, span.href)):
        told = "".join(span.text for span in same)
        words = " ".join(told.split())
        if not words:
            text += " " * bool(told)
            continue
        before, after = (" " * told[at].isspace() for at in (0, -1))
        shown = f"`{words.replace('`', '')}`" if "`" in marks else _SPECIAL.sub(r"\\\g<0>", words)
        for mark in marks:
            shown = shown if mark == "`" else f"{mark}{shown}{mark}"
        if href is not None and not words.strip(_PERMALINK):
            continue
        target = absolute(href) if href is not None else None
        text += before + (f"[{shown}]({_target(target)})" if target else shown) + after
    return " ".join(text.split())


def _target(url: Any) -> str:
    return str(url).replace(" ", "%20").replace("(", "%28").replace(")", "%29")
