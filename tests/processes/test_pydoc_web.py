from __future__ import annotations

import http.client
import re
import subprocess
import sys
import threading
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import ProxyHandler, Request, build_opener

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from pydoc_web import PydocWeb  # noqa: E402

DOCS = "http://docs.pydoc.example"
COPIES = [
    DOCS,
    "http://www.docs.pydoc.example",
    "http://mirror.library.example",
    "http://archive.other.example/python/docs",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("pydoc")


@pytest.fixture(scope="module")
def web(cache):
    with PydocWeb(cache=cache, modules_limit=20) as web:
        yield web


@pytest.fixture
def fetch(web):
    opener = build_opener(ProxyHandler({"http": web.proxy_url}))

    def fetches(url):
        with opener.open(url, timeout=10) as response:
            return response.read().decode()

    return fetches


def main_text(page):
    return " ".join(re.sub(r"<[^>]+>", " ", re.search(r"<main>(.*)</main>", page, re.DOTALL)[1]).split())


def links(page, url):
    return [urljoin(url, target.replace("&amp;", "&")) for target in re.findall(r'href="([^"]+)"', page)]


def status(fetch, url):
    with pytest.raises(HTTPError) as caught:
        fetch(url)
    caught.value.close()
    return caught.value.code


class TestHosts:
    def test_each_seed_answers_and_all_its_links_do(self, web, fetch):
        for seed in web.seeds:
            targets = links(fetch(seed), seed)
            assert len(targets) > 6
            for target in targets:
                assert fetch(target)

    def test_copies_have_the_same_text(self, web, fetch):
        texts = [main_text(fetch(f"{copy}/pages/socket.html")) for copy in COPIES]
        assert "This module provides socket operations" in texts[0]
        assert len(set(texts)) == 1

    def test_other_hosts_have_pages_of_their_own(self, web, fetch):
        assert "precedence" in fetch("http://topics.pydoc.example/pages/operator-summary.html")
        assert status(fetch, "http://packages.pydoc.example/pages/socket.html") == 404
        assert not set(web.pages["packages"]) & set(web.pages["library"])
        assert web.pages["packages"]

    def test_unknown_host_and_path(self, fetch):
        assert status(fetch, "http://www.python.org/") == 502
        assert status(fetch, f"{DOCS}/pages/no_such_module.html") == 404
        assert status(fetch, "http://archive.other.example/pages/socket.html") == 404
        assert status(fetch, f"{DOCS}/calendar/2026/13") == 404

    def test_robots_allow_everything(self, web, fetch):
        for host in web.hosts:
            assert fetch(f"http://{host}/robots.txt") == "User-agent: *\nDisallow:\n"

    def test_head(self, web):
        opener = build_opener(ProxyHandler({"http": web.proxy_url}))
        with opener.open(Request(f"{DOCS}/", method="HEAD"), timeout=10) as response:
            assert int(response.headers["Content-Length"]) > 0
            assert response.read() == b""

    def test_tunnels_are_refused(self, web):
        connection = http.client.HTTPConnection(web.proxy_url.removeprefix("http://"), timeout=10)
        connection.request("CONNECT", "docs.pydoc.example:443")
        assert connection.getresponse().status == 502
        connection.close()


class TestOneCrawlOfEachCopy:
    @pytest.mark.parametrize("copy", COPIES)
    def test_every_page_can_be_reached_by_links(self, web, fetch, copy):
        waiting, seen, pages = [f"{copy}/"], set(), set()
        while waiting:
            url = waiting.pop()
            for target in links(fetch(url), url):
                plain, truth = target.partition("?")[0], web.truth(target)
                assert truth.page is not None
                if plain.startswith(f"{copy}/") and plain not in seen and not truth.is_trap:
                    seen.add(plain)
                    pages.add(truth.page)
                    waiting.append(target)
        assert {f"library/pages/{name}" for name in web.pages["library"]} <= pages


class TestDust:
    def test_session_ids_differ_and_change_nothing(self, fetch):
        url = "http://www.docs.pydoc.example/pages/ssl.html"
        first, second = fetch(url), fetch(url)
        sid = r"\?sid=([0-9a-f]{16})"
        assert set(re.findall(sid, first)) != set(re.findall(sid, second))
        assert main_text(first) == main_text(second) == main_text(fetch(f"{url}?sid=0123456789abcdef"))

    def test_parameter_order(self, web, fetch):
        site = "http://packages.pydoc.example"
        pages = [fetch(f"{site}/letters/{letter}") for letter in web.letters("packages")]
        found = " ".join(target for page in pages for target in links(page, f"{site}/letters/x"))
        assert "/view?module=" in found
        assert "/view?lang=en&module=" in found
        name = next(iter(web.pages["packages"]))
        a, b = f"{site}/view?module={name}&lang=en", f"{site}/view?lang=en&module={name}"
        assert main_text(fetch(a)) == main_text(fetch(b))
        assert web.truth(a) == web.truth(b)

    @pytest.mark.parametrize(("one", "other"), [("/", "/index.html"), ("/letters/s", "/letters/s/")])
    def test_two_names_of_a_page(self, web, fetch, one, other):
        host = "http://mirror.library.example"
        assert main_text(fetch(host + one)) == main_text(fetch(host + other))
        assert web.truth(host + one).page == web.truth(host + other).page
        # Relative links hold for both.
        assert {web.truth(url).page for url in links(fetch(host + one), host + one)} == {
            web.truth(url).page for url in links(fetch(host + other), host + other)
        }


class TestCalendar:
    def test_it_never_ends(self, web, fetch):
        url, seen = f"{DOCS}/calendar/2026/01", set()
        for _ in range(30):
            assert url not in seen
            seen.add(url)
            page = fetch(url)
            url = urljoin(url, re.search(r'href="([^"]+)">Next<', page)[1])
            assert len(main_text(page)) < 100
        assert url == f"{DOCS}/calendar/2028/07"


class TestTruth:
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            (f"{DOCS}/pages/socket.html", ("library/pages/socket", False, True)),
            ("http://archive.other.example/python/docs/pages/socket.html", ("library/pages/socket", False, True)),
            (f"{DOCS}/calendar/2030/02", ("library/calendar/2030/02", True, False)),
            (f"{DOCS}/letters/s", ("library/letters/s", False, False)),
            ("http://topics.pydoc.example/pages/while.html", ("topics/pages/while", False, False)),
            ("http://www.python.org/", (None, False, False)),
            (f"{DOCS}/none", (None, False, False)),
        ],
    )
    def test_by_url(self, web, url, expected):
        assert web.truth(url) == expected

    def test_topic_examples(self, web, tmp_path):
        web.write_topic(tmp_path / "topic")
        files = sorted(path.name for path in (tmp_path / "topic").iterdir())
        assert len(files) == 8
        text = (tmp_path / "topic" / "socket.txt").read_text(encoding="utf-8")
        assert "This module provides socket operations" in " ".join(text.split())
        assert "<" not in re.sub(r"<[^a-z/]|<[^>]*$", "", text[:200])


class TestServer:
    def test_leaves_no_thread(self, cache):
        before = threading.active_count()
        with PydocWeb(cache=cache, modules_limit=20) as web:
            assert threading.active_count() > before
            build_opener(ProxyHandler({"http": web.proxy_url})).open(f"{DOCS}/", timeout=10).close()
        assert threading.active_count() == before

    def test_same_seed_same_web(self, cache, web, fetch):
        with PydocWeb(cache=cache, modules_limit=20) as other:
            url = "http://packages.pydoc.example/letters/" + next(iter(web.letters("packages")))
            assert other.response(url) == web.response(url)

    def test_by_hand(self, cache, tmp_path):
        command = [sys.executable, EXAMPLES / "pydoc_web.py", "--cache", cache, "--modules-limit", "20"]
        command += ["--topic", tmp_path / "topic"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                proxy = process.stdout.readline().strip().removeprefix("http_proxy=")
                opener = build_opener(ProxyHandler({"http": proxy}))
                with opener.open(f"{DOCS}/", timeout=10) as response:
                    assert b"Python library" in response.read()
            finally:
                process.terminate()
        assert (tmp_path / "topic" / "socket.txt").exists()
