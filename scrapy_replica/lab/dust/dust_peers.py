"""Other packages that canonicalise URLs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

Canonicaliser = Callable[[str], str]


def peers() -> dict[str, Canonicaliser | None]:
    """Return the canonicalisers of other packages; None for one that is not installed (extra ``test``)."""
    makers = {
        "w3lib": _w3lib,
        "url_normalize": lambda: import_module("url_normalize").url_normalize,
        "duplicate_url_discarder": _duplicate_url_discarder,
        "courlan": _courlan,
    }
    found: dict[str, Canonicaliser | None] = {}
    for name, maker in makers.items():
        found[name] = _made(maker)
    return found


def _made(maker: Callable[[], Canonicaliser]) -> Canonicaliser | None:
    try:
        return _patient(maker())
    except ImportError:
        return None


def _patient(canonical: Callable[[str], str | None]) -> Canonicaliser:
    """Return *canonical* with URLs left as they are where it refuses them."""

    def answer(url: str) -> str:
        try:
            return canonical(url) or url
        except ValueError:
            return url

    return answer


def _w3lib() -> Canonicaliser:
    canonical: Canonicaliser = import_module("w3lib.url").canonicalize_url
    return canonical


def _duplicate_url_discarder() -> Canonicaliser:
    canonicaliser = import_module("duplicate_url_discarder.url_canonicalizer").UrlCanonicalizer
    rules = import_module("duplicate_url_discarder_rules").RULE_PATHS
    canonical = _w3lib()
    discarder = canonicaliser(rules)
    return lambda url: canonical(discarder.process_url(url))


def _courlan() -> Canonicaliser:
    normalize = import_module("courlan").normalize_url
    return lambda url: str(normalize(url, strict=True))
