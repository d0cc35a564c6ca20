"""The forms of a page, and the domain query of a site: every label and value that was sent to its forms.

J. A. F. Lutz: Descoberta de ruído em páginas da web oculta através de uma abordagem de aprendizagem supervisionada,
dissertation, UFRGS 2013, section 3.1. Labels are those that a reader sees, too, as section 5.1 asks for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from scrapy_replica.records import Form, FormField

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lxml import etree

MAX_TERMS = 5000
"""Terms kept per site, those seen first."""
MAX_TERM_CHARS = 40
MAX_BODY_CHARS = 100_000
"""Read of a query or a form-encoded body."""
_TERM = re.compile(r"[^\W_]+")
MAX_FORMS = 20
"""Forms read of one page."""
MAX_FIELDS = 100
"""Fields read of one form."""
_MAX_VALUE_CHARS = 200
_MAX_CHOICES = 200
_UNLABELLED = frozenset({"hidden", "image", "reset", "submit", "button"})
_PASSWORD = re.compile(r"passw|^passe?$|de_?passe|pwd|^pw$|senha|contrase|kennwort", re.IGNORECASE)
# What a script or a server wrote into a form: state, tokens.
_MACHINE = re.compile(r"^_|token|csrf|nonce|session|viewstate", re.IGNORECASE)
_CONTROLS = ("input", "select", "textarea")
_NO_LABEL = frozenset({"script", "style", "select", "option", "optgroup", "textarea", "form"})
_MAX_LABEL_CHARS = 80
_NEAR_LEVELS = 4
_NEAR_SIBLINGS = 8


def terms_of(text: str) -> list[str]:
    """Return the terms of *text* as they are compared: runs of letters and digits, case folded."""
    return _TERM.findall(text.casefold())


def sent_fields(url: str, body: str = "") -> list[tuple[str, str]]:
    """Return names and values that a request sends: the parameters of its *url* and of its form-encoded *body*.

    What cannot be split is empty. Parameters without a value are left out.
    """
    try:
        query = urlsplit(url).query
    except ValueError:
        query = ""
    return parse_qsl(query[:MAX_BODY_CHARS]) + parse_qsl(body[:MAX_BODY_CHARS])


def is_login(names: Iterable[str]) -> bool:
    """Tell whether a form with fields of these *names* asks for a password."""
    return any(_PASSWORD.search(name) for name in names)


def is_typed(name: str, value: str) -> bool:
    """Tell whether a person may have given *value* for the field of that *name*, by its looks."""
    return _MACHINE.search(name) is None and len(value) <= _MAX_VALUE_CHARS


@dataclass(slots=True)
class DomainQuery:
    """The terms of all labels and values submitted to one site, each once, bounded by :data:`MAX_TERMS`."""

    terms: dict[str, None] = field(default_factory=dict)

    def add(self, texts: Iterable[str]) -> list[str]:
        """Take the terms of *texts*: labels, names and values; return those that are new."""
        new = []
        for text in texts:
            for term in terms_of(text[:_MAX_VALUE_CHARS]):
                if len(self.terms) < MAX_TERMS and len(term) <= MAX_TERM_CHARS and term not in self.terms:
                    self.terms[term] = None
                    new.append(term)
        return new

    def add_fields(self, fields: Iterable[FormField]) -> list[str]:
        """Take the fields of a page's forms, of a long list of choices only its label; return the new terms."""
        return self.add(
            text for name, label, values in fields for text in (name, label, *(values if len(values) <= 1 else ()))
        )


def page_forms(root: etree._Element, absolute: Callable[[str], str | None]) -> tuple[Form, ...]:
    """Return the forms of the page that have a field, in document order, at most :data:`MAX_FORMS`.

    *absolute* makes URLs of their actions; a form whose action is none is left out. Linear in the size of the page;
    the tree is not changed.
    """
    forms = []
    labels: Mapping[str, str] | None = None
    for element in islice(root.iter("form"), MAX_FORMS):
        action = absolute(element.get("action") or "")
        if action is None:
            continue
        labels = _labels(root) if labels is None else labels
        fields = form_fields(element, labels)
        if fields:
            method = "post" if element.get("method", "").strip().lower() == "post" else "get"
            has_password = any(below.get("type", "").lower() == "password" for below in element.iter("input"))
            forms.append(Form(action, method, tuple(fields), has_password))
    return tuple(forms)


def form_fields(root: etree._Element, labels: Mapping[str, str] | None = None) -> list[FormField]:
    """Return the fields below *root*, a form or a page, in document order, one per name, hidden ones left out.

    The label is that of ``<label for>`` (id -> text in *labels*, those below *root* by default), else the ``<label>``
    around the field, else its ``aria-label``, ``placeholder`` or ``title``, else the text before it, nearest first.
    """
    labels = _labels(root) if labels is None else labels
    fields: dict[str, FormField] = {}
    for element in islice(root.iter(*_CONTROLS), 10 * MAX_FIELDS):
        name = element.get("name") or element.get("id") or ""
        if not name or name in fields or element.get("type", "").lower() in _UNLABELLED:
            continue
        fields[name] = FormField(name, labels.get(element.get("id", "")) or _label(element), tuple(_values(element)))
        if len(fields) >= MAX_FIELDS:
            break
    return list(fields.values())


def _labels(root: etree._Element) -> dict[str, str]:
    return {label.get("for", ""): _text(label) for label in root.iter("label") if label.get("for")}


def _label(element: etree._Element) -> str:
    for above in islice(element.iterancestors(), _NEAR_LEVELS):
        if above.tag == "label" and (text := _text(above)):
            return text
    for key in ("aria-label", "placeholder", "title"):
        if text := " ".join(element.get(key, "").split()):
            return text[:_MAX_LABEL_CHARS]
    return _text_before(element)


def _text_before(element: etree._Element) -> str:
    """Return the text nearest before *element*: of its siblings, of its parent, of that one's siblings, and so on."""
    for _ in range(_NEAR_LEVELS):
        for before in islice(element.itersiblings(preceding=True), _NEAR_SIBLINGS):
            # What stands around another field is that one's label.
            is_text = before.tag not in _NO_LABEL and next(before.iter(*_CONTROLS), None) is None
            if text := _folded(before.tail or "") or (_text(before) if is_text else ""):
                return text
        parent = element.getparent()
        if parent is None or parent.tag == "body":
            break
        if text := _folded(parent.text or ""):
            return text
        element = parent
    return ""


def _text(element: etree._Element) -> str:
    """Return the text of *element* without that of controls and scripts inside."""
    pieces = [element.text or ""] if isinstance(element.tag, str) else []
    for below in islice(element.iterdescendants(), 5 * _MAX_LABEL_CHARS):
        is_text = isinstance(below.tag, str) and below.tag not in _NO_LABEL
        pieces += [below.text or "" if is_text else "", below.tail or ""]
    return _folded(" ".join(pieces))


def _folded(text: str) -> str:
    return " ".join(text.split())[-_MAX_LABEL_CHARS:]


def _values(element: etree._Element) -> Iterator[str]:
    if element.tag == "select":
        for option in islice(element.iter("option"), _MAX_CHOICES):
            if option.text:
                yield " ".join(option.text.split())[:_MAX_VALUE_CHARS]
    elif element.get("type", "text").lower() in {"text", "search"} and element.get("value"):
        yield element.get("value", "")[:_MAX_VALUE_CHARS]
