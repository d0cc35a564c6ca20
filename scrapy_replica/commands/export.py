"""``scrapy replica export``: what a job knows, for other programs."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from types import UnionType
from typing import IO, TYPE_CHECKING, Any, get_args, get_type_hints

from scrapy_replica.address import has_secret, redacted
from scrapy_replica.bucket import Bucket, is_url
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.formats import FORMATS, Edge, Node, write_gexf, write_sitemap
from scrapy_replica.commands.job import add_job_argument, name_of, reading
from scrapy_replica.commands.write import replacing, write
from scrapy_replica.crawl.order.recipe import made_again
from scrapy_replica.crawldb.contract import RELEVANCE
from scrapy_replica.crawldb.tables import DecisionRow, FetchRow, HostRow, LinkRow
from scrapy_replica.focus.model_file import Learnt, dump
from scrapy_replica.usage import REFUSED, Use
from scrapy_replica.warc.folder import WARC
from scrapy_replica.warc.wacz import write_wacz
from scrapy_replica.words.terminal import counted, wrapped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

MODEL, WACZ = "model", "wacz"
TABLES = {"links": LinkRow, "pages": FetchRow, "decisions": DecisionRow, "hosts": HostRow}
"""Name of a table and what its rows are."""

BATCH = 10_000
"""Rows that are read at once; between two batches the crawl beside may clear its log."""


class ExportCommand(Command):
    """Reads the crawl database of a finished or running crawl."""

    name = "export"
    help = "write links, pages, decisions or hosts as a table or graph, a web archive, or what it learnt"
    group = "keep"
    examples = (
        "scrapy replica export job pages --format jsonl",
        "scrapy replica export job pages --usable train-ai --out pages.parquet",
        "scrapy replica export job links --format gexf --out links.gexf",
        "scrapy replica export job pages --format sitemap --out sitemap.xml",
        "scrapy replica export job wacz --warc kept --out crawl.wacz",
        "scrapy replica export job model --out wine.npz",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument(
            "what",
            metavar="WHAT",
            choices=[*TABLES, WACZ, MODEL],
            help=f"a table ({', '.join(TABLES)}); wacz: the WARC files of --warc and the pages as one file, for "
            "replayweb.page and pywb; model: what the crawl has learnt, for crawl --model",
        )
        parser.add_argument("--format", choices=[*FORMATS, "gexf", "sitemap"], help="as FILE ends, else csv")
        parser.add_argument("--warc", metavar="DIR", help="folder or URL of WARC files, as crawl --warc wrote it")
        parser.add_argument(
            "--usable",
            metavar="USE",
            choices=[use.value for use in Use],
            help=f"of the pages those whose site does not refuse USE: {', '.join(use.value for use in Use)}",
        )
        parser.add_argument(
            "--out", metavar="FILE", help="file or s3://... to write, replaced as a whole; else standard output"
        )

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        if opts.what == MODEL:
            if opts.format is not None or opts.out is None:
                raise ValueError(f"{MODEL} is a file for crawl --model: name it with --out, and leave --format out")
            write_model(opts.job, opts.out)
            return 0
        if (opts.what == WACZ) != (opts.warc is not None):
            raise ValueError(f"{WACZ} is made of the files that --warc names, and nothing else is")
        if opts.what == WACZ:
            return pack(opts)
        named = Path(opts.out or "").suffix.removeprefix(".").lower()
        opts.format = opts.format or (named if named in {*FORMATS, "gexf"} else "csv")
        if opts.format == "gexf" and opts.what not in GRAPHS:
            raise ValueError(f"--format gexf is for graphs ({' and '.join(GRAPHS)}), not for {opts.what}")
        for option, is_given in (("--usable", opts.usable is not None), ("--format sitemap", opts.format == "sitemap")):
            if is_given and opts.what != "pages":
                raise ValueError(f"{option} is for pages, not for {opts.what}")
        if opts.format == "parquet" and not opts.out:
            raise ValueError("--format parquet is no text: name a file with --out")
        with reading(opts.job):
            pass  # a wrong job is refused before a file is begun
        with replacing(opts.out) if opts.out else nullcontext(sys.stdout.buffer) as file:
            count = write_rows(opts, file)
        if opts.out:
            sys.stdout.write(f"{opts.out}: {counted(count, 'node' if opts.format == 'gexf' else 'row')}\n")
        if not count:
            sys.stderr.write(f"{name_of(opts.job)}: there is nothing to export so far\n")
        return int(not count)


def write_rows(opts: argparse.Namespace, file: IO[bytes]) -> int:
    """Write the table or graph; return the number of its rows or nodes."""
    if opts.format == "gexf":
        return GRAPHS[opts.what](opts.job, file)
    rows = batches(opts.job, opts.what)
    if opts.usable is not None:
        rows = usable(rows, opts.usable)
    if opts.format == "sitemap":
        return write_sitemap((row.url for row in worth_showing(rows)), file)
    return FORMATS[opts.format](columns_of(opts.what), rows, file)


def columns_of(what: str) -> dict[str, type]:
    """Return name and type of the columns of a table; ``None`` may stand in all."""
    hints = get_type_hints(TABLES[what])
    return {name: get_args(hint)[0] if isinstance(hint, UnionType) else hint for name, hint in hints.items()}


def batches(job: str, what: str) -> Iterator[list[Any]]:
    """Yield the rows of a table, some at a time, secrets in their URLs blotted out.

    Each batch is read by itself, as last committed: a crawl that runs adds rows meanwhile.
    """
    after = 0
    while rows := _rows(job, what, after):
        after = rows[-1][0]
        yield [row._make(redacted(cell) if isinstance(cell, str) else cell for cell in row) for row in rows]
        if what == "hosts":
            break


def usable(pages: Iterator[list[FetchRow]], use: str) -> Iterator[list[FetchRow]]:
    """Yield the *pages* whose site does not refuse *use*; what it allows and what is unknown stays."""
    column = use.replace("-", "_")
    for rows in pages:
        if left := [row for row in rows if getattr(row, column) != REFUSED]:
            yield left


def worth_showing(pages: Iterable[list[FetchRow]]) -> Iterator[FetchRow]:
    """Yield the *pages* that came and repeat no other; without those whose URL is a secret."""
    for rows in pages:
        yield from (row for row in rows if row.status == 200 and row.repeats is None and not has_secret(row.url))


def pack(opts: argparse.Namespace) -> int:
    """Write a WACZ file of what the crawl kept, and the list of its pages."""
    if opts.out is None or opts.format is not None or opts.usable is not None:
        raise ValueError(f"{WACZ} is a file: name it with --out, and leave --format and --usable out")
    about = {"title": name_of(opts.job), "software": f"scrapy-replica {version('scrapy-replica')}"}
    pages = (
        {"url": row.url, "ts": row.fetched_at, "title": row.title or row.url}
        for row in worth_showing(batches(opts.job, "pages"))
    )
    with warcs_of(opts.warc) as warcs, replacing(opts.out) as file:
        count = write_wacz(file, warcs, pages, about)
    sys.stdout.write(f"{opts.out}: {counted(count, 'page')} in {counted(len(warcs), 'WARC file')}\n")
    return 0


@contextmanager
def warcs_of(place: str) -> Iterator[list[Path]]:
    """Yield the WARC files in a folder, or copies of those in a bucket.

    :raises ValueError: none is there that was ended.
    """
    with Bucket(place).fetched(WARC) if is_url(place) else nullcontext(Path(place)) as folder:
        warcs = sorted(folder.glob(f"*{WARC}"))
        if not warcs:
            raise ValueError(f"{place}: no WARC file that was ended (*{WARC}) is there; crawl --warc writes them")
        yield warcs


def _rows(job: str, what: str, after: int) -> list[Any]:
    with reading(job) as known:
        tables = known.tables
        if what == "hosts":
            return list(tables.hosts())
        rows: list[Any] = getattr(tables, what)(after, BATCH)
        return rows


def graph_of_links(job: str, file: IO[bytes]) -> int:
    """Write a node for each URL, and an edge from the page that it was first found on."""
    last = 0

    def nodes() -> Iterator[Node]:
        nonlocal last
        for rows in batches(job, "links"):
            for row in rows:
                last = row.id
                yield Node(row.id, row.target, [row.host, row.depth, row.state, row.is_demoted, row.score])

    def edges() -> Iterator[Edge]:
        for rows in batches(job, "links"):
            for row in rows:
                # What a running crawl entered meanwhile is no node.
                if row.id > last:
                    return
                if row.source_id is not None and row.source_id <= last:
                    yield Edge(row.source_id, row.id, 1)

    columns = columns_of("links")
    kept = {name: columns[name] for name in ("host", "depth", "state", "is_demoted", "score")}
    return write_gexf(kept, nodes(), edges(), file)


def graph_of_hosts(job: str, file: IO[bytes]) -> int:
    """Write a node for each host, and an edge for each URL of another host that was first found on it."""
    columns = columns_of("hosts")
    with reading(job) as known:
        rows = known.tables.hosts()
        nodes = (Node(row.host, row.host, row) for row in rows)
        edges = (Edge(*link) for link in known.tables.host_links())
        return write_gexf(columns, nodes, edges, file)


GRAPHS = {"links": graph_of_links, "hosts": graph_of_hosts}
"""Tables that are graphs as well, and what writes them."""


PARTS = {"layers": "how far the text of a page is from it", "links": "what its links lead to"}
"""Parts of what strategies learn, in words; ``hub`` goes with ``links``."""


def write_model(job: str, out: str) -> None:
    """Write what the crawl of *job* has learnt to the file *out*, for ``--model``."""
    with reading(job) as reader:
        learnt = learnt_by(reader)
    told = ["what is relevant", *(words for part, words in PARTS.items() if part in learnt.strategy)]
    write(out, dump(learnt))
    sys.stdout.write(wrapped(f"{out}: {', '.join(told)}", hanging=2) + "\n")


def learnt_by(job: SqliteReader) -> Learnt:
    """Return what the crawl of *job* has learnt.

    :raises ValueError: nothing, for it had no topic.
    """
    relevance = job.meta(RELEVANCE)
    if relevance is None:
        raise ValueError("that crawl has learnt nothing, for it had no topic")
    strategy = made_again(job)
    return Learnt(relevance, strategy.learnt() if strategy is not None else {})
