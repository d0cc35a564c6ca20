"""The libraries of the extra ``redis``.

:raises StoreError: one of them is missing.
"""

from __future__ import annotations

from scrapy_replica.crawldb.contract import StoreError

try:
    import hiredis  # redis-py reads with it where it is there, five times as fast
    import msgpack
    from redis import exceptions
    from redis.backoff import NoBackoff
    from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection
    from redis.retry import Retry
except ImportError as error:
    raise StoreError(
        f"several processes with one crawl need {error.name}: pip install 'scrapy-replica[redis]'"
    ) from error

__all__ = [
    "Connection",
    "NoBackoff",
    "Retry",
    "SSLConnection",
    "UnixDomainSocketConnection",
    "exceptions",
    "hiredis",
    "msgpack",
]
