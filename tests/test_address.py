from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_replica.address import host_of, hostname_of, name_of, origin_of, redacted, registered_domain
from scrapy_replica.urls.pattern import parse

PIECES = ["http", "https", "HTTP", "ftp", "://", "//", ":", "/", "@", "?", "#", "[", "]", "::1", "80", "443", "0080"]
PIECES += ["8080", "65536", "Example.org", "example.org", ".", "-", "_", "user", "%", "é", " ", "\n", "\t", "\\", "℀"]
URLS = st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=9).map("".join) | st.text()
PORTS = {"http": 80, "https": 443}


def slow_name(url):
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def slow_host(url):
    name = slow_name(url)
    if not name:
        return ""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    shown = f"[{name}]" if ":" in name else name
    return shown if port is None or port == PORTS.get(parts.scheme) else f"{shown}:{port}"


class TestAgainstUrllib:
    @given(URLS)
    @settings(max_examples=200)
    @example("http://h:80\n")
    @example("http://[::1]:80/")
    @example("http://[v1.a:b]:81/")
    def test_any_string(self, url):
        assert hostname_of(url) == slow_name(url)
        assert host_of(url) == slow_host(url)
        assert parse(url).host == host_of(url)

    @given(st.sampled_from(["http://", "https://"]), st.text("abCD.-_", min_size=1), st.integers(0, 65535), URLS)
    def test_well_formed_urls(self, scheme, name, port, rest):
        url = f"{scheme}{name}:{port}/{rest}"
        assert host_of(url) == slow_host(url)
        assert origin_of(url) == scheme + host_of(url)
        assert host_of(origin_of(url)) == host_of(url)


class TestHosts:
    @pytest.mark.parametrize(
        ("url", "host", "name", "origin"),
        [
            ("http://example.com", "example.com", "example.com", "http://example.com"),
            ("https://WWW.Example.com:8080/x?y", "www.example.com:8080", "www.example.com", None),
            ("http://user:pass@example.com:80/", "example.com", "example.com", "http://example.com"),
            ("https://example.com:443?x", "example.com", "example.com", "https://example.com"),
            ("https://example.com:80/", "example.com:80", "example.com", "https://example.com:80"),
            ("http://[2001:DB8::1]:80/", "[2001:db8::1]", "2001:db8::1", "http://[2001:db8::1]"),
            ("http://[2001:db8::1]:81/", "[2001:db8::1]:81", "2001:db8::1", "http://[2001:db8::1]:81"),
            ("http://example.com:80@evil.org/", "evil.org", "evil.org", "http://evil.org"),
            ("http://example.com:port/", "example.com", "example.com", "http://example.com"),
            ("mailto:x@y", "", "", ""),
            ("http://[::1", "", "", ""),
            ("/relative", "", "", ""),
            ("", "", "", ""),
        ],
    )
    def test_host_name_and_origin(self, url, host, name, origin):
        assert (host_of(url), hostname_of(url), name_of(host)) == (host, name, name)
        assert origin is None or origin_of(url) == origin


class TestRedacted:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("http://user:pw@a.example/x?q=1#f", "http://***@a.example/x?q=1#f"),
            (
                "http://a.example/?api_key=1&Access_Token=z&page=2",
                "http://a.example/?api_key=***&Access_Token=***&page=2",
            ),
            ("http://a.example/x;jsessionid=AB12?q=key", "http://a.example/x;jsessionid=***?q=key"),
            ('{"url": "http://a.example/?password=x"}', '{"url": "http://a.example/?password=***"}'),
            (
                "from https://u@a.example/ to http://b.example/?sid=9",
                "from https://***@a.example/ to http://b.example/?sid=***",
            ),
            ("http://a.example/?monkey=1&keyboard=2&q=a@b", "http://a.example/?monkey=1&keyboard=2&q=a@b"),
            ("no URL, token=1", "no URL, token=1"),
        ],
    )
    def test_of_urls_in_a_text(self, text, shown):
        assert redacted(text) == shown


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.org", "example.org"),
        ("a.b.example.co.uk:8080", "example.co.uk"),
        ("example.org", "example.org"),
        ("x.github.io", "github.io"),
        ("y.github.io", "github.io"),
        ("www.site.invalid", "site.invalid"),
        ("localhost", "localhost"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("", ""),
    ],
)
def test_registered_domain(host, domain):
    assert registered_domain(host) == domain
