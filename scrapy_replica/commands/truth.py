"""What is known of the pages of an archive: which are traps, which are on topic."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapy_replica.words.text import unreadable

UNREADABLE = (OSError, EOFError, zlib.error, UnicodeDecodeError)
"""What :func:`text_in` raises."""

SHARES = (5, 10, 25, 50)
"""Percent of the pages after which the relevant ones are counted."""


@dataclass(frozen=True)
class Truth:
    """Traps and relevant pages, by URL."""

    traps: frozenset[str] = frozenset()
    relevant: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, argument: str) -> Truth:
        """Read what ``CSV:TOPIC`` names: a table (gzip or not) of url, trap (0 or 1) and topics (``a|b``).

        :raises ValueError: the argument, the file or a column is wrong, or no page has that topic.
        """
        name, _, topic = argument.rpartition(":")
        if not name:
            raise ValueError(f"--truth: expected CSV:TOPIC, got {argument!r}")
        try:
            text = text_in(Path(name))
        except UNREADABLE as error:
            raise ValueError(f"--truth: cannot read {name}: {unreadable(error)}") from None
        rows = csv.DictReader(io.StringIO(text))
        missing = {"url", "trap", "topics"} - set(rows.fieldnames or ())
        if missing:
            raise ValueError(f"--truth: {name} has no column {', '.join(sorted(missing))}")
        traps, relevant, topics = set(), set(), set()
        for row in rows:
            of_page = set((row["topics"] or "").split("|"))
            topics |= of_page
            if row["trap"] == "1":
                traps.add(row["url"])
            if topic in of_page:
                relevant.add(row["url"])
        if not relevant:
            raise ValueError(f"--truth: no page of {name} has topic {topic!r}, only {', '.join(sorted(topics - {''}))}")
        return cls(frozenset(traps), frozenset(relevant))

    def harvest(self, urls: Sequence[str], planned_pages: int = 0) -> dict[str, int | float]:
        """Return the figures of a crawl that fetched *urls* in this order.

        ``relevant_at_5`` is the number of relevant pages after 5 % of *planned_pages*, or of all where that is 0.
        """
        found = 0
        curve = [0]
        for url in urls:
            found += url in self.relevant
            curve.append(found)
        figures: dict[str, int | float] = {"pages": len(urls), "traps": sum(url in self.traps for url in urls)}
        figures["relevant"] = found
        for share in SHARES:
            place = (planned_pages or len(urls)) * share // 100
            figures[f"relevant_at_{share}"] = curve[min(place, len(urls))]
        figures["harvest"] = round(found / len(urls), 5) if urls else 0.0
        return figures


def text_in(file: Path) -> str:
    """Return the text of *file*, UTF-8 with or without a mark of byte order, gzip or not.

    :raises UNREADABLE: it is none.
    """
    data = file.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
