"""The user's topic: examples of relevant pages, and of other pages, read from files."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from w3lib.encoding import html_to_unicode

from scrapy_replica.words.text import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT_SUFFIXES = (".txt",)
HTML_SUFFIXES = (".html", ".htm", ".xhtml")
URL_SUFFIXES = (".txt", ".urls", ".lst")
FILE_SUFFIXES = (*HTML_SUFFIXES, *URL_SUFFIXES, ".jsonl")
LONGEST_NAME = 255
"""Characters of what may be a file that is missing; what is longer is a description."""
LABELS = {1: True, "positive": True, 0: False, None: False, "negative": False, "unlabelled": False}
"""Values of ``label`` in JSONL; ``true`` is 1 and ``false`` is 0."""


@dataclass(frozen=True, slots=True)
class Document:
    """One example, as text or as HTML: one of the two is set, and not blank."""

    text: str | None = None
    html: str | None = None
    is_positive: bool = True
    """False: a page for the background."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What the user gave: at least one positive document or URL, or words."""

    documents: tuple[Document, ...] = ()
    urls: tuple[str, ...] = ()
    """Positive examples that are to be fetched first."""
    words: str = ""
    """What the pages are about, in place of all examples."""

    @property
    def positives(self) -> tuple[Document, ...]:
        return tuple(document for document in self.documents if document.is_positive)

    @property
    def background(self) -> tuple[Document, ...]:
        return tuple(document for document in self.documents if not document.is_positive)


def load_topic(path: Path | str) -> Topic:
    """Return the topic in a folder of .txt and .html files, a JSONL file or a file of URLs; all may be gzip (.gz).

    A folder is read with its sub-folders, and all of its documents are positive. A line of JSONL is an object with
    ``text`` or ``html`` (the text where both are set) and an optional ``label``: absent, 1, true and "positive" are
    positive, 0, false, null, "negative" and "unlabelled" are background. A file of URLs (.txt, .urls, .lst) has one
    http(s) URL per line; blank lines and lines that begin with ``#`` are skipped.

    What is no file, and has two words or more, says itself what the pages are about.

    Raises ValueError, with one line that names the file and line, for a missing or empty one, an unknown form, broken
    gzip, JSON or encoding, and when there is no positive example.
    """
    path = Path(path)
    if words := words_of(path):
        return Topic(words=words)
    if path.is_dir():
        topic = Topic(documents=tuple(_folder(path)))
        missing = "no .txt or .html file in this folder"
    elif not path.is_file():
        raise ValueError(f"{path}: no such file or folder; a topic in words has two or more of them, and no /")
    elif (suffix := _suffix(path)) == ".jsonl":
        topic = Topic(documents=tuple(_jsonl(path)))
        missing = "no positive example"
    elif suffix in URL_SUFFIXES:
        topic = Topic(urls=tuple(dict.fromkeys(_urls(path))))
        missing = "no URL"
    else:
        raise ValueError(f"{path}: give a folder of .txt and .html files, a .jsonl file or a file of URLs (.txt)")
    if not topic.urls and not topic.positives:
        raise ValueError(f"{path}: {missing}")
    return topic


def words_of(path: Path) -> str:
    """Return the description that *path* is if it is no file and does not look like the name of one; else nothing."""
    text = str(path)
    try:
        is_there = path.exists()
    except OSError:  # a part of it is longer than any name
        is_there = False
    is_name = len(text) <= LONGEST_NAME and ("/" in text or _suffix(path) in FILE_SUFFIXES)
    return text if len(text.split()) > 1 and not is_name and not is_there else ""


def load_background(path: Path | str) -> tuple[Document, ...]:
    """Return the unlabelled documents in a folder of .txt and .html files or a JSONL file, whatever their labels.

    Raises ValueError as :func:`load_topic` does, and when there is none.
    """
    path = Path(path)
    if path.is_dir():
        documents = tuple(_folder(path))
    elif path.is_file() and _suffix(path) == ".jsonl":
        documents = tuple(_jsonl(path))
    else:
        raise ValueError(f"{path}: give a folder of .txt and .html files or a .jsonl file")
    if not documents:
        raise ValueError(f"{path}: no document")
    return documents


def _suffix(path: Path) -> str:
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix.lower() == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: cannot be read: {unreadable(error)}") from error


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{source}: not UTF-8 (byte {error.start})") from error


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (source, line) for the lines that are not blank."""
    for number, line in enumerate(_read(path).split(b"\n"), 1):
        if line.strip():
            source = f"{path}:{number}"
            yield source, _decoded(line, source).strip()


def _folder(folder: Path) -> Iterator[Document]:
    for path in sorted(folder.rglob("*")):
        suffix, source = _suffix(path), str(path)
        if not path.is_file() or suffix not in TEXT_SUFFIXES + HTML_SUFFIXES:
            continue
        data = _read(path)
        if not data.strip():
            raise ValueError(f"{source}: the file is empty")
        if suffix in TEXT_SUFFIXES:
            yield Document(text=_decoded(data, source))
        else:
            # As a browser does it: the declared encoding, and a bad byte costs one character, not the page.
            yield Document(html=html_to_unicode(None, data)[1])


def _urls(path: Path) -> Iterator[str]:
    for source, line in _lines(path):
        if line.startswith("#"):
            continue
        if not line.lower().startswith(("http://", "https://")) or len(line.split()) > 1:
            raise ValueError(f"{source}: not an http(s) URL; examples that are texts go into a folder or a .jsonl file")
        yield line


def _jsonl(path: Path) -> Iterator[Document]:
    for source, line in _lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{source}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f'{source}: not an object with "text" or "html"')
        yield _document(row, source)


def _document(row: dict[str, object], source: str) -> Document:
    label = row.get("label", True)
    if not isinstance(label, (int, float, str, type(None))) or label not in LABELS:
        raise ValueError(f'{source}: label {label!r} is unknown; "positive" and "unlabelled" are known')
    for key in ("text", "html"):
        value = row.get(key)
        if isinstance(value, str) and value.strip():
            return Document(is_positive=LABELS[label], **{key: value})
    raise ValueError(f'{source}: neither "text" nor "html" has anything in it')
