"""What must stay with the host it was meant for, and what must never be asked at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from scrapy import FormRequest, Request
from web import redirect

from hostile.building import Site, page, path, site
from hostile.copies import BAD, GOOD, top
from hostile.scenario import Crawled, Follower, Scenario, Topical, item

MIRROR = "mirror.example"
HOSTS = (GOOD, MIRROR)
ARGUMENTS = (
    "token",
    "access_token",
    "api_key",
    "apikey",
    "X-Amz-Signature",
    "sig",
    "password",
    "passwd",
    "pass",
    "pwd",
    "jwt",
    "auth",
    "oauth_verifier",
    "client_secret",
    "ticket",
    "otp",
    "SAMLResponse",
)


class Member(Follower):
    """Asks each host for pages of a member's, with everything that a request may carry."""

    name = "member"
    kinds = ("header", "cookie", "key", "body", "form", "user")

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        found = re.search(r"(\d+)\.html", response.url)
        if found is None or int(found[1]) % 4:
            return
        host, number = urlsplit(response.url).netloc, found[1]

        def url(kind: str) -> str:
            return f"http://{host}/members/{kind}-{number}"

        def secret(kind: str) -> str:
            return f"s3cret-{kind}-{host}"

        yield Request(url("header"), self.answer, headers={"Authorization": secret("header")})
        yield Request(url("key"), self.answer, headers={"X-Api-Key": secret("key")})
        yield Request(url("cookie"), self.answer, cookies={"session": secret("cookie")})
        yield Request(url("body"), self.answer, method="POST", body=secret("body"))
        yield FormRequest(url("form"), formdata={"password": secret("form")}, callback=self.answer)
        yield Request(url("user").replace("://", f"://me:{secret('user')}@"), self.answer)

    def answer(self, response: Any) -> Any:
        yield item(response)


def members() -> Any:
    pages = {**site(MIRROR, 100, of=GOOD), **site(GOOD, 100)}

    def answer(request: Request) -> Any:
        known = pages.get(request.url)
        if known is None and "/members/" in request.url:
            return page(request.url.rpartition("/")[2], words=40)
        return known

    return answer


def tokens() -> Any:
    """Each page of either host links to a download that a token of that host's opens."""
    pages: Site = {}
    for host in HOSTS:

        def more(k: int, host: str = host) -> Iterable[str]:
            name = ARGUMENTS[k % len(ARGUMENTS)]
            return [f"/download-{k}?file=1&{name}=s3cret-{name}-{host}"]

        pages |= site(host, 100, of=GOOD, more=more)

    def answer(request: Request) -> Any:
        if "/download-" in request.url:
            return page(request.url.partition("?")[0].rpartition("/")[2], words=40)
        return pages.get(request.url)

    return answer


def referers() -> Site:
    """A page whose path is nobody's business links to all that the copy has."""
    private = page("private", [path(k) for k in range(100)])
    return {f"http://{MIRROR}/s3cret-path": private, **site(GOOD, 100), **site(MIRROR, 100, of=GOOD)}


def probed() -> Any:
    """A stranger has a dozen pages of a site; the site's long ones, of which it has none, need a token."""
    names = [f"/file-{k}?token=s3cret-{k % 9}" for k in range(40)]
    good = site(GOOD, 60, more=lambda k: names[k % 40 : k % 40 + 1])
    copied = {url.replace(f"http://{GOOD}", f"https://{BAD}"): good[url] for url in list(good)[:40]}
    files = {f"http://{GOOD}{name}": page(f"file {k}", words=400) for k, name in enumerate(names)}
    return {**good, **copied, **files}


PRIVATE = (
    *("127.0.0.1", "127.1.2.3:8080", "localhost", "localhost:9200", "10.0.0.1", "172.16.5.5", "192.168.1.1"),
    *("169.254.169.254", "[::1]", "[::1]:6379", "[fe80::1]", "[fc00::1]", "[::ffff:127.0.0.1]", "0.0.0.0"),
    *("0x7f.0.0.1", "2130706433", "0177.0.0.1", "127.1", "0", "100.64.0.1", "router.localhost", "[::]"),
)


def private_links() -> Site:
    """Links, redirects and frames that lead to the machine that crawls and to its neighbours."""
    links = [f"http://{host}/admin" for host in PRIVATE]
    via = {f"http://{GOOD}/out/{k}": redirect(link) for k, link in enumerate(links)}
    good = site(GOOD, 30, more=lambda k: [links[k % len(links)], f"/out/{k % len(links)}"])
    return {**good, **via, **{link: page("") for link in links}}


SCHEMES = (
    "file:///etc/passwd",
    "ftp://a.example/x",
    "s3://bucket/x",
    "data:text/html,x",
    "javascript:x()",
    "gopher://x",
)


def other_schemes() -> Site:
    found = redirect("file:///etc/passwd")
    pages = site(GOOD, 30, more=lambda k: [SCHEMES[k % len(SCHEMES)], "/out"])
    return {**pages, f"http://{GOOD}/out": found, "file:///etc/passwd": page("")}


def only_http(plain: Crawled, ours: Crawled) -> Iterable[str]:
    yield from {asked.url for asked in ours.asked if not asked.url.startswith(("http://", "https://"))}


SCENARIOS = [
    Scenario(
        name="members of a mirrored site",
        tried="Requests to either of two mirrors carry headers, cookies, bodies and users of its own.",
        pages=members,
        seeds=top(MIRROR, GOOD),
        spider=Member,
        copies=HOSTS,
        secrets=tuple(f"s3cret-{kind}-{host}" for kind in Member.kinds for host in HOSTS),
    ),
    Scenario(
        name="tokens in links",
        tried="Pages of either of two mirrors link to downloads that a token of its own opens.",
        pages=tokens,
        seeds=top(MIRROR, GOOD),
        copies=HOSTS,
        secrets=tuple(f"s3cret-{name}-{host}" for name in ARGUMENTS for host in HOSTS),
    ),
    Scenario(
        name="tokens and a topic",
        tried="The same for the spider whose links become rows without a request.",
        pages=tokens,
        seeds=top(MIRROR, GOOD),
        spider=Topical,
        copies=HOSTS,
        secrets=tuple(f"s3cret-{name}-{host}" for name in ARGUMENTS for host in HOSTS),
    ),
    Scenario(
        name="where a link was found",
        tried="A page at a path that is nobody's business links to all of a copy.",
        pages=referers,
        seeds=[*top(GOOD), f"http://{MIRROR}/s3cret-path"],
        copies=HOSTS,
        secrets=("s3cret-path",),
    ),
    Scenario(
        name="tokens in probes",
        tried="A stranger copies pages of a site so that it is asked for those that need a token.",
        pages=probed,
        seeds=[*top(GOOD), f"https://{BAD}/"],
        spider=Topical,
        copies=(BAD,),
        secrets=tuple(f"s3cret-{k}" for k in range(9)),
    ),
    Scenario(
        name="links to this machine",
        tried="Links and redirects lead to loopback, private and link-local addresses.",
        pages=private_links,
        seeds=top(GOOD),
        spider=Topical,
        settings={"REPLICA_PRIVATE_ADDRESSES": False},
        strangers=PRIVATE,
    ),
    Scenario(
        name="links to files",
        tried="Links and redirects lead to files of this machine and to other schemes.",
        pages=other_schemes,
        seeds=top(GOOD),
        spider=Topical,
        check=only_http,
    ),
    Scenario(
        name="links to files, other scheduler",
        tried="The same where Scrapy's own scheduler is in use.",
        pages=other_schemes,
        seeds=top(GOOD),
        spider=Topical,
        settings={"SCHEDULER": "scrapy.core.scheduler.Scheduler"},
        check=only_http,
    ),
]
