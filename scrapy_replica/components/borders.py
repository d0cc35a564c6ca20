"""Borders of a crawl: http and https only, and no address of the machine or the network that it runs in.

Two things hold it. Requests for addresses, however they are spelled, are refused before they are sent. Names are held
where they are resolved for the connection: what resolves inside is left out of the answer, so a name whose answer
changes between two questions gains nothing.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import unquote

from scrapy.exceptions import IgnoreRequest

from scrapy_replica.address import host_of, hostname_of
from scrapy_replica.components.resolver import GuardedResolution

if TYPE_CHECKING:
    from collections.abc import Iterable

NAT64 = IPv6Network("64:ff9b::/96")
"""IPv4 addresses as a network without IPv4 writes them."""

SCHEMES = frozenset({"http", "https"})


class PrivateAddressError(IgnoreRequest):
    """A request would leave the web: for another scheme, or for an address inside."""


class Borders:
    """What lies inside, and which hosts of it are seeds, which may be fetched.

    A seed opens its own host, port included, and nothing else.
    """

    def __init__(self) -> None:
        self._seeds: set[str] = set()
        self._files: set[str] = set()
        self._proxies: set[str] = set()
        self._refused: set[str] = set()
        self._resolution = GuardedResolution(self.may_connect, self.on_refused)

    def open(self, seeds: Iterable[str]) -> None:
        """Begin to hold names, for all crawls of the process; *seeds* are URLs."""
        for url in seeds:
            self.add_seed(url)
        self._resolution.open()

    def close(self) -> None:
        """Hold names no more."""
        self._resolution.close()

    def add_seed(self, url: str) -> None:
        """Let the host of *url* be fetched, whatever its address; of another scheme than http, this URL."""
        if _is_http(url):
            self._seeds.add(host_of(url))
        else:
            self._files.add(url)

    def add_proxy(self, url: str) -> None:
        """Let the proxy at *url* be connected to; a link to it is still none that is followed."""
        self._proxies.add(host_of(url))

    def refuses(self, url: str) -> bool:
        """Tell whether *url* leaves the web, as far as its spelling tells."""
        if not _is_http(url):
            return url not in self._files
        return is_inside(hostname_of(url)) and host_of(url) not in self._seeds

    def was_refused(self, url: str) -> bool:
        """Tell, once, whether the name in *url* was found to lie inside."""
        host = host_of(url)
        if host not in self._refused:
            return False
        self._refused.discard(host)  # or a site with a name for each link would fill the memory
        return True

    def is_refused_answer(self, url: str, ip: IPv4Address | IPv6Address) -> bool:
        """Tell whether *ip*, which answered to *url*, lies inside."""
        return not _is_public(ip) and host_of(url) not in self._seeds

    def may_connect(self, name: str, port: int, address: str) -> bool:
        """Tell whether the service *port* of *name* may be looked for at *address*."""
        return not is_inside(address) or bool(_hosts(name, port) & (self._seeds | self._proxies))

    def on_refused(self, name: str, port: int) -> None:
        """Take note that no address is left of *name*."""
        self._refused |= _hosts(name, port)


def _is_http(url: str) -> bool:
    return url.partition(":")[0].lower() in SCHEMES


def _hosts(name: str, port: int) -> set[str]:
    """Return what the service *port* of *name* is called in URLs."""
    name = f"[{name}]" if ":" in name else name.lower()
    return {f"{name}:{port}", name} if port in {80, 443} else {f"{name}:{port}"}


def is_inside(name: str) -> bool:
    """Tell whether *name* is an address, in whatever spelling, of this machine or its network, or ``localhost``."""
    name = unquote(name).rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and not _is_public(address)


def _address(name: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(name.partition("%")[0])
    # 127.1, 0x7f000001, 017700000001 and 2130706433 are the loopback address to whatever connects.
    with suppress(OSError, UnicodeError, ValueError):
        return IPv4Address(socket.inet_aton(name))
    return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        v4 = address.ipv4_mapped or address.sixtofour
        if address in NAT64:
            v4 = IPv4Address(int(address) & 0xFFFFFFFF)
        if v4 is not None:
            return _is_public(v4)
    return address.is_global and not address.is_multicast and not address.is_reserved
