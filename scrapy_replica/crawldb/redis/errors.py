"""What errors of Redis are in one line, with what to do."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.words.text import cleaned

ADVICE = (
    ("gone ", "heard no sign of life of this process", "others go on with what it did; start it again"),
    ("layout ", "has a job of another release under this prefix", "finish it with that, or give another prefix"),
    ("authentication required", "wants a password", "write it into the address, redis://user:password@host"),
    ("without any password", "has no password", "take it out of the address"),
    ("no password is set", "has no password", "take it out of the address"),
    ("authenticationerror", "refuses this user or password", "correct it in the address"),
    ("permission", "does not let this user do what a crawl does", "allow it INFO, EVAL and all on keys of the prefix"),
    ("used memory", "is full", "raise maxmemory; the same command goes on from the last commit"),
    ("read only replica", "is a replica, which is only read", "give the address of its master"),
    ("movederror", "is a cluster, and another node of it has the job", "give the address of that node"),
    ("askerror", "is a cluster, and another node of it has the job", "give the address of that node"),
    ("wrong kind of value", "has something else under the prefix of the job", "give another prefix"),
    ("misconf", "cannot save what it has", "look at its disk; the same command goes on from the last commit"),
    ("db index", "has no database of that number", "correct it in the address"),
    ("certificate", "has a certificate that is not trusted", "name the file of who signed it in SSL_CERT_FILE"),
    ("ssl", "speaks no TLS", "write redis:// instead of rediss://"),
    ("protected mode", "takes connections from its own machine alone", "give it a password, and the address it too"),
)
"""Words of an error or its class, what it says of the server, and what to do."""

HANGS_UP = ("closed", "reset")
"""What a server that speaks TLS does to who does not."""


def told(address: Address, error: Exception, *, is_first: bool = False) -> StoreError:
    """Return *error* in one line, which names the server and never its password.

    :param is_first: nothing was heard of the server yet.
    """
    words = cleaned(str(error), 200).rstrip(".")
    found = f"{type(error).__name__} {words}".lower()
    for part, what, todo in ADVICE:
        if part in found:
            return StoreError(f"{address} {what} ({words}): {todo}")
    if is_first and not address.is_tls and any(part in found for part in HANGS_UP):
        return StoreError(f"{address} hangs up ({words}): if it speaks TLS write rediss://, else look at its log")
    if is_first and address.is_tls and "timeout" in found:
        return StoreError(f"{address} does not answer ({words}): if it speaks no TLS write redis://, else look at it")
    if is_first:
        return StoreError(f"{address} cannot be reached ({words}): start Redis there, or correct the address")
    return StoreError(f"{address} cannot be used any more ({words}): look at its log; the same command goes on")


SENSELESS = (ValueError, TypeError, LookupError, ArithmeticError, struct.error, sqlite3.Error)
"""What comes of records that are read and were not written as such."""


@contextmanager
def understanding(address: Address) -> Iterator[None]:
    """Raise :class:`StoreError` where what was read of the job makes no sense: whoever has the password may write."""
    try:
        yield
    except StoreError:
        raise
    except SENSELESS as error:
        words = cleaned(f"{type(error).__name__} {error}", 200)
        raise StoreError(
            f"{address} holds something that no process of this crawl wrote ({words}): see who else writes there, and "
            "begin the crawl again under another prefix"
        ) from None
