"""A folder of replica hosts, read: pages from WARC files, labelled pairs, and every feature of every pair."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from w3lib.encoding import html_to_unicode

from scrapy_replica.address import host_of
from scrapy_replica.config import Config
from scrapy_replica.lab.crawls.crawl_truth import HostTruth
from scrapy_replica.lab.replicas.held import HeldCandidates
from scrapy_replica.lab.replicas.replica_baselines import normpaths
from scrapy_replica.lab.replicas.replica_links import Connectivity
from scrapy_replica.lab.replicas.replica_published import MAX_DF, Collection, is_obvious_replica
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.pages.page import EXTRACTORS, page_from_tree
from scrapy_replica.records import Noise, Page
from scrapy_replica.sites.candidates import Candidates
from scrapy_replica.sites.detector import MIN_SHARED
from scrapy_replica.sites.evidence import PageMark, mark_of, path_of
from scrapy_replica.sites.features import Comparison, features_of
from scrapy_replica.sites.judge import MIN_ALIGNED, RAW

N_FOLDS = 5
STAGES = (4, 8, 16)
"""First pages of each host that a crawl has fetched; what the judge learns from beside whole hosts."""
MAX_UNRELATED = 20_000
"""Random pairs of hosts of a web that share nothing; published were 800,000, of 2e11."""


@dataclass(frozen=True)
class PairTable:
    """All labelled pairs of a folder but the ambiguous ones, one row each.

    Attributes:
        hosts: Names of the pairs, in order of name.
        relation: ``replica``, ``near_miss`` or ``unrelated``.
        family: Of the hosts, as the truth names it; empty for unrelated ones.
        is_alias: Real second names of one host, as against copies elsewhere.
        fold: 0..4 by family; unrelated pairs, which have none, in turn.
        raw: Features asked by the judge; NaN where the pair is no candidate.
        coverage: Share of the paths known on both that were fetched on both, 0..1; NaN where the pair is no candidate.
        early: *raw* of the first 4, 8 and 16 pages of each host, shape (n, 3, 9); NaN where under 3 compare.
        early_coverage: *coverage* at the same stages, shape (n, 3).
        published: The five published features.
        links: Connectivity of the two hosts, as :mod:`~scrapy_replica.lab.replicas.replica_links` has it.
        early_links: The same at the stages of *early*, shape (n, 3, 3).
        is_named: The names alone make an obvious replica.
        is_candidate: By our rule.
        is_published_candidate: A path or a signature in common.
        n_aligned: Comparable pages.
        is_barred: No verdict of a crawl, whatever the score: under three pages compare, they state other things, or one
            host lacks too many of the other's pages.
        normpaths: NormPaths similarity.
    """

    hosts: list[tuple[str, str]]
    relation: NDArray[np.str_]
    family: NDArray[np.str_]
    is_alias: BoolArray
    fold: IntArray
    raw: FloatArray
    coverage: FloatArray
    early: FloatArray
    early_coverage: FloatArray
    published: FloatArray
    links: FloatArray
    early_links: FloatArray
    is_named: BoolArray
    is_candidate: BoolArray
    is_published_candidate: BoolArray
    n_aligned: IntArray
    is_barred: BoolArray
    normpaths: FloatArray

    @property
    def is_replica(self) -> BoolArray:
        return np.asarray(self.relation == "replica")


def read_truth(folder: Path) -> list[dict[str, str]]:
    """Return the rows of ``truth.csv``, hosts of a pair in order of name."""
    with (folder / "truth.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["host_a"], row["host_b"] = sorted((row["host_a"], row["host_b"]))
    return rows


def read_pages(folder: Path, noise: Noise = Config.noise) -> dict[str, list[Page]]:
    """Return the pages of every WARC file in ``folder/warc`` by host, in the order they stand there.

    *noise* says how their main text is found.
    """
    return _by_host(sorted((folder / "warc").glob("*.warc.gz")), noise)


def _by_host(warcs: Sequence[Path], noise: Noise) -> dict[str, list[Page]]:
    from tqdm import tqdm  # noqa: PLC0415 - extra warc

    pages: dict[str, list[Page]] = {}
    found = (page for path in warcs for page in pages_of_warc(path, noise))
    for page in tqdm(found, "reading", unit=" pages", leave=False, disable=None):
        pages.setdefault(page.host, []).append(page)
    return pages


def pages_of_warc(path: Path, noise: Noise) -> Iterator[Page]:
    """Yield the HTML pages of a WARC file that were answered with status 200.

    Needs fastwarc (``pip install 'scrapy-replica[warc]'``).
    """
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("reading WARC files needs fastwarc: pip install 'scrapy-replica[warc]'") from error
    with path.open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True):
            url = record.headers["WARC-Target-URI"].strip("<>")
            content_type = record.http_headers.get("Content-Type") or "text/html"
            tree = _tree(record.reader.read(), content_type)
            if tree is not None and record.http_headers.status_code == 200:
                ip = record.headers.get("WARC-IP-Address")
                yield page_from_tree(tree, url, ip=ip, extract=EXTRACTORS[noise])


def _tree(body: bytes, content_type: str) -> etree._Element | None:
    if "html" not in content_type:
        return None
    text = html_to_unicode(content_type, body)[1].replace("\0", "")
    parser = etree.HTMLParser(recover=True, encoding="utf-8")
    return etree.fromstring(text.encode("utf-8", "replace"), parser=parser) if text.strip() else None


def candidates_of(
    pages: Mapping[str, list[Page]], marks: Mapping[str, list[PageMark]], first: int | None = None
) -> Candidates:
    """Return the evidence of *pages* with their *marks*, or of the *first* ones of each host, and of their links."""
    candidates = HeldCandidates()
    for name, host_pages in pages.items():
        for page, mark in zip(host_pages[:first], marks[name], strict=False):
            candidates.add_fetched(page, mark)
            for link in page.links:
                host = host_of(link.url)
                if host in pages:
                    candidates.add_url(host, path_of(link.url))
    return candidates


def pair_table(truth: list[dict[str, str]], pages: Mapping[str, list[Page]], aliases: set[str]) -> PairTable:
    """Return the features of the labelled pairs; ``ambiguous`` ones are left out."""
    rows = [row for row in truth if row["relation"] != "ambiguous"]
    hosts = [(row["host_a"], row["host_b"]) for row in rows]
    marks = {host: [mark_of(page) for page in found] for host, found in pages.items()}
    candidates = candidates_of(pages, marks)
    early = [candidates_of(pages, marks, first) for first in STAGES]
    connectivity = Connectivity(pages)
    early_connectivity = [Connectivity({host: found[:first] for host, found in pages.items()}) for first in STAGES]
    collection = Collection()
    tuples = {host: [(path_of(page.url), page.signature) for page in found] for host, found in pages.items()}
    for host, found in pages.items():
        collection.add(host, [path for path, _ in tuples[host]], next((page.ip for page in found if page.ip), None))
    signatures = {host: {signature for _, signature in found if signature} for host, found in tuples.items()}
    similarity = normpaths(tuples)
    ours = [_features(candidates, a, b) for a, b in hosts]
    first = [[_early_features(stage, a, b) for stage in early] for a, b in hosts]
    relation = np.array([row["relation"] for row in rows])
    return PairTable(
        hosts=hosts,
        relation=relation,
        family=np.array(["" if row["relation"] == "unrelated" else row["family"] for row in rows]),
        is_alias=np.array([a in aliases or b in aliases for a, b in hosts]),
        fold=_folds([row["family"] for row in rows], relation),
        raw=np.array([found.values for found in ours]),
        coverage=np.array([found.coverage for found in ours]),
        early=np.array([[stage.values for stage in stages] for stages in first]),
        early_coverage=np.array([[stage.coverage for stage in stages] for stages in first]),
        published=np.array([collection.values(a, b) for a, b in hosts]),
        links=np.array([connectivity.values(a, b) for a, b in hosts]),
        early_links=np.array([[stage.values(a, b) for stage in early_connectivity] for a, b in hosts]),
        is_named=np.array([is_obvious_replica(a, b) for a, b in hosts]),
        is_candidate=np.array([found.is_candidate for found in ours]),
        is_published_candidate=np.array(
            [bool(collection.paths[a] & collection.paths[b] or signatures[a] & signatures[b]) for a, b in hosts]
        ),
        n_aligned=np.array([found.n_aligned for found in ours]),
        is_barred=np.array([found.is_barred for found in ours]),
        normpaths=np.array([similarity.get(pair, 0.0) for pair in hosts]),
    )


class _Features(NamedTuple):
    values: list[float] = [math.nan] * len(RAW)
    coverage: float = math.nan
    n_aligned: int = 0
    is_candidate: bool = False
    is_barred: bool = True


def _features(candidates: Candidates, a: str, b: str) -> _Features:
    pair = candidates.pairs.get((a, b))
    if pair is None or not pair.is_candidate:
        return _Features()
    comparison = Comparison(candidates.host(a), candidates.host(b), pair.election.winner())
    n_aligned = len(comparison.aligned)
    is_barred = n_aligned < MIN_ALIGNED or comparison.states_other or comparison.shared < MIN_SHARED
    return _Features(features_of(comparison), comparison.coverage, n_aligned, True, is_barred)


def _early_features(candidates: Candidates, a: str, b: str) -> _Features:
    found = _features(candidates, a, b)
    return found if found.n_aligned >= MIN_ALIGNED else _Features()


def truth_of_web(pages: Mapping[str, list[Page]], site_of: Mapping[str, str]) -> list[dict[str, str]]:
    """Return pairs of the hosts of a web as ``truth.csv`` has them; *site_of* a host is the host that it copies.

    All pairs that are candidates by our rule or by the published one, all replicas, and of the others at most
    ``MAX_UNRELATED`` at random. What is a candidate and no replica is a ``near_miss``. The family of a pair is the site
    of its first host, so near misses of a site may be in two folds.
    """
    hosts = sorted(pages)
    lists: dict[object, set[str]] = defaultdict(set)
    for host, found in pages.items():
        for page in found:
            lists[path_of(page.url)].add(host)
            lists[page.signature].add(host)
    lists.pop(None, None)
    ours = candidates_of(pages, {host: [mark_of(page) for page in found] for host, found in pages.items()})
    near = {names for names, pair in ours.pairs.items() if pair.is_candidate}
    near.update(pair for found in lists.values() if len(found) <= MAX_DF for pair in combinations(sorted(found), 2))
    sites: dict[str, list[str]] = defaultdict(list)
    for host in hosts:
        sites[site_of.get(host, host)].append(host)
    replicas = {pair for found in sites.values() for pair in combinations(found, 2)}
    rng = Random(0)
    others = (tuple(sorted(rng.sample(hosts, 2))) for _ in range(MAX_UNRELATED))
    relation = (
        dict.fromkeys(others, "unrelated") | dict.fromkeys(near, "near_miss") | dict.fromkeys(replicas, "replica")
    )
    return [
        {"host_a": a, "host_b": b, "relation": kind, "family": site_of.get(a, a)}
        for (a, b), kind in sorted(relation.items())
    ]


def _folds(families: list[str], relation: NDArray[np.str_]) -> IntArray:
    """Return folds that keep a family together and spread replicas evenly; unrelated pairs go round."""
    weight: dict[str, float] = {}
    for family, kind in zip(families, relation.tolist(), strict=True):
        if kind != "unrelated":
            weight[family] = weight.get(family, 0.0) + (1.0 if kind == "replica" else 0.01)
    load = [0.0] * N_FOLDS
    fold_of = {}
    for family in sorted(weight, key=lambda family: (-weight[family], family)):
        fold_of[family] = load.index(min(load))
        load[fold_of[family]] += weight[family]
    places = enumerate(zip(families, relation.tolist(), strict=True))
    return np.array([place % N_FOLDS if kind == "unrelated" else fold_of[family] for place, (family, kind) in places])


def alias_hosts(folder: Path) -> set[str]:
    """Return the hosts that ``hosts.csv`` calls a second name of another host."""
    with (folder / "hosts.csv").open(encoding="utf-8", newline="") as file:
        return {row["host"] for row in csv.DictReader(file) if row["host_status"].startswith("alias")}


def load(folder: Path, noise: Noise = Config.noise) -> tuple[PairTable, dict[str, list[Page]]]:
    """Return the pair table and the pages of a folder like ``replicas/``."""
    pages = read_pages(folder, noise)
    return pair_table(read_truth(folder), pages, alias_hosts(folder)), pages


def load_web(path: Path, hosts: Path, noise: Noise = Config.noise) -> tuple[PairTable, dict[str, list[Page]]]:
    """Return the same of a web: a WARC file or a folder of such, and a table of hosts.

    :param hosts: CSV of host, kind and replica_of.
    :raises ValueError: the table is wrong, or no page is of two of its hosts.
    """
    site_of = HostTruth.read(hosts).site_of
    warcs = sorted(path.glob("*.warc*")) if path.is_dir() else [path]
    pages = {host: found for host, found in _by_host(warcs, noise).items() if host in site_of}
    if len(pages) < 2:
        raise ValueError(f"{path} has pages of {len(pages)} of the hosts in {hosts}: it takes two")
    return pair_table(truth_of_web(pages, site_of), pages, set()), pages
