"""Opens the crawl database that the settings name."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB

if TYPE_CHECKING:
    from scrapy_replica.crawldb.contract import CrawlDB
    from scrapy_replica.crawldb.redis.database import RedisCrawlDB

SAME = "settings of all processes"
"""Key of the settings that are the same in all processes of a job."""

VALUES = (
    "noise",
    "default_language",
    "near_distance",
    "min_words",
    "strategy",
    "warmup_pages",
)
FILES = ("topic", "background", "topic_model")
"""Settings on which it depends what one process writes and another one reads."""


def own_store(folder: str | None, spider: str) -> CrawlDB:
    """Open the crawl database of one process, in the JOBDIR *folder* or in memory.

    :raises ValueError: it cannot be used: one line that says why.
    """
    return SqliteCrawlDB(Path(folder) if folder else None, spider)


def shared_store(config: Config, spider: str) -> RedisCrawlDB:
    """Join the crawl database that several processes share.

    :raises ValueError: it cannot be used, or its processes have other settings: one line that says why.
    :raises ImportError: the extra is missing.
    """
    from scrapy_replica.crawldb.redis.database import RedisCrawlDB  # noqa: PLC0415 - an extra

    assert config.crawldb is not None
    store = RedisCrawlDB(config.crawldb, spider)
    try:
        check_settings(config, store)
    except BaseException:
        store.close()
        raise
    return store


def check_address(address: str, delay_s: float) -> None:
    """Hold the *address* of a shared store against DOWNLOAD_DELAY.

    :raises ValueError: it is none, or a host of a process that was killed would be asked too early.
    """
    lease_s = Address.parse(address).lease_s
    if lease_s <= delay_s:
        raise ConfigError(
            f"REPLICA_CRAWLDB: its lease of {lease_s:g} s must be longer than DOWNLOAD_DELAY, which is {delay_s:g} s"
        )


def check_settings(config: Config, store: CrawlDB) -> None:
    """Hold the settings of this process against those of the first one of the job.

    :raises ConfigError: one differs on which it depends what the processes make of each other's work.
    """
    own = {name: str(getattr(getattr(config, name), "value", getattr(config, name))) for name in VALUES}
    own |= {name: _digest(path) for name in FILES if (path := getattr(config, name)) is not None}
    if (kept := store.meta(SAME)) is None:
        store.set_meta(SAME, json.dumps(own).encode())
        return
    before = json.loads(kept)
    for name in (*VALUES, *FILES):
        if before.get(name) != own.get(name):
            told = before.get(name) if name in VALUES else f"another {name}" if name in before else "none"
            raise ConfigError(
                f"REPLICA_{name.upper()}: the processes of this crawl began with {told}; give the same, "
                "or another prefix in REPLICA_CRAWLDB"
            )


def _digest(path: Path) -> str:
    """Return what tells the content of a file, or of the files in a folder, from any other."""
    digest = hashlib.sha256()
    if not path.exists():
        digest.update(str(path).encode())  # a topic in words
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.name.encode("utf-8", "replace") * path.is_dir() + b"\0" + file.read_bytes())
    return digest.hexdigest()
