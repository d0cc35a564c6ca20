"""``scrapy replica lab calibrate``: from how many bits on pages are taken for duplicates that are none."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import numpy as np

from scrapy_replica.address import redacted
from scrapy_replica.commands.command import Command, as_object
from scrapy_replica.config import Config
from scrapy_replica.lab.calibration.labels import clusters_of, read_labels
from scrapy_replica.lab.calibration.pairs import draw
from scrapy_replica.lab.calibration.prints import Prints
from scrapy_replica.lab.commands.calibrated import Found, write_all
from scrapy_replica.lab.commands.texts import Texts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scrapy.settings import Settings

    from scrapy_replica.lab.calibration.prints import PageText
    from scrapy_replica.numeric import IntArray

PAIRS = 10_000_000
FALSE_DUPLICATES = 0.02
"""Wanted share of false duplicates among the pairs that the last bit brings. Below it one reads the noise of the
reference: pairs that the legacy measure calls different at 1 to 3 bits (at most 2 % of them) are those whose similarity
lies at its own threshold, where its 128 samples tell no more."""
_SEED = 4


class CalibrateCommand(Command):
    """Holds simhash against the legacy fingerprint, and labels, over millions of page pairs."""

    name = "calibrate"
    help = "tell from how many bits on different pages are taken for duplicates"
    group = "measure"
    examples = (
        "scrapy replica lab calibrate crawl.warc.gz --out calibrated",
        "scrapy replica lab calibrate pages/ --labels labels.csv --out calibrated",
        "scrapy replica lab calibrate a.warc.gz --out calibrated -s REPLICA_NOISE=cetd",
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
            counts = {name: count for name, count in sorted(texts.counts.items()) if count}
            figures = as_object(found.figures() | counts, _inputs(opts, config))
            write_all(out, found, figures, has_picture=has_picture)
        holds = ", ".join(sorted(file.name for file in out.iterdir() if file.is_file()))
        sys.stdout.write(json.dumps(figures) + "\n" if opts.json else f"{found.as_text()}{out} holds {holds}\n")
        return int(not has_picture or found.recommended is None)


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
        raise ValueError(f"{name} names none of the pages: url must be written as in {redacted(prints.urls[0])}")
    return clusters


def _too_few(prints: Prints, min_words: int) -> str:
    left_out = f"{prints.short} of fewer than {min_words} words, {prints.empty} without text"
    return f"{len(prints)} page(s) to compare ({left_out}): a pair takes two; see REPLICA_MIN_WORDS"


def _can_draw() -> bool:
    try:
        import_module("matplotlib")
    except ImportError:
        sys.stderr.write("no picture is drawn, for that needs matplotlib: pip install 'scrapy-replica[report]'\n")
        return False
    return True


@contextmanager
def _writable(out: Path) -> Iterator[None]:
    """Make the folder *out*; what cannot be written there, a full disk as well, is told in one line."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.filename is not None and Path(error.filename) != out:
            raise
        raise ValueError(f"{out}: nothing can be written there: {error.strerror or error}") from None


def _telling(pages: Iterable[PageText], tell: Callable[[int], object]) -> Iterator[PageText]:
    for page in pages:
        tell(1)
        yield page


@contextmanager
def _progress(doing: str, unit: str) -> Iterator[Callable[[int], object]]:
    """Yield what is told how many were done; it shows where standard error is a terminal and tqdm is there."""
    try:
        from tqdm import tqdm  # noqa: PLC0415 - an extra
    except ImportError:
        yield lambda _: None
        return
    with tqdm(desc=doing, unit=f" {unit}", unit_scale=True, leave=False, disable=None) as bar:
        yield bar.update
