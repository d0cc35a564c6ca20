"""All ordinary sites."""

from __future__ import annotations

from everyday import further, hosts, records, shops, trade, writing

SITES = [*shops.SITES, *writing.SITES, *hosts.SITES, *trade.SITES, *records.SITES, *further.SITES]
