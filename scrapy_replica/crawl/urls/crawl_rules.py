"""The rewrite rules of a crawl: what they say about URLs, and how they begin and end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus
from operator import attrgetter

from scrapy_replica.address import host_of
from scrapy_replica.claim import ENDED, Standing
from scrapy_replica.config import Config
from scrapy_replica.crawl.given import Clock
from scrapy_replica.crawl.urls.contents import callback_in, callback_number, form_of
from scrapy_replica.crawl.urls.host_rules import Hit, HostRules
from scrapy_replica.crawl.urls.leads import unpack_leads
from scrapy_replica.crawl.urls.rule_proposals import RuleProposals
from scrapy_replica.crawl.urls.watched_rule import WatchedRule
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.pages import GONE, HostPage
from scrapy_replica.crawldb.remote import RemotePage
from scrapy_replica.crawldb.rules import RuleRow
from scrapy_replica.host_cache import HostCache
from scrapy_replica.urls.interchange import clean_param
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule
from scrapy_replica.words.phrases import STANDINGS

MAX_BYTES = 60_000_000
"""Pages and rules of hosts in memory; what is evicted is read again when its host is met."""


class CrawlRules:
    """The rules of a crawl, by host: what concerns one is read from the crawl database when it is met."""

    def __init__(self, config: Config, db: CrawlDB, now: Clock) -> None:
        self._config, self._db, self._now = config, db, now
        self.hosts: HostCache[HostRules] = HostCache(self._read, MAX_BYTES, attrgetter("weight"))
        self.wide: list[WatchedRule] = []
        """Rules for more than one host."""
        self._names: set[str] = set()
        """Hosts (and ports) on which a rule of their own acts or acted."""
        self.proposals = RuleProposals(config, db, now, self.wide)
        if config.dust:
            self.wide += [WatchedRule(row) for row in db.rules.wide()]
            for row in (*db.rules.acting(), *db.rules.refuted()):
                self._adopt(WatchedRule(row))

    def host_before(self, url_id: int, name: str) -> HostRules:
        """Return what is known of the host (and port) *name*, from before the page of that URL was fetched."""
        return self.hosts.peek(name) or self.hosts.put(name, self._read(name, url_id))

    def hit(self, url: str, host: str, callback: str = "") -> Hit | None:
        """Return what the rules say about *url* on *host*; ``None`` if it is to be fetched as it stands.

        *callback* is the name of the spider's method that is to get the page, empty for ``parse``. On a host without
        rules this costs a look into a set.
        """
        if host not in self._names and not self.wide:
            return None
        form = form_of(url)
        return self.hosts.of(parse(form).host).hit(form, callback_number(callback))

    def is_known_place(self, url: str) -> bool:
        """Tell whether rules know for certain where *url* leads: to a page that was fetched.

        The links of a shop to "Add to cart" have a token in their path that is new each time that a page is fetched.
        """
        hit = self.hit(url, host_of(url))
        return hit is not None and hit.is_fetched and (hit.is_certain or hit.is_gate)

    def note_waiting(self, url: str, host: str, callback: str) -> None:
        """Take note that *url* on *host* is to be fetched as it stands, for *callback*."""
        if host in self._names or self.wide:
            form = form_of(url)
            self.hosts.of(parse(form).host).note_waiting(form, callback_number(callback))

    def is_of_callback(self, url: str, callback: str) -> bool:
        """Tell whether the page at *url* is known, and *callback* got it."""
        form = form_of(url)
        cluster = self.hosts.of(parse(form).host).pages.clusters.get(form)
        return cluster is not None and callback_in(cluster) == callback_number(callback)

    def _adopt(self, watched: WatchedRule) -> None:
        if watched.state is Standing.REFUTED:
            self.proposals.priors.add_refuted(watched.rule)
        self._take_effect(watched)

    def _read(self, name: str, without: int | None = None) -> HostRules:
        """Return what is known of the host (and port) *name*, as it was before the page at the URL *without*."""
        found, url_ids = HostRules(name, self.wide), {}
        for page in self._db.pages.of_host(host_named(name)):
            form = form_of(page.url)
            if page.url_id == without or parse(form).host != name:
                continue
            if page.status in GONE:
                found.note_gone(form)
                found.pages.led_before(unpack_leads(page.leads or b""))
            # One that was not read is not told; of redirects there is a content.
            is_told = (page.status == HTTPStatus.OK and page.leads is not None) or page.content is not None
            if not is_told or form in found.pages.clusters:
                continue
            url_ids[form] = page.url_id
            self._add_page(found, form, page)
            if found.pages.is_due():
                found.pages.note_lesson()  # it was learnt from then: the next lesson comes when it would have come
        for row in self._db.rules.of_host(name):
            found.take(row, url_ids)
        found.put_in_force()
        return found

    def _add_page(self, host: HostRules, form: str, page: HostPage | RemotePage) -> None:
        aliases, leads = json.loads(page.aliases or "[]"), unpack_leads(page.leads or b"")
        host.pages.add(form, page.content, page.cluster, aliases, leads)
        if page.is_given or page.url_id in self._db.unrequested.ids:
            host.pages.unlinked.add(form)

    def forget(self, host: str) -> None:
        """Read anew what concerns *host*: a page of it that was told was taken back in the crawl database."""
        for name in [name for name in self.hosts if host_named(name) == host]:
            self.hosts.forget(name)

    def keep(self, watched: WatchedRule) -> None:
        """Write the record of a rule down."""
        self._db.rules.update(watched.id, watched.state, watched.right, watched.wrong, watched.images)

    def put_in_force(self, host: HostRules, watched: WatchedRule) -> None:
        """Let *watched* do what it may by now: on *host*, or on every host if it is for many."""
        self._take_effect(watched)
        if watched in self.wide:
            self.hosts.clear()
        host.put_in_force()

    def _take_effect(self, watched: WatchedRule) -> None:
        rule = watched.rule
        if not watched.is_acting:
            return
        self._names.add(host_named(rule.host))
        if watched.is_certain:
            self.proposals.priors.add_certain(rule)

    # Other processes

    def apply_remote(self, names: Iterable[str]) -> None:
        """Take over what became elsewhere of the rules for hosts (and ports); empty or ``.domain``: for many."""
        if not self._config.dust:
            return
        for name in names:
            if name and not name.startswith("."):
                self._update_host(name)
            else:
                self._update_wide()

    def _update_host(self, name: str) -> None:
        host, is_other = self.hosts.peek(name), False
        for row in self._db.rules.of_host(name):
            watched = host.own.get(Rule.from_dict(row.rule).key) if host is not None else None
            if watched is not None:
                is_other |= _update(watched, row)
            elif host is not None:
                watched = host.take(row, {})
                is_other |= watched.is_acting
            if row.state in {Standing.IN_FORCE, Standing.REFUTED}:
                self._adopt(watched or WatchedRule(row))
        if host is not None and is_other:
            host.put_in_force()

    def _update_wide(self) -> None:
        known, is_other = {watched.id: watched for watched in self.wide}, False
        for row in self._db.rules.wide():
            watched = known.get(row.id)
            if watched is None:
                self.wide.append(watched := WatchedRule(row))
                is_other = True
            else:
                is_other |= _update(watched, row)
            self._adopt(watched)
        if is_other:
            self.hosts.clear()

    def add_remote_page(self, page: RemotePage) -> None:
        """Take note of a fetch that another process made, whose callback is through, where its host is held."""
        form = form_of(page.url)
        host = self.hosts.peek(parse(form).host)
        if host is None:
            return
        if page.status in GONE:
            host.note_gone(form)
        if page.status != HTTPStatus.OK or page.leads is None or form in host.pages.clusters:
            return
        self._add_page(host, form, page)
        for watched in host.watched():
            watched.see(form, page.cluster, page.url_id, host.pages.clusters, host.pages)
        if page.cluster is not None:
            host.note_fetched(form)

    # How they begin and end

    def clean_param(self, host: str, value: str) -> None:
        """Propose what a ``Clean-param`` line in the robots.txt of *host* says."""
        rule = clean_param(host, value) if self._config.dust else None
        if rule is not None:
            self.proposals.candidate(rule, self.hosts.of(rule.host))

    def impose(self, rule: Rule) -> int:
        """Put a person's *rule* in force, with ``REPLICA_DUST``; return its id.

        :raises ValueError: the crawl knows it.
        """
        watched = WatchedRule(RuleRow(0, rule.to_dict(), Standing.IN_FORCE, True, 0, 0, 0, []))
        rows = self._db.rules.wide() if watched.is_wide else self._db.rules.of_host(rule.host)
        known = next((row for row in rows if Rule.from_dict(row.rule).key == rule.key), None)
        if known is not None:
            raise ValueError(f"it is rule {known.id} already, {STANDINGS[known.state]}")
        watched.id = self._db.rules.enter(rule.to_dict(), self._now(), is_manual=True)
        if not self._config.dust:
            return watched.id
        if watched.is_wide:
            self.wide.append(watched)
            self.hosts.clear()
        else:
            self.hosts.forget(watched.rule.host)
        self._take_effect(watched)
        return watched.id

    def disable(self, rule_id: int) -> WatchedRule:
        """Switch the rule of that id off for good, and return it.

        :raises ValueError: there is none, or it has ended.
        """
        row = self._db.rules.row(rule_id)
        if row is None:
            raise ValueError("there is no such rule")
        if row.state in ENDED:
            raise ValueError(f"it acts no more: it is {STANDINGS[row.state]}")
        watched = self._held(row)
        watched.disable()
        self._end(watched)
        return watched

    def refute(self, rule_id: int) -> WatchedRule | None:
        """End the rule of that id, because its samples speak against it or say nothing, and return it.

        ``None`` if there is none, or it has ended.
        """
        row = self._db.rules.row(rule_id)
        if row is None or row.state in ENDED:
            return None
        watched = self._held(row)
        watched.refute()
        self.proposals.priors.add_refuted(watched.rule)
        self._end(watched)
        return watched

    def _held(self, row: RuleRow) -> WatchedRule:
        """Return the rule of *row* as it is held in memory, or read anew."""
        host = self.hosts.peek(str(row.rule["host"]))
        known = (*self.wide, *(host.own.values() if host is not None else ()))
        return next((watched for watched in known if watched.id == row.id), None) or WatchedRule(row)

    def _end(self, watched: WatchedRule) -> None:
        """Let a rule that ended act no more."""
        self.keep(watched)
        if watched.is_wide:
            self.hosts.clear()
        elif (host := self.hosts.peek(watched.rule.host)) is not None:
            host.put_in_force()


def _update(watched: WatchedRule, row: RuleRow) -> bool:
    """Let a rule take over its record; tell whether it may do another thing than before."""
    before = watched.level
    watched.apply_remote(row)
    return watched.level != before


def host_named(name: str) -> str:
    """Return the host that *name*, as it stands in URLs, is a name of: without the port that goes without saying."""
    return host_of(f"http://{name}/")
