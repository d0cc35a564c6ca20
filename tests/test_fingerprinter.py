"""The keys of URLs in the crawl database."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from w3lib.url import canonicalize_url

from scrapy_replica.address import host_of
from scrapy_replica.components.fingerprinter import ReplicaFingerprinter, UrlFingerprints, canonical_url, host_key
from scrapy_replica.sites.aliases import Aliases

HOSTS = ("a.example", "A.Example", "a.example:8080", "user@b.example", "[::1]", "xn--bcher-kva.example", "10.0.0.1", "")


class LastOfPath(RequestFingerprinter):
    """Knows pages of all hosts by their file names."""

    def fingerprint(self, request: Request, **_: object) -> bytes:
        return request.url.rpartition("/")[2].encode().ljust(8)


class TestCanonical:
    @settings(max_examples=500)
    @given(
        st.sampled_from(("http://a.example/", "https://a-b.c/", "http://A.x/", "http://a..b/")),
        st.text("ab/.-_~?=&%#:1A ", max_size=14),
    )
    def test_equals_w3lib(self, host, rest):
        assert canonical_url(host + rest) == canonicalize_url(host + rest)


class TestKeys:
    @given(st.sampled_from(HOSTS), st.text("abC/%.~=&?#é ;", max_size=20))
    def test_they_are_made_of_scrapys_fingerprint(self, host, rest):
        request = Request(f"http://{host}/{rest}")
        keys = UrlFingerprints(RequestFingerprinter())
        digest = RequestFingerprinter().fingerprint(request)
        assert keys.of_url(request.url) == host_key(host_of(request.url), digest)

    @given(st.sampled_from(HOSTS), st.text("abC/%.~=&?#é ;", max_size=20))
    def test_a_url_and_its_request_have_one_key(self, host, rest):
        url = Request(f"http://{host}/{rest}").url
        keys = UrlFingerprints(RequestFingerprinter())
        assert keys.of_url(url) == keys.of_request(Request(url))

    def test_urls_of_a_host_are_close_together(self):
        keys = UrlFingerprints(RequestFingerprinter())
        ordered = sorted((keys.of_url(f"http://host{n % 5}.example/{n}"), n % 5) for n in range(100))
        hosts = [host for _, host in ordered]
        assert sum(a != b for a, b in pairwise(hosts)) == 4

    def test_method_and_body_tell_requests_apart(self):
        keys = UrlFingerprints(RequestFingerprinter())
        url = "http://a.example/"
        requests = [Request(url), Request(url, method="POST"), Request(url, method="POST", body=b"x")]
        assert len({keys.of_request(request) for request in requests}) == 3

    @pytest.mark.parametrize("is_wrapped", [False, True])
    def test_a_fingerprinter_of_the_users_may_join_hosts(self, is_wrapped):
        own = LastOfPath()
        keys = UrlFingerprints(ReplicaFingerprinter(own, Aliases({})) if is_wrapped else own)
        assert keys.of_url("http://a.example/x") == keys.of_request(Request("http://b.example/y/x"))
        assert keys.of_url("http://a.example/x") != keys.of_url("http://a.example/y")

    def test_the_key_is_of_the_canonical_name(self):
        fingerprinter = ReplicaFingerprinter(RequestFingerprinter(), Aliases({}))
        fingerprinter.rewrite_target = lambda request, url: url if request.callback else url.partition("?")[0]
        keys = UrlFingerprints(fingerprinter)
        assert keys.of_request(Request("http://a.example/x?sid=1")) == keys.of_url("http://a.example/x")
        exempt = Request("http://a.example/x?sid=1", meta={"replica": False})
        assert keys.of_request(exempt) == keys.of_url("http://a.example/x?sid=1")

    def test_rules_concern_plain_pages_and_what_the_callback_makes_of_them(self):
        fingerprinter = ReplicaFingerprinter(RequestFingerprinter(), Aliases({}))
        fingerprinter.rewrite_target = lambda request, url: url if request.callback else url.partition("?")[0]
        keys, url = UrlFingerprints(fingerprinter), "http://a.example/x?sid=1"
        other = Request(url, callback=self.test_rules_concern_plain_pages_and_what_the_callback_makes_of_them)
        assert keys.of_request(other) == keys.of_url(url)
        posts = [Request(f"http://a.example/x?sid={sid}", method="POST", body=b"x") for sid in range(2)]
        assert len({keys.of_request(post) for post in posts}) == 2
