"""Host aliases that the user gives by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from scrapy_replica.address import host_of, without_port
from scrapy_replica.words.text import unreadable


class Aliases:
    """Mirror host -> canonical host, from lines ``mirror canonical``.

    A mirror ``*.example.org`` stands for every host below ``example.org``, as in Nutch's ``host-urlnormalizer.txt``.
    A file that Nutch reads is read, and ``#`` starts a comment. A mirror without a port stands for all its ports, which
    stay; one with a port for that service alone.
    """

    def __init__(self, targets: Mapping[str, str]) -> None:
        self._exact = {m: t for m, t in targets.items() if not m.startswith("*.")}
        self._below = {m[1:]: t for m, t in targets.items() if m.startswith("*.")}

    @classmethod
    def from_file(cls, path: Path) -> Aliases:
        """Read *path*.

        :raises ValueError: the file cannot be read, a line has not two names, or the aliases run in a circle.
        """
        targets: dict[str, str] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"REPLICA_ALIASES: cannot read {path}: {unreadable(error)}") from None
        for number, line in enumerate(lines, 1):
            names = line.split("#", 1)[0].lower().split()
            if not names:
                continue
            if len(names) != 2 or any("/" in name for name in names):
                raise ValueError(f"REPLICA_ALIASES: {path}:{number}: expected 'mirror canonical', got {line.strip()!r}")
            targets[names[0]] = names[1]
        aliases = cls(targets)
        for mirror in targets:
            aliases._refuse_circle(mirror.replace("*", "any", 1), path)
        return aliases

    def _refuse_circle(self, host: str, path: Path) -> None:
        seen = {host}
        while (target := self._target(host)) is not None:
            if target in seen:
                raise ValueError(f"REPLICA_ALIASES: {path}: the aliases of {target} run in a circle")
            seen.add(host := target)

    def _target(self, host: str) -> str | None:
        target = self._named(host)
        name, port = without_port(host)
        if target is None and port and (target := self._named(name)) is not None and not without_port(target)[1]:
            target += port
        return None if target == host else target

    def _named(self, host: str) -> str | None:
        target = self._exact.get(host)
        if target is None and self._below:
            for suffix, below in self._below.items():
                if host.endswith(suffix):
                    target = below
                    break
        return target

    def __bool__(self) -> bool:
        return bool(self._exact or self._below)

    def canonical_host(self, host: str) -> str:
        """Return the host to fetch instead of *host*; *host* itself where it is nobody's mirror."""
        while (target := self._target(host)) is not None:
            host = target
        return host

    def canonical_url(self, url: str, host: str) -> str:
        """Return *url*, whose host is *host*, on the canonical host; scheme, path and query stay."""
        if self.canonical_host(host) == host:
            return url
        return urlunsplit(urlsplit(url)._replace(netloc=self.canonical_host(host_of(url))))
