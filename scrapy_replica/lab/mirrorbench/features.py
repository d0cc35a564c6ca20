"""The table of features of the labelled pairs of a split."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from scrapy_replica.lab.replicas.replica_pairs import pair_table, read_pages, read_truth
from scrapy_replica.lab.replicas.replica_published import NAMES
from scrapy_replica.sites.judge import RAW

FEATURES = "features.csv"


def write_features(split: Path) -> None:
    """Write a row of each labelled pair that is not ambiguous: features of whole hosts, empty where unknown."""
    # What is there by https as well is the same, or no page of the host's.
    pages = {host: [page for page in own if page.url.startswith("http:")] for host, own in read_pages(split).items()}
    table = pair_table(read_truth(split), pages, set())
    values = zip(table.raw, table.published, table.normpaths, strict=True)
    rows = zip(table.hosts, values, table.n_aligned, table.is_barred, strict=True)
    with (split / FEATURES).open("x", encoding="utf-8", newline="") as out:
        written = csv.writer(out, lineterminator="\n")
        written.writerow(("host_a", "host_b", *RAW, *NAMES, "normpaths", "compared", "barred"))
        for hosts, (raw, published, normpaths), n_aligned, is_barred in rows:
            told = [_written(value) for value in (*raw, *published, normpaths)]
            written.writerow((*hosts, *told, n_aligned, int(is_barred)))


def _written(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
