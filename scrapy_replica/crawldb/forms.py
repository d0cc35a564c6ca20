"""The tables of forms and of what was sent to them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scrapy_replica.crawldb.sqlite.table import Table
from scrapy_replica.records import Form, FormField


class FormTable(Table):
    """The forms of each host, and the terms of its domain query."""

    def enter(self, host: str, form: Form) -> None:
        self._write(
            "INSERT INTO forms VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._connection.new_id("forms"),
                host,
                form.action,
                form.method,
                json.dumps(form.fields, ensure_ascii=False),
                form.is_login,
            ),
        )

    def of_host(self, host: str) -> list[Form]:
        """Return the forms of *host*, first seen first."""
        rows = self._read("SELECT action, method, fields, is_login FROM forms WHERE host = ? ORDER BY id", (host,))
        return [
            Form(
                action, method, tuple(FormField(n, label, tuple(v)) for n, label, v in json.loads(fields)), bool(login)
            )
            for action, method, fields, login in rows
        ]

    def add_terms(self, host: str, terms: Iterable[str]) -> None:
        """Keep *terms* of the domain query of *host*; known ones are left as they are."""
        for term in terms:
            self._write("INSERT OR IGNORE INTO query_terms VALUES (?, ?)", (host, term))

    def terms(self, host: str) -> list[str]:
        return self._column("SELECT term FROM query_terms WHERE host = ? ORDER BY term", host)
