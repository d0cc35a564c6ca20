"""Where redirects lead, of URLs in the same place of two hosts: to one place or apart."""

from __future__ import annotations

from scrapy_replica.address import host_of
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.evidence import path_of


def place_of(url: str) -> str:
    """Return host and normalised path of an absolute *url*, without its arguments: many are made anew at each look."""
    return f"{host_of(url)}/{normal_path(path_of(url).partition('?')[0])}"


def lead_apart(first: str, second: str, hosts: tuple[str, str]) -> bool:
    """Tell whether two places that URLs of two *hosts* lead to are not one, be it on each host its own."""
    places = (place.partition("/") for place in (first, second))
    one, other = (("" if host in hosts else host, path) for host, _, path in places)
    return one != other
