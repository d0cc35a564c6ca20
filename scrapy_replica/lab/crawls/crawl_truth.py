"""What is known of a closed web: which URLs are one page, and which hosts are one site."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scrapy_replica.commands.truth import UNREADABLE, text_in

SHARED = 0.5
"""A host of which at least this share of the page keys are another's is a copy of it; hosts that quote have .2."""


@dataclass(frozen=True)
class PageTable:
    """The pages of a web, by URL."""

    key_of: Mapping[str, str]
    """URL that is answered with a page (status 200) -> identity of the page: the same for all its names."""
    keys_of_host: Mapping[str, frozenset[str]]
    """Host -> its pages, redirects to them included."""
    role_of_host: Mapping[str, str]
    """Host -> the role that most of its pages have."""

    @classmethod
    def read(cls, file: Path) -> PageTable:
        """Read a table (CSV, gzip or not) of url, host, page_key, status and role.

        :raises ValueError: it is no such table.
        """
        key_of: dict[str, str] = {}
        keys: dict[str, set[str]] = {}
        roles: dict[str, Counter[str]] = {}
        for row in rows_of(file, {"url", "host", "page_key", "status", "role"}):
            keys.setdefault(row["host"], set()).add(row["page_key"])
            if row["status"] == "200":
                key_of[row["url"]] = row["page_key"]
                roles.setdefault(row["host"], Counter())[row["role"]] += 1
        named = {host: counts.most_common(1)[0][0] for host, counts in roles.items()}
        return cls(key_of, {host: frozenset(found) for host, found in keys.items()}, named)

    def hosts(self) -> HostTruth:
        """Return which hosts are copies, as the page keys tell."""
        return HostTruth(self.role_of_host, self.keys_of_host)


@dataclass(frozen=True)
class HostTruth:
    """Which hosts are one site: as a table of hosts says, or else as the page keys of the hosts tell."""

    kind_of: Mapping[str, str] = field(default_factory=dict)
    """Host -> what kind of host it is."""
    keys_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    site_of: Mapping[str, str] = field(default_factory=dict)
    """Host -> the host that its site was first on."""

    @classmethod
    def read(cls, file: Path) -> HostTruth:
        """Read a table (CSV) of host, kind and replica_of: the host whose site it copies, or nothing.

        :raises ValueError: it is no such table.
        """
        rows = rows_of(file, {"host", "kind", "replica_of"})
        copied = {row["host"]: row["replica_of"] for row in rows if row["replica_of"]}
        site_of = {row["host"]: _root(row["host"], copied) for row in rows}
        return cls({row["host"]: row["kind"] for row in rows}, site_of=site_of)

    def is_right(self, copy: str, canonical: str) -> bool:
        """Tell whether *copy* was blocked rightly in favour of *canonical*."""
        if self.site_of:
            return self.site_of.get(copy, copy) == self.site_of.get(canonical, canonical)
        own, kept = self.keys_of.get(copy, frozenset()), self.keys_of.get(canonical, frozenset())
        return len(own & kept) >= SHARED * len(own) > 0


def _root(host: str, copied: Mapping[str, str]) -> str:
    seen = {host}
    while (original := copied.get(host)) is not None and original not in seen:
        seen.add(original)
        host = original
    return host


def rows_of(file: Path, columns: set[str]) -> list[dict[str, str]]:
    """Return the rows of a table (CSV, gzip or not) that has *columns*.

    :raises ValueError: it has not, or cannot be read.
    """
    try:
        text = text_in(file)
    except UNREADABLE as error:
        raise ValueError(f"cannot read {file}: {error}") from None
    table = csv.DictReader(io.StringIO(text))
    if missing := columns - set(table.fieldnames or ()):
        raise ValueError(f"{file} has no column {', '.join(sorted(missing))}")
    return list(table)
