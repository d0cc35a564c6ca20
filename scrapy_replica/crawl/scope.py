"""The scope of a job: kept with it, widened by its seeds, changed by a person while it runs."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawldb.contract import OUTSIDE, CrawlDB, UrlRow
from scrapy_replica.crawldb.orders import EXCLUDE
from scrapy_replica.decision import Action, Decision, Reason
from scrapy_replica.host_cache import HostCache
from scrapy_replica.records import Link, Page, Reach
from scrapy_replica.sites.language import guess_language
from scrapy_replica.urls.scope import Outside, Pattern, Scope, plain

if TYPE_CHECKING:
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

logger = logging.getLogger(__name__)

SCOPE = "scope"
"""Key of the settings that make the scope of a job."""

LEFT_OUT_OF = "left out of "
"""Begins the key of the URLs of a host that were left out last."""

MOST_LEFT_OUT, MAX_HELD = 20, 1_000_000
"""URLs of a host that are kept of those left out, the last ones and each from another corner of it; characters of such
URLs that are held in memory, those of the hosts met last."""

_DIGITS = re.compile(r"\d+")

OUT_OF_SCOPE, HOST_PAGES = Claim(Kind.SCOPE), Claim(Kind.FULL)
"""Claims about what was dropped when its turn came; a changed scope brings it back, to be decided about anew."""


class CrawlScope:
    """Tells what does not belong to the crawl.

    Links out of scope make no rows, so that a page with thousands of them fills nothing: they are counted by reason,
    and ``explain`` works the reason out again. What a person excludes while the crawl runs is a decision like any
    other, and comes back when the pattern is lifted.

    :param canonical: host -> the host that an alias of the user's makes of it.
    """

    def __init__(self, config: Config, store: CrawlDB, counts: Counter[str], canonical: Callable[[str], str]) -> None:
        self._scope, self._store, self._counts, self._canonical = Scope(config), store, counts, canonical
        self.is_open, self.is_near, self.outside = self._scope.is_open, self._scope.is_near, self._scope.outside
        for host in store.seeds.hosts():
            self._scope.open_to(host)
        self._excluded: list[Pattern] = []
        for order in store.orders.done(EXCLUDE):
            (self.include if order.what.get("lift") else self.exclude)(order.what["pattern"])
        self._left_out = Counter[str]()
        self._left_out_of = HostCache(self._read_left_out, MAX_HELD, lambda urls: sum(map(len, urls.values())) + 100)
        self._news: set[str] = set()
        self._told = as_told(config)
        self.is_changed = self._is_changed()
        """The settings are not those that the job began with."""

    def _is_changed(self) -> bool:
        now = self._told
        before = self._store.first_meta(SCOPE, now)
        if before == now:
            return False
        if not self._store.is_leader:
            raise ConfigError(f"the crawl that is joined has another scope: give {_other(before, now)} as it has")
        self._store.set_meta(SCOPE, now)
        logger.warning(
            "The scope is another one than before: what waits outside is dropped when its turn comes, what was "
            "dropped so and is inside now comes back, and links that were left out count where they are met again"
        )
        return True

    # Seeds

    def open_to(self, host: str) -> bool:
        """Let *host* in, as that of a seed, and the host that it is an alias of; tell whether one was outside."""
        was_outside = False
        for one in dict.fromkeys((host, self._canonical(host))):
            if one not in self._scope.hosts:
                self._store.seeds.enter(one)
                was_outside |= self._scope.open_to(one)
        return was_outside

    def open_remote(self, hosts: Iterable[str]) -> bool:
        """Let in *hosts* of seeds that other processes met; tell whether one was outside."""
        return sum(self._scope.open_to(host) for host in hosts) > 0

    # What does not belong

    @property
    def fingerprint(self) -> bytes:
        """Which links are left out, without a trace, depends on this: settings, and how much the seeds let in."""
        return b"%s %d" % (self._told, self._scope.n_open)

    def may_stand(self, url: str) -> bool:
        """Tell whether *url* may be asked for in the place of another one."""
        host = host_of(url)
        return self._scope.outside(url, host) is None and self.excluded_by(url, host) is None

    def links_of(self, page: Page) -> PageLinks:
        """Return what tells which links of *page* belong to the crawl."""
        return PageLinks(self._scope, page, partial(self.leave_out, linking_host=page.host))

    def count(self, outside: Outside, n: int = 1) -> None:
        self._left_out[outside.value] += n
        self._counts[f"scope/{outside.value}"] += n

    def leave_out(self, outside: Outside, url: str, linking_host: str) -> None:
        """Take note that a link to *url* on a page of the host *linking_host* was left out."""
        self.count(outside)
        # The pages of a host lead to its parts; to thousands of others lead pages of whoever likes.
        if outside in {Outside.NOT_INCLUDED, Outside.EXCLUDED} and host_of(url) == linking_host:
            self.note(url)

    def note(self, url: str) -> None:
        """Take note that *url* lies outside on a host of which other pages are inside."""
        host, corner = host_of(url), _corner_of(url)
        urls = self._left_out_of.of(host)
        if urls.pop(corner, None) != url:
            self._news.add(host)
        urls[corner] = url
        if len(urls) > MOST_LEFT_OUT:
            del urls[next(iter(urls))]

    def take_news(self) -> set[str]:
        """Return the hosts of which URLs were left out since the last call; from now on the job knows of these."""
        news, self._news = self._news, set()
        for host in news:
            self._store.set_meta(f"{LEFT_OUT_OF}{host}", json.dumps(self.left_out_of(host)).encode())
        return news

    def apply_remote(self, keys: Iterable[str]) -> set[str]:
        """Take note that other processes wrote these *keys*; return the hosts of which they left out URLs."""
        hosts = {key.removeprefix(LEFT_OUT_OF) for key in keys if key.startswith(LEFT_OUT_OF)}
        for host in hosts - self._news:
            self._left_out_of.forget(host)
        return hosts

    def left_out_of(self, host: str) -> Sequence[str]:
        """Return the URLs of *host* that were left out last, in any run of the job."""
        return list(self._left_out_of.of(host).values())

    def _read_left_out(self, host: str) -> dict[str, str]:
        return {_corner_of(url): url for url in json.loads(self._store.meta(f"{LEFT_OUT_OF}{host}") or "[]")}

    def about(self, taken: UrlRow) -> Decision | None:
        """Return the decision about a URL whose turn has come and that does not belong to the crawl any more.

        The scope may be another one than when it was found. Seeds belong to it whatever they look like, unless a person
        excluded them later.
        """
        if (pattern := self.excluded_by(taken.url, taken.host)) is not None:
            return excluded(pattern)
        if not taken.depth:
            return None
        outside = self._scope.outside(taken.url, taken.host)
        return out_of_scope(outside) if outside is not None else None

    def keep_counts(self) -> None:
        """Keep with the job how many links were left out since the last time."""
        if self._left_out:
            self._store.add_sums(OUTSIDE, self._left_out)
            self._left_out.clear()

    # A person's orders

    def excluded_by(self, url: str, host: str) -> str | None:
        """Return the pattern by which a person excluded *url* while the crawl ran; ``None`` if none."""
        if not self._excluded:
            return None
        url = plain(url, host)
        return next((pattern.text for pattern in self._excluded if pattern.matches(url)), None)

    def exclude(self, text: str) -> None:
        """Exclude what the pattern *text* matches.

        :raises ValueError: it is no pattern, or is excluded already.
        """
        if any(pattern.text == text for pattern in self._excluded):
            raise ValueError(f"{text} is excluded already")
        self._excluded.append(Pattern(text))

    def include(self, text: str) -> None:
        """Lift the pattern *text*.

        :raises ValueError: nobody excluded it while the crawl ran.
        """
        kept = [pattern for pattern in self._excluded if pattern.text != text]
        if len(kept) == len(self._excluded):
            excluded = ", ".join(pattern.text for pattern in self._excluded) or "nothing"
            raise ValueError(f"{text} was not excluded while the crawl ran; {excluded} was")
        self._excluded = kept


class PageLinks:
    """Tells which links of a page belong to the crawl; *leave_out* is told which do not, and why.

    A page in another language leads to its translations into wanted ones only.
    """

    def __init__(self, scope: Scope, page: Page, leave_out: Callable[[Outside, str], None]) -> None:
        self._scope, self._leave_out = scope, leave_out
        self._is_foreign, self._alternates = False, dict[str, bool]()
        if scope.knows_languages:
            # Templates often state the language of another page than theirs: both have to speak against it.
            self._is_foreign = scope.is_foreign(page.language, guess_language(page.text))
            self._alternates = scope.alternates(page)

    def has(self, url: str) -> bool:
        outside = self._scope.outside(url, host_of(url))
        if outside is None and not self._alternates.get(url, not self._is_foreign):
            outside = Outside.LANGUAGE
        if outside is not None:
            self._leave_out(outside, url)
        return outside is None

    def of(self, links: Sequence[Link]) -> list[Link]:
        """Return those of *links* that belong to the crawl, and the translations that stand in their place."""
        translated: Iterable[tuple[str, bool]] = self._alternates.items() if self._is_foreign else ()
        known = {link.url for link in links} if translated else ()
        more = (Link(url) for url, is_wanted in translated if is_wanted and url not in known)
        return [link for link in (*links, *more) if self.has(link.url)]


def excluded(pattern: str) -> Decision:
    evidence, claims = {"pattern": pattern}, (Claim(Kind.EXCLUDED, pattern),)
    return Decision(Action.DROP, Action.DROP, Reason.EXCLUDED, evidence=evidence, claims=claims)


def full(host: str) -> Decision:
    """Return the decision about what lies on a host of which enough pages were fetched."""
    return Decision(Action.DROP, Action.DROP, Reason.HOST_PAGES, evidence={"host": host}, claims=(HOST_PAGES,))


def out_of_scope(outside: Outside, **evidence: object) -> Decision:
    told = {"why": outside.value, **evidence}
    return Decision(Action.DROP, Action.DROP, Reason.OUT_OF_SCOPE, evidence=told, claims=(OUT_OF_SCOPE,))


def _other(before: bytes, now: bytes) -> str:
    """Return the names of the settings that differ."""
    theirs, ours = json.loads(before), json.loads(now)
    return ", ".join(f"REPLICA_{name.upper()}" for name in ours if ours[name] != theirs.get(name))


def kept_scope(job: SqliteReader) -> Scope | None:
    """Return the scope of a *job* as it stands; ``None`` where no crawl kept one."""
    told = job.meta(SCOPE)
    if told is None:
        return None
    settings = json.loads(told)
    scope = Scope(Config(**settings | {"scope": Reach(settings["scope"])}))
    for host in job.seed_hosts():
        scope.open_to(host)
    return scope


def _corner_of(url: str) -> str:
    """Return where on its host *url* lies: two components of its path, digits folded, and its arguments."""
    base, _, query = url.partition("?")
    names = sorted({argument.partition("=")[0] for argument in query.split("&")})
    return f"{_DIGITS.sub('0', '/'.join(base.split('/', 5)[3:5]))}?{'&'.join(names)}"


def as_told(config: Config) -> bytes:
    """Return the settings that make the scope as a job keeps them: one JSON object."""
    settings = {
        "scope": config.scope.value,
        "include": config.include,
        "exclude": config.exclude,
        "languages": config.languages,
        "host_pages": config.host_pages,
    }
    return json.dumps(settings).encode()
