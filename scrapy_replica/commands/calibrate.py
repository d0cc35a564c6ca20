"""``scrapy replica calibrate``: from how many bits on pages are taken for duplicates that are none."""

from __future__ import annotations

import csv
import io
import json
import resource
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_replica.commands.command import Command, as_object
from scrapy_replica.commands.texts import Texts
from scrapy_replica.commands.write import write
from scrapy_replica.config import Config
from scrapy_replica.evaluation.calibration import disagreements as told_apart
from scrapy_replica.evaluation.calibration import figures as measured
from scrapy_replica.evaluation.calibration.labels import clusters_of, read_labels
from scrapy_replica.evaluation.calibration.pairs import draw
from scrapy_replica.evaluation.calibration.prints import Prints
from scrapy_replica.words import table, wrapped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.evaluation.calibration.figures import Reference
    from scrapy_replica.evaluation.calibration.pairs import Pairs
    from scrapy_replica.evaluation.calibration.prints import PageText
    from scrapy_replica.numeric import IntArray

PAIRS = 10_000_000
FALSE_DUPLICATES = 0.02
"""Wanted share of false duplicates among the pairs that the last bit brings. Below it one reads the noise of the
reference: pairs that the legacy measure calls different at 1 to 3 bits (at most 2 % of them) are those whose similarity
lies at its own threshold, where its 128 samples tell no more."""
SHOWN_BITS = 10
_SEED = 4


class CalibrateCommand(Command):
    """Holds simhash against the legacy fingerprint, and labels, over millions of page pairs."""

    name = "calibrate"
    help = "tell from how many bits on different pages are taken for duplicates"
    group = "measure"
    examples = (
        "scrapy replica calibrate crawl.warc.gz --out calibrated",
        "scrapy replica calibrate pages/ --labels labels.csv --out calibrated",
        "scrapy replica calibrate crawl.warc.gz --out calibrated -s REPLICA_NOISE=cetd",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "pages",
            nargs="+",
            metavar="PAGES",
            help="WARC and Parquet files, or folders of them and of html and txt files",
        )
        parser.add_argument("--labels", metavar="CSV", help="url,cluster: pages of one cluster are duplicates")
        parser.add_argument("--out", required=True, metavar="DIR", help="folder for what is found; files are replaced")
        parser.add_argument(
            "--false-duplicates",
            type=float,
            default=FALSE_DUPLICATES,
            metavar="SHARE",
            help=f"wanted share of false ones among the pairs that the last bit brings ({FALSE_DUPLICATES})",
        )
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        if not 0.0001 <= opts.false_duplicates <= 0.5:
            raise ValueError(f"--false-duplicates is {opts.false_duplicates}: it must be 0.0001 to 0.5")
        config, out, texts = Config.from_settings(settings), Path(opts.out), Texts(opts.pages, settings)
        labels = read_labels(Path(opts.labels)) if opts.labels else None
        has_picture = _can_draw()
        with _writable(out), TemporaryFile(dir=out) as file:
            prints = Prints(file, config.min_words)
            with _progress("reading", "pages") as tell:
                prints.extend(_telling(texts, tell))
            if len(prints) < 2:
                sys.stderr.write(f"{_too_few(prints, config.min_words)}\n")
                return 1
            clusters = _clusters(prints, labels, opts.labels)
            with _progress("comparing", "pairs") as tell:
                pairs = draw(prints, PAIRS, np.random.default_rng(_SEED), tell)
            found = Found(prints, pairs, clusters, config.near_distance, opts.false_duplicates)
            figures = found.figures() | {name: texts.counts[name] for name in sorted(texts.counts)}
            _write_all(out, found, as_object(figures, _inputs(opts, config)), has_picture=has_picture)
        shown = found.as_text() + f"{out} holds {', '.join(sorted(f.name for f in out.iterdir() if f.is_file()))}\n"
        sys.stdout.write(json.dumps(as_object(figures, _inputs(opts, config))) + "\n" if opts.json else shown)
        return int(not has_picture or found.recommended is None)


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
            "pairs_of_all": len(prints) * (len(prints) - 1) // 2,
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


def _inputs(opts: argparse.Namespace, config: Config) -> Mapping[str, object]:
    return {
        "pages": opts.pages,
        "labels": opts.labels,
        "false_duplicates": opts.false_duplicates,
        "noise": config.noise.value,
        "min_words": config.min_words,
    }


def _clusters(prints: Prints, labels: Mapping[str, str] | None, name: str) -> IntArray | None:
    """Return the cluster of each page.

    :raises ValueError: no page has one.
    """
    if labels is None:
        return None
    clusters = clusters_of(prints.urls, labels)
    if (clusters < 0).all():
        raise ValueError(f"{name} names none of the pages: url must be written as in {prints.urls[0]}")
    return clusters


def _too_few(prints: Prints, min_words: int) -> str:
    left_out = f"{prints.short} of fewer than {min_words} words, {prints.empty} without text"
    return f"{len(prints)} page(s) to compare ({left_out}): a pair takes two; see REPLICA_MIN_WORDS"


def _can_draw() -> bool:
    if find_spec("matplotlib") is not None:
        return True
    sys.stderr.write("no picture is drawn, for that needs matplotlib: pip install 'scrapy-replica[report]'\n")
    return False


def _write_all(out: Path, found: Found, figures: Mapping[str, object], *, has_picture: bool) -> None:
    prints = found.prints
    write(out / "calibration.json", (json.dumps(figures, indent=1) + "\n").encode())
    cells = np.argwhere(found.drawn).tolist()
    _write_csv(
        out / "histogram.csv",
        [
            {"legacy": x, "simhash": y, "pairs": round(found.histogram[x, y], 2), "drawn": int(found.drawn[x, y])}
            for x, y in cells
        ],
    )
    _write_csv(out / "thresholds.csv", measured.as_rows(found.references))
    rows = [told_apart.as_row(one, prints) for one in found.disagreements]
    _write_csv(out / "pairs.csv", rows)
    write(out / "pairs.html", told_apart.as_page(found.disagreements, prints).encode("utf-8", "replace"))
    if has_picture:
        from scrapy_replica.evaluation.calibration.picture import draw_histogram  # noqa: PLC0415 - an extra

        of_all = len(prints) * (len(prints) - 1) // 2
        title = f"{len(found.pairs.left):,} of the {of_all:,} pairs of {len(prints):,} pages, weighted"
        draw_histogram(found.histogram, found.near_distance, found.recommended, title, out / "calibration")


def _write_csv(file: Path, rows: Sequence[Mapping[str, object]]) -> None:
    output = io.StringIO(newline="")
    if rows:
        writer = csv.DictWriter(output, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    write(file, output.getvalue().encode("utf-8", "replace"))


@contextmanager
def _writable(out: Path) -> Iterator[None]:
    """Make the folder *out*; what cannot be written there, a full disk as well, is told in one line."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.filename is not None and Path(error.filename) != out:
            raise
        raise ValueError(f"{out}: nothing can be written there: {error.strerror}") from None


def _telling(pages: Iterable[PageText], tell: Callable[[int], object]) -> Iterator[PageText]:
    for page in pages:
        tell(1)
        yield page


@contextmanager
def _progress(doing: str, unit: str) -> Iterator[Callable[[int], object]]:
    """Yield what is told how many were done; it shows where standard error is a terminal and tqdm is there."""
    if find_spec("tqdm") is None:
        yield lambda _: None
        return
    from tqdm import tqdm  # noqa: PLC0415 - an extra

    with tqdm(desc=doing, unit=f" {unit}", unit_scale=True, leave=False, disable=None) as bar:
        yield bar.update
