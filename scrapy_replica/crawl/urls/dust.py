"""DUST rules in a running crawl: learnt from what was fetched, proved, put in force, watched and withdrawn."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from operator import attrgetter

from scrapy_replica.address import host_of
from scrapy_replica.claim import ENDED, Standing
from scrapy_replica.config import Config
from scrapy_replica.crawl.urls.host_pages import (
    callback_number,
    callback_of,
    content_of,
    form_of,
    leads_of,
    own_content,
    pack_leads,
    unpack_leads,
)
from scrapy_replica.crawl.urls.host_rules import Hit, HostRules
from scrapy_replica.crawl.urls.rule_proposals import RuleProposals
from scrapy_replica.crawl.urls.watched_rule import Level, Settled, WatchedRule
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.pages import GONE, PageRow
from scrapy_replica.crawldb.remote import RemotePage
from scrapy_replica.crawldb.rules import RuleRow
from scrapy_replica.decision import Outcome
from scrapy_replica.host_cache import HostCache
from scrapy_replica.records import Page
from scrapy_replica.urls.interchange import clean_param
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule
from scrapy_replica.words.phrases import STANDINGS
from scrapy_replica.words.rules import rule as in_words

logger = logging.getLogger(__name__)

MAX_BYTES = 60_000_000
"""Pages and rules of hosts in memory; what is evicted is read again when its host is met."""


@dataclass
class DustFindings:
    """What one page brought to light."""

    begun: list[str] = field(default_factory=list)
    """Hosts on which rules may do more than before."""
    ended: list[WatchedRule] = field(default_factory=list)
    """Rules withdrawn after they acted."""
    doubted: list[WatchedRule] = field(default_factory=list)
    """Rules that were wrong once and act on: not where they were wrong, until they are right there again."""
    settled: list[Settled] = field(default_factory=list)
    """URLs that a rule would have saved, and that were fetched all the same."""
    disputed: list[tuple[int, ...]] = field(default_factory=list)
    """Ids of rules that together made one of two different pages: what all of them changed is to be fetched, and which
    of them is wrong is found out by pages that each changes alone.
    """
    probes: list[str] = field(default_factory=list)
    """URLs to fetch that prove a rule or refute it."""


class Dust:
    """The rules of a crawl. What concerns a host is read from the crawl database when the host is met.

    :param is_stale: whether a page may have changed since it was seen, so that it is asked for again before another is
        held against it.
    """

    def __init__(
        self, config: Config, db: CrawlDB, now: Callable[[], float], is_stale: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._config, self._db, self._now, self._is_stale = config, db, now, is_stale
        self._hosts = HostCache(self._read, MAX_BYTES, attrgetter("weight"))
        self._wide: list[WatchedRule] = []
        """Rules for more than one host."""
        self._names: set[str] = set()
        """Hosts (and ports) on which a rule of their own acts or acted."""
        self._proposals = RuleProposals(config, db, now, self._wide)
        if config.dust:
            self._wide += [WatchedRule(row) for row in db.rules.wide()]
            for row in (*db.rules.acting(), *db.rules.refuted()):
                self._told(WatchedRule(row))

    def _told(self, watched: WatchedRule) -> None:
        """Take over what became of a rule."""
        if watched.state is Standing.REFUTED:
            self._proposals.refuted(watched)
        self._take_effect(watched)

    def _read(self, name: str, without: int | None = None) -> HostRules:
        """Return what is known of the host (and port) *name*, as it was before the page at the URL *without*."""
        found, url_ids = HostRules(name, self._wide), {}
        for page in self._db.pages.of_host(_host_of(name)):
            form = form_of(page.url)
            if page.url_id == without or parse(form).host != name:
                continue
            if page.status in GONE:
                found.gone(form)
            is_told = page.status == HTTPStatus.OK or page.content is not None  # redirects
            if not is_told or form in found.pages.clusters:
                continue
            url_ids[form] = page.url_id
            aliases, leads = json.loads(page.aliases or "[]"), unpack_leads(page.leads or b"")
            found.pages.add(form, page.content, page.cluster, aliases, leads)
            if found.pages.is_due():
                found.pages.taught()  # it was learnt from then: the next lesson comes when it would have come
        for row in self._db.rules.of_host(name):
            found.take(row, url_ids)
        found.put_in_force()
        return found

    def forget(self, host: str) -> None:
        """Read anew what concerns *host*: a page of it that was told was taken back in the crawl database."""
        for name in [name for name in self._hosts if _host_of(name) == host]:
            self._hosts.forget(name)

    def hit(self, url: str, host: str, callback: str = "") -> Hit | None:
        """Return what the rules say about *url* on *host*; ``None`` if it is to be fetched as it stands.

        *callback* is the name of the spider's method that is to get the page, empty for ``parse``. On a host without
        rules this costs a look into a set.
        """
        if host not in self._names and not self._wide:
            return None
        form = form_of(url)
        rules: HostRules = self._hosts.of(parse(form).host)
        return rules.hit(form, callback_number(callback))

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
        host, is_other = self._hosts.peek(name), False
        for row in self._db.rules.of_host(name):
            watched = host.own.get(Rule.from_dict(row.rule).key) if host is not None else None
            if watched is not None:
                is_other |= _update(watched, row)
            elif host is not None:
                watched = host.take(row, {})
                is_other |= watched.is_acting
            if row.state in {Standing.IN_FORCE, Standing.REFUTED}:
                self._told(watched or WatchedRule(row))
        if host is not None and is_other:
            host.put_in_force()

    def _update_wide(self) -> None:
        known, is_other = {watched.id: watched for watched in self._wide}, False
        for row in self._db.rules.wide():
            watched = known.get(row.id)
            if watched is None:
                self._wide.append(watched := WatchedRule(row))
                is_other = True
            else:
                is_other |= _update(watched, row)
            self._told(watched)
        if is_other:
            self._hosts.clear()

    def add_remote_page(self, page: RemotePage) -> None:
        """Take note of a fetch that another process made, whose callback is through, where its host is held."""
        form = form_of(page.url)
        host = self._hosts.peek(parse(form).host)
        if host is None:
            return
        if page.status in GONE:
            host.gone(form)
        if page.status != HTTPStatus.OK or page.leads is None or form in host.pages.clusters:
            return
        host.pages.add(form, page.content, page.cluster, json.loads(page.aliases or "[]"), unpack_leads(page.leads))
        for watched in host.watched():
            watched.see(form, page.cluster, page.url_id, host.pages.clusters, host.pages)
        if page.cluster is not None:
            host.fetched(form)

    # Evidence

    def saves(self, page: Page) -> bool:
        """Tell whether the URL of *page* is one that a rule would have saved."""
        if page.host not in self._names and not self._wide:
            return False
        form = form_of(page.url)
        host: HostRules = self._hosts.of(parse(form).host)
        return host.saves(form)

    def observe(
        self,
        page: Page,
        url_id: int,
        twin: PageRow | None,
        callback: str = "",
        *,
        asks_more: bool = False,
        is_changed: bool = False,
    ) -> DustFindings:
        """Take note of a page that was fetched and of which the spider's *callback* is through.

        *twin* is the page that it repeats. *asks_more*: its callback asked for a URL that is new and stands on no page.
        What looks like another page and leads elsewhere is a page of its own: a shell that scripts fill, a page whose
        argument shows the menu.
        """
        findings = DustFindings()
        if not self._config.dust:
            return findings
        form = form_of(page.url)
        name = parse(form).host
        host = self._hosts.peek(name) or self._hosts.put(name, self._read(name, url_id))
        content = content_of(page, callback_number(callback), self._config.min_words)
        # One that was under way when the host was read has no content there.
        is_told = form in host.pages.clusters and (content is None or host.pages.clusters[form] is not None)
        if is_told and not is_changed:
            return findings
        twin = twin if twin is not None and twin.host == page.host else None
        cluster = host.pages.cluster(content, None if twin is None else twin.url)
        leads = leads_of(page)
        news = host.pages.news(leads)
        leads_on = asks_more or bool(news) or self._lacks(form, leads, twin)
        if leads_on and content is not None and cluster is not None and host.pages.has(cluster):
            content = cluster = own_content(form, content)
        came_by = self._on_host(page.redirected_from, name, form)
        aliases = came_by + self._on_host([page.canonical] if page.canonical else (), name, form)
        kept = sorted(news)[: host.pages.room]
        told = json.dumps(aliases) if aliases else None
        first = self._db.pages.leads(url_id) or b""  # of a page that changed
        self._db.pages.set_content(url_id, content, cluster, told, first + pack_leads(kept))
        host.pages.add(form, content, cluster, aliases, kept)
        self._learn(host, page.host, form, url_id, cluster, came_by, findings)
        return findings

    def observe_redirect(self, url: str, url_id: int, location: str, callback: str = "") -> DustFindings:
        """Take note that *url*, which the spider's *callback* was to get, leads to *location*.

        A tracker leads to one place by another URL from each page.
        """
        findings, form = DustFindings(), form_of(url)
        if not self._config.dust:
            return findings
        name = parse(form).host
        host = self._hosts.peek(name) or self._hosts.put(name, self._read(name, url_id))
        cluster = host.pages.redirect(location, callback_number(callback), name)
        if cluster is not None and form not in host.pages.clusters:
            self._db.pages.set_content(url_id, cluster, cluster, None, b"")
            host.pages.add(form, cluster, cluster)
            self._learn(host, _host_of(name), form, url_id, cluster, (), findings)
        return findings

    def _learn(
        self,
        host: HostRules,
        host_name: str,
        form: str,
        url_id: int,
        cluster: int | None,
        came_by: Sequence[str],
        findings: DustFindings,
    ) -> None:
        """Hold what was fetched from *form* against what rules take it for, and propose others."""
        for one in (form, *came_by) if cluster is not None else (form,):
            self._hold_against(host, one, cluster, url_id, findings)
        self._hold_jointly(host, form, url_id, findings)
        if cluster is not None:
            host.fetched(form)
        is_news = self._proposals.propose(host, form)
        findings.probes += self._proposals.plan(host, host_name, is_news=is_news)

    def _lacks(self, form: str, leads: frozenset[int], twin: PageRow | None) -> bool:
        """Tell whether the *twin* of a page was the first to lead somewhere where the page does not.

        The twin's form is the longer one, so a rule would keep the page and not fetch those like the twin.
        """
        if twin is None or len(form_of(twin.url)) <= len(form):
            return False
        packed = self._db.pages.leads(twin.url_id)
        return packed is not None and not leads.issuperset(unpack_leads(packed))

    @staticmethod
    def _on_host(urls: Iterable[str], name: str, form: str) -> list[str]:
        forms = dict.fromkeys(form_of(url) for url in urls)
        return [other for other in forms if other != form and parse(other).host == name]

    def _hold_against(
        self, host: HostRules, form: str, cluster: int | None, url_id: int, findings: DustFindings
    ) -> None:
        for watched in host.watched():
            level = watched.level
            settled = watched.observe(form, cluster, url_id, host.pages, self._is_stale)
            if settled is not None and level.is_acting:
                findings.settled.append(settled)
            if settled is not None and settled.outcome is not Outcome.UNKNOWN:
                self._follow(host, watched, level, findings, is_same=settled.outcome is Outcome.SAME)

    def _hold_jointly(self, host: HostRules, form: str, url_id: int, findings: DustFindings) -> None:
        """Hold the page against another of its canonical form that no single rule takes it for.

        Where they are different pages any of the rules may be wrong, or all of them together: none is blamed before a
        page is fetched that it changes alone.
        """
        joint = host.joint_pair(form)
        if joint is None:
            return
        changed_id = url_id if joint.changed == form else next(filter(None, map(_id_of(joint.changed), joint.rules)), 0)
        are_other = host.are_other(joint)
        if are_other is None:
            findings.settled.append(Settled(changed_id, Outcome.UNKNOWN, joint.ids))
        elif not are_other:
            findings.settled.append(Settled(changed_id, Outcome.SAME, joint.ids))
            for watched in joint.rules:
                level, callback = watched.level, callback_of(host.pages.clusters[form] or 0)
                watched.record(joint.changed, joint.other, callback, is_same=True)
                self._follow(host, watched, level, findings, is_same=True)
        elif not self._is_stale(joint.other if joint.changed == form else joint.changed):
            findings.settled.append(Settled(changed_id, Outcome.OTHER, joint.ids))
            if (forms := host.tell_apart(joint)) is not None:
                logger.info("Rules %s together were wrong: %s is not %s", joint.ids, joint.changed, joint.other)
                findings.disputed.append(joint.ids)
                findings.probes += forms

    def _follow(
        self, host: HostRules, watched: WatchedRule, level: Level, findings: DustFindings, *, is_same: bool
    ) -> None:
        """Draw the consequences of a pair for the rule, which might do what *level* says before it."""
        self._keep(watched)
        if watched.is_ended:
            logger.info("Rule %d was wrong and is refuted: %s", watched.id, in_words(watched.rule.to_dict()))
            self._proposals.refuted(watched)
            if level.is_acting:
                findings.ended.append(watched)
                self._put_in_force(host, watched)
        elif level.is_acting and not is_same:
            findings.doubted.append(watched)
        elif watched.level != level and watched.is_acting:
            if not level.is_acting:
                logger.info("Rule %d is in force: %s", watched.id, in_words(watched.rule.to_dict()))
            findings.begun.append(_host_of(host.name))
            self._put_in_force(host, watched)

    def gone(self, url: str, rules: Sequence[int]) -> None:
        """Take note that there is no page at *url*, in whose favour *rules* (their ids) saved others."""
        if not self._config.dust:
            return
        form = form_of(url)
        host = self._hosts.of(parse(form).host)
        host.gone(form)
        if rules or form in host.awaited:
            for watched in host.watched():
                if watched.failed(form, is_acting=watched.id in rules):
                    self._keep(watched)

    # Rules

    def _keep(self, watched: WatchedRule) -> None:
        self._db.rules.update(watched.id, watched.state, watched.right, watched.wrong, watched.images)

    def _put_in_force(self, host: HostRules, watched: WatchedRule) -> None:
        """Let *watched* do what it may by now: on *host*, or on every host if it is for many."""
        self._take_effect(watched)
        if watched in self._wide:
            self._hosts.clear()
        host.put_in_force()

    def _take_effect(self, watched: WatchedRule) -> None:
        rule = watched.rule
        if not watched.is_acting:
            return
        self._names.add(_host_of(rule.host))
        if watched.is_certain:
            self._proposals.certain(watched)

    def work(self) -> None:
        """Do a little of what is too long for one turn."""
        if (lesson := self._proposals.work()) is not None:
            name, rules = lesson
            self._proposals.learn(self._hosts.of(name), rules)

    def clean_param(self, host: str, value: str) -> None:
        """Propose what a ``Clean-param`` line in the robots.txt of *host* says."""
        rule = clean_param(host, value) if self._config.dust else None
        if rule is not None:
            self._proposals.candidate(rule, self._hosts.of(rule.host))

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
        if self._config.dust:
            self._begin(watched)
        return watched.id

    def _begin(self, watched: WatchedRule) -> None:
        if watched.is_wide:
            self._wide.append(watched)
            self._hosts.clear()
        else:
            self._hosts.forget(watched.rule.host)
        self._take_effect(watched)

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
        self._proposals.refuted(watched)
        self._end(watched)
        return watched

    def _held(self, row: RuleRow) -> WatchedRule:
        """Return the rule of *row* as it is held in memory, or read anew."""
        host = self._hosts.peek(str(row.rule["host"]))
        known = (*self._wide, *(host.own.values() if host is not None else ()))
        return next((watched for watched in known if watched.id == row.id), None) or WatchedRule(row)

    def _end(self, watched: WatchedRule) -> None:
        """Let a rule that ended act no more."""
        self._keep(watched)
        if watched.is_wide:
            self._hosts.clear()
        elif (host := self._hosts.peek(watched.rule.host)) is not None:
            host.put_in_force()


def _update(watched: WatchedRule, row: RuleRow) -> bool:
    """Let a rule take over its record; tell whether it may do another thing than before."""
    before = watched.level
    watched.apply_remote(row)
    return watched.level != before


def _id_of(form: str) -> Callable[[WatchedRule], int | None]:
    """Return what tells the id that a rule remembers of the URL at *form*."""
    return lambda watched: watched.id_of(form)


def _host_of(name: str) -> str:
    """Return the host that *name*, as it stands in URLs, is a name of: without the port that goes without saying."""
    return host_of(f"http://{name}/")
