"""How a job lies in Redis."""

from __future__ import annotations

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.sqlite.schema import VERSION

LAYOUT = f"1.{VERSION}"
"""Number of the layout, and of that of the tables; a job of another one is refused."""


def other_layout(address: Address) -> StoreError:
    """Return that the job at *address* is one of another release."""
    return StoreError(f"{address} holds a job of another release: finish it with that one, or give another prefix")
