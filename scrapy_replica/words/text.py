"""Text of other people, fit to be shown: one line, nothing that steers a terminal, a given width."""

from __future__ import annotations

import re
import unicodedata

MAX_TEXT = 200
"""Characters of a crawled text that are shown."""


_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*|\x1b.?")


_NOT_PLAIN = re.compile(r"[^ -~]+")
"""What has to be looked at letter by letter: a plain letter before it carries no mark of its own."""


_JOINERS = "\u200c\u200d"  # they take no column, and Persian and Hindi are misspelt without them


_MAX_MARKS = 3


def cleaned(text: str, most: int = MAX_TEXT) -> str:
    """Return crawled *text* in one line, without anything that steers a terminal or turns the reading direction.

    White space is folded, marks piled on one letter are thinned, and what goes beyond *most* characters is cut.
    """
    shown = _NOT_PLAIN.sub(_shown, _ESCAPES.sub(" ", text[: 10 * most]))
    folded = " ".join(shown.split())
    return folded if len(folded) <= most else folded[: most - 1] + "…"


def _shown(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in run.group():
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MAX_MARKS:
            kept.append(character if character.isprintable() or character in _JOINERS else " ")
    return "".join(kept)


def excerpt(text: str, most: int) -> str:
    """Return the beginning of a crawled *text*, cleaned; what is cut ends with a whole word and ``…``.

    :param most: characters of it.
    """
    told = cleaned(text[: 3 * most], 2 * most)  # all of a page would take 1 ms
    if len(told) <= most:
        return told
    whole = told[: most - 1].rpartition(" ")[0]
    return f"{whole if len(whole) > most // 2 else told[: most - 2]} …"  # not all languages part words


def shortened(text: str, width: int) -> str:
    """Return crawled *text* cleaned and, where it takes more than *width* columns, with ``…`` in its middle.

    The ends of URLs differ more than their middles.
    """
    text = cleaned(text, max(MAX_TEXT, 2_000))
    if width_of(text) <= width:
        return text
    head, tail = text[:width], text[-width:]
    while width_of(head) > (width - 1) // 2:
        head = head[:-1]
    while width_of(tail) > width - 1 - width_of(head):
        tail = tail[1:]
    return f"{head}…{tail}"


def width_of(text: str) -> int:
    """Return the columns that *text* takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) or c in _JOINERS else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def unreadable(error: Exception) -> str:
    """Return why a file cannot be read, without the name of the file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"it is no UTF-8 (byte {error.start})"
    return "it is cut off" if isinstance(error, EOFError) else cleaned(str(error))
