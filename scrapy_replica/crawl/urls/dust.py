"""DUST rules in a running crawl: learnt from what was fetched, proved, put in force, watched and withdrawn."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from scrapy_replica.config import Config
from scrapy_replica.crawl.urls.host_pages import BOILERPLATE_NAMES, HostPages, content_of, form_of, name_of
from scrapy_replica.crawl.urls.in_force import InForce
from scrapy_replica.crawl.urls.watched import Settled, WatchedRule, argument_names
from scrapy_replica.crawldb.contract import CANDIDATE, CrawlDB, RuleRow
from scrapy_replica.crawldb.sqlite.pages import PageRow
from scrapy_replica.decision import Mode
from scrapy_replica.records import Page
from scrapy_replica.urls.interchange import clean_param, priors
from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Change, Rule, compiled, triggers
from scrapy_replica.urls.validation import generalised

logger = logging.getLogger(__name__)

PLAN_EVERY = 5
"""Pages of a host between two looks for URLs that would prove its candidates."""
WAITING_LOOKED_AT = 500
PROOFS, PROOF_SHARE = 12, 0.1
"""URLs of one host fetched to prove rules: at most so many, and this share of its pages."""
MAX_CANDIDATES = 12
"""Rules of one host under proof at a time."""


@dataclass
class DustFindings:
    """What one page brought to light."""

    begun: list[str] = field(default_factory=list)
    """Hosts on which rules may do more than before."""
    ended: list[WatchedRule] = field(default_factory=list)
    """Rules withdrawn after they acted."""
    settled: list[Settled] = field(default_factory=list)
    """URLs that a rule would have saved, and that were fetched all the same."""
    probes: list[str] = field(default_factory=list)
    """URLs to fetch that prove a rule or refute it."""
    is_saved: bool = False
    """The page's own URL is one that a rule would have saved."""


class Dust:
    """The rules of a crawl. In memory; pages and rules in the crawl database make it again when it is resumed."""

    def __init__(self, config: Config, db: CrawlDB, now: Callable[[], float]) -> None:
        self._config, self._db, self._now = config, db, now
        self._hosts: dict[str, HostPages] = {}
        self._rules: dict[str, WatchedRule] = {}
        """Key of the rule -> the rule, ended ones as well, which are not proposed again."""
        self._in_force = InForce(self._hosts)
        self.hit = self._in_force.hit
        self._spent: Counter[str] = Counter()
        """Host (and port) -> URLs fetched to prove rules."""
        self._awaited: set[str] = set()
        """Images that were asked for to prove a rule."""
        self._priors: dict[str, list[Rule]] = {}
        self._path_priors: dict[Rule, Change] = {}
        self._last_id = 0
        if config.dust:
            self._carry(priors())
            self._rebuild()

    def forget(self, host: str) -> None:
        pass

    def _rebuild(self) -> None:
        for row in self._db.rules.rows():
            self._take(row)
        self._put_in_force()

    def _host(self, name: str) -> HostPages:
        found = self._hosts.get(name)
        if found is None:
            found = self._hosts[name] = HostPages()
        return found

    # Evidence

    def observe(self, page: Page, url_id: int, twin: PageRow | None) -> DustFindings:
        """Take note of a page that was fetched; *twin* is the page that it repeats."""
        findings = DustFindings()
        if not self._config.dust:
            return findings
        form = form_of(page.url)
        name = parse(form).host
        host = self._host(name)
        if form in host.clusters:
            return findings
        content = content_of(page, self._config.min_words)
        cluster = host.cluster(content, twin.url if twin is not None and twin.host == page.host else None)
        came_by = self._on_host(page.redirected_from, name, form)
        aliases = came_by + self._on_host([page.canonical] if page.canonical else (), name, form)
        self._db.pages.set_content(url_id, content, cluster, json.dumps(aliases) if aliases else None)
        host.add(form, content, cluster, aliases)
        findings.is_saved = self._in_force.saves(form, name)
        if cluster is not None:
            for one in (form, *came_by):
                self._hold_against(name, one, cluster, url_id, findings)
            self._in_force.fetched(form, name)
        is_news = self._propose(name, form)
        self._plan(name, page.host, findings, is_news=is_news)
        return findings

    @staticmethod
    def _on_host(urls: Iterable[str], name: str, form: str) -> list[str]:
        forms = dict.fromkeys(form_of(url) for url in urls)
        return [other for other in forms if other != form and parse(other).host == name]

    def _watched(self, name: str) -> list[WatchedRule]:
        return [watched for watched in self._rules.values() if not watched.is_ended and watched.covers(name)]

    def _hold_against(self, name: str, form: str, cluster: int, url_id: int, findings: DustFindings) -> None:
        for watched in self._watched(name):
            level = watched.level
            settled = watched.observe(form, cluster, url_id, self._hosts[name])
            if settled is None:
                continue
            if level[0]:
                findings.settled.append(settled)
            self._keep(watched)
            if watched.is_ended:
                logger.info("DUST rule %d is withdrawn: %s", watched.id, watched.rule)
                if level[0]:
                    findings.ended.append(watched)
                    self._put_in_force()
            elif watched.level != level and watched.is_acting:
                logger.info("DUST rule %d acts: %s", watched.id, watched.rule)
                findings.begun.append(name.partition(":")[0])
                self._put_in_force()

    def gone(self, url: str, rules: Sequence[int]) -> None:
        """Take note that there is no page at *url*, in whose favour *rules* (their ids) saved others."""
        if not self._config.dust:
            return
        form = form_of(url)
        self._in_force.gone(form)
        misled = [watched for watched in self._rules.values() if watched.id in rules]
        if misled or form in self._awaited:
            for watched in self._watched(parse(form).host):
                if watched.failed(form, is_acting=watched in misled):
                    self._keep(watched)

    # Rules

    def _take(self, row: RuleRow) -> WatchedRule:
        watched = WatchedRule(row)
        self._last_id = max(self._last_id, row.id)
        self._rules[watched.rule.key] = watched
        for image, count in row.proofs:
            self._awaited.add(image)
            self._spent[parse(image).host] += count
        for name, host in self._hosts.items():
            if watched.covers(name):
                watched.learn(host)
        return watched

    def _keep(self, watched: WatchedRule) -> None:
        record = watched.watch
        self._db.rules.update(watched.id, watched.state, record.right, record.wrong, watched.images)

    def _put_in_force(self) -> None:
        acting = [watched for watched in self._rules.values() if watched.is_acting]
        self._in_force.put(acting)
        self._carry(generalised(watched.rule for watched in acting if watched.is_certain))

    def _carry(self, rules: Iterable[Rule]) -> None:
        """Remember *rules* for any host, to be proposed where their argument is met or they change a path."""
        for rule in rules:
            names = triggers(rule.transformation)
            if not names and rule not in self._path_priors:
                self._path_priors[rule] = compiled(rule.transformation)
            for name in names:
                known = self._priors.setdefault(name, [])
                if rule not in known:
                    known.append(rule)

    def _propose(self, name: str, form: str) -> bool:
        """Propose the priors that fit *form* and, when it is time, what the host's own pages teach."""
        host = self._hosts[name]
        rules = self._priors_of(form, name)
        if host.is_due():
            forms, clusters = host.lesson()
            rules += combined.learn(forms, clusters)
        return sum(self._candidate(rule, name) for rule in rules) > 0

    def _priors_of(self, form: str, name: str) -> list[Rule]:
        """Return the priors that fit *form*; arguments of one kind that come together (``C`` and ``O``) go together."""
        kinds: dict[str, list[Rule]] = {}
        for argument in dict.fromkeys(argument_names(form)):
            for rule in self._priors.get(argument, ()):
                kinds.setdefault(rule.learnt_from, []).append(rule)
        pattern = parse(form)
        found = [replace(rule, host=name) for rule, change in self._path_priors.items() if change(pattern) is not None]
        for rules in kinds.values():
            steps = dict.fromkeys(step for rule in rules for step in rule.transformation)
            is_plain = all(not rule.context for rule in rules)
            joint = [replace(rules[0], transformation=tuple(sorted(steps)))] if is_plain and len(rules) > 1 else rules
            found += [replace(rule, host=name) for rule in joint]
        return found

    def _candidate(self, rule: Rule, name: str) -> bool:
        if rule.key in self._rules:
            return False
        under_proof = [watched for watched in self._watched(name) if watched.state == CANDIDATE]
        row = RuleRow(0, rule.to_dict(), CANDIDATE, False, 0, 0, 0, [])
        if len(under_proof) >= MAX_CANDIDATES or self._is_sweeping(WatchedRule(row), name):
            return False
        rule_id = self._db.rules.enter(row.rule, self._now())
        self._take(row._replace(id=rule_id))
        return True

    def _is_sweeping(self, watched: WatchedRule, name: str) -> bool:
        """Tell whether the rule makes one URL of pages with many names: no duplicate has so many."""
        names: dict[str, set[str]] = {}
        for form in self._hosts[name].clusters if name in self._hosts else ():
            image = watched.image(form)
            if image is not None:
                names.setdefault(image, {name_of(image)}).add(name_of(form))
        return any(len(found) > BOILERPLATE_NAMES for found in names.values())

    def clean_param(self, host: str, value: str) -> None:
        """Propose what a ``Clean-param`` line in the robots.txt of *host* says."""
        rule = clean_param(host, value) if self._config.dust else None
        if rule is not None:
            self._candidate(rule, rule.host)

    def _plan(self, name: str, host_name: str, findings: DustFindings, *, is_news: bool) -> None:
        """Look for URLs to fetch that prove the candidates of a host."""
        host = self._hosts[name]
        if self._config.mode is Mode.OBSERVE or not (is_news or host.pages % PLAN_EVERY == 0):
            return
        unproved = [watched for watched in self._watched(name) if watched.needs_proof]
        left = int(PROOFS + PROOF_SHARE * host.pages) - self._spent[name]
        if not unproved or left <= 0:
            return
        waiting = [form_of(url) for url in self._db.urls.waiting_urls(host_name, WAITING_LOOKED_AT)]
        for watched in unproved:
            known = len(watched.proofs)
            found = watched.pairs(host, waiting, left)
            findings.probes += found
            left -= len(found)
            self._spent[name] += len(found)
            if len(watched.proofs) > known:
                self._awaited.update(image for image, _ in watched.proofs)
                self._db.rules.set_proofs(watched.id, watched.proofs)

    def obey(self) -> list[WatchedRule]:
        """Carry out what a person did to the table of rules; return the rules switched off."""
        if not self._config.dust:
            return []
        rows = list(self._db.rules.rows(self._last_id))
        begun = [self._take(row) for row in rows]
        ended = []
        for rule_id in self._db.rules.disabled():
            watched = next((w for w in self._rules.values() if w.id == rule_id and not w.is_ended), None)
            if watched is not None:
                watched.watch.is_withdrawn = True
                ended.append(watched)
        if begun or ended:
            self._put_in_force()
        return ended
