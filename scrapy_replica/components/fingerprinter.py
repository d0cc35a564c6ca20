"""Request fingerprints: one number for all names of a page."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import mmh3
from scrapy import Request
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter, RequestFingerprinterProtocol
from w3lib.url import canonicalize_url

from scrapy_replica.address import host_of
from scrapy_replica.components.refused import refusing
from scrapy_replica.config import Config
from scrapy_replica.decision import Mode
from scrapy_replica.sites.aliases import Aliases

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from typing_extensions import Self


def host_key(host: str, digest: bytes) -> int:
    """Return a signed 64-bit key of a URL: 12 bits of its host's hash, then 52 bits of *digest*.

    URLs of one host lie side by side in the index of keys, so that the links of a page touch few of its leaves.
    """
    return mmh3.hash(host.encode("utf-8", "surrogatepass")) >> 20 << 52 | int.from_bytes(digest[:8], "big") >> 12


START = 0x5354415254


class ReplicaFingerprinter:
    """Fingerprints a request as the fingerprinter that was set before does, by its canonical URL.

    So the duplicate filter and the HTTP cache agree that ``http://www.a.example/x`` is ``http://a.example/x`` where
    the one is an alias of the other, and ``http://a.example/x?sid=1`` as well where a DUST rule says so; what the
    scheduler gave out, as a sample of that rule, the cache keeps under its own name. Requests of a redirect chain keep
    their own name: the redirect from one alias to the other must not look like a page seen before.
    """

    def __init__(self, fallback: RequestFingerprinterProtocol, aliases: Aliases) -> None:
        self.fallback, self._aliases = fallback, aliases
        self.rewrite_target: Callable[[Request, str], str] | None = None
        """(request, its URL) -> the URL that the DUST rules in force put in its place; the extension sets it."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        previous = crawler.settings.get("REPLICA_FALLBACK_REQUEST_FINGERPRINTER_CLASS", RequestFingerprinter)
        config = Config.from_settings(crawler.settings)
        is_acting = config.aliases is not None and config.enabled and config.mode is not Mode.OBSERVE
        with refusing():
            aliases = Aliases.from_file(config.aliases) if is_acting and config.aliases else Aliases({})
        return cls(build_from_crawler(load_object(previous), crawler), aliases)

    def fingerprint(self, request: Request) -> bytes:
        return self.fallback.fingerprint(self.canonical(request))

    def canonical(self, request: Request) -> Request:
        """Return *request* under the name that aliases and DUST rules give its page."""
        if request.meta.get("replica") is False or "redirect_urls" in request.meta:
            return request
        url = self._aliases.canonical_url(request.url, host_of(request.url)) if self._aliases else request.url
        if self.rewrite_target is not None and request.method == "GET" and not request.body:
            url = self.rewrite_target(request, url)
        return request if url == request.url else request.replace(url=url)


class UrlFingerprints:
    """What the crawl database keys its URLs by: 64 bits of the request fingerprint, signed.

    The first 12 are of the host, unless the user has a fingerprinter of their own, which may know pages of two hosts
    as one. So a page's links to its own host meet in few leaves of the index: a third of the pages to write less at a
    million URLs (Heritrix' ``BdbUriUniqFilter`` does likewise). The other 52 bits take two of 10 million URLs of one
    host for one with a probability of 1 %.
    """

    def __init__(self, fingerprinter: RequestFingerprinterProtocol) -> None:
        self._fingerprinter = fingerprinter
        self._innermost = fingerprinter.fallback if isinstance(fingerprinter, ReplicaFingerprinter) else fingerprinter
        self._is_default = type(self._innermost) is RequestFingerprinter

    def of_request(self, request: Request) -> int:
        if isinstance(self._fingerprinter, ReplicaFingerprinter):
            request = self._fingerprinter.canonical(request)
        if self.is_by_url(request):
            return self.of_url(request.url)
        return self._key(request.url, self._innermost.fingerprint(request))

    def is_by_url(self, request: Request) -> bool:
        """Tell whether requests like this are known by their URL alone."""
        return self._is_default and request.method == "GET" and not (request.body or request.meta.get("verbatim_url"))

    def is_told_by_more(self, request: Request, key: int) -> bool:
        """Tell whether a fingerprinter of the user's knows *request*, whose key is *key*, by more than its URL."""
        if self._is_default:
            return False
        if isinstance(self._fingerprinter, ReplicaFingerprinter):
            request = self._fingerprinter.canonical(request)
        return key != self.of_url(request.url)

    def of_url(self, url: str) -> int:
        """Return the key of a plain GET of *url* as it stands: what it is rewritten to has a key of its own."""
        return key_of_url(url) if self._is_default else self._key(url, self._innermost.fingerprint(Request(url)))

    def _key(self, url: str, digest: bytes) -> int:
        # A fingerprinter of the user's need not be a hash: its first bytes may be those of every URL.
        return host_key(host_of(url), digest) if self._is_default else mmh3.hash64(digest)[0]


def start_key(key: int) -> int:
    """Return the key of a request that ``Spider.start()`` made, in place of that of its URL, *key*."""
    return key ^ START


# A page's links, and what came a moment ago, are looked up several times: 3 of 4 times a key is known.
@lru_cache(maxsize=4096)
def key_of_url(url: str) -> int:
    """Return the key of *url* by what Scrapy's own fingerprinter hashes, without a Request: 4 us instead of 30."""
    data = f'{{"body": "", "headers": {{}}, "method": "GET", "url": {json.dumps(canonical_url(url))}}}'
    return host_key(host_of(url), hashlib.sha1(data.encode()).digest())


_CANONICAL = re.compile(
    r"https?://[a-z0-9.-]+/[A-Za-z0-9._~/-]*(?:\?(\w[\w.-]*=[\w.-]*(?:&\w[\w.-]*=[\w.-]*)*))?", re.ASCII
)


def canonical_url(url: str) -> str:
    """Return what :func:`w3lib.url.canonicalize_url` does; URLs that plainly are canonical as they stand cost 1 us."""
    plain = _CANONICAL.fullmatch(url)
    if plain is not None and "/." not in url and (plain[1] is None or _is_sorted(plain[1])):
        return url
    return canonicalize_url(url)


def _is_sorted(query: str) -> bool:
    if "&" not in query:
        return True
    arguments = [argument.split("=", 1) for argument in query.split("&")]
    return arguments == sorted(arguments)
