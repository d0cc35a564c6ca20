"""The forms of a site and what was sent to them, as ``scrapy replica explain HOST`` tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.words.terminal import counted, wrapped
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

SHOWN_VALUES = 5
MAX_VALUE = 60
"""Values of a field that are shown, and characters of each."""


def forms_of(job: SqliteReader, host: str) -> dict[str, Any]:
    """Return the forms of the site at *host* and the terms that were sent to them; empty if it has none."""
    forms, query = job.forms.of_host(host), job.forms.terms(host)
    if not (forms or query):
        return {}
    told = [
        {
            "action": form.action,
            "method": form.method,
            "is_login": form.is_login,
            "fields": [field._asdict() for field in form.fields],
        }
        for form in forms
    ]
    return {"forms": told, "query": query}


def form_lines(known: Mapping[str, Any]) -> Iterator[str]:
    """Yield what :func:`forms_of` returned as lines for a person."""
    if known.get("forms"):
        yield "forms:"
    for form in known.get("forms", ()):
        login = " (a login)" if form["is_login"] else ""
        yield wrapped(f"{form['method']} {redacted(cleaned(form['action'], 2_000))}{login}", 2, 6)
        yield from map(_field, form["fields"])
    if known.get("query"):
        yield wrapped(f"terms sent to them: {cleaned(' '.join(known['query']), 2_000)}", 2, 4)


def _field(field: Mapping[str, Any]) -> str:
    name, label = cleaned(field["name"]), cleaned(field["label"])
    told = f"{name} ({label})" if label else name
    values = [cleaned(value, MAX_VALUE) or "(empty)" for value in field["values"][:SHOWN_VALUES]]
    more = len(field["values"]) - len(values)
    if more > 0:
        values.append(f"and {counted(more, 'other')}")
    return wrapped(f"{told}: {', '.join(values)}" if values else told, 4, 6)
