"""The URLs that a crawl begins with, as people write them."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from scrapy import Request

from scrapy_replica.address import host_of
from scrapy_replica.config import ConfigError
from scrapy_replica.words.text import unreadable

SCHEMES = ("http://", "https://", "file://")
"""Beginnings of URLs that a crawl may begin with."""

_HOST = re.compile(
    r"(?:(?:[\w-]+\.)+(?!txt|csv|gz|list|json)[A-Za-z][\w-]+|localhost|\d+\.\d+\.\d+\.\d+)(?::\d+)?(?:/\S*)?"
)
"""What a person writes who means a URL and leaves its scheme out."""


def read_seeds(seeds: str) -> list[str]:
    """Return the URLs that *seeds* holds: URLs themselves, or a file of them.

    :raises ConfigError: there is none, or the file cannot be read.
    """
    words, file = re.split(r"[\s,]+(?=\w+://)|\s+", seeds.strip()), ""
    if len(words) == 1 and words[0] and "://" not in words[0]:
        path = Path(words[0])
        try:
            data = path.read_bytes()
            text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            why = unreadable(error)
            if _HOST.fullmatch(words[0]) and isinstance(error, FileNotFoundError):
                slash = "" if "/" in words[0] else "/"
                raise ConfigError(f"seeds: {words[0]} is no URL; did you mean https://{words[0]}{slash}?") from None
            raise ConfigError(f"seeds: {path} is neither a URL nor a readable file of URLs ({why})") from None
        words = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        file = f" in {path}"
    wrong = [word for word in words if not _is_url(word)]
    if wrong or not words:
        got = "".join(wrong[:1]) or "nothing"
        if "://" in got:
            raise ConfigError(f"seeds: {got}{file} is no http or https URL")
        raise ConfigError(f"seeds: expected URLs such as https://example.org/{file}, got {got}")
    return words


def _is_url(word: str) -> bool:
    """Tell whether a crawl may begin with *word*: it has one of :data:`SCHEMES`, and a host that can be asked."""
    if not word.lower().startswith(SCHEMES):
        return False
    try:
        url = Request(word).url
    except ValueError:  # no port, or no IPv6 address
        return False
    return url.startswith("file://") or bool(host_of(url))
