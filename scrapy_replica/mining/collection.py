"""A collection as the expressions see it: all columns, paths as the crawl aligns them, hosts sampled alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import ibis

from scrapy_replica.mining.candidates import CandidatePairs
from scrapy_replica.mining.paths import NUMBERS, normal_path, number_of
from scrapy_replica.mining.schema import LINKS, PAGES
from scrapy_replica.sites.evidence import MAX_PATHS, MIN_WORDS

if TYPE_CHECKING:
    from ibis.expr.types import IntegerValue, Table

    from scrapy_replica.mining.engine import Engine


class CollectionTables:
    """Pages and links in Parquet files, and what all expressions need of them, computed once.

    Hosts are known by the engine's hash of their names: 63 bits, so that of ten million no two meet.

    Args:
        pages: Files with columns of :data:`PAGES`: ``url``, ``host`` and ``path`` at least.
        links: Files with the columns of :data:`LINKS`.
    """

    def __init__(self, engine: Engine, pages: Sequence[Path], links: Sequence[Path] = ()) -> None:
        self.engine = engine
        self.pages = _filled(engine.read(pages))
        self.links = engine.read(links).select(*LINKS) if links else None

    @cached_property
    def places(self) -> Table:
        """One row for each page and each known URL: ``host``, ``normal`` path, ``number``, ``simhash`` and ``text``.

        Of URLs with one normalised path a fetched one counts, then the one fetched last. ``text`` is equal where main
        texts are, and null where there is none to compare.
        """
        known = self.engine.keep("known", self._known())
        counted = known.group_by("place").agg(n=known.count())
        twice = self.engine.keep("twice", counted.filter(counted.n > 1).select("place"))
        several = _latest(known.semi_join(twice, "place"), ["host", "normal"])
        places = known.anti_join(twice, "place").union(several).drop("place", "fetched", "at")
        return self.engine.keep("places", places)

    def _known(self) -> Table:
        pages, key = self.pages, self.engine.key
        has_text = pages.fetched & (pages.status.fill_null(HTTPStatus.OK) == HTTPStatus.OK)
        has_text &= pages.words.fill_null(MIN_WORDS) >= MIN_WORDS
        normal = normal_path(pages.path)
        signed = ibis.ifelse(pages.signature.isnull(), None, key(pages.signature))
        return pages.select(
            host=key(pages.host),
            normal=normal,
            number=number_of(normal),
            place=key(pages.host + "/" + normal),
            simhash=ibis.ifelse(has_text, pages.simhash, None),
            text=ibis.ifelse(has_text, ibis.coalesce(pages.simhash, signed), None),
            fetched=pages.fetched,
            at=pages.at,
        )

    @cached_property
    def hosts(self) -> Table:
        """``host``, its ``name``, ``n_urls``, and the number ``below`` which the paths of its sample lie."""
        names = self.pages.select("host").distinct()
        named = names.select(name=names.host, host=self.engine.key(names.host))
        sizes = self.places.group_by("host").agg(n_urls=self.places.count())
        joined = named.join(sizes, "host").select("host", "name", "n_urls")
        return self.engine.keep("hosts", joined.mutate(below=sample_below(joined.n_urls)))

    @cached_property
    def sample(self) -> Table:
        """The places of each host's sample: all up to 1,000, of more about as many, which mirrors draw alike."""
        large = self.hosts.filter(self.hosts.below < NUMBERS).select("host", "below")
        joined = self.places.left_join(large, "host")
        return joined.filter(joined.number < joined.below.fill_null(NUMBERS)).select(*self.places.columns)

    @cached_property
    def candidates(self) -> CandidatePairs:
        """The pairs of hosts that may be one site."""
        return CandidatePairs(self)

    @cached_property
    def unique(self) -> Table:
        keyed = self.pages.mutate(url_key=self.engine.key(self.pages.url))
        counted = keyed.group_by("url_key").agg(n=keyed.count())
        twice = self.engine.keep("twice_urls", counted.filter(counted.n > 1).select("url_key"))
        several = _latest(keyed.semi_join(twice, "url_key"), ["url"])
        return keyed.anti_join(twice, "url_key").union(several).drop("url_key")

    @property
    def fetched(self) -> Table:
        pages = self.unique
        return pages.filter(pages.fetched & (pages.status.fill_null(HTTPStatus.OK) == HTTPStatus.OK))


def sample_below(n_urls: IntegerValue) -> IntegerValue:
    """Return the number below which the paths of a host's sample lie: halved until 1,000 of *n_urls* are expected."""
    steps = [(n_urls <= MAX_PATHS << halvings, NUMBERS >> halvings) for halvings in range(16)]
    below: IntegerValue = ibis.cases(*steps, else_=1)
    return below


def _latest(rows: Table, keys: Sequence[str]) -> Table:
    """Return one row of those with equal *keys*: a fetched one, then the latest."""
    order = [rows.fetched.desc(), rows.at.fill_null(0).desc(), rows.simhash.asc(nulls_first=False)]
    ranked = rows.mutate(turn=ibis.row_number().over(group_by=keys, order_by=order))
    return ranked.filter(ranked.turn == 0).drop("turn")


def _filled(table: Table) -> Table:
    """Return *table* with all columns of :data:`PAGES`."""
    types = {"bool": "boolean", "double": "float64"}
    lacking = {name: ibis.null(types.get(kind, kind)) for name, kind in PAGES.items() if name not in table.columns}
    filled = table.mutate(**lacking).select(*PAGES)
    return filled.mutate(fetched=filled.fetched.fill_null(True))
