"""The tables that the judgement asks for (``schema``), as Ibis expressions that both engines run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ibis

from scrapy_replica.mining.near import near
from scrapy_replica.mining.paths import normal_path, number_of
from scrapy_replica.mining.schema import PAGES

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from scrapy_replica.mining.collection import CollectionTables

MAX_ROWS = 4_000
"""Rows of one host that are handed to the judgement."""
MAX_READERS = 100
"""Domains that link to one host, likewise."""
MAX_FORMS = 50_000
"""URLs of one host that DUST rules are learnt from."""
NEAR_BITS = 3
"""Bits in which simhashes of one dup-cluster may differ (Manku et al. 2007), as in a crawl."""
_MAX_ROUNDS = 20


def rows(collection: CollectionTables) -> Table:
    """Return :data:`~scrapy_replica.mining.schema.ROWS`, in order of host, then path."""
    wanted = collection.hosts.select("below", host="name").semi_join(collection.candidates.names, "host")
    found = collection.unique.join(wanted, "host")
    found = found.mutate(normal=normal_path(found.path))
    found = found.mutate(number=number_of(found.normal))
    found = _first(found.filter(found.number < found.below), MAX_ROWS, ["number", "normal", "url"])
    return found.select(*PAGES).order_by("host", "path", "url")


def readers(collection: CollectionTables) -> Table:
    """Return :data:`~scrapy_replica.mining.schema.READERS`."""
    if collection.links is None:
        return collection.pages.filter(ibis.literal(False)).select(host="host", domain="host")
    found = collection.links.semi_join(collection.candidates.names, "host").distinct()
    return _first(found, MAX_READERS, ["domain"]).select("host", "domain")


def clusters(collection: CollectionTables) -> Table:
    """Return :data:`~scrapy_replica.mining.schema.CLUSTERS`, in order of cluster.

    Where only signatures are known the numbers of clusters are those of the engine; the clusters are the same.
    """
    engine, pages = collection.engine, collection.fetched
    signed = ibis.ifelse(pages.signature.isnull(), None, engine.key(pages.signature))
    texts = pages.select("url", "host", "simhash", text=ibis.coalesce(pages.simhash, signed))
    texts = engine.keep("cluster_texts", texts.filter(texts.text.notnull()))
    prints = texts.filter(texts.simhash.notnull()).select("simhash").distinct()
    prints = engine.keep("prints", prints.mutate(within=ibis.literal(0, "int64")))
    labels = _components(collection, near(engine, "near_prints", prints, NEAR_BITS, 5))
    joined = texts.left_join(labels, "text")
    labelled = joined.select("url", "host", cluster=ibis.coalesce(joined.label, joined.text))
    found = engine.keep("labelled", labelled)
    sizes = found.group_by("cluster").agg(n=found.count())
    several = sizes.filter(sizes.n > 1).select("cluster")
    return found.semi_join(several, "cluster").select("cluster", "url", "host").order_by("cluster", "url")


def _components(collection: CollectionTables, edges: Table) -> Table:
    """Return ``text`` and ``label``, the least text that it is joined with, of all texts on *edges*."""
    engine = collection.engine
    both = edges.select(text="one", other="two").union(edges.select(text="two", other="one"))
    both = engine.keep("edges", both)
    labels = engine.keep("labels_0", both.group_by("text").agg(label=ibis.least(both.text.min(), both.other.min())))
    for turn in range(1, _MAX_ROUNDS):
        known = labels.select(other="text", label="label")
        heard = both.join(known, "other").group_by("text").agg(heard=ibis._.label.min())
        told = labels.join(heard, "text")
        told = told.select("text", label=ibis.least(told.label, told.heard), is_new=told.heard < told.label)
        told = engine.keep(f"labels_{turn}", told)
        labels = told.drop("is_new")
        if not engine.number(told.is_new.sum()):
            break
    return labels


def urls(collection: CollectionTables) -> Table:
    """Return :data:`~scrapy_replica.mining.schema.URLS`, in order of host."""
    engine, pages = collection.engine, collection.fetched
    signed = ibis.ifelse(pages.signature.isnull(), None, engine.key(pages.signature))
    texts = ibis.coalesce(pages.cluster, signed, pages.simhash)
    found = pages.select("host", "url", "signature", "simhash", own=pages.cluster, cluster=texts)
    found = engine.keep("host_urls", found.filter(found.cluster.notnull()))
    counted = found.group_by("host", "cluster").agg(n=found.count())
    twice = counted.filter(counted.n > 1).select("host").distinct()
    # signatures are hashes: their order samples whole clusters
    found = _first(found.semi_join(twice, "host"), MAX_FORMS, ["signature", "simhash", "own", "url"])
    # numbers that are the same in every engine, and none of a crawl's
    number = ibis.dense_rank().over(group_by=found.host, order_by=[found.signature, found.simhash])
    found = found.select("host", "url", cluster=ibis.coalesce(found.own, -1 - number))
    return found.order_by("host", "url")


def _first(table: Table, most: int, order: list[str]) -> Table:
    """Return the first rows of each host by *order*, at most *most*."""
    ranked = table.mutate(place=ibis.row_number().over(group_by=table.host, order_by=[table[name] for name in order]))
    return ranked.filter(ranked.place < most).drop("place")


TABLES: dict[str, Callable[[CollectionTables], Table]] = {
    "pairs": lambda collection: collection.candidates.pairs,
    "weak": lambda collection: collection.candidates.weak,
    "rows": rows,
    "readers": readers,
    "clusters": clusters,
    "urls": urls,
}
"""Table -> what makes it, in the order in which they are made."""
