"""What ``scrapy replica lab archive`` shows of an archive: what is in it, one page of it, what its parts take."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import as_object
from scrapy_replica.lab.commands.output import print_measures
from scrapy_replica.words.terminal import table
from scrapy_replica.words.text import cleaned, shortened

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from scrapy.settings import Settings

    from scrapy_replica.lab.archives.collection import Documents
    from scrapy_replica.lab.archives.direct.sizes import Columns

SHOWN = 20
"""Terms, links and labels that ``show`` tells of."""


def counts(archive: Documents) -> dict[str, int | float]:
    """Return how much is in an archive."""
    from tqdm import tqdm  # noqa: PLC0415 - an extra

    n_terms = n_links = n_empty = 0
    for batch in tqdm(archive.batches(), "counting", unit=" blocks", leave=False, disable=None):
        n_terms, n_links = n_terms + len(batch.term_ids), n_links + len(batch.targets)
        n_empty += int((batch.term_start[1:] == batch.term_start[:-1]).sum())
    pages = max(1, len(archive))
    return {
        "pages": len(archive),
        "hosts": len(archive.host_names),
        "terms": len(archive.vocabulary),
        "terms_a_page": n_terms / pages,
        "links_a_page": n_links / pages,
        "pages_without_terms": n_empty,
        "labels": len(archive.labels),
        "seeds": len(archive.seeds),
    }


def show_archive(opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001
    from scrapy_replica.lab.archives.direct import opened  # noqa: PLC0415

    archive = opened(Path(opts.archive))
    if opts.page is None:
        _show_whole(archive, opts)
        return 0
    number = int(opts.page) if opts.page.isdecimal() else archive.number(opts.page)
    if number is None or number >= len(archive):
        sys.stderr.write(f"the archive has no page {opts.page}: a URL as it stands there, or 0 to {len(archive) - 1}\n")
        return 1
    _show_page(archive, number, as_json=opts.json)
    return 0


def _show_whole(archive: Documents, opts: argparse.Namespace) -> None:
    labels = {name: len(pages) for name, pages in archive.labels.items()}
    if opts.json:
        told = as_object(counts(archive), {"archive": opts.archive}) | {"labels": labels}
        sys.stdout.write(json.dumps(told) + "\n")
        return
    print_measures(counts(archive), {}, as_json=False)
    if labels:
        largest = sorted(labels.items(), key=lambda item: -item[1])[:SHOWN]
        sys.stdout.write("\n" + table(("label", "pages"), [(cleaned(name), pages) for name, pages in largest]))


def _show_page(archive: Documents, number: int, *, as_json: bool) -> None:
    page = archive.page(number)
    labels = [name for name, pages in archive.labels.items() if number in pages]
    if as_json:
        links = [
            {"page": target, "url": link.url, "text": link.text}
            for target, link in zip(archive.links(number), page.links, strict=True)
        ]
        told = {"page": number, "url": page.url, "title": page.title, "labels": labels}
        sys.stdout.write(json.dumps(told | {"terms": page.terms, "links": links}) + "\n")
        return
    head = {"page": f"{number:,}", "URL": page.url, "title": page.title or "", "labels": ", ".join(labels)}
    sys.stdout.writelines(f"{name:<8}{cleaned(text)}".rstrip() + "\n" for name, text in head.items())
    found = sorted(page.terms.items(), key=lambda item: -item[1])
    sys.stdout.write("\n" + table((_first("terms", len(found)), "times"), found[:SHOWN]))
    rows = [(shortened(cleaned(link.url), 50), cleaned(link.text)) for link in page.links[:SHOWN]]
    sys.stdout.write("\n" + table((_first("links", len(page.links)), "anchor text"), rows))


def _first(what: str, number: int) -> str:
    return f"{what} ({number:,})" if number <= SHOWN else f"{what} ({SHOWN} of {number:,})"


def show_sizes(opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001
    from scrapy_replica.lab.archives.direct import Cut, opened  # noqa: PLC0415
    from scrapy_replica.lab.archives.direct.sizes import BESIDE, PUBLISHED, columns, parts  # noqa: PLC0415

    archive = opened(Path(opts.archive))
    if isinstance(archive, Cut):
        raise ValueError(f"{opts.archive} is a cut: ask for the sizes of {archive.whole.folder}, whose data it shares")
    sizes, found = parts(archive), columns(archive, _progress)
    if opts.plot:
        from scrapy_replica.lab.archives.direct import lengths  # noqa: PLC0415

        lengths.plot(found.lengths, found.exponents["lengths"], Path(opts.plot))
    stored = {part: size for part, size in sizes.items() if part not in BESIDE}
    if opts.json:
        told = {
            "pages": len(archive),
            "parts": sizes,
            "stored": sum(stored.values()),
            "published": PUBLISHED,
            "columns": {name: column._asdict() for name, column in found.sizes.items()},
            "theorem_1": found.bound,
            "exponents": found.exponents,
        }
        sys.stdout.write(json.dumps(told) + "\n")
        return 0
    rows = [*stored.items(), ("all", sum(stored.values())), ("published, without links", float(PUBLISHED))]
    rows += [(f"beside: {part}", sizes[part]) for part in BESIDE]
    sys.stdout.write(
        f"bytes a page of {len(archive):,} pages\n\n{table(('part', 'bytes'), rows)}\n{_in_columns(found)}"
    )
    return 0


def _in_columns(found: Columns) -> str:
    rows = [(name, one.ours, one.code, one.entropy, one.code_name) for name, one in found.sizes.items()]
    sizes = found.sizes.values()
    rows.append(
        ("all", sum(one.ours for one in sizes), sum(one.code for one in sizes), sum(one.entropy for one in sizes), "")
    )
    shown = table(("column", "packed alone", "published code", "entropy", "which code"), rows)
    laws = ", ".join(f"{name} {value:.3f}" for name, value in found.exponents.items())
    return f"{shown}\nexponents of the power laws: {laws}\ntheorem 1 allows {found.bound:,.0f} bytes a page\n"


def _progress(places: list[int]) -> Iterable[int]:
    from tqdm import tqdm  # noqa: PLC0415 - an extra

    bar: Iterable[int] = tqdm(places, "coding", unit=" blocks", leave=False, disable=None)
    return bar


def show_gaps(opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001
    """Print the exponent of the gaps for each exponent of the terms and each length of the documents."""
    from scrapy_replica.lab.archives.direct.gaps import exponent_of_gaps  # noqa: PLC0415

    for option, least, most in (("terms", 2, 100_000_000), ("documents", 1, 1_000_000), ("seed", 0, 2**32)):
        if not least <= getattr(opts, option) <= most:
            raise ValueError(f"--{option} is {getattr(opts, option)}: it must be {least} to {most}")
    if any(length < 2 for length in opts.length) or not all(0 < exponent < 10 for exponent in opts.exponent):
        raise ValueError("--length takes numbers from 2 on, --exponent such above 0 and below 10")
    figures = {}
    write = (lambda _: None) if opts.json else sys.stdout.write
    write(f"{'terms':>8}" + "".join(f"{f'of {length}':>10}" for length in opts.length) + "\n")
    for exponent in opts.exponent:
        write(f"{exponent:8g}")
        for length in opts.length:
            found = exponent_of_gaps(opts.terms, exponent, length, opts.documents, opts.seed)
            figures[f"gaps.{exponent:g}.{length}"] = found
            write(f"{found:10.4f}")
            sys.stdout.flush()
        write("\n")
    if opts.json:
        inputs = {name: getattr(opts, name) for name in ("terms", "documents", "seed")}
        print_measures(figures, inputs, as_json=True)
    return 0
