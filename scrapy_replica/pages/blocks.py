"""The text of a page as blocks, and the elements that hold them, read in one walk over the tree that Scrapy parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from scrapy_replica.pages.text_tree import INVISIBLE, hides

if TYPE_CHECKING:
    from scrapy_replica.numeric import IntArray

MAX_ELEMENTS = 1 << 17
"""Elements of a page that are read, the first ones; each takes up to 30 us and 4 kB until its text is found."""

INLINE, LINK, BREAK, SKIPPED, BLOCK = range(5)
"""Kinds of elements, by what they do to the run of text that is being read."""
_INLINE_TAGS = frozenset({
    "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
KINDS: dict[Any, int] = {
    **dict.fromkeys(_INLINE_TAGS, INLINE),
    **dict.fromkeys(INVISIBLE, SKIPPED),
    **dict.fromkeys([etree.Comment, etree.ProcessingInstruction, etree.Entity], SKIPPED),
    "a": LINK,
    "br": BREAK,
}

# Bits of what the words in the class, id, role and itemprop of an element, and its tag, say about the text below it.
# A word tells by the stems it holds, short ones by being the whole word.
HINTS = {
    "comment": ("comment disqus reply replies respond", ""),
    "menu": ("nav menu toolbar breadcrumb pagina pager sitemap directory", "tab tabs"),
    "side": ("side rail column widget gadget", "left right"),
    "foot": ("foot bottom copyright legal colophon", ""),
    "head": ("masthead banner topbar logo brand", "head header"),
    "related": ("relat recommend popular trending latest recent similar suggest readmore teaser outbrain taboola",
        "also more most"),
    "share": ("share sharing social facebook twitter follow like", ""),
    "advert": ("advert sponsor promo doubleclick commercial affiliat deal", "ad ads adv adbox adslot adunit"),
    "meta": ("meta byline author date time posted published tag categor credit source", "bio"),
    "content": ("content article post entry story text body main page blog copy description detail section", ""),
    "notice": ("cookie consent gdpr popup modal overlay newsletter subscri signup paywall login alert notice toast",
        ""),
    "title": ("title headline heading subject", ""),
    "caption": ("caption figure photo image gallery slide carousel thumb", "img"),
    "form": ("form search input button submit contact dropdown filter sort", "btn"),
    "product": ("product price cart shop item buy rating review listing result card grid", ""),
    "forum": ("forum thread message topic answer question quote signature user profile avatar member vote", ""),
    "screen": ("visually reader hidden print skip collapse accordion", "sr hide"),
}  # fmt: skip
HINT_BITS = {name: 1 << place for place, name in enumerate(HINTS)}
_STEMS = {stem: HINT_BITS[name] for name, (stems, _) in HINTS.items() for stem in stems.split()}
_STEMS["posted"] |= HINT_BITS["content"]  # of two stems at one place the longer one is found
_WHOLE_WORDS = {word: HINT_BITS[name] for name, (_, words) in HINTS.items() for word in words.split()}
_ANY_STEM = re.compile(f"(?=({'|'.join(sorted(_STEMS, reverse=True))}))")
_NAME_WORD = re.compile("[a-z]+")
_TELLING_TAGS = (
    "nav", "footer", "header", "aside", "article", "main", "form", "table", "ul", "ol", "blockquote", "figure", "pre",
    "dl",
)  # fmt: skip
TAG_BITS = {tag: 1 << place for place, tag in enumerate(_TELLING_TAGS, len(HINTS))}
N_BITS = len(HINTS) + len(TAG_BITS)
MAX_ATTRIBUTES = 500
"""Attributes of an element that are listed: lxml takes 5 s for 30,000, since it looks for each from the first on."""
_TELLING = frozenset({"class", "id", "role", "itemprop", "hidden", "style"})
_BORDER = "\0"  # no text of a tree can hold this character


@dataclass(slots=True)
class Blocks:
    """The text of a page in document order.

    A *run* is the text between two borders of block-level elements (or two line breaks in a row), white space folded,
    never empty. A *node* is a block-level element; entry 0 stands for the root. Elements that are not shown (script,
    style, template, noscript, SVG, MathML, form controls, ``hidden``, inline ``display:none``) have neither.
    """

    texts: list[str]
    chars: IntArray
    """Characters of the run."""
    run_nodes: IntArray
    """Node that holds the run: the innermost one around its end."""
    words: IntArray
    """Words of the run; two characters count as one where a script does not part words."""
    link_words: IntArray
    """Those inside links."""
    links: IntArray
    """Link elements with text in the run."""
    run_tags: IntArray
    """Inline elements in the run."""
    tags: list[str]
    """Tag of each signature."""
    parents: IntArray
    depths: IntArray
    signatures: IntArray
    """Equal for nodes of equal tag and class."""
    hints: IntArray
    """Bits (:data:`HINT_BITS`, :data:`TAG_BITS`) of the node itself."""
    inherited_hints: IntArray
    """Bits of the node and all nodes above it."""
    run_starts: IntArray
    tag_starts: IntArray
    run_ends: IntArray
    """The runs of a node's subtree are those from ``run_starts`` to ``run_ends``."""
    tag_ends: IntArray
    """Number of elements opened before the node and before its end."""
    declared: str = ""
    """What the page says that it is (Open Graph: ``og:type``), in lower case."""
    is_whole: bool = True
    """Whether no part of the tree was left out for its size."""


@lru_cache(maxsize=8192)
def _name_hints(names: str) -> int:
    hints = 0
    for word in _NAME_WORD.findall(names.lower()):
        hints |= _word_hints(word)
    return hints


# Words recur far more often than names: on pages of 504 sites 15,000 against 94,000.
@lru_cache(maxsize=32768)
def _word_hints(word: str) -> int:
    hints = _WHOLE_WORDS.get(word, 0)
    for stem in _ANY_STEM.findall(word):
        hints |= _STEMS[stem]
    return hints


def count_words(texts: list[str], chars: IntArray) -> IntArray:
    """Return the words of each of *texts*, *chars* long; scripts without spaces count one word per two characters."""
    words = np.fromiter(map(str.count, texts, repeat(" ")), np.intp, len(texts)) + 1
    for place in np.flatnonzero(chars > 12 * words).tolist():
        if not texts[place].isascii():
            words[place] = max(words[place], sum(character > "\u0e00" for character in texts[place]) // 2)
    return words


class BlockReader:
    """What is open at one place of the walk; every border of a block ends the run that is being gathered."""

    __slots__ = (
        "breaks", "has_words", "inline_tags", "is_open", "is_whole", "link_words", "links", "names", "node_rows",
        "nodes", "open_links", "pieces", "run_rows",
    )  # fmt: skip

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.is_open = False
        """Whether the run that is being gathered has begun; white space alone begins none."""
        self.has_words = False
        self.link_words = self.links = self.inline_tags = 0
        self.open_links = self.breaks = 0
        self.run_rows: list[int] = []
        self.names: dict[tuple[str, str], int] = {("", ""): 0}
        self.nodes = [(0, 0, 0)]
        """The open nodes: number, depth, hints of the node and those above it."""
        self.node_rows = [0] * 9
        self.is_whole = True

    # One loop over all elements: with a call for each the walk takes half as long again.
    def walk(self, root: etree._Element) -> None:
        kind_of = KINDS.get
        outside = root.getparent()
        path: list[Any] = [outside]
        kinds = [SKIPPED]
        top = outside
        n_tags = 0
        skipped_from = 0  # the length of the path above the element whose subtree is passed over
        elements = root.iter()
        for element in chain(islice(elements, MAX_ELEMENTS), (None,)):
            parent = outside if element is None else element.getparent()
            while top is not parent:
                closed, kind = path.pop(), kinds.pop()
                top = path[-1]
                if skipped_from:
                    if len(path) > skipped_from:
                        continue
                    skipped_from = 0
                if kind == BLOCK:
                    self.close_node(n_tags)
                elif kind == LINK:
                    self.open_links -= 1
                text = None if top is outside else closed.tail
                if text and (self.is_open or not text.isspace()):
                    self.add(text)
            if element is None:  # behind the last one
                self.is_whole = next(elements, None) is None
                self.close_node(n_tags)
                break
            top = element
            path.append(top)
            if skipped_from:
                kinds.append(SKIPPED)
                continue
            n_tags += 1
            tag = element.tag
            kind = kind_of(tag, BLOCK)
            if kind == BLOCK:
                if not self.open_node(tag, element, n_tags):
                    kind = SKIPPED
            elif kind != SKIPPED:
                kind = self.open_inline(kind, element)
            kinds.append(kind)
            if kind == SKIPPED:
                skipped_from = len(path) - 1
            else:
                text = element.text
                if text and (self.is_open or not text.isspace()):
                    self.add(text)

    def add(self, text: str) -> None:
        self.is_open = True
        self.pieces.append(text)
        if not self.has_words:
            self.has_words = not text.isspace()
        if self.breaks or self.open_links:
            words = len(text.split())
            if words:
                self.breaks = 0
                if self.open_links:
                    self.link_words += words

    def end_run(self) -> None:
        if self.has_words:
            self.pieces.append(_BORDER)
            self.run_rows += (self.nodes[-1][0], self.link_words, self.links, self.inline_tags)
        self.has_words = False
        self.link_words = self.links = self.inline_tags = self.breaks = 0
        self.is_open = False

    def open_inline(self, kind: int, element: etree._Element) -> int:
        """Enter an inline element; :data:`SKIPPED` if it is not shown, its *kind* otherwise."""
        self.is_open = True  # so that the next border sets the counts back
        if kind == LINK:
            self.links += 1
            self.open_links += 1
        elif kind == BREAK:
            self.pieces.append(" ")
            self.breaks += 1
            if self.breaks > 1:
                self.end_run()
        else:
            self.inline_tags += 1
            style = element.get("style")
            if (style and hides(style)) or element.get("hidden") is not None:
                return SKIPPED
        return kind

    def open_node(self, tag: str, element: etree._Element, n_tags: int) -> bool:
        """Enter a block-level element; False if it is not shown."""
        if self.is_open:
            self.end_run()
        klass = ""
        hints = TAG_BITS.get(tag, 0)
        items = _telling(element)
        if items:
            names, klass, is_shown = _naming(items)
            if tag not in {"body", "html"}:  # their classes describe the page, not a place on it
                if not is_shown:  # a script will show a hidden body
                    return False
                hints |= _name_hints(names[:300])
            if ("aria-hidden", "true") in items:
                hints |= HINT_BITS["screen"]
        parent, depth, inherited = self.nodes[-1]
        inherited |= hints
        self.nodes.append((len(self.node_rows) // 9, depth + 1, inherited))
        signature = self.names.setdefault((tag, klass), len(self.names))
        n_runs = len(self.run_rows) // 4
        self.node_rows += (parent, depth + 1, signature, hints, inherited, n_runs, n_tags, 0, 0)
        return True

    def close_node(self, n_tags: int) -> None:
        if self.is_open:
            self.end_run()
        place = 9 * self.nodes.pop()[0]
        self.node_rows[place + 7] = len(self.run_rows) // 4
        self.node_rows[place + 8] = n_tags


def _telling(element: etree._Element) -> Any:
    """Return the attributes of *element*; of one that has too many those that tell something."""
    if len(element.attrib) <= MAX_ATTRIBUTES:
        return element.items()  # always str; the stubs allow bytes
    names = (*sorted(_TELLING), "aria-hidden")
    return [(name, value) for name in names if (value := element.get(name)) is not None]


def _naming(items: list[tuple[str, str]]) -> tuple[str, str, bool]:
    """The words that name an element of the attributes *items*, its class, and whether it is shown."""
    names = klass = ""
    is_hidden = is_streamed = False
    for key, value in items:
        if key not in _TELLING:
            continue
        if key == "hidden" or (key == "style" and hides(value)):
            is_hidden = True
        elif key != "style":
            names += " " + value
            if key == "class":
                klass = value
            elif key == "id" and value.startswith("S:"):
                is_streamed = True  # React sends late parts of a page hidden, for a script to move into place
    return names, klass, is_streamed or not is_hidden


def read_blocks(root: etree._Element) -> Blocks:
    """Read the :class:`Blocks` of *root*, a whole document or a part of one.

    Linear in the size of the tree, up to :data:`MAX_ELEMENTS`, without recursion; the tree is not changed.
    """
    reader = BlockReader()
    reader.walk(root)
    texts = _folded(reader.pieces)
    chars = np.fromiter(map(len, texts), np.intp, len(texts))
    words = count_words(texts, chars)
    run_nodes, link_words, links, run_tags = np.array(reader.run_rows, np.intp).reshape(-1, 4).T.copy()
    tags = [tag for tag, _ in reader.names]
    nodes = np.array(reader.node_rows, np.intp).reshape(-1, 9).T.copy()
    blocks = Blocks(texts, chars, run_nodes, words, np.minimum(link_words, words), links, run_tags, tags, *nodes)
    declared = (meta.get("content", "") for meta in root.iter("meta") if "og:type" in meta.values())
    blocks.declared, blocks.is_whole = next(declared, "").lower(), reader.is_whole
    return blocks


def _folded(pieces: list[str]) -> list[str]:
    """The texts that *pieces* hold, one before each border, white space folded."""
    text = " ".join("".join(pieces).split())
    return [part.strip(" ") for part in text.split(_BORDER)[:-1]]
