"""Addresses of the web: which host, which name and which origin a URL belongs to.

A *host* is one service: the name, and the port where it is not the scheme's own. Two services on one name are two
hosts. Nothing here raises: of what is no URL, host, name and origin are empty.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from tldextract import TLDExtract

_PORTS = {"http": 80, "https": 443}
_USER = re.compile(r"(?<=://)[^/?#\s@\"]*@")
_TOKENS = (
    r"[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|pwd|api_?key|auth(?!or)|signature|jwt|credential|saml|nonce)[\w.-]*"
    r"|key|sig|pass|ticket|otp|assertion|invite|magic"
)
_SECRET = re.compile(rf"[?&;](?:{_TOKENS})=[^?&;#\s]", re.IGNORECASE)
_TOLD = re.compile(
    rf"([?&;](?:{_TOKENS}|[\w.-]*(?:session_?id|sessid)[\w.-]*|sid)=)(?:[^?&;#\s\",]|,(?=\S))+", re.IGNORECASE
)
# Nearly all URLs of a crawl, at a fifth of the time that urllib takes.
_PLAIN = re.compile(r"(https?)://([A-Za-z0-9_.-]+)(?::([1-9]\d{0,3}))?(?=[/?#]|\Z)")


@lru_cache(maxsize=4096)  # a hundred calls a page, of a few dozen URLs
def host_of(url: str) -> str:
    """Return the host of *url*: ``example.org``, ``example.org:8080``, ``[2001:db8::1]``; lower-case, without user."""
    plain = _PLAIN.match(url)
    if plain is None:
        return _taken_apart(url)[1]
    scheme, name, port = plain.groups()
    return name.lower() if port is None or int(port) == _PORTS[scheme] else f"{name.lower()}:{port}"


def hostname_of(url: str) -> str:
    """Return the host of *url* without port and brackets: what Scrapy's download slots are called."""
    plain = _PLAIN.match(url)
    return name_of(_taken_apart(url)[1]) if plain is None else plain[2].lower()


def origin_of(url: str) -> str:
    """Return scheme and host of *url*: ``https://example.org:8080``."""
    plain = _PLAIN.match(url)
    scheme, host = _taken_apart(url) if plain is None else (plain[1], host_of(url))
    return f"{scheme}://{host}" if scheme and host else ""


def name_of(host: str) -> str:
    """Return the name or address of a *host*, without port and brackets."""
    return without_port(host)[0].strip("[]") if ":" in host else host


def without_port(host: str) -> tuple[str, str]:
    """Return *host* without its port, and the port with its colon: ``[2001:db8::1]`` and ``:8080``."""
    colon = host.rfind(":")
    return (host[:colon], host[colon:]) if colon > host.rfind("]") else (host, "")


@lru_cache(maxsize=10_000)
def registered_domain(host: str) -> str:
    """Return what had to be registered for *host*: ``example.co.uk`` of ``www.example.co.uk:8080``.

    An address stands for itself; below a suffix that is in no list, the last two labels are taken. What a company gives
    away below its own name (``github.io``) is one domain: names there cost nothing.
    """
    name = name_of(host)
    try:
        return str(ip_address(name))
    except ValueError:
        found = suffixes().extract_str(name)
        return found.top_domain_under_public_suffix or ".".join(name.split(".")[-2:])


@lru_cache(maxsize=10_000)
def site_of(host: str) -> str:
    """Return what somebody registered *host* under: ``a.example`` of ``www.a.example``, ``b.github.io`` of itself.

    Unlike :func:`registered_domain` it holds apart what a company gives away below its own name. An address, and what
    is itself a suffix, stands for itself.
    """
    name = name_of(host)
    try:
        return str(ip_address(name))
    except ValueError:
        found = suffixes().extract_str(name, include_psl_private_domains=True)
        if found.suffix:
            return found.top_domain_under_public_suffix or name
        return ".".join(name.split(".")[-2:])


@cache
def suffixes() -> TLDExtract:
    """Return what knows the public suffixes, as the package ships them."""
    from tldextract import TLDExtract  # noqa: PLC0415 - it brings an HTTP client along, which no command needs

    return TLDExtract(suffix_list_urls=(), cache_dir=None)  # the list it ships with: no network, nothing written


def redacted(text: str) -> str:
    """Return *text* with user names, passwords and the values of token-like arguments of its URLs blotted out."""
    if "://" not in text:
        return text
    return _TOLD.sub(r"\1***", _USER.sub("***@", text))


def shown_value(argument: str, value: str) -> str:
    """Return the *value* of an *argument* of a URL as it is told: blotted out where the argument is token-like."""
    return "***" if _TOLD.match(f"?{argument}={value}") else value


def shown_local(local: str) -> str:
    """Return a path and query, or a part of them, as it is told: values of token-like arguments are blotted out."""
    return _TOLD.sub(r"\1***", local)


def without_user(url: str) -> str:
    """Return *url* without user name and password."""
    return _USER.sub("", url) if "@" in url else url


def has_secret(url: str) -> bool:
    """Tell whether *url* holds what another host must not hear: a user, or a token-like argument.

    A session id that the site gave an anonymous crawl is none.
    """
    return _USER.search(url) is not None or _SECRET.search(url) is not None


def _taken_apart(url: str) -> tuple[str, str]:
    """Return scheme and host; a port that is none is left out."""
    try:
        parts = urlsplit(url)
        name = parts.hostname or ""
    except ValueError:
        return "", ""
    try:
        port = parts.port
    except ValueError:
        port = None
    if ":" in name:
        name = f"[{name}]"
    return parts.scheme, name if not name or port in {None, _PORTS.get(parts.scheme)} else f"{name}:{port}"
