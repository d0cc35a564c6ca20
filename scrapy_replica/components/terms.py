"""What a spider makes of a page depends on: its code, what it is started with, and at which limits Scrapy cuts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import mmh3

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

LIMITS = ("DEPTH_LIMIT", "URLLENGTH_LIMIT")
"""Settings of Scrapy by which requests are left out without a trace."""


def terms_of(spider: Spider, settings: BaseSettings) -> bytes:
    """Return what the outputs of *spider* depend on beside the pages, as JSON; *settings* are those of the crawl.

    That is the files in which its class and those that it is made of are defined, its attributes that are text, as
    arguments are, the domains that it stays in, and the limits of Scrapy. Modules that those files import are not
    looked at.
    """
    told = {
        "code": [_hash(file) for file in _files(type(spider))],
        "arguments": {name: value for name, value in sorted(vars(spider).items()) if isinstance(value, str)},
        "domains": sorted(map(str, getattr(spider, "allowed_domains", None) or ())),
        "limits": [settings.getint(name) for name in LIMITS],
    }
    return json.dumps(told).encode()


def _files(spidercls: type) -> list[str]:
    modules = dict.fromkeys(kind.__module__ for kind in spidercls.__mro__)
    own = [name for name in modules if name.partition(".")[0] not in {"scrapy", "builtins"}]
    files = [getattr(sys.modules.get(name), "__file__", None) for name in own]
    return [file for file in files if file is not None]


def _hash(file: str) -> int:
    try:
        return int(mmh3.hash64(Path(file).read_bytes())[0])
    except OSError:  # it lies in an archive
        return 0
