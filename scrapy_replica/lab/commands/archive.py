"""``scrapy replica lab archive``: a crawl that is over as a small collection, read page by page."""

from __future__ import annotations

import csv
import errno
import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, needing
from scrapy_replica.commands.truth import UNREADABLE, text_in
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.lab.commands.archive_text import counts, show_archive, show_gaps, show_sizes
from scrapy_replica.lab.commands.output import print_measures
from scrapy_replica.pages.terms import terms as count_terms
from scrapy_replica.words.text import unreadable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from scrapy_replica.lab.archives.direct.build import Kept

WARCS = ("*.warc", "*.warc.gz")


class ArchiveCommand(Command):
    """Builds direct archives, shows what is in them and what they take, and cuts them."""

    name = "archive"
    help = "keep the graph and the terms of a crawl in some 150 bytes a page, to visit it again and again"
    group = "measure"
    examples = (
        "scrapy replica lab archive build job --out folder",
        "scrapy replica lab archive build a.warc.gz --labels topics.csv --out folder",
        "scrapy replica lab archive show folder https://example.org/",
        "scrapy replica lab archive sizes folder",
        "scrapy replica lab archive cut folder --pages-per-host 99 --depth 4 --out cut",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        build = actions.add_parser("build", help="make an archive of WARC files, of a job's, or of a Parquet file")
        build.add_argument(
            "inputs", nargs="+", metavar="INPUT", help="WARC files, folders of them (a job), or one Parquet file"
        )
        build.add_argument("--out", required=True, metavar="DIR", help="new folder for the archive")
        build.add_argument(
            "--labels", metavar="CSV", help="table of url and label (a|b for two), plain or gzip, for WARC files"
        )
        build.add_argument(
            "--seed", action="append", default=[], metavar="URL", help="where visits begin (default: first page)"
        )
        build.add_argument(
            "--min-pages", type=int, default=2, metavar="N", help="leave out terms of fewer than N pages (2)"
        )
        build.add_argument(
            "--max-share", type=float, default=0.12, metavar="P", help="and those of P of the pages or more (.12)"
        )
        build.set_defaults(act=build_archive)
        show = actions.add_parser("show", help="what is in an archive, or in one page of it")
        show.add_argument("archive", metavar="DIR")
        show.add_argument("page", nargs="?", metavar="PAGE", help="a URL, or a number")
        show.set_defaults(act=show_archive)
        sizes = actions.add_parser("sizes", help="what each part takes, beside other codes and entropies")
        sizes.add_argument("archive", metavar="DIR")
        sizes.add_argument("--plot", metavar="FILE", help="draw how long the documents are")
        sizes.set_defaults(act=show_sizes)
        cut = actions.add_parser("cut", help="the part that a shallow crawl would have taken; it shares the data")
        cut.add_argument("archive", metavar="DIR")
        cut.add_argument("--pages-per-host", type=int, required=True, metavar="N", help="pages of a host, at most")
        cut.add_argument("--depth", type=int, required=True, metavar="D", help="links below a host's entry, at most")
        cut.add_argument("--pages", type=int, metavar="N", help="pages in all, at most")
        cut.add_argument("--out", required=True, metavar="DIR", help="new folder for the cut")
        cut.set_defaults(act=cut_archive)
        gaps = actions.add_parser("gaps", help="exponents of gaps between term numbers that follow Zipf's law")
        gaps.add_argument("--terms", type=int, default=10_000_000, metavar="N", help="terms of the language (10000000)")
        gaps.add_argument("--exponent", type=float, nargs="+", default=[1.0375], metavar="S", help="of terms (1.0375)")
        gaps.add_argument("--length", type=int, nargs="+", default=[300], metavar="N", help="terms a document (300)")
        gaps.add_argument("--documents", type=int, default=10_000, metavar="N", help="documents drawn (10000)")
        gaps.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the documents")
        gaps.set_defaults(act=show_gaps)
        for action in (build, show, sizes, cut, gaps):
            action.add_argument("--json", action="store_true", help="print it as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        with needing("lab", "direct archives need"):
            import scrapy_replica.lab.archives.direct  # noqa: F401, PLC0415 - an extra
        result: int = opts.act(opts, settings)
        return result


def build_archive(opts: argparse.Namespace, settings: Settings) -> int:
    from scrapy_replica.lab.archives.direct import DirectArchive  # noqa: PLC0415
    from scrapy_replica.lab.archives.direct.build import Kept  # noqa: PLC0415
    from scrapy_replica.lab.archives.direct.sizes import parts  # noqa: PLC0415

    if opts.min_pages < 1:
        raise ValueError(f"--min-pages is {opts.min_pages}: it must be at least 1")
    if not 0 < opts.max_share <= 1:
        raise ValueError(f"--max-share is {opts.max_share}: it must be above 0 and at most 1, which keeps all")
    out, files = Path(opts.out), _files(opts.inputs)
    is_parquet = [file.suffix == ".parquet" for file in files]
    if any(is_parquet) and len(files) > 1:
        raise ValueError("an archive is built of one Parquet file or of WARC files, not of both or of several")
    if any(is_parquet) and (opts.labels or opts.seed):
        raise ValueError("--labels and --seed are for WARC files: a Parquet file has its own")
    labels = _labels(Path(opts.labels)) if opts.labels else {}
    kept = Kept(opts.min_pages, opts.max_share)
    with _writing(out):
        told = (
            _of_parquet(files[0], out, kept) if is_parquet[0] else _of_warcs(files, out, labels, opts, settings, kept)
        )
    archive = DirectArchive(out)
    figures = counts(archive) | told | {"bytes_a_page": sum(parts(archive).values())}
    print_measures(figures, {"inputs": opts.inputs, "out": opts.out}, as_json=opts.json)
    return 0


def _of_parquet(file: Path, out: Path, kept: Kept) -> dict[str, int]:
    from scrapy_replica.lab.archives.collection import read_parquet  # noqa: PLC0415
    from scrapy_replica.lab.archives.direct.build import from_collection  # noqa: PLC0415

    collection = read_parquet(file, count_terms)
    from_collection(collection, out, kept)
    return {"terms_found": len(collection.vocabulary)}


def _of_warcs(
    files: list[Path], out: Path, labels: dict[str, list[str]], opts: argparse.Namespace, settings: Settings, kept: Kept
) -> dict[str, int]:
    with needing("warc", "WARC files need"):
        from tqdm import tqdm  # noqa: PLC0415 - an extra

    from scrapy_replica.lab.archives.direct.build import from_captures  # noqa: PLC0415
    from scrapy_replica.warc.archive import Archive  # noqa: PLC0415

    captures = Archive(files)
    records = tqdm(captures.records(), "reading", len(captures), unit=" captures", leave=False, disable=None)
    told = from_captures(records, ArchivedPages(settings), out, labels, opts.seed, kept)
    return {
        "terms_found": told.terms,
        "captures": len(captures),
        "redirects": told.redirects,
        "duplicate_urls": told.duplicates,
        "other_statuses": told.others,
        "bad_captures": told.bad,
    }


def _files(inputs: list[str]) -> list[Path]:
    files = []
    for name in inputs:
        path = Path(name)
        if not path.exists():
            raise ValueError(f"{name}: there is no such file or folder")
        found = [path] if path.is_file() else sorted(file for kind in WARCS for file in path.rglob(kind))
        if not found:
            raise ValueError(f"{name}: there is no WARC file below it; a crawl keeps them with --warc")
        files += found
    return files


def _labels(file: Path) -> dict[str, list[str]]:
    try:
        text = text_in(file)
    except UNREADABLE as error:
        raise ValueError(f"--labels: cannot read {file}: {unreadable(error)}") from None
    rows = csv.DictReader(io.StringIO(text))
    column = next((name for name in ("label", "topics") if name in (rows.fieldnames or ())), None)
    if column is None or "url" not in (rows.fieldnames or ()):
        raise ValueError(f"--labels: {file} needs the columns url and label")
    labels: dict[str, list[str]] = {}
    for row in rows:
        for label in filter(None, (row[column] or "").split("|")):
            labels.setdefault(label, []).append(row["url"] or "")
    return labels


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """Make *out*, and say of what goes wrong while it is written that it is of no use, if anything is in it."""
    from scrapy_replica.lab.archives.direct.writer import begun  # noqa: PLC0415 - an extra

    begun(out)
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(f"{out}: {error.strerror}; delete it, make room and build it again") from None
    except ValueError as error:
        if not any(out.iterdir()):
            out.rmdir()
            raise
        raise ValueError(f"{error}; delete {out} before you build it again") from None


def cut_archive(opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001
    from tqdm import tqdm  # noqa: PLC0415 - an extra

    from scrapy_replica.lab.archives.direct import Cut, opened  # noqa: PLC0415
    from scrapy_replica.lab.archives.direct.cut import shallow, write_cut  # noqa: PLC0415

    for option, value, least in (
        ("pages-per-host", opts.pages_per_host, 1),
        ("depth", opts.depth, 0),
        ("pages", opts.pages, 1),
    ):
        if value is not None and value < least:
            raise ValueError(f"--{option} is {value}: it must be at least {least}")
    archive, out = opened(Path(opts.archive)), Path(opts.out)
    if isinstance(archive, Cut):
        raise ValueError(f"{opts.archive} is a cut: cut {archive.whole.folder}, whose data it shares")
    with _writing(out):
        with tqdm(desc="cutting", total=len(archive), unit=" pages", leave=False, disable=None) as bar:
            pages = shallow(archive, opts.pages_per_host, opts.depth, opts.pages, bar.update)
        write_cut(archive, pages, out)
    size = sum(file.stat().st_size for file in out.iterdir())
    figures = {"pages": len(pages), "pages_of_whole": len(archive), "bytes_a_page": size / max(1, len(pages))}
    print_measures(figures, {"archive": opts.archive, "out": opts.out}, as_json=opts.json)
    return 0 if len(pages) else 1
