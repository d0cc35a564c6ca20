"""DUST in a running crawl: what is fetched is held against rewrite rules, and proposes others."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping

from scrapy_replica.config import Config
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.urls.contents import callback_in, callback_number, content_of, form_of, is_of_links
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules, host_named
from scrapy_replica.crawl.urls.dust_findings import DustFindings
from scrapy_replica.crawl.urls.gates import destination_of
from scrapy_replica.crawl.urls.host_rules import HostRules
from scrapy_replica.crawl.urls.leads import Lead, leads_of, pack_leads, unpack_leads
from scrapy_replica.crawl.urls.watched_rule import Level, Settled, WatchedRule
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.pages import PageRow
from scrapy_replica.decision import Outcome
from scrapy_replica.records import Novelty, Page
from scrapy_replica.urls.pattern import parse
from scrapy_replica.words.rules import rule as in_words

logger = logging.getLogger(__name__)


class Dust:
    """Holds each page that was fetched against the rules of its host.

    :param is_stale: whether a page may have changed since it was seen, so that it is asked for again before another is
        held against it.
    """

    def __init__(
        self, config: Config, db: CrawlDB, rules: CrawlRules, is_stale: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._config, self._db, self._rules, self._is_stale = config, db, rules, is_stale

    def observe(self, observation: Observation, callback: str = "", *, asks_more: bool = False) -> DustFindings:
        """Take note of a page that was fetched and of which the spider's *callback* is through.

        *asks_more*: its callback asked for a URL that is new and stands on no page. What looks like another page and
        leads elsewhere is one of its own: a shell, a page whose argument shows a menu.
        """
        findings = DustFindings()
        if not self._config.dust:
            return findings
        page, url_id, number = observation.page, observation.url_id, callback_number(callback)
        form = form_of(page.url)
        host = self._rules.host_before(url_id, parse(form).host)
        told = 0 if observation.items else observation.told  # what comes of it is not known yet
        of_links = is_of_links(page)
        content = content_of(page, number, self._config.min_words, observation.items, told, of_links=of_links)
        if not observation.is_changed and host.pages.knows(form, content):
            return findings
        host.gates.read(page)
        leads, cluster = leads_of(page), host.pages.cluster(content)
        news, first_met = self._new_of(host, leads, cluster)
        if content is not None and cluster is not None:
            twin = None if of_links else self._twin_of(host, observation, cluster)  # of links it resembles by a menu
            asks_more = asks_more or observation.gives_news
            findings.is_part = not asks_more and not news and self._lacks(host, form, leads, twin)
            items = frozenset(observation.items)
            own = None if asks_more or news else host.pages.told_apart_by(content, leads, items)
            if own is None and host.pages.has(cluster) and (asks_more or news or findings.is_part):
                # Its links wait, and tell when their turn comes: where processes share a crawl another may fetch them.
                is_open = twin is not None and not asks_more and not self._db.is_shared
                news_of = items if observation.gives_news else frozenset[int]()
                own = host.pages.tell_apart(form, content, cluster, news_of, is_open=is_open)
            cluster = own or cluster
        came_by = self._came_by(host, page, form, url_id)
        host.pages.meet(leads, cluster)
        self._enter(host, form, observation, content, cluster, came_by, first_met)
        self._hold_against_gates(host, form, None, url_id, number, findings)
        closed = cluster if host.gates.is_closed(page) else None
        if closed is not None and (place := host.gates.first_shown(closed, form)) != form:
            self._look_for_gate(host, form, place, is_page=True)
        self._hold_against_rules(host, page.host, form, url_id, cluster, came_by, findings)
        return findings

    def _new_of(
        self, host: HostRules, leads: Mapping[Lead, str], cluster: int | None
    ) -> tuple[frozenset[Lead], frozenset[Lead]]:
        """Return which of the *leads* of a page of that *cluster* lead where none led before, and which none had."""
        news, first_met = host.pages.news(leads), host.pages.first_met(leads)
        if news and cluster is not None and host.pages.has(cluster):
            known = frozenset(lead for lead in news if self._rules.is_known_place(leads[lead]))
            return news - known, first_met - known
        return news, first_met

    @staticmethod
    def _twin_of(host: HostRules, observation: Observation, cluster: int) -> PageRow | None:
        """Return the page of its host and *cluster* that a page repeats: no other version, nor what others got.

        Near duplicates are often two things of one template: variants that differ in a seat, or in a currency.
        """
        twin, is_exact = observation.twin, observation.novelty is Novelty.EXACT_DUPLICATE
        if twin is None or not is_exact or twin.host != observation.page.host:
            return None
        return twin if host.pages.clusters.get(form_of(twin.url)) == cluster else None

    def _enter(
        self,
        host: HostRules,
        form: str,
        observation: Observation,
        content: int | None,
        cluster: int | None,
        came_by: Iterable[str],
        first_met: Collection[Lead],
    ) -> None:
        """Write down what the page at *form* is on its *host*, and where it is the first to lead."""
        page, url_id = observation.page, observation.url_id
        if observation.depth == 0:
            host.pages.unlinked.add(form)
        if content is None and page.signature is not None:
            host.pages.keep_text((form, *came_by), page.signature)
        aliases = [*came_by, *self._on_host([page.canonical] if page.canonical else (), host.name, form)]
        kept = sorted(first_met)[: host.pages.room]
        first = None if self._db.urls.is_first(url_id) else self._db.pages.leads(url_id)  # of a page that changed
        told = json.dumps(aliases) if aliases else None
        self._db.pages.set_content(url_id, content, cluster, told, (first or b"") + pack_leads(kept))
        host.pages.add(form, content, cluster, aliases, kept)

    def are_one(self, url: str, other: str) -> bool | None:
        """Tell whether two URLs of one host are one page; ``None`` where one was not read, or has too little text."""
        form = form_of(url)
        clusters = self._rules.hosts.of(parse(form).host).pages.clusters
        mine, theirs = clusters.get(form), clusters.get(form_of(other))
        return None if mine is None or theirs is None else mine == theirs

    def is_repeat(self, url: str) -> bool:
        """Tell whether the page at *url* is another one of its host, and leads nowhere where none led before."""
        form = form_of(url)
        return self._rules.hosts.of(parse(form).host).pages.is_repeat(form)

    def led_to_news(self, url: str, samples_of: Collection[int]) -> DustFindings:
        """Take note that *url*, a sample of rules (their ids), alone led to news: it is not what rules took it for."""
        findings, form = DustFindings(), form_of(url)
        if not self._config.dust:
            return findings
        host = self._rules.hosts.of(parse(form).host)
        callback = callback_in(host.pages.clusters.get(form) or 0)
        for watched in host.watched():
            level = watched.level
            if watched.led_to_news(form, callback, is_sample=watched.id in samples_of):
                self._apply_outcome(host, watched, level, findings, is_same=False)
        return findings

    def observe_redirect(self, url: str, url_id: int, location: str, callback: str = "") -> DustFindings:
        """Take note that *url*, which the spider's *callback* was to get, leads to *location*.

        A tracker leads to one place by another URL from each page, and a login is where many URLs lead.
        """
        findings, form = DustFindings(), form_of(url)
        if not self._config.dust:
            return findings
        name = parse(form).host
        host = self._rules.host_before(url_id, name)
        is_linked = url_id not in self._db.unrequested.ids
        host.note_redirect(form, is_linked=is_linked)
        if not is_linked and host.is_page_elsewhere(form):
            host.note_gone(form)  # it needs what a rule left out, as a session: that says nothing of its spellings
            return findings
        place = destination_of(form, location)
        self._hold_against_gates(host, form, place, url_id, callback_number(callback), findings)
        self._look_for_gate(host, form, place, is_page=False)
        if parse(location).host == name and form_of(location) not in host.pages.clusters:
            host.note_destination(form, url_id, form_of(location))
            return findings  # the page there tells
        cluster = host.pages.redirect(location, callback_number(callback), name)
        if cluster is not None and form not in host.pages.clusters:
            self._db.pages.set_content(url_id, cluster, cluster, None, b"")
            host.pages.add(form, cluster, cluster)
        if cluster is not None or parse(location).host == name:
            self._hold_against_rules(host, host_named(name), form, url_id, cluster, {}, findings)
        return findings

    def _hold_against_rules(
        self,
        host: HostRules,
        host_name: str,
        form: str,
        url_id: int,
        cluster: int | None,
        came_by: Mapping[str, int],
        findings: DustFindings,
    ) -> None:
        """Hold what was fetched from *form* against what rules take it for, and propose others.

        :param came_by: forms that led there -> ids of their URLs.
        """
        if url_id in self._db.unrequested.ids:
            host.pages.unlinked.add(form)
        for one, one_id in {form: url_id, **came_by}.items():
            self._hold_against_each(host, one, cluster, one_id, findings)
            self._hold_jointly(host, one, one_id, findings)
        if cluster is not None:
            host.note_fetched(form)
        is_news = self._rules.proposals.propose(host, form)
        findings.probes += self._rules.proposals.plan(host, host_name, is_news=is_news)

    def _lacks(self, host: HostRules, form: str, leads: Collection[Lead], twin: PageRow | None) -> bool:
        """Tell whether the *twin* of a page leads somewhere where neither the page nor any other does.

        The twin's form is the longer one, so a rule would keep the page and not fetch those like the twin.
        """
        if twin is None or len(form_of(twin.url)) <= len(form):
            return False
        packed = self._db.pages.leads(twin.url_id)
        there = set().union(*leads)
        lacking = (lead for lead in unpack_leads(packed or b"") if there.isdisjoint(lead))
        return any(map(host.pages.hangs_on, lacking))

    def _came_by(self, host: HostRules, page: Page, form: str, url_id: int) -> dict[str, int]:
        led_here = [one for one in self._on_host(page.redirected_from, host.name, form) if one not in host.dead]
        return dict.fromkeys(led_here, url_id) | host.pop_sources(form)

    @staticmethod
    def _on_host(urls: Iterable[str], name: str, form: str) -> list[str]:
        forms = dict.fromkeys(form_of(url) for url in urls)
        return [other for other in forms if other != form and parse(other).host == name]

    def _hold_against_each(
        self, host: HostRules, form: str, cluster: int | None, url_id: int, findings: DustFindings
    ) -> None:
        def is_stale(other: str) -> bool:
            return other in host.dead or self._is_stale(other)

        for watched in host.watched():
            if watched.rule.is_gate:
                continue
            level = watched.level
            settled = watched.observe(form, cluster, url_id, host.pages, is_stale)
            if settled is not None and level.is_acting:
                findings.settled.append(settled._replace(image_id=url_id if url_id != settled.url_id else None))
            is_told = settled is not None and settled.outcome is not Outcome.UNKNOWN
            if settled is not None and is_told and not (settled.is_named and settled.outcome is Outcome.OTHER):
                self._apply_outcome(host, watched, level, findings, is_same=settled.outcome is Outcome.SAME)

    def _hold_against_gates(
        self, host: HostRules, form: str, place: str | None, url_id: int, callback: int, findings: DustFindings
    ) -> None:
        """Hold where *form* leads, ``None`` for a page, against where all of its shape are said to lead."""
        clusters = host.pages.clusters
        for watched in host.watched():
            if watched.rule.is_gate and (image := watched.changed.image(form)) is not None:
                level = watched.level
                if place is not None:
                    is_there = host.canonical(image)[0] == host.canonical(place)[0]
                else:
                    is_there = clusters.get(form) is not None and clusters.get(form) == clusters.get(image)
                settled = watched.observe_redirect(form, image, url_id, callback, is_there=is_there)
                if level.is_acting:
                    findings.settled.append(settled)
                self._apply_outcome(host, watched, level, findings, is_same=is_there)

    def _look_for_gate(self, host: HostRules, form: str, place: str, *, is_page: bool) -> None:
        """Propose that all of a shape lead to *place*, or show it, where *form* and others of it do."""
        clusters = host.pages.clusters
        pages = (one for one, cluster in clusters.items() if cluster is None or cluster != clusters.get(place))
        rule = host.gates.add(form, place, pages, lambda one: host.canonical(one)[0], is_page=is_page)
        if rule is not None:
            self._rules.proposals.propose_learnt(host, [rule])

    def _hold_jointly(self, host: HostRules, form: str, url_id: int, findings: DustFindings) -> None:
        """Hold the page against another of its canonical form that no single rule takes it for.

        Where they are different pages any of the rules may be wrong, or all of them together: none is blamed before a
        page is fetched that it changes alone.
        """
        joint = host.joint_pair(form)
        if joint is None:
            return
        ids = (watched.changed.id_of(joint.changed) for watched in joint.rules)
        changed_id = url_id if joint.changed == form else next(filter(None, ids), 0)
        image_id = url_id if url_id != changed_id else None
        are_other = host.are_other(joint)
        if are_other is None:
            findings.settled.append(Settled(changed_id, Outcome.UNKNOWN, joint.ids, image_id=image_id))
        elif not are_other:
            findings.settled.append(Settled(changed_id, Outcome.SAME, joint.ids, image_id=image_id))
            cluster = host.pages.cluster_at(joint.changed)
            is_one = cluster == host.pages.cluster_at(joint.other)
            are_direct = all(changed == joint.changed for changed in joint.rules.values())
            for watched, changed in joint.rules.items() if is_one and are_direct else ():
                level, callback = watched.level, callback_in(cluster or 0)
                watched.record(changed, host.canonical(joint.other)[0], callback, is_same=True, is_joint=True)
                self._apply_outcome(host, watched, level, findings, is_same=True)
        elif not self._is_stale(joint.other if joint.changed == form else joint.changed):
            findings.settled.append(Settled(changed_id, Outcome.OTHER, joint.ids, image_id=image_id))
            if (forms := host.tell_apart(joint)) is not None:
                logger.info("Rules %s together were wrong: %s is not %s", joint.ids, joint.changed, joint.other)
                findings.disputed.append(joint.ids)
                findings.probes += forms

    def _apply_outcome(
        self, host: HostRules, watched: WatchedRule, level: Level, findings: DustFindings, *, is_same: bool
    ) -> None:
        """Draw the consequences of a pair for the rule, which might do what *level* says before it."""
        self._rules.keep(watched)
        if watched.is_ended:
            logger.info("Rule %d was wrong and is refuted: %s", watched.id, in_words(watched.rule.to_dict()))
            self._rules.proposals.priors.add_refuted(watched.rule)
            if level.is_acting:
                findings.ended.append(watched)
                self._rules.put_in_force(host, watched)
        elif level.is_acting and not is_same:
            findings.doubted.append(watched)
            if level.holds_backward and not watched.holds_backward:
                findings.disputed.append((watched.id,))
        elif watched.level != level and watched.is_acting:
            if not level.is_acting:
                logger.info("Rule %d is in force: %s", watched.id, in_words(watched.rule.to_dict()))
            findings.begun.append(host_named(host.name))
            self._rules.put_in_force(host, watched)

    def note_gone(self, url: str, rules: Collection[int], *, is_told: bool) -> None:
        """Take note that there is no page at *url*, in whose favour *rules* (their ids) saved others.

        *is_told*: its row says so to whoever reads the host, which need not be read for it.
        """
        if not self._config.dust:
            return
        form = form_of(url)
        name = parse(form).host
        if is_told and not rules and name not in self._rules.hosts:
            return
        host = self._rules.hosts.of(name)
        host.note_gone(form)
        for watched in host.watched() if rules else ():
            if watched.id in rules and watched.changed.image(form) is None:
                # A request spent on nothing weighs more than one that was well spent: a third may be missing.
                watched.images -= 2
                self._rules.keep(watched)

    def work(self) -> None:
        """Do a little of what is too long for one turn."""
        if (lesson := self._rules.proposals.work()) is not None:
            name, rules = lesson
            self._rules.proposals.propose_learnt(self._rules.hosts.of(name), rules)
