"""The text of a page as blocks, and the elements that hold them, read in one walk over the tree that Scrapy parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lxml import etree

_INLINE, _LINK, _BREAK, _SKIPPED, _BLOCK = range(5)
_INLINE_TAGS = frozenset({
    "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_SKIPPED_TAGS = frozenset({
    "head", "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "embed", "applet", "audio",
    "video", "canvas", "select", "datalist", "textarea", "input",
})  # fmt: skip
_KINDS = {
    **dict.fromkeys(_INLINE_TAGS, _INLINE),
    **dict.fromkeys(_SKIPPED_TAGS, _SKIPPED),
    "a": _LINK,
    "br": _BREAK,
}

# Bits of what the tags and the class, id, role and itemprop of an element say about the text below it, one per pattern.
HINTS = {
    "comment": r"comment|disqus|repl(y|ies)|respond",
    "menu": r"nav|menu|toolbar|tabs?\b|breadcrumb|pagina|pager|sitemap|directory",
    "side": r"side|rail|aside|column-?(left|right)|left-?col|right-?col|widget|gadget",
    "foot": r"foot|bottom|copyright|legal|colophon",
    "head": r"head(er)?\b|masthead|banner|topbar|logo|branding|site-?title",
    "related": r"relat|recommend|also|popular|trending|latest|recent|similar|suggest|read-?more|most-|teaser|"
    r"outbrain|taboola",
    "share": r"shar(e|ing)|social|facebook|twitter|follow|like",
    "advert": r"\bad(s|vert|box|slot|unit|-|_)|advert|sponsor|promo|doubleclick|commercial|affiliat|deal",
    "meta": r"meta|byline|author|date|time|posted|published|tag(s|ged)|categor|credit|source|bio\b",
    "content": r"content|article|post|entry|story|text|body|main|page|blog|copy|description|detail|section",
    "notice": r"cookie|consent|gdpr|popup|modal|overlay|newsletter|subscri|sign-?up|paywall|login|alert|notice|toast",
    "title": r"title|headline|heading|subject|\bh1\b",
    "caption": r"caption|figure|photo|image|img|gallery|slide|carousel|thumb",
    "form": r"form|search|input|button|btn|submit|contact|dropdown|filter|sort",
    "product": r"product|price|cart|shop|item|buy|rating|review|listing|result|card|grid",
    "forum": r"forum|thread|message|topic|answer|question|quote|signature|user|profile|avatar|member|vote",
    "screen": r"sr-only|visually-?hidden|screen-?reader|hide|hidden|print|skip|collapse|accordion|aria-hidden",
}
HINT_BITS = {name: 1 << place for place, name in enumerate(HINTS)}
_HINT_PATTERNS = [(HINT_BITS[name], re.compile(pattern)) for name, pattern in HINTS.items()]
_TELLING_TAGS = (
    "nav", "footer", "header", "aside", "article", "main", "form", "table", "ul", "ol", "blockquote", "figure", "pre",
    "dl",
)  # fmt: skip
TAG_BITS = {tag: 1 << place for place, tag in enumerate(_TELLING_TAGS, len(HINTS))}
N_BITS = len(HINTS) + len(TAG_BITS)
_NAMING = frozenset({"class", "id", "role", "itemprop"})


@dataclass(slots=True)
class Blocks:
    """The text of a page in document order.

    A *run* is the text between two borders of block-level elements (or two line breaks in a row), white space folded,
    never empty. A *node* is a block-level element; entry 0 stands for the root. Elements that are not shown (script,
    style, template, noscript, SVG, MathML, form controls, ``hidden``, inline ``display:none``) have neither.
    """

    texts: list[str] = field(default_factory=list)
    run_nodes: list[int] = field(default_factory=list)
    """Node that holds the run: the innermost one around its end."""
    words: list[int] = field(default_factory=list)
    """Words of the run; two characters count as one where a script does not part words."""
    link_words: list[int] = field(default_factory=list)
    """Those inside links."""
    links: list[int] = field(default_factory=list)
    """Link elements with text in the run."""
    run_tags: list[int] = field(default_factory=list)
    """Inline elements in the run."""
    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    signatures: list[int] = field(default_factory=list)
    """Equal for nodes of equal tag and class."""
    hints: list[int] = field(default_factory=list)
    """Bits (:data:`HINT_BITS`, :data:`TAG_BITS`) of the node itself."""
    inherited_hints: list[int] = field(default_factory=list)
    """Bits of the node and all nodes above it."""
    run_starts: list[int] = field(default_factory=list)
    run_ends: list[int] = field(default_factory=list)
    """The runs of a node's subtree are those from ``run_starts`` to ``run_ends``."""
    tag_starts: list[int] = field(default_factory=list)
    tag_ends: list[int] = field(default_factory=list)
    """Number of elements opened before the node and before its end."""


@lru_cache(maxsize=8192)
def _name_hints(names: str) -> int:
    hints = 0
    for name in names.split():
        hints |= _hints_of_name(name)
    return hints


# Names recur far more often than their combinations: 17 searches per new name only.
@lru_cache(maxsize=32768)
def _hints_of_name(name: str) -> int:
    lowered = name.lower()[:80]
    return sum(bit for bit, pattern in _HINT_PATTERNS if pattern.search(lowered))


def _is_hidden(style: str) -> bool:
    compact = "".join(style.lower().split())
    return "display:none" in compact or "visibility:hidden" in compact


def count_words(text: str) -> int:
    """Return the number of words of *text*; scripts without spaces count one word per two characters."""
    words = text.count(" ") + 1
    if len(text) > 12 * words and not text.isascii():
        return max(words, sum(character > "\u0e00" for character in text) // 2)
    return words


class _Reader:
    """What is open at one place of the walk; every border of a block empties the run that is being gathered."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.path: list[tuple[etree._Element, int]] = []
        self.nodes = [0]
        self.names: dict[tuple[str, str], int] = {}
        self.pieces: list[str] = []
        self.link_words = self.links = self.inline_tags = 0
        self.open_links = self.breaks = self.n_tags = 0
        self.skipped_from = 0
        """Length of the path at the element whose subtree is passed over, 0 if none is."""
        self._append_node("", "", 0, 0)

    def start(self, element: etree._Element) -> None:
        if self.skipped_from:
            self.path.append((element, _SKIPPED))
            return
        tag = element.tag
        kind = _KINDS.get(tag, _BLOCK) if isinstance(tag, str) else _SKIPPED
        self.n_tags += 1
        if kind == _BLOCK:
            self.flush()
            if not self.open_node(tag, element):
                kind = _SKIPPED
        elif kind == _INLINE:
            self.inline_tags += 1
            if element.attrib and (element.get("hidden") is not None or _is_hidden(element.get("style", ""))):
                kind = _SKIPPED
        elif kind == _LINK:
            self.links += 1
            self.open_links += 1
        elif kind == _BREAK:
            self.breaks += 1
            self.pieces.append(" ")
            if self.breaks > 1:
                self.flush()
        self.path.append((element, kind))
        if kind == _SKIPPED:
            self.skipped_from = len(self.path)
        else:
            text = element.text
            if text:
                self.add(text)

    def close_to(self, parent: etree._Element | None) -> None:
        """Leave the open elements below *parent*; the text that follows each of them belongs to its own parent."""
        path = self.path
        while path and path[-1][0] is not parent:
            element, kind = path.pop()
            if self.skipped_from:
                if len(path) >= self.skipped_from:
                    continue
                self.skipped_from = 0
            if kind == _BLOCK:
                self.flush()
                node = self.nodes.pop()
                self.blocks.run_ends[node] = len(self.blocks.texts)
                self.blocks.tag_ends[node] = self.n_tags
            elif kind == _LINK:
                self.open_links -= 1
            text = element.tail
            if text and path:
                self.add(text)

    def finish(self) -> Blocks:
        self.close_to(None)
        self.flush()
        self.blocks.run_ends[0] = len(self.blocks.texts)
        self.blocks.tag_ends[0] = self.n_tags
        return self.blocks

    def add(self, text: str) -> None:
        self.pieces.append(text)
        if self.breaks or self.open_links:
            words = len(text.split())
            if words:
                self.breaks = 0
                if self.open_links:
                    self.link_words += words

    def flush(self) -> None:
        if self.pieces:
            text = " ".join("".join(self.pieces).split())
            self.pieces.clear()
            if text:
                blocks = self.blocks
                words = count_words(text)
                blocks.texts.append(text)
                blocks.run_nodes.append(self.nodes[-1])
                blocks.words.append(words)
                blocks.link_words.append(min(self.link_words, words))
                blocks.links.append(self.links)
                blocks.run_tags.append(self.inline_tags)
        self.link_words = self.links = self.inline_tags = self.breaks = 0

    def open_node(self, tag: str, element: etree._Element) -> bool:
        """Enter a block-level element; False if it is not shown."""
        names = klass = ""
        hints = TAG_BITS.get(tag, 0)
        is_hidden = is_streamed = False
        items: Any = element.items()  # always str; the stubs allow bytes
        for key, value in items:
            if key in _NAMING:
                names += " " + value
                if key == "class":
                    klass = value
                elif key == "id" and value.startswith("S:"):
                    is_streamed = True  # React sends late parts of a page hidden, for a script to move into place
            elif (key == "style" and _is_hidden(value)) or key == "hidden":
                is_hidden = True
            elif key == "aria-hidden" and value == "true":
                hints |= HINT_BITS["screen"]
        if is_hidden and not is_streamed and tag not in {"body", "html"}:  # a script will show a hidden body
            return False
        if names and tag not in {"body", "html"}:  # their classes describe the page, not a place on it
            hints |= _name_hints(names)
        parent = self.nodes[-1]
        self.nodes.append(len(self.blocks.tags))
        self._append_node(tag, klass, hints, parent)
        return True

    def _append_node(self, tag: str, klass: str, hints: int, parent: int) -> None:
        blocks = self.blocks
        is_root = not blocks.tags
        blocks.parents.append(parent)
        blocks.tags.append(tag)
        blocks.hints.append(hints)
        blocks.inherited_hints.append(hints if is_root else hints | blocks.inherited_hints[parent])
        blocks.depths.append(0 if is_root else blocks.depths[parent] + 1)
        blocks.signatures.append(self.names.setdefault((tag, klass), len(self.names)))
        blocks.run_starts.append(len(blocks.texts))
        blocks.run_ends.append(0)
        blocks.tag_starts.append(self.n_tags)
        blocks.tag_ends.append(0)


def read_blocks(root: etree._Element) -> Blocks:
    """Read the :class:`Blocks` of *root*, a whole document or a part of one.

    Linear in the size of the tree, without recursion; the tree is not changed.
    """
    reader = _Reader()
    path = reader.path
    for element in root.iter():
        parent = element.getparent()
        if path and path[-1][0] is not parent:
            reader.close_to(parent)
        reader.start(element)
    return reader.finish()
