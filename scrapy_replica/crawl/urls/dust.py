"""DUST rules in a running crawl: learnt from what was fetched, proved, put in force, watched and withdrawn."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from operator import attrgetter

from scrapy_replica.address import host_of
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.urls.carried import Carried
from scrapy_replica.crawl.urls.host_pages import (
    BOILERPLATE_NAMES,
    HostPages,
    callback_number,
    callback_of,
    content_of,
    form_of,
    leads_of,
    name_of,
    own_content,
    pack_leads,
    unpack_leads,
)
from scrapy_replica.crawl.urls.in_force import Hit, HostRules
from scrapy_replica.crawl.urls.taught import Taught
from scrapy_replica.crawl.urls.watched import Level, Settled, WatchedRule
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.pages import GONE, PageRow, RemotePage
from scrapy_replica.crawldb.rules import ACTING, CANDIDATE, DISABLED, WITHDRAWN, RuleRow
from scrapy_replica.decision import Mode
from scrapy_replica.host_cache import HostCache
from scrapy_replica.records import Page
from scrapy_replica.urls.interchange import clean_param, rules_at
from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule
from scrapy_replica.words import RULE_STATES
from scrapy_replica.words import rule as in_words

logger = logging.getLogger(__name__)

PLAN_EVERY = 5
"""Pages of a host between two looks for URLs that would prove its candidates."""
PLAN_GROWTH = 8
"""On a large host, this part of its pages."""
WAITING_LOOKED_AT = 500
"""Best waiting URLs of a host among which they are looked for: 3 to 10 ms. Where these hold no pair, images are
guessed: with 200 half of those that were to prove one rule of a campus crawl did not exist."""
PROOFS, PROOF_SHARE = 12, 0.1
"""URLs of one host fetched to prove rules: at most so many, and this share of its pages."""
HOPELESS = 0.8
"""Share of wrong pairs to expect from which no page is fetched to prove a rule: no shipped guess is doubted so much,
only what this crawl saw refuted."""
MAX_CANDIDATES = 12
"""Rules of one host under proof at a time."""
MAX_LESSONS = 50
"""Hosts learnt from at a time, about 0.5 MB each; others wait for their next page."""
STEPS = 4
"""Steps of a lesson in one turn."""
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
        self._carried = Carried()
        self._taught = Taught()
        if config.rules is not None:
            try:
                self._carried.give(rules_at(config.rules))
            except ValueError as error:
                raise ConfigError(f"REPLICA_RULES: {error}") from None
        self._lessons: dict[str, Generator[None, None, list[Rule]]] = {}
        """Host (and port) -> the lesson that is being learnt from its pages."""
        if config.dust:
            self._wide = [WatchedRule(row) for row in db.rules.wide()]
            for row in (*db.rules.acting(), *db.rules.withdrawn()):
                self._told(WatchedRule(row), row.state)

    def _told(self, watched: WatchedRule, state: str) -> None:
        """Take over what became of a rule."""
        if state == WITHDRAWN:
            self._carried.refuted(watched.rule)
            self._taught.tried(watched)
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
            if page.status != HTTPStatus.OK or form in found.pages.clusters:
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

    def heed(self, names: Iterable[str]) -> None:
        """Take over what became elsewhere of the rules for hosts (and ports); empty or ``.domain``: for many."""
        if not self._config.dust:
            return
        for name in names:
            if name and not name.startswith("."):
                self._heed_host(name)
            else:
                self._heed_wide()

    def _heed_host(self, name: str) -> None:
        host, is_other = self._hosts.peek(name), False
        for row in self._db.rules.of_host(name):
            watched = host.own.get(Rule.from_dict(row.rule).key) if host is not None else None
            if watched is not None:
                is_other |= _heed(watched, row)
            elif host is not None:
                watched = host.take(row, {})
                is_other |= watched.is_acting
            if row.state in {ACTING, WITHDRAWN}:
                self._told(watched or WatchedRule(row), row.state)
        if host is not None and is_other:
            host.put_in_force()

    def _heed_wide(self) -> None:
        known, is_other = {watched.id: watched for watched in self._wide}, False
        for row in self._db.rules.wide():
            watched = known.get(row.id)
            if watched is None:
                self._wide.append(watched := WatchedRule(row))
                is_other = True
            else:
                is_other |= _heed(watched, row)
            self._told(watched, row.state)
        if is_other:
            self._hosts.clear()

    def heard(self, page: RemotePage) -> None:
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
        if cluster is not None:
            for one in (form, *came_by):
                self._hold_against(host, one, cluster, url_id, findings)
            self._hold_jointly(host, form, cluster, url_id, findings)
            host.fetched(form)
        is_news = self._propose(host, form)
        self._plan(host, page.host, findings, is_news=is_news)
        return findings

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

    def _hold_against(self, host: HostRules, form: str, cluster: int, url_id: int, findings: DustFindings) -> None:
        for watched in host.watched():
            if watched.is_ended:
                continue  # with a sibling, a moment ago
            level = watched.level
            settled = watched.observe(form, cluster, url_id, host.pages, self._is_stale)
            if settled is not None:
                self._settle(host, watched, level, settled, findings)

    def _hold_jointly(self, host: HostRules, form: str, cluster: int, url_id: int, findings: DustFindings) -> None:
        """Hold the page against another of its canonical form that no single rule takes it for."""
        joint = host.joint_pair(form)
        if joint is None:
            return
        changed, other, rules = joint
        other_cluster = host.pages.clusters.get(other if changed == form else changed)
        if other_cluster is None or host.pages.is_boilerplate(cluster) or host.pages.is_boilerplate(other_cluster):
            return
        is_same = cluster == other_cluster
        if not is_same and self._is_stale(other if changed == form else changed):
            return
        # Of several rules that together are wrong the one that was right least often is to blame.
        for watched in rules if is_same else [min(rules, key=lambda rule: rule.watch.right)]:
            level = watched.level
            watched.record(changed, other, callback_of(cluster), is_same=is_same)
            self._settle(host, watched, level, Settled(url_id, is_same, watched.id), findings)

    def _settle(
        self,
        host: HostRules,
        watched: WatchedRule,
        level: Level,
        settled: Settled,
        findings: DustFindings,
    ) -> None:
        """Draw the consequences of a pair for the rule, which might do what *level* says before it."""
        if level.is_acting:
            findings.settled.append(settled)
        self._keep(watched)
        if watched.is_ended:
            self._end(host, watched, findings, has_acted=level.is_acting)
        elif level.is_acting and not settled.is_same:
            findings.doubted.append(watched)
        elif watched.level != level and watched.is_acting:
            logger.info("Rule %d is in force: %s", watched.id, in_words(watched.rule.to_dict()))
            findings.begun.append(_host_of(host.name))
            self._put_in_force(host, watched)

    def _end(self, host: HostRules, watched: WatchedRule, findings: DustFindings, *, has_acted: bool) -> None:
        logger.info("Rule %d was wrong and is withdrawn: %s", watched.id, in_words(watched.rule.to_dict()))
        self._carried.refuted(watched.rule)
        self._taught.tried(watched)
        if not has_acted:
            return
        findings.ended.append(watched)
        for sibling in host.siblings(watched):
            logger.info("Rule %d is withdrawn with rule %d, which is like it", sibling.id, watched.id)
            if sibling.is_acting:
                findings.ended.append(sibling)
            sibling.watch.is_withdrawn = True
            self._carried.refuted(sibling.rule)
            self._keep(sibling)
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
        record = watched.watch
        self._db.rules.update(watched.id, watched.state, record.right, record.wrong, watched.images)

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
            self._carried.proved(rule)
            self._taught.tried(watched)

    def _propose(self, host: HostRules, form: str) -> bool:
        """Propose the priors that fit *form* and, when it is time, what the host's own pages teach."""
        rules = self._carried.rules_for(form, host.name)
        if host.pages.is_due() and host.name not in self._lessons and len(self._lessons) < MAX_LESSONS:
            self._lessons[host.name] = combined.learn_in_steps(*host.pages.lesson(), judge=self._taught.judge)
        return sum(self._candidate(rule, host) for rule in rules) > 0

    def work(self) -> bool:
        """Do a little of what is too long for one turn; tell whether there is more."""
        for _ in range(STEPS):
            if not self._lessons:
                return False
            name = next(iter(self._lessons))
            try:
                next(self._lessons[name])
            except StopIteration as end:
                del self._lessons[name]
                self._learn(name, end.value)
        return bool(self._lessons)

    def _learn(self, name: str, rules: Iterable[Rule]) -> None:
        """Propose the *rules* that the pages of a host taught, and look for their proofs with its next page."""
        host = self._hosts.of(name)
        for rule in rules:
            if self._candidate(rule, host):
                host.next_plan = 0

    def _candidate(self, rule: Rule, host: HostRules) -> bool:
        if rule.key in host.own or any(rule.key == watched.rule.key for watched in self._wide) or host.has_failed(rule):
            return False
        under_proof = [watched for watched in host.watched() if watched.state == CANDIDATE]
        row = RuleRow(0, rule.to_dict(), CANDIDATE, False, 0, 0, 0, [])
        if len(under_proof) >= MAX_CANDIDATES or self._is_sweeping(WatchedRule(row), host.pages):
            return False
        host.take(row._replace(id=self._db.rules.enter(row.rule, self._now())), {})
        return True

    @staticmethod
    def _is_sweeping(watched: WatchedRule, pages: HostPages) -> bool:
        """Tell whether the rule makes one URL of pages with many names: no duplicate has so many."""
        names: dict[str, set[str]] = {}
        for form in pages.clusters:
            image = watched.image(form)
            if image is not None:
                names.setdefault(image, {name_of(image)}).add(name_of(form))
        return any(len(found) > BOILERPLATE_NAMES for found in names.values())

    def clean_param(self, host: str, value: str) -> None:
        """Propose what a ``Clean-param`` line in the robots.txt of *host* says."""
        rule = clean_param(host, value) if self._config.dust else None
        if rule is not None:
            self._candidate(rule, self._hosts.of(rule.host))

    def _plan(self, host: HostRules, host_name: str, findings: DustFindings, *, is_news: bool) -> None:
        """Look for URLs to fetch that prove the candidates of a host: seldom on one that has many pages."""
        n_pages = host.pages.pages
        if self._config.mode is Mode.OBSERVE or not (is_news or n_pages >= host.next_plan):
            return
        host.next_plan = n_pages + max(PLAN_EVERY, n_pages // PLAN_GROWTH)
        unproved = self._worth_a_proof(host)
        left = int(PROOFS + PROOF_SHARE * n_pages) - host.spent
        if not unproved or left <= 0:
            return
        waiting = [form_of(url) for url in self._db.urls.waiting_urls(host_name, WAITING_LOOKED_AT)]
        for watched in unproved:
            known = len(watched.proofs)
            found = watched.pairs(host.pages, waiting, left, host.is_one)
            findings.probes += found
            left -= len(found)
            host.spent += len(found)
            if len(watched.proofs) > known:
                host.awaited.update(image for image, _ in watched.proofs)
                self._db.rules.set_proofs(watched.id, watched.proofs)

    def _worth_a_proof(self, host: HostRules) -> list[WatchedRule]:
        """Return the rules to be proved, the least doubtful first; the hopeless may prove themselves by what is
        fetched anyway.
        """
        doubts = [(watched.doubt(self._taught.judge), watched) for watched in host.watched() if watched.needs_proof]
        doubts.sort(key=lambda entry: entry[0])
        return [watched for doubt, watched in doubts if doubt <= HOPELESS]

    def impose(self, rule: Rule) -> int:
        """Put a person's *rule* in force, with ``REPLICA_DUST``; return its id.

        :raises ValueError: the crawl knows it.
        """
        watched = WatchedRule(RuleRow(0, rule.to_dict(), ACTING, True, 0, 0, 0, []))
        rows = self._db.rules.wide() if watched.is_wide else self._db.rules.of_host(rule.host)
        known = next((row for row in rows if Rule.from_dict(row.rule).key == rule.key), None)
        if known is not None:
            raise ValueError(f"it is rule {known.id} already, {RULE_STATES[known.state]}")
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
        if row.state in {WITHDRAWN, DISABLED}:
            raise ValueError(f"it acts no more: it is {RULE_STATES[row.state]}")
        self._db.rules.disable(rule_id)
        watched = WatchedRule(row)
        if not watched.is_wide:
            self._hosts.forget(watched.rule.host)
        for wide in self._wide:
            if wide.id == rule_id:
                wide.watch.is_withdrawn = True
                self._hosts.clear()
        return watched


def _heed(watched: WatchedRule, row: RuleRow) -> bool:
    """Let a rule take over its record; tell whether it may do another thing than before."""
    before = watched.level
    watched.heed(row)
    return watched.level != before


def _host_of(name: str) -> str:
    """Return the host that *name*, as it stands in URLs, is a name of: without the port that goes without saying."""
    return host_of(f"http://{name}/")
