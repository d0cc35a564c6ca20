"""The visible text of a page as flat lists, read in one walk over the tree that Scrapy parsed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterable

BREAK = "\0"
"""A run that parts two blocks; no text of a parsed tree can hold this character."""

# What a browser that runs scripts never shows as text of the page. The choices of a form's controls are none: density
# takes a long list of them for the main text (1.0 of 100 in word F1 over four sets).
INVISIBLE = frozenset({
    "head", "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "embed", "applet", "audio",
    "video", "canvas", "select", "datalist", "textarea", "input",
})  # fmt: skip
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "dir",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4", "h5",
    "h6", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option", "p",
    "pre", "search", "section", "select", "summary", "table", "tbody", "td", "textarea", "tfoot", "th", "thead",
    "title", "tr", "ul",
})  # fmt: skip
_STYLED = etree.XPath("descendant-or-self::*[@style]")


@dataclass(slots=True)
class TextTree:
    """The visible elements below ``<body>`` in document order, one entry each in parallel lists; entry 0 is the body.

    Elements that are not shown (script, style, template, noscript, inline ``display:none``) and comments have no entry
    and no text.
    """

    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """Entry of the parent, -1 for the first."""
    ends: list[int] = field(default_factory=list)
    """First entry after the subtree."""
    runs: list[str] = field(default_factory=list)
    """Text nodes as they stand and :data:`BREAK` at the borders of blocks, in document order."""
    run_starts: list[int] = field(default_factory=list)
    run_ends: list[int] = field(default_factory=list)
    """The text of an entry is ``runs[start:end]``."""
    text_runs: list[int] = field(default_factory=list)
    """The runs that are text nodes."""
    text_entries: list[int] = field(default_factory=list)
    """The innermost entry of each of them."""
    text_lengths: list[int] = field(default_factory=list)
    """Characters of each of them, white space folded."""

    def text(self, entries: Iterable[int]) -> str:
        """Return the text of *entries*, ascending, each subtree once: a line per block, white space folded."""
        pieces: list[str] = []
        done = 0
        for entry in entries:
            if entry >= done:
                pieces.append("".join(self.runs[self.run_starts[entry] : self.run_ends[entry]]))
                done = self.ends[entry]
        lines = (" ".join(line.split()) for line in BREAK.join(pieces).split(BREAK))
        return "\n".join(line for line in lines if line)


def read_text_tree(root: etree._Element) -> TextTree:
    """Read the :class:`TextTree` of *root*, a whole document or a part; it is read from :func:`body_of`.

    Linear in the size of the tree, without recursion; the tree is not changed.
    """
    body = body_of(root)
    styled: list[etree._Element] = _STYLED(body)  # type: ignore[assignment]  # an expression may give other types
    return _walk(body, {element for element in styled if hides(element.get("style", ""))})


def body_of(root: etree._Element) -> etree._Element:
    """Return the ``<body>`` of *root*; its parent if elements stand behind it, and without one the root itself.

    Where a page opens its body late, the parser has put one around what came before, and the rest behind that.
    """
    body = next(root.iter("body"), root)
    parent = body.getparent()
    is_closed_early = body is not root and next(body.itersiblings("*"), None) is not None
    return parent if is_closed_early and parent is not None else body


def hides(style: str) -> bool:
    """Tell whether an inline *style* hides its element."""
    style = style.lower()
    if "none" not in style and "hidden" not in style:
        return False
    compact = "".join(style.split())
    return "display:none" in compact or "visibility:hidden" in compact


def _walk(body: etree._Element, hidden: set[etree._Element]) -> TextTree:
    tree = TextTree()
    tags, runs = tree.tags, tree.runs
    path: list[int] = []  # entries from the body to the current element, -1 for one that is not shown
    walker = etree.iterwalk(body, events=("start", "end", "comment", "pi"))
    for event, element in walker:
        if event == "start":
            tag = element.tag
            # A body that a script will show is read; what this walk begins at has an entry in any case.
            if path and (tag in INVISIBLE or (hidden and element in hidden)):
                path.append(-1)
                walker.skip_subtree()  # its end is reported all the same
                continue
            tree.parents.append(path[-1] if path else -1)
            path.append(len(tags))
            tags.append(tag)
            tree.ends.append(0)
            if tag in BLOCKS:
                runs.append(BREAK)
            tree.run_starts.append(len(runs))
            tree.run_ends.append(0)
            text = element.text
        else:
            entry = path.pop() if event == "end" else -1
            if entry >= 0:
                tree.ends[entry] = len(tags)
                tree.run_ends[entry] = len(runs)
                if tags[entry] in BLOCKS:
                    runs.append(BREAK)
            text = element.tail if path else None
        if text:
            tree.text_entries.append(path[-1])
            tree.text_runs.append(len(runs))
            tree.text_lengths.append(0 if text.isspace() else len(" ".join(text.split())))
            runs.append(text)
    return tree
