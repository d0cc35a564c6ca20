"""Keys of URLs: 64 bits of a request fingerprint, placed so that the URLs of one host lie side by side."""

from __future__ import annotations

import mmh3


def host_key(host: str, digest: bytes) -> int:
    """Return a signed 64-bit key of a URL: 12 bits of its host's hash, then 52 bits of *digest*.

    URLs of one host lie side by side in the index of keys, so that the links of a page touch few of its leaves.
    """
    return mmh3.hash(host.encode("utf-8", "surrogatepass")) >> 20 << 52 | int.from_bytes(digest[:8], "big") >> 12
