"""All ordinary sites."""

from __future__ import annotations

from everyday import hosts, shops, writing

SITES = [*shops.SITES, *writing.SITES, *hosts.SITES]
