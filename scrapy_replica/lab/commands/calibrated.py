"""What page pairs say of the fingerprints, as figures, in words and as files."""

from __future__ import annotations

import json
import resource
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_replica.commands.formats import write_csv
from scrapy_replica.commands.write import replacing, write
from scrapy_replica.lab.calibration import disagreements as told_apart
from scrapy_replica.lab.calibration import figures as measured
from scrapy_replica.words.terminal import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from scrapy_replica.lab.calibration.figures import Reference
    from scrapy_replica.lab.calibration.pairs import Pairs
    from scrapy_replica.lab.calibration.prints import Prints
    from scrapy_replica.numeric import IntArray

SHOWN_BITS = 10
"""Most bits in the table that is printed; the file has all 64."""


class Found:
    """What the pairs say."""

    def __init__(
        self, prints: Prints, pairs: Pairs, clusters: IntArray | None, near_distance: int, rate: float
    ) -> None:
        self.prints, self.pairs, self.clusters = prints, pairs, clusters
        self.near_distance, self.rate = near_distance, rate
        self.histogram = measured.histogram(pairs)
        self.drawn = measured.histogram(pairs, is_weighted=False)
        self.references: dict[str, Reference] = {"legacy": measured.legacy_reference(pairs)}
        if clusters is not None:
            self.references["labels"] = measured.true_reference(pairs, clusters)
        self.judge = list(self.references)[-1]
        """The reference that the recommendation rests on: labels where there are some."""
        self.recommended = self.references[self.judge].recommended(rate)
        self.disagreements = told_apart.disagreements(pairs, clusters)

    def figures(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        prints = self.prints
        seconds = {f"seconds.{name}": round(value, 3) for name, value in sorted(prints.seconds.items())}
        counts = {
            "pages": len(prints),
            "pages_of_few_words": prints.short,
            "pages_without_text": prints.empty,
            "pairs": len(self.pairs.left),
            "pairs_of_all": prints.n_pairs,
            "near_distance": self.near_distance,
            "legacy_distance": measured.LEGACY_DISTANCE,
        }
        recommended = {f"recommended.{n}": each.recommended(self.rate) for n, each in self.references.items()}
        quadrants = measured.quadrants(self.histogram, self.near_distance)
        corners = {f"quadrant.{name}": round(value, 1) for name, value in quadrants.items()}
        used = {
            "speed_ratio": round(self.seconds("legacy") / max(self.seconds("simhash"), 1e-9), 2),
            "cpu_s": round(time.process_time(), 1),
            "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        return {**counts, **recommended, **corners, **seconds, **used}

    def seconds(self, measure: str) -> float:
        """Return the processor time of a measure, fingerprints and pairs together."""
        return self.prints.seconds[f"{measure}.fingerprints"] + self.prints.seconds[f"{measure}.pairs"]

    def as_text(self) -> str:
        """Return the figures in words and a table."""
        figures, prints = self.figures(), self.prints
        header = ["bits", "found"]
        for name in self.references:
            header += [f"false ({name})", "% at this bit", "missed"]
        rows = [
            [row["bits"], round(row["legacy_found"]), *(cell for name in self.references for cell in _cells(row, name))]
            for row in measured.as_rows(self.references)[: SHOWN_BITS + 1]
        ]
        seconds = f"{self.seconds('simhash'):.1f} s and the legacy measure {self.seconds('legacy'):.1f} s"
        left_out = f"{prints.short:,} of few words and {prints.empty:,} without text left out"
        compared = f"{figures['pairs']:,} of {figures['pairs_of_all']:,} pairs compared"
        parts = (
            f"{len(prints):,} pages ({left_out}), {compared}; the table estimates all pairs.",
            self._advice(),
            f"Simhash took {seconds} of processor time for fingerprints and pairs: {figures['speed_ratio']} times.",
        )
        return f"{table(header, rows)}\n" + "".join(f"{wrapped(part)}\n" for part in parts)

    def _advice(self) -> str:
        by = "the labels" if self.judge == "labels" else "the legacy measure"
        share = f"{100 * self.rate:g} %"
        if self.recommended is None:
            few = f"{np.ceil(1 / self.rate):.0f} pairs of equal simhash were found"
            return f"No threshold can be told: fewer than {few}, or above {share} of them are false by {by}."
        bits = f"Up to REPLICA_NEAR_DISTANCE = {self.recommended} no bit"
        return f"{bits} brings more than {share} false duplicates by {by}; it is {self.near_distance}."


def _cells(row: Mapping[str, float], name: str) -> list[object]:
    return [round(row[f"{name}_false"]), 100 * row[f"{name}_false_share_at_this"], round(row[f"{name}_missed"])]


def write_all(out: Path, found: Found, figures: Mapping[str, object], *, has_picture: bool) -> None:
    """Write the files into the folder *out*, the picture if there is one.

    :raises ValueError: one cannot be written.
    """
    prints, pairs = found.prints, found.pairs
    write(out / "calibration.json", (json.dumps(figures, indent=1) + "\n").encode())
    cells = [(x, y, found.histogram[x, y], found.drawn[x, y]) for x, y in np.argwhere(found.drawn).tolist()]
    rows = [{"legacy": x, "simhash": y, "pairs": round(n, 2), "drawn": int(drawn)} for x, y, n, drawn in cells]
    _write_csv(out / "histogram.csv", rows)
    _write_csv(out / "thresholds.csv", measured.as_rows(found.references))
    _write_csv(out / "pairs.csv", [told_apart.as_row(one, prints) for one in found.disagreements])
    write(out / "pairs.html", told_apart.as_page(found.disagreements, prints).encode("utf-8", "replace"))
    if has_picture:
        from scrapy_replica.lab.calibration.picture import draw_histogram  # noqa: PLC0415 - an extra

        title = f"{len(pairs.left):,} of the {prints.n_pairs:,} pairs of {len(prints):,} pages, weighted"
        draw_histogram(found.histogram, found.near_distance, found.recommended, title, out / "calibration")


def _write_csv(file: Path, rows: Sequence[Mapping[str, object]]) -> None:
    columns = dict.fromkeys(rows[0] if rows else (), str)
    with replacing(file) as output:
        write_csv(columns, [[list(row.values()) for row in rows]], output)
