"""Hosts and URLs as people give them."""

from __future__ import annotations

from difflib import get_close_matches

from scrapy import Request

from scrapy_replica.address import host_of, redacted, without_port
from scrapy_replica.commands.job import reading
from scrapy_replica.words.text import cleaned

NEAR, CLOSE = 3, 0.8
"""Names that are suggested at most, and how like they are, 0..1."""
MOST_MISSING, MOST_COMPARED = 4, 50_000
"""Characters that a name may be longer or shorter, and names that are looked at: two seconds at most."""


def known_host(job: str, host: str) -> str:
    """Return *host* if the job in the folder *job* knows it.

    :raises ValueError: it does not, with names that are like it.
    """
    with reading(job) as reader:
        names = reader.host_names()
    if host not in names:
        raise ValueError(f"the job knows no host {cleaned(host)}{near(host, names)}")
    return host


def near(host: str, names: list[str]) -> str:
    """Return ``; did you mean a.example or b.example?`` where *names* has some like *host*, otherwise nothing."""
    within = [name for name in names if host.strip(".") and f".{host}" in f".{name}"][:NEAR]
    alike = [name for name in names if abs(len(name) - len(host)) <= MOST_MISSING][:MOST_COMPARED]
    found = within or get_close_matches(host, alike, NEAR, CLOSE)
    return f"; did you mean {' or '.join(map(cleaned, found))}?" if found else ""


WEB = ("http://", "https://")


def without_scheme(text: str) -> str:
    return text.strip().removeprefix(WEB[0]).removeprefix(WEB[1])


def host_name(text: str) -> str:
    """Return *text*, a host or the URL of its front page, as a host: name, and port where it is not the scheme's own.

    :raises ValueError: it is none.
    """
    host = text.strip().lower()
    if host.startswith(WEB):
        host = host_of(host) if host.partition("://")[2].partition("/")[2] == "" else host
    name, port = without_port(host)
    if not name or any(character in host for character in "/ @?#") or (port and not port[1:].isdecimal()):
        raise ValueError(f"{text!r} is no host name; give it without a path")
    return host


def web_url(text: str) -> str:
    """Return the URL *text* as it is fetched, without its fragment.

    :raises ValueError: it is no http or https URL.
    """
    url = Request(text).url.partition("#")[0]
    if not url.startswith(WEB) or not host_of(url):
        raise ValueError(f"{redacted(cleaned(text))} is no http or https URL")
    return url
