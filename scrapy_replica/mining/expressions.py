"""What a finished collection is asked, as Ibis expressions that both engines run; tables are those of ``schema``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from scrapy_replica.mining.candidates import Candidates
from scrapy_replica.mining.collection import Collection, latest
from scrapy_replica.mining.near import near
from scrapy_replica.mining.paths import normal_path, number_of
from scrapy_replica.mining.schema import PAGES

if TYPE_CHECKING:
    from ibis.expr.types import Table

MAX_ROWS = 4_000
"""Rows of one host that are handed to the judgement."""
MAX_FORMS = 50_000
"""URLs of one host that DUST rules are learnt from."""
NEAR_BITS = 3
"""Bits in which simhashes of one dup-cluster may differ (Manku et al. 2007), as in a crawl."""


def rows(collection: Collection, places: Table) -> Table:
    """Return :data:`ROWS`: the sampled pages of the hosts in *places* (:data:`PLACES`), in order of place, then path."""
    hosts = collection.hosts
    wanted = places.join(hosts.select("below", host="name"), "host").select("host", "place", "below")
    found = collection.pages.join(wanted, "host")
    found = found.mutate(normal=normal_path(found.path))
    found = found.mutate(number=number_of(found.normal))
    found = latest(found.filter(found.number < found.below), ["url"])
    window = ibis.window(group_by=found.host, order_by=[found.number, found.normal, found.url])
    found = found.mutate(rank=ibis.row_number().over(window))
    found = found.filter(found["rank"] < MAX_ROWS)
    return found.order_by("place", "path", "url").select("place", *PAGES)


def clusters(collection: Collection) -> Table:
    """Return :data:`CLUSTERS`: URLs of equal signatures, or of simhashes within 3 bits; in order of cluster."""
    engine, pages = collection.engine, collection.pages
