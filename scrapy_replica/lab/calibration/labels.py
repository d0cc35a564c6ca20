"""Which pages are one, as a person or a generator of webs has it: a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from scrapy_replica.commands.truth import UNREADABLE, text_in
from scrapy_replica.numeric import IntArray
from scrapy_replica.words.text import unreadable

COLUMNS = ("cluster", "label")
"""Names of the column beside ``url``, the first that is there."""


def read_labels(file: Path) -> Mapping[str, str]:
    """Return URL -> cluster of a CSV file, plain or .gz, with the columns ``url`` and ``cluster`` or ``label``.

    Rows without a cluster say nothing.

    :raises ValueError: it is no such file: one line that names it.
    """
    if not file.is_file():
        raise ValueError(f"--labels: there is no file {file}")
    try:
        rows = csv.DictReader(io.StringIO(text_in(file), newline=""))
        names = rows.fieldnames or []
        column = next((name for name in COLUMNS if name in names), None)
        if "url" not in names or column is None:
            raise ValueError(f"{file}: labels are a CSV file with the columns url and cluster (or label)")
        return {row["url"]: row[column] for row in rows if row["url"] and row[column]}
    except (csv.Error, *UNREADABLE) as error:
        raise ValueError(f"{file} is no CSV file of url,cluster: {unreadable(error)}") from None


def clusters_of(urls: Sequence[str], labels: Mapping[str, str]) -> IntArray:
    """Return a number for the cluster of each page, -1 where *labels* have none, shape (n,)."""
    numbers: dict[str, int] = {}
    found = (labels.get(url) for url in urls)
    return np.array([-1 if name is None else numbers.setdefault(name, len(numbers)) for name in found], dtype=np.int64)
