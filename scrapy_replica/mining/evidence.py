"""The evidence of hosts, made of the rows of their pages that stand side by side."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import mmh3
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pyarrow import compute, ipc

from scrapy_replica.address import origin_of
from scrapy_replica.crawldb.pages import is_absent
from scrapy_replica.mining.rows import arrow_schema, batches
from scrapy_replica.mining.schema import PAGES
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.evidence import MIN_WORDS, SAME_PAGE_BITS, HostEvidence, PageMark, marks_of_title, path_of
from scrapy_replica.sites.evidence_store import NearText
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.sites.sketch import BINS

_MASK = (1 << 64) - 1
_SECOND, _THIRD = ((np.arange(BINS) + step) % BINS for step in (21, 43))


class EvidenceRow(NamedTuple):
    """What the evidence is made of."""

    url: str
    signature: bytes | None
    simhash: int | None
    words: int | None
    title: str | None
    mark: bytes | None
    neighbours: str | None
    status: int | None
    at: float | None
    fetched: bool | None


def mark_of_row(row: EvidenceRow) -> PageMark:
    """Return the mark of a page: its own, or what can be said by what is known of it.

    Where there is no simhash, the hash of the signature stands in: equal for equal pages, and far for all others. Where
    there is no text, its sketch is one of the simhash, and where there is no title, what is known of the page stands in
    for it. So pages that are not known to be one count as different in all of that, which no copy gains by.
    """
    if row.mark is not None:
        return PageMark.unpack(row.mark)
    signature = int.from_bytes(row.signature[:8], "little") if row.signature else 0
    simhash = row.simhash & _MASK if row.simhash is not None else None
    if simhash is None and row.signature:
        simhash = mmh3.hash64(row.signature, signed=False)[0]
    title, pattern, bare_title = marks_of_title(row.title or f"{signature or simhash}")
    return PageMark(
        simhash,
        signature,
        title,
        pattern if row.title else title,
        bare_title,
        MIN_WORDS if row.words is None else row.words,
        None,
        sketch_of_simhash(simhash) if simhash is not None else None,
        offers=None,
    )


def sketch_of_simhash(simhash: int) -> bytes:
    """Return a sketch that agrees with that of another simhash about as the sketches of their texts would.

    Each byte holds three bits: of simhashes that differ in d of 64, (1 - d / 64) ** 3 of the bytes agree. Texts whose
    simhashes differ in 3, 6 and 10 bits have a Jaccard coefficient of about .98, .92 and .79; this says .86, .74, .60.
    """
    bits = np.unpackbits(np.frombuffer(simhash.to_bytes(8, "little"), np.uint8), bitorder="little")
    return (bits | bits[_SECOND] << 1 | bits[_THIRD] << 2).tobytes()


def _texts_of(batch: Any) -> NDArray[np.uint64]:
    """Return the simhashes of the pages of an Arrow batch, that of the mark without one; 0 where no text is known."""
    simhashes = batch.column("simhash").fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
    signatures = batch.column("signature").to_pylist()
    stand_ins = [mmh3.hash64(s, signed=False)[0] if s else 0 for s in signatures]
    texts = np.where(batch.column("simhash").is_null(), np.array(stand_ins, np.uint64), simhashes)
    has_words = batch.column("words").fill_null(MIN_WORDS).to_numpy(zero_copy_only=False) >= MIN_WORDS
    is_page = batch.column("status").fill_null(HTTPStatus.OK).to_numpy(zero_copy_only=False) == HTTPStatus.OK
    return np.where(has_words & is_page, texts, np.uint64(0))


def evidence_of(host: str, rows: Iterable[EvidenceRow]) -> HostEvidence:
    """Return what *rows*, the URLs of *host*, tell of it, as a crawl would have it that had met them in their order."""
    evidence = HostEvidence(host)
    first = None
    for row in sorted(rows, key=lambda row: (row.at if row.at is not None else 0.0, row.url)):
        path = path_of(row.url)
        normal = normal_path(path)
        evidence.add_path(normal, path)
        if row.fetched is False:
            continue
        status = row.status or HTTPStatus.OK
        if status == HTTPStatus.OK:
            first = first or row.url
            _tell_neighbours(row, evidence)
            evidence.add_page(normal, mark_of_row(row))
            evidence.add_fetch(row.at or 0.0)
        elif is_absent(status):
            evidence.add_missing(normal)
    evidence.origin = origin_of(first) if first is not None else None
    return evidence


def _tell_neighbours(row: EvidenceRow, evidence: HostEvidence) -> None:
    found = (
        Neighbours.from_json(row.neighbours) if row.neighbours else Neighbours(is_https=row.url.startswith("https:"))
    )
    found.tell(evidence)


class HostRows:
    """An :class:`~scrapy_replica.sites.evidence_store.EvidenceStore` over the table of rows.

    The rows lie in a file that is mapped into memory, so that any host is at hand at any time: 0.2 kB a row on the
    disk, and 150 bytes a host in memory.

    :param tables: Parquet files, in order of host.
    :param file: where the mapped file is written.
    """

    def __init__(self, tables: Iterable[Path], file: Path) -> None:
        self._spans: dict[str, tuple[int, int]] = {}
        self._write(tables, file)
        self._source = pa.memory_map(str(file))
        self._rows = ipc.open_file(self._source).read_all()
        self._texts = self._mapped_texts(file.with_suffix(".texts"))

    def _write(self, tables: Iterable[Path], file: Path) -> None:
        schema = arrow_schema({name: kind for name, kind in PAGES.items() if name in EvidenceRow._fields})
        place = 0
        with pa.OSFile(str(file), "wb") as sink, ipc.new_file(sink, schema) as writer:
            for batch in batches(tables, ["host", *schema.names]):
                place = self._take(batch.column("host"), place)
                writer.write_batch(batch.select(schema.names).cast(schema))

    def _take(self, hosts: Any, place: int) -> int:
        runs = compute.run_end_encode(hosts)
        start = place
        for host, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            before = self._spans.get(host, (start, start))
            self._spans[host] = before[0], place + end
            start = place + end
        return place + len(hosts)

    def _mapped_texts(self, file: Path) -> NDArray[np.uint64]:
        """Return, for each row, the simhash of its page or what stands in for it, 0 where there is no text."""
        with file.open("wb") as output:
            for batch in self._rows.to_batches():
                output.write(_texts_of(batch).tobytes())
        return np.memmap(file, np.uint64, "r") if self._rows.num_rows else np.zeros(0, np.uint64)

    def share_text(self, first: str, second: str) -> bool:
        """Tell whether two hosts have a text in common: simhashes that differ in 10 bits at most, wherever they lie.

        Without one there is no verdict. 20 us for hosts of 50 pages, where to compare them takes 2 ms.
        """
        mine, theirs = (self._texts[slice(*self._spans.get(host, (0, 0)))] for host in (first, second))
        mine, theirs = mine[mine != 0], theirs[theirs != 0]
        return bool((np.bitwise_count(mine[:, None] ^ theirs) <= SAME_PAGE_BITS).any())

    def rows(self, host: str) -> list[EvidenceRow]:
        start, end = self._spans.get(host, (0, 0))
        found = self._rows.slice(start, end - start)
        columns = [found.column(name).to_pylist() for name in EvidenceRow._fields]
        return [EvidenceRow(*values) for values in zip(*columns, strict=True)]

    def read(self, host: str) -> HostEvidence:
        return evidence_of(host, self.rows(host))

    def linking_hosts(self, host: str) -> list[str]:  # noqa: ARG002 -- told to the detector by itself
        """Return none."""
        return []

    def near_texts(self, host: str, path: str, simhash: int) -> list[NearText]:  # noqa: ARG002 -- joined elsewhere
        """Return none."""
        return []

    def forget_pages(self, host: str) -> None:
        """Do nothing: what was fetched stays."""
