"""Where the crawl database of many processes is."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

PREFIX = "replica"

LEASE_S = 30.0

MIN_LEASE_S = 1.0

PORT = 6379

EXAMPLE = "redis://user:password@host:6379/0?prefix=NAME&lease=30"

_PREFIX = re.compile(r"[\w.-]{1,100}", re.ASCII)


class Address(NamedTuple):
    """A Redis server, and the job on it."""

    host: str
    """Empty where *path* is used."""
    port: int
    path: str
    """Of a Unix socket; else empty."""
    db: int
    username: str | None
    password: str | None
    is_tls: bool
    prefix: str
    """What the names of all keys of the job begin with."""
    lease_s: float
    """Seconds without a sign of life after which a process is taken for dead."""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address: ``redis://[user:password@]host:port/db?prefix=NAME&lease=SECONDS``.

        It begins with ``rediss://`` for TLS; ``unix://[user:password@]/path?db=0`` is a Unix socket.

        :raises ValueError: it is none; the line names the setting and never the password.
        """
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise _wrong("host or port cannot be read") from None
        if parts.scheme not in {"redis", "rediss", "unix"}:
            raise _wrong("it begins with redis://, rediss:// (TLS) or unix://")
        if "#" in text:
            raise _wrong("it has a #")
        query = _query(parts)
        is_unix = parts.scheme == "unix"
        if is_unix and (parts.path in {"", "/"} or parts.hostname):
            raise _wrong("unix:// takes the absolute path of a socket, as unix:///run/redis.sock")
        if not is_unix and not parts.hostname:
            raise _wrong("it has no host")
        return cls(
            host="" if is_unix else parts.hostname or "",
            port=_number("port", str(PORT if port is None else port), 1, 65535),
            path=unquote(parts.path) if is_unix else "",
            db=_number("db", query.get("db", "0") if is_unix else parts.path.strip("/") or "0", 0, 1 << 31),
            username=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
            is_tls=parts.scheme == "rediss",
            prefix=_prefix(query.get("prefix", PREFIX)),
            lease_s=_lease(query.get("lease", str(LEASE_S))),
        )

    def __str__(self) -> str:
        """Return the address without user and password, as messages name it."""
        if self.path:
            return f"unix://{self.path}?db={self.db}&prefix={self.prefix}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis{'s' * self.is_tls}://{host}:{self.port}/{self.db}?prefix={self.prefix}"

    def __repr__(self) -> str:
        return f"<{self}>"


def _wrong(why: str) -> ValueError:
    return ValueError(
        f"REPLICA_CRAWLDB is no address of Redis: {why}; it looks like {EXAMPLE}, "
        "and / ? # @ : % in user or password are written %2F %3F %23 %40 %3A %25"
    )


def _query(parts: SplitResult) -> dict[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    known = {"prefix", "lease"} | ({"db"} if parts.scheme == "unix" else set())
    if unknown := sorted({name for name, _ in pairs} - known):
        raise _wrong(f"after ? there may be {' and '.join(sorted(known))}, not {ascii(unknown[0])[:40]}")
    if len(pairs) != len(dict(pairs)):
        raise _wrong("after ? something is given twice")
    return dict(pairs)


def _number(name: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch("[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise _wrong(f"the {name} is a number from {least} to {most}")
    return int(text)


def _prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text):
        raise _wrong("the prefix is made of letters, digits, and any of . _ -, 100 at most")
    return text


def _lease(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) or float(text) < MIN_LEASE_S:
        raise _wrong(f"the lease is a number of seconds, {MIN_LEASE_S:g} or more")
    return float(text)
