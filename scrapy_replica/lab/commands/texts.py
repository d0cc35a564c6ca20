"""The texts of pages that lie in folders, Parquet and WARC files, read as a crawl reads them."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import HtmlResponse

from scrapy_replica.commands.command import needing
from scrapy_replica.commands.job import is_begun, is_shared, name_of
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.config import Config
from scrapy_replica.lab.calibration.prints import PageText
from scrapy_replica.pages.page import EXTRACTORS
from scrapy_replica.warc.archive import Archive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

HTML, PLAIN, PARQUET, WARC = (".html", ".htm"), (".txt",), (".parquet",), (".warc", ".warc.gz")
_BATCH = 1_000


class Texts:
    """Reads pages, their noise removed as the settings say."""

    def __init__(self, names: Sequence[str], settings: Settings) -> None:
        """Look at what *names* are.

        :raises ValueError: one is not there, or nothing that pages can be read from: one line that says what to do.
        """
        self.counts: Counter[str] = Counter()
        """``bad_records`` that could not be read, ``not_status_200`` and ``not_HTML`` captures."""
        self._settings = settings
        self._extract = EXTRACTORS[Config.from_settings(settings).noise]
        self._files = list(dict.fromkeys(file for name in names for file in _files(name)))

    def __iter__(self) -> Iterator[PageText]:
        """Yield the pages, of several captures or rows of a URL the first."""
        seen: set[str] = set()
        for page in self._pages():
            if page.url not in seen:
                seen.add(page.url)
                yield page

    def _pages(self) -> Iterator[PageText]:
        for file in self._files:
            if file.name.endswith(PARQUET):
                yield from self._of_parquet(file)
            elif file.name.endswith(HTML + PLAIN):
                body = file.read_bytes()
                is_html = file.name.endswith(HTML)
                yield PageText(file.as_posix(), self._of_html(body) if is_html else body.decode("utf-8", "replace"))
        warcs = [file for file in self._files if file.name.endswith(WARC)]
        if warcs:
            yield from self._of_warcs(warcs)

    def _of_html(self, page: bytes | str) -> str:
        """Return the main text; what is decoded already is not decoded again, whatever its head says."""
        known = {"encoding": "utf-8"} if isinstance(page, str) else {}
        body = page.encode("utf-8", "replace") if isinstance(page, str) else page
        return self._main_text(HtmlResponse("http://page.invalid/", body=body, **known))

    def _main_text(self, response: HtmlResponse) -> str:
        try:
            return self._extract(response.selector.root).main
        except Exception:  # noqa: BLE001 -- crawled bytes: whatever they bring about, the next page has its turn
            self.counts["bad_records"] += 1
            return ""

    def _of_warcs(self, files: Sequence[Path]) -> Iterator[PageText]:
        archived = ArchivedPages(self._settings)
        for record in Archive(files).records():
            if record.status != HTTPStatus.OK:
                self.counts["not_status_200"] += 1
                continue
            try:
                response = archived.response(Request(record.url), record)
            except Exception:  # noqa: BLE001 -- as above
                self.counts["bad_records"] += 1
                continue
            if isinstance(response, HtmlResponse):
                yield PageText(record.url, self._main_text(response))
            else:
                self.counts["not_HTML"] += 1

    def _of_parquet(self, file: Path) -> Iterator[PageText]:
        with needing("parquet", "reading Parquet files needs"):
            import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415
            from pyarrow import parquet  # noqa: PLC0415
        try:
            with parquet.ParquetFile(file) as table:
                column = _text_column(file, table.schema_arrow.names)
                for batch in table.iter_batches(_BATCH, columns=["url", column]):
                    yield from self._of_rows(file, batch.to_pylist(), column)
        except (pa.ArrowException, OSError) as error:
            told = " ".join(str(error).split())
            raise ValueError(f"{file} is a broken Parquet file ({told}): write it again") from None

    def _of_rows(self, file: Path, rows: Sequence[dict[str, Any]], column: str) -> Iterator[PageText]:
        for row in rows:
            if not row["url"]:
                self.counts["bad_records"] += 1
                continue
            text = row[column] or ""
            if column == "html" and isinstance(text, (str, bytes)):
                text = self._of_html(text)
            if not isinstance(text, str):
                raise ValueError(f"{file}: the column {column!r} holds {type(text).__name__}; it takes text")
            yield PageText(str(row["url"]), text)


def _text_column(file: Path, names: Sequence[str]) -> str:
    column = next((name for name in ("text", "html") if name in names), None)
    if column is None or "url" not in names:
        raise ValueError(f"{file}: it takes the columns url and text (or html); it has {', '.join(names[:10])}")
    return column


def _files(name: str) -> list[Path]:
    if is_shared(name) or is_begun(name):
        instead = "give the WARC files that its crawl kept (crawl --warc DIR)"
        raise ValueError(f"{name_of(name)} is a job, which keeps simhashes of pages but not their texts: {instead}")
    path = Path(name)
    if not path.exists():
        raise ValueError(f"{name}: there is no such file or folder")
    taken = HTML + PLAIN + PARQUET + WARC
    if path.is_file():
        if not path.name.endswith(taken):
            raise ValueError(f"{name}: pages are read from folders, {PARQUET[0]} and {' and '.join(WARC)} files")
        return [path]
    files = sorted(file for file in path.rglob("*") if file.name.endswith(taken) and file.is_file())
    if not files:
        raise ValueError(f"{name}: there is no {', '.join(taken[:-1])} or {taken[-1]} file in it")
    return files
