"""Writes the benchmark: for each split a closed web as WARC with its index, what is true of it, and the scripts."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from scrapy_replica.lab.generation.warc import DATE, address_of, digest_of, record_of
from scrapy_replica.lab.manuals.folder import alike, pairs
from scrapy_replica.lab.manuals.hosts import Maker
from scrapy_replica.lab.manuals.packages import Edition
from scrapy_replica.lab.manuals.trees import Tree
from scrapy_replica.lab.mirrorbench.card import card
from scrapy_replica.lab.mirrorbench.closed import Answer, Site, closed
from scrapy_replica.lab.mirrorbench.features import write_features

VERSION = "2"
"""Of the benchmark: the same version, seed and packages make the same bytes."""
SPLITS = ("dev", "test")
SCRIPTS = ("score.py", "replay.py")
WARC, INDEX, PAGES, HOSTS, TRUTH, SEEDS = (
    "warc/web.warc.gz",
    "index.cdxj",
    "pages.csv.gz",
    "hosts.csv",
    "truth.csv",
    "seeds.txt",
)
WHOLE = "bench.json"
CERTIFICATE = "replay.pem"
"""With its key: whoever crawls https through the proxy has to take it, since nobody vouches for it."""
MIN_FAMILIES = 4
"""Of a split: made hosts borrow pages of other families."""
_LICENCES = ("copyright", "license", "licence", "copying")
_HOST_COLUMNS = (
    "host",
    "kind",
    "replica_of",
    "family",
    "edition",
    "pages",
    "canonical",
    "redirects",
    "https",
    "also",
    "ip",
)
_EDITION_COLUMNS = ("registry", "package", "version", "language", "licence")


def make(
    folder: Path, trees: Mapping[Edition, Tree], seed: int, packages: Path | None = None
) -> dict[str, dict[str, int]]:
    """Write the benchmark of *trees* into the new *folder* and return how much of what each split has.

    *packages* has the unpacked packages that the trees are of, if they are, with their licences.

    :raises ValueError: a split has too few families.
    """
    of_splits = {split: {e: tree for e, tree in trees.items() if split_of(e.family) == split} for split in SPLITS}
    for split, of_split in of_splits.items():
        if len({edition.family for edition in of_split}) < MIN_FAMILIES:
            raise ValueError(f"the split {split} would have fewer than {MIN_FAMILIES} families: it takes more packages")
    folder.mkdir(parents=True)
    figures = {
        split: _write_split(folder / split, of_split, len(SPLITS) * seed + number)
        for number, (split, of_split) in enumerate(of_splits.items())
    }
    (folder / CERTIFICATE).write_bytes(_certificate(seed))
    for script in SCRIPTS:
        shutil.copyfile(Path(__file__).with_name(script), folder / script)
    if packages is not None:
        _copy_licences(folder / "licences", trees, packages)
    files = [f"{split}/{name}" for split in SPLITS for name in (WARC, INDEX, PAGES, HOSTS, TRUTH)]
    about = {"name": "MirrorBench", "version": VERSION, "seed": seed, "splits": figures}
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    (folder / "README.md").write_text(card(VERSION, seed, figures, list(trees)), encoding="utf-8")
    # Last: a folder without it is part of a benchmark.
    (folder / WHOLE).write_text(json.dumps({**about, "sha256": hashes}, indent=1) + "\n", encoding="utf-8")
    return figures


def split_of(family: str) -> str:
    """Return the split of a family, which does not depend on the others."""
    return SPLITS[hashlib.sha1(family.encode()).digest()[0] % 2]


def _write_split(folder: Path, trees: Mapping[Edition, Tree], seed: int) -> dict[str, int]:
    hosts = list(Maker(trees, seed).hosts())
    sites = closed(hosts, Random(f"closed {seed}"))
    (folder / WARC).parent.mkdir(parents=True)
    _write_web(folder, sites)
    truth = pairs(hosts, alike(trees), seed)
    _write_rows(folder / TRUTH, truth)
    _write_rows(folder / HOSTS, [_host_row(site, number) for number, site in enumerate(sites)])
    _write_pages(folder / PAGES, sites)
    write_features(folder)
    (folder / SEEDS).write_text(sites[-1].answers[0].url + "\n", encoding="utf-8")
    return {
        "families": len({edition.family for edition in trees}),
        "hosts": len(sites),
        "copies": sum(bool(site.replica_of) for site in sites),
        "urls": sum(len(site.answers) for site in sites),
        "https": sum(site.https == "same" for site in sites),
        "https_other": sum(site.https == "other" for site in sites),
        "contents": len({answer.content for site in sites for answer in site.answers}),
        **{kind: sum(row["relation"] == kind for row in truth) for kind in ("replica", "near_miss", "ambiguous")},
    }


def _write_web(folder: Path, sites: Sequence[Site]) -> None:
    lines = []
    with (folder / WARC).open("xb") as out:
        for number, site in enumerate(sites):
            for answer in site.answers:
                packed = gzip.compress(
                    record_of(answer.url, address_of(number // 3), answer.body, answer.location), mtime=0
                )
                lines.append(_index_line(answer, out.tell(), len(packed)))
                out.write(packed)
    (folder / INDEX).write_text("".join(sorted(lines)), encoding="utf-8")


def _index_line(answer: Answer, offset: int, length: int) -> str:
    """Return a line of a CDXJ index, as pywb and cdxj-indexer write it."""
    host, _, path = answer.url.partition("://")[2].partition("/")
    key = f"{','.join(reversed(host.split('.')))})/{path}".lower()
    told = {
        "url": answer.url,
        "mime": "text/html",
        "status": "301" if answer.location else "200",
        "digest": digest_of(answer.body),
        "length": str(length),
        "offset": str(offset),
        "filename": WARC,
    }
    return f"{key} {''.join(filter(str.isdigit, DATE))} {json.dumps(told)}\n"


def _write_pages(file: Path, sites: Sequence[Site]) -> None:
    """Write a row of each URL, with the columns of ``lab crawl --truth``."""
    with gzip.GzipFile(file, "xb", mtime=0) as packed, io.TextIOWrapper(packed, "utf-8", newline="") as text:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(("url", "host", "page_key", "status", "role", "text", "edited"))
        for site in sites:
            for answer in site.answers:
                status = 301 if answer.location else 200
                row = (answer.url, site.name, answer.content, status, site.kind, answer.text, int(answer.is_edited))
                table.writerow(row)


def _host_row(site: Site, number: int) -> dict[str, str]:
    row = dict.fromkeys((*_HOST_COLUMNS, *_EDITION_COLUMNS), "")
    row |= {"host": site.name, "kind": site.kind, "replica_of": site.replica_of, "canonical": site.canonical}
    row |= {
        "pages": str(len(site.answers)),
        "redirects": str(site.redirects),
        "https": site.https,
        "ip": address_of(number // 3),
    }
    if site.made_of is not None:
        edition = site.made_of.edition
        row |= {"family": edition.family, "edition": edition.name, "also": site.made_of.also}
        row |= {name: getattr(edition, name) for name in _EDITION_COLUMNS}
    return row


def _write_rows(file: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with file.open("x", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _certificate(seed: int) -> bytes:
    """Return a certificate of the proxy and its key, the same bytes for the same seed."""
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"proxy {seed}".encode()).digest())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "MirrorBench")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2000, 1, 1), datetime(2100, 1, 1))
    pem = serialization.Encoding.PEM
    written = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return written + made.sign(key, None).public_bytes(pem)


def _copy_licences(folder: Path, editions: Iterable[Edition], packages: Path) -> None:
    """Copy what the packages say of their licences: pages keep theirs."""
    folder.mkdir()
    for edition in editions:
        root = packages / edition.name
        files = [path for path in sorted(root.rglob("*")) if path.name.lower().startswith(_LICENCES) and path.is_file()]
        # Those nearest to the root are of the package, others of what it brings.
        texts = [path.read_bytes() for path in sorted(files, key=lambda path: len(path.parts))[:3]]
        (folder / f"{edition.name}.txt").write_bytes(b"\n\n".join(texts) or edition.licence.encode())
