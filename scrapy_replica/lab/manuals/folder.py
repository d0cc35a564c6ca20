"""Writes made hosts as a folder that ``scrapy replica lab replicas`` reads: WARC files, hosts, and what is true."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from random import Random

from scrapy_replica.lab.generation.warc import address_of, record_of
from scrapy_replica.lab.manuals.hosts import Host, Maker
from scrapy_replica.lab.manuals.packages import Edition, unpacked
from scrapy_replica.lab.manuals.trees import MAX_PAGES, Tree, read_tree

MIN_PAGES, MIN_WORDS = 12, 60
"""Pages that a manual must have, and the words of each of these."""
SAME_PAGE = 0.95
"""Share of the words of two pages that both have, from which they say the same."""
MAX_SAME = 0.8
"""Share of such pages from which two editions are neither replicas nor near misses: nobody could call it."""
_MAX_UNRELATED = 5_000
_WORD = re.compile(rb"[\w\x80-\xff]+")
_TAG = re.compile(rb"(?s)<(script|style)\b.*?</\1>|<[^>]*>")


def make(editions: Iterable[Edition], packages: Path, folder: Path, seed: int, told: Callable[[str], None]) -> int:
    """Get the *editions* into *packages* and write their hosts into the new *folder*; returns how many hosts.

    An edition that its registry does not bring, or that has few pages, is left out, and *told* says so.

    :raises ValueError: fewer than two families are left that have enough pages.
    """
    trees = read_trees(editions, packages, told)
    hosts = list(Maker(trees, seed).hosts())
    (folder / "warc").mkdir(parents=True)
    for number, host in enumerate(hosts):
        _write_warc(host, number, folder / "warc" / f"{host.name}.warc.gz")
    _write_rows(folder / "hosts.csv", (_row(host, number) for number, host in enumerate(hosts)))
    _write_rows(folder / "truth.csv", pairs(hosts, alike(trees), seed))
    return len(hosts)


def read_trees(
    editions: Iterable[Edition], packages: Path, told: Callable[[str], None], max_pages: int = MAX_PAGES
) -> dict[Edition, Tree]:
    """Get the *editions* into *packages* and return the manuals of those that have enough pages."""
    trees: dict[Edition, Tree] = {}
    for edition in editions:
        try:
            tree = read_tree(unpacked(edition, packages), max_pages)
        except OSError as error:
            told(f"left out: {error}")
            continue
        if tree is None or sum(_words(body).total() >= MIN_WORDS for body in tree.pages.values()) < MIN_PAGES:
            told(f"left out: {edition.package} {edition.version} has fewer than {MIN_PAGES} pages of text")
            continue
        trees[edition] = tree
    return trees


def alike(trees: Mapping[Edition, Tree]) -> set[frozenset[str]]:
    """Return the pairs of editions of which most common pages say the same, numbers left out."""
    words = {edition: {path: _words(body) for path, body in tree.pages.items()} for edition, tree in trees.items()}
    found = set()
    for a, b in combinations(trees, 2):
        if a.family != b.family:
            continue
        common = words[a].keys() & words[b].keys()
        same = sum(_is_same(words[a][path], words[b][path]) for path in common)
        if common and same >= MAX_SAME * len(common):
            found.add(frozenset((a.name, b.name)))
    return found


def _is_same(a: Counter[bytes], b: Counter[bytes]) -> bool:
    return 2 * (a & b).total() >= SAME_PAGE * (a.total() + b.total())


def _words(body: bytes) -> Counter[bytes]:
    return Counter(word for word in _WORD.findall(_TAG.sub(b" ", body)) if not word.isdigit())


def pairs(hosts: Sequence[Host], same: set[frozenset[str]], seed: int) -> list[dict[str, str]]:
    """Return the rows of ``truth.csv``: all pairs that have something to do with each other, and 5,000 others."""
    rows: list[dict[str, str]] = []
    others: list[dict[str, str]] = []
    for a, b in combinations(hosts, 2):
        relation = _relation(a, b, same)
        family = a.edition.family if a.edition.family == b.edition.family else ""
        row = {"host_a": a.name, "host_b": b.name, "relation": relation, "family": family}
        row["subtype"] = "+".join(sorted((a.kind, b.kind)))
        (others if relation == "unrelated" else rows).append(row)
    return rows + Random(seed).sample(others, min(_MAX_UNRELATED, len(others)))


def _relation(a: Host, b: Host, same: set[frozenset[str]]) -> str:
    if a.site == b.site:
        return "replica"
    if a.edition.family == b.edition.family:
        return "ambiguous" if frozenset((a.site, b.site)) in same else "near_miss"
    lent = {a.also, b.also} - {""}  # pages of another family; two hosts may have borrowed the same
    return "ambiguous" if lent & {a.edition.family, b.edition.family} or a.also == b.also != "" else "unrelated"


def _row(host: Host, number: int) -> dict[str, str]:
    edition = host.edition
    return {
        "host": host.name,
        "host_status": host.kind,
        "family": edition.family,
        "site": host.site,
        "pages": str(len(host.pages)),
        "also": host.also,
        "ip": address_of(number // 3),
        "registry": edition.registry,
        "package": edition.package,
        "version": edition.version,
        "language": edition.language,
        "licence": edition.licence,
    }


def _write_warc(host: Host, number: int, file: Path) -> None:
    with file.open("xb") as out:
        for path, page in host.pages.items():
            url = f"https://{host.name}/{path}"
            out.write(gzip.compress(record_of(url, address_of(number // 3), page.body), mtime=0))


def _write_rows(file: Path, rows: Iterable[Mapping[str, str]]) -> None:
    listed = list(rows)
    with file.open("x", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, listed[0].keys())
        writer.writeheader()
        writer.writerows(listed)
