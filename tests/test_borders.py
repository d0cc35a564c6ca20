"""``REPLICA_PRIVATE_ADDRESSES``: no request of a crawl goes to the machine that it runs on, or to its network."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from twisted.internet.address import IPv4Address

from scrapy_replica.components.borders import Borders, is_inside
from scrapy_replica.components.resolver import GuardedResolver

SPELLINGS = (
    "127.0.0.2",
    "127.2",
    "0x7f000002",
    "017700000002",
    "2130706434",
    "0",
    "localhost",
    "LOCALHOST.",
    "[::ffff:127.0.0.2]",
    "inside.test",
    "a.inside.test",
)


class TestAddresses:
    @pytest.mark.parametrize(
        "name",
        [
            *(name for name in SPELLINGS if "inside" not in name and "[" not in name),
            *("10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
            *("::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1"),
            *("%31%32%37.0.0.1", "127.0.0.1.", "x.localhost"),
        ],
    )
    def test_inside(self, name):
        assert is_inside(name)

    @pytest.mark.parametrize(
        "name",
        ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8", "example.org", "1.example", "", "0x"],
    )
    def test_outside(self, name):
        assert not is_inside(name)


class TestBorders:
    @pytest.fixture
    def borders(self):
        borders = Borders()
        for url in ("http://127.0.0.1:8000/", "http://intranet.example/", "file:///srv/seeds.html"):
            borders.add_seed(url)
        return borders

    @pytest.mark.parametrize(
        ("url", "is_refused"),
        [
            ("http://127.0.0.1:8000/x", False),
            ("http://127.0.0.1:9200/", True),
            ("http://127.0.0.1/", True),
            ("file:///srv/seeds.html", False),
            ("file:///etc/passwd", True),
            ("HTTP://example.org/", False),
            ("ftp://example.org/", True),
        ],
    )
    def test_a_seed_opens_its_own_service(self, borders, url, is_refused):
        assert borders.refuses(url) is is_refused

    def test_a_proxy_is_connected_to_and_no_link(self, borders):
        borders.add_proxy("http://10.0.0.9:3128")
        assert borders.refuses("http://10.0.0.9:3128/")
        assert borders.may_connect("10.0.0.9", 3128, "10.0.0.9")
        assert not borders.may_connect("10.0.0.9", 22, "10.0.0.9")

    def test_an_answer_from_inside_is_no_page(self, borders):
        assert borders.is_refused_answer("http://example.org/", ip_address("10.0.0.1"))
        assert not borders.is_refused_answer("https://intranet.example/", ip_address("10.0.0.1"))
        assert not borders.is_refused_answer("http://example.org/", ip_address("8.8.8.8"))

    def test_a_name_that_answers_otherwise_the_second_time_is_not_connected_to(self, borders):
        answers = iter(["8.8.8.8", "127.0.0.1"])
        assert resolve(borders, "rebinding.example", lambda: [next(answers)]) == ["8.8.8.8"]
        assert not borders.was_refused("http://rebinding.example/")

        def second():
            return [next(answers)]

        assert resolve(borders, "rebinding.example", second) == []
        assert borders.was_refused("http://rebinding.example/")

    def test_of_a_name_with_both_the_public_addresses_are_left(self, borders):
        assert resolve(borders, "both.example", lambda: ["10.0.0.1", "8.8.8.8"]) == ["8.8.8.8"]
        assert not borders.was_refused("http://both.example/")


def resolve(borders, name, answers):
    """Ask for *name* as Twisted does; returns the addresses that it would connect to."""

    class Names:
        def resolveHostName(self, receiver, name, port, *_):  # noqa: N802 - Twisted's name
            receiver.resolutionBegan(self)
            for address in answers():
                receiver.addressResolved(IPv4Address("TCP", address, port))
            receiver.resolutionComplete()

    class Receiver:
        def resolutionBegan(self, resolution):  # noqa: N802
            self.found = []

        def addressResolved(self, address):  # noqa: N802
            self.found.append(address.host)

        def resolutionComplete(self):  # noqa: N802
            pass

    receiver = Receiver()
    GuardedResolver(Names(), borders.may_connect, borders.on_refused).resolveHostName(receiver, name, 80)
    return receiver.found
