"""The domain query of a site: every label and value that was sent to its forms.

J. A. F. Lutz, C. A. Heuser: Descoberta de ruido em paginas da web oculta, SBBD 2013, section 3.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml import etree

MAX_TERMS = 5000
"""Terms kept per site, those seen first."""
MAX_TERM_CHARS = 40
_TERM = re.compile(r"[^\W_]+")
_FIELDS = frozenset({"input", "select", "textarea"})
_UNLABELLED = frozenset({"hidden", "image", "reset"})
_MAX_NEAREST_CHARS = 80


def terms_of(text: str) -> list[str]:
    """Return the terms of *text* as they are compared: runs of letters and digits, case folded."""
    return _TERM.findall(text.casefold())


class FormField(NamedTuple):
    """One field of a form: its name, what a person reads beside it, and the values it offers or holds."""

    name: str
    label: str
    values: tuple[str, ...]


@dataclass(slots=True)
class DomainQuery:
    """The terms of all labels and values submitted to one site, each once, bounded by :data:`MAX_TERMS`."""

    terms: dict[str, None] = field(default_factory=dict)

    def add(self, texts: Iterable[str]) -> None:
        """Take the terms of *texts*: labels, names and values."""
        for text in texts:
            for term in terms_of(text[:1000]):
                if len(self.terms) >= MAX_TERMS:
                    return
                if len(term) <= MAX_TERM_CHARS:
                    self.terms[term] = None

    def add_url(self, url: str) -> None:
        """Take the parameters of a GET form; a URL that cannot be split adds nothing."""
        try:
            query = urlsplit(url).query
        except ValueError:
            return
        self.add_encoded(query)

    def add_encoded(self, body: str) -> None:
        """Take names and values of an ``application/x-www-form-urlencoded`` body, as ``FormRequest`` makes it."""
        for name, value in parse_qsl(body[:100_000], max_num_fields=None):
            self.add((name, value))

    def add_fields(self, fields: Iterable[FormField]) -> None:
        """Take the fields of a page's forms; of a long list of choices only its label."""
        for name, label, values in fields:
            self.add((name, label))
            if len(values) <= 1:
                self.add(values)


def form_fields(root: etree._Element) -> list[FormField]:
    """Return the fields of all forms of the page, in document order, one per name.

    The label is that of ``<label for>``, else the ``<label>`` around the field, else its ``aria-label``,
    ``placeholder`` or ``title``, else the text before it, nearest first. Linear; the tree is not changed.
    """
    by_id = {label.get("for", ""): _text(label) for label in root.iter("label") if label.get("for")}
    fields: dict[str, FormField] = {}
    for element, before, around in _fields_in_place(root):
        name = element.get("name") or element.get("id") or ""
        if not name or name in fields or element.get("type", "").lower() in _UNLABELLED:
            continue
        label = by_id.get(element.get("id", "")) or around
        if not label:
            label = next((text for key in ("aria-label", "placeholder", "title") if (text := element.get(key))), before)
        fields[name] = FormField(name, label, tuple(_values(element)))
    return list(fields.values())


def _fields_in_place(root: etree._Element) -> Iterator[tuple[etree._Element, str, str]]:
    """Yield each field with the nearest text before it and the text of the label around it."""
    nearest = around = ""
    label: etree._Element | None = None
    for element in root.iter():
        tag = element.tag
        if not isinstance(tag, str) or tag in {"script", "style", "option"}:
            continue
        if tag == "label":
            label, around = element, _text(element)
        if tag in _FIELDS:
            is_inside = label is not None and any(
                above is label for _, above in zip(range(4), element.iterancestors(), strict=False)
            )
            yield element, nearest, around if is_inside else ""
        previous = element.getprevious()
        loose = (element.text, previous.tail if previous is not None else None)
        for text in loose:
            if text and not text.isspace():
                nearest = " ".join(text.split())[-_MAX_NEAREST_CHARS:]


def _text(element: etree._Element) -> str:
    pieces = [
        text for text in (element.text, *(below.tail for below in element.iter() if below is not element)) if text
    ]
    inner = [below.text for below in element.iter("span", "b", "strong", "em", "i") if below.text]
    return " ".join(" ".join(pieces + inner).split())[:_MAX_NEAREST_CHARS]


def _values(element: etree._Element) -> Iterator[str]:
    if element.tag == "select":
        for option in element.iter("option"):
            if option.text:
                yield " ".join(option.text.split())
    elif element.get("type", "text").lower() in {"text", "search"} and element.get("value"):
        yield element.get("value", "")[:200]
