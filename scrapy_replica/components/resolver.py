"""Names are held where they are resolved for the connection, for Twisted's download handlers and for asyncio's."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.interfaces import IAddress, IHostResolution

    MayConnect = Callable[[str, int, str], bool]
    """Whether the service port of a name may be looked for at an address."""

logger = logging.getLogger(__name__)


class GuardedResolution:
    """Leaves addresses out of what names resolve to, in the whole process, between :meth:`open` and :meth:`close`.

    :param may_connect: asked for name, port and address.
    :param on_refused: told name and port of which no address is left.
    """

    def __init__(self, may_connect: MayConnect, on_refused: Callable[[str, int], None]) -> None:
        self._is_open = False
        self._may_connect_if_open, self._on_refused = may_connect, on_refused
        self._undo: list[Callable[[], None]] = []

    def _may_connect(self, name: str, port: int, address: str) -> bool:
        return not self._is_open or self._may_connect_if_open(name, port, address)

    def open(self) -> None:
        """Begin. Of an event loop that is not asyncio's own a warning says what it leaves open."""
        self._is_open = True
        if is_reactor_installed():
            self._guard_reactor()
        if is_asyncio_available():
            self._guard_loop(asyncio.get_running_loop())

    def close(self) -> None:
        """End. What another crawl has put on top stays, and asks this one in vain."""
        self._is_open = False
        while self._undo:
            self._undo.pop()()

    def _guard_reactor(self) -> None:
        from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

        names: Any = reactor
        before = names.nameResolver
        guard = GuardedResolver(before, self._may_connect, self._on_refused)
        names.installNameResolver(guard)
        self._undo.append(lambda: names.installNameResolver(before) if names.nameResolver is guard else None)

    def _guard_loop(self, loop: Any) -> None:
        # Scrapy's handler for crawls without a reactor takes no resolver; aiohttp asks the loop.
        ask = loop.getaddrinfo

        async def getaddrinfo(host: str, port: int, **how: Any) -> list[Any]:
            answers = await ask(host, port, **how)
            left = [answer for answer in answers if self._may_connect(host, port, answer[4][0])]
            if not left:
                self._on_refused(host, port)
                raise socket.gaierror(socket.EAI_NONAME, "all addresses are private")
            return left

        try:
            loop.getaddrinfo = getaddrinfo
        except AttributeError:
            logger.warning("%s lets no one hold names: REPLICA_PRIVATE_ADDRESSES holds addresses in URLs only", loop)
            return
        self._undo.append(lambda: setattr(loop, "getaddrinfo", ask) if loop.getaddrinfo is getaddrinfo else None)


@implementer(IHostnameResolver)
class GuardedResolver:
    """Asks another resolver, and passes on the addresses that may be connected to."""

    def __init__(self, resolver: Any, may_connect: MayConnect, on_refused: Callable[[str, int], None]) -> None:
        self._resolver, self._may_connect, self._on_refused = resolver, may_connect, on_refused

    def resolveHostName(  # noqa: N802 - Twisted's names
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> IHostResolution:
        receiver = _Receiver(
            resolutionReceiver,
            lambda address: self._may_connect(hostName, portNumber, address),
            lambda: self._on_refused(hostName, portNumber),
        )
        resolution: IHostResolution = self._resolver.resolveHostName(
            receiver, hostName, portNumber, addressTypes, transportSemantics
        )
        return resolution


@implementer(IResolutionReceiver)
class _Receiver:
    """Passes on the addresses that may be connected to."""

    def __init__(self, receiver: Any, may_connect: Callable[[str], bool], on_refused: Callable[[], None]) -> None:
        self._receiver, self._may_connect, self._on_refused = receiver, may_connect, on_refused
        self._n_refused = self._n_passed = 0

    def resolutionBegan(self, resolution: IHostResolution) -> None:  # noqa: N802
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        if self._may_connect(getattr(address, "host", "")):
            self._n_passed += 1
            self._receiver.addressResolved(address)
        else:
            self._n_refused += 1

    def resolutionComplete(self) -> None:  # noqa: N802
        if self._n_refused and not self._n_passed:
            self._on_refused()
        self._receiver.resolutionComplete()
