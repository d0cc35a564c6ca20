"""The DUST rules of one host: what they say about a URL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from scrapy_replica.claim import Standing
from scrapy_replica.crawl.urls.contents import callback_in
from scrapy_replica.crawl.urls.gates import Gates
from scrapy_replica.crawl.urls.host_pages import HostPages
from scrapy_replica.crawl.urls.rules_together import Joint, applied, between
from scrapy_replica.crawl.urls.watched_rule import IMAGES_NEEDED, WatchedRule
from scrapy_replica.crawldb.rules import RuleRow
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import repeats, share_argument
from scrapy_replica.urls.rulebook import RuleBook
from scrapy_replica.urls.validation import Pair

MAX_DEAD = 5_000
"""Forms of a host remembered that there is no page at."""
MAX_WAITING = 5_000
"""Canonical forms of a host of which the spelling is remembered that is fetched for all; the first is forgotten."""

_NO_RULES = RuleBook()


class Hit(NamedTuple):
    """Why a URL need not be fetched as it stands."""

    rules: tuple[int, ...]
    target: str
    """What stands in its place: a URL of its canonical form that was fetched, else one that is to be fetched."""
    is_fetched: bool
    is_certain: bool
    is_named: bool = False
    """That one says that the canonical form is its own name; nobody fetched that."""
    is_gate: bool = False
    """Some of the rules say that all of a shape lead there: what is behind any of them is not seen."""
    is_rule_chain: bool = False
    """Some of the rules change neither the URL nor its target, but what others make of one of them."""
    is_made_up: bool = False
    """It may be that no page leads to the canonical form, nor to any of its like. The target is another spelling that
    is fetched as it stands, if one is known.
    """


def _narrowness(watched: WatchedRule) -> tuple[bool, int, int]:
    """Return the key that sorts rules: gates first, whose URLs stand with all of their arguments; then one over an
    argument before one over a value of it, which has nothing to do then and is not tested: of 40 products with two tabs
    125 in place of 136 of 153 requests are made.
    """
    rule = watched.rule
    return not rule.is_gate, len(rule.context), sum(step.value is not None for step in rule.transformation)


class HostRules:
    """The rules of one host (and port), those of many hosts among them, and the pages that they were held against."""

    def __init__(self, name: str, wide: Iterable[WatchedRule]) -> None:
        self.name = name
        self.pages = HostPages()
        self.gates = Gates()
        self.own: dict[str, WatchedRule] = {}
        """Key of the rule -> the rule, ended ones as well, which are not proposed again."""
        self.dead: set[str] = set()
        """Forms that there is no page at."""
        self._apart: dict[tuple[int, ...], list[str]] = {}
        """Ids of rules that were wrong together -> forms that were asked for to tell which of them is wrong."""
        self._led: dict[str, dict[str, int]] = {}
        """Form that was not fetched -> forms that lead there, and the ids of their URLs."""
        self._waiting: dict[tuple[str, int], str] = {}
        """Canonical form and callback -> the spelling that is fetched as it stands; it waits or was fetched."""
        self._redirecting: set[str] = set()
        """Paths of forms that lead elsewhere, as those of a tracker do."""
        self._n_led_away = 0
        """Forms among them that no page led to."""
        self.spent = 0
        """URLs fetched to prove rules."""
        self.next_plan = 0
        """Pages from which URLs are looked for that prove a rule."""
        self._wide = [watched for watched in wide if watched.covers(name)]
        self._acting: dict[str, WatchedRule] = {}
        self._book = _NO_RULES
        self._spellings: dict[str, str] | None = None
        """Canonical form -> the form of it that was fetched first."""
        self._disputed: set[frozenset[int]] = set()
        """Ids of rules that together made one of two different pages: what all of them change is fetched."""

    @property
    def weight(self) -> int:
        """Roughly the bytes that it takes in memory."""
        n_spellings = len(self._spellings) if self._spellings is not None else 0
        rules = sum(watched.weight for watched in self.own.values())
        n_forms = len(self.dead) + len(self.gates) + len(self._led) + len(self._waiting) + len(self._redirecting)
        return self.pages.weight + rules + 300 * n_spellings + 150 * n_forms

    def take(self, row: RuleRow, url_ids: dict[str, int]) -> WatchedRule:
        """Take up a rule of this host; *url_ids* are those of the pages by their form, as far as they are known."""
        watched = WatchedRule(row)
        self.own[watched.rule.key] = watched
        self.spent += sum(count for _, count in row.proofs)
        watched.replay(self.pages, url_ids)
        return watched

    def watched(self) -> list[WatchedRule]:
        """Return the rules that have not ended."""
        return [watched for watched in (*self.own.values(), *self._wide) if not watched.is_ended]

    def is_refused(self, candidate: WatchedRule) -> bool:
        """Tell whether *candidate* says what a rule said that was wrong, of all of its arguments, or what one said that
        a person switched off: of one argument of it, or, in another form, of a page that was fetched.
        """
        wrong = [watched for watched in self.own.values() if watched.state is Standing.REFUTED and watched.has_acted]
        off = [watched for watched in (*self.own.values(), *self._wide) if watched.state is Standing.DISABLED]
        if any(repeats(candidate.rule, watched.rule) for watched in wrong):
            return True
        if any(share_argument(watched.rule, candidate.rule) for watched in off):
            return True
        images = (
            (watched.changed.image(form), candidate.changed.image(form))
            for watched in off
            for form in self.pages.clusters
        )
        return any(image is not None and image == other for image, other in images)

    def put_in_force(self) -> None:
        acting = sorted((watched for watched in self.watched() if watched.is_acting), key=_narrowness)
        self._acting = {watched.rule.key: watched for watched in acting}
        self._book = RuleBook(watched.rule for watched in acting) if acting else _NO_RULES
        self._spellings = None
        self._disputed.clear()

    def hit(self, form: str, callback: int) -> Hit | None:
        """Return what the rules say about *form*, asked for with *callback*; ``None``: to be fetched as it stands."""
        if not self._acting or form in self.pages.clusters or self._is_asked(form):
            return None
        canonical, rules = self.canonical(form)
        if not rules:
            return self._of_canonical(form, callback)
        fetched = self.fetched_form(canonical)
        target = fetched if fetched is not None else self.pages.namer(canonical)
        if target is None:
            return self._of_unread(form, canonical, rules, callback)
        needed = self._needed(form, target, rules)
        if not self._may_act(canonical, needed, callback):
            return None
        cluster = self.pages.clusters.get(target)
        if cluster is None or self.pages.is_boilerplate(cluster):
            # Nothing shows that this page has one content under all its names: only its neighbours speak for it.
            is_saved = self._are_proved_beside(canonical, needed, callback)
        else:
            is_saved = callback_in(cluster) == callback
        hit = self._saying(form, needed, target, is_fetched=True)
        return hit._replace(is_named=fetched is None) if is_saved else None

    def _of_canonical(self, form: str, callback: int) -> Hit | None:
        """Return what the rules say about a *form* that they do not change: that another spelling of it was fetched.

        Where such forms that came after their spellings were the same page: a version for print that is met first says
        nothing of where its page leads.
        """
        target = self.fetched_form(form)
        cluster = self.pages.clusters.get(target) if target is not None else None
        if target is None or cluster is None or callback_in(cluster) != callback or self.pages.is_boilerplate(cluster):
            return None
        needed = self._needed(form, target, [])
        hold = all(rule.holds_backward for rule in needed) and self._may_act(form, needed, callback)
        return self._saying(form, needed, target, is_fetched=True) if needed and hold else None

    def _may_act(self, canonical: str, needed: Mapping[WatchedRule, str], callback: int) -> bool:
        """Tell whether rules hold where what each changes is, and no page showed that together they are wrong."""
        is_joint = len(needed) > 1
        are_held = all(rule.holds(one, canonical, callback, is_joint=is_joint) for rule, one in needed.items())
        return are_held and not (is_joint and self._is_disputed(needed))

    @staticmethod
    def _are_proved_beside(canonical: str, needed: Mapping[WatchedRule, str], callback: int) -> bool:
        is_joint = len(needed) > 1
        return all(rule.is_proved_beside(one, canonical, callback, is_joint=is_joint) for rule, one in needed.items())

    def _needed(self, form: str, target: str | None, rules: list[WatchedRule]) -> Mapping[WatchedRule, str]:
        """Return the rules that make one page of *form*, which *rules* change, and its *target*, and what each changes.

        Where both have one session the rule about that says nothing of them: it may be uncertain, and is not tested.
        """
        if target is None:
            return dict(applied(rules, form))
        return between(form, rules, target, self.canonical(target)[1])

    def _of_unread(self, form: str, canonical: str, rules: list[WatchedRule], callback: int) -> Hit | None:
        """Return what *rules* say about *form*, of whose *canonical* form no page with a text is known."""
        is_made_up = self._n_led_away >= IMAGES_NEEDED or not all(rule.are_images_linked for rule in rules)
        is_made_up |= any(rule.holds_backward for rule in rules)  # what is fetched stands for the image as well
        waiting = self._standing_in(canonical, callback) if is_made_up else None
        if waiting == form:
            return None
        needed = self._needed(form, waiting, rules)
        if not self._may_act(canonical, needed, callback):
            return None
        if waiting in self.pages.clusters:
            is_saved = self._are_proved_beside(canonical, needed, callback)
            return self._saying(form, needed, waiting, is_fetched=True) if is_saved else None
        is_there = waiting is not None or (canonical not in self.dead and all(rule.has_images for rule in needed))
        hit = self._saying(form, needed, waiting or canonical, is_fetched=False)
        return hit._replace(is_made_up=is_made_up) if is_there else None

    def _standing_in(self, canonical: str, callback: int) -> str | None:
        """Return the spelling that is fetched for all of that *canonical* form; ``None`` if none is known."""
        form = self._waiting.get((canonical, callback))
        if form is None or form in self.dead or parse(form).path in self._redirecting:
            return None
        return form if self.canonical(form)[0] == canonical else None

    def note_redirect(self, form: str, *, is_linked: bool) -> None:
        """Take note that *form* leads elsewhere: what it says is known when it was fetched, and not before.

        Where forms that no page led to do, a form that stands in the place of another costs a fetch more than that.
        """
        self._n_led_away += not is_linked
        if len(self._redirecting) < MAX_DEAD:
            self._redirecting.add(parse(form).path)

    def is_page_elsewhere(self, form: str) -> bool:
        """Tell whether a spelling of *form*, as rules see it, was fetched and is a page, and leads nowhere."""
        spellings = (watched.changed.spelling_of(form) for watched in self.watched())
        return any(one is not None and parse(one).path not in self._redirecting for one in spellings)

    def note_waiting(self, form: str, callback: int) -> None:
        """Take note that *form* is to be fetched as it stands, for *callback*: its other spellings need not be."""
        canonical, rules = self.canonical(form)
        if rules:
            if len(self._waiting) >= MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]
            self._waiting[canonical, callback] = form

    @staticmethod
    def _saying(form: str, rules: Collection[WatchedRule], target: str, *, is_fetched: bool) -> Hit:
        is_rule_chain = len(rules) > 1 and not all(
            rule.changed.image(form) is not None or rule.changed.image(target) is not None for rule in rules
        )
        ids, is_certain = tuple(rule.id for rule in rules), all(rule.is_certain for rule in rules)
        return Hit(
            ids,
            target,
            is_fetched,
            is_certain,
            is_gate=any(rule.rule.is_gate for rule in rules),
            is_rule_chain=is_rule_chain,
        )

    def canonical(self, form: str) -> tuple[str, list[WatchedRule]]:
        canonical, rules = self._book.canonical(form)
        return (canonical, list(dict.fromkeys(self._acting[rule.key] for rule in rules))) if rules else (form, [])

    def is_one(self, pair: Pair) -> bool:
        """Tell whether the rules in force make one page of *pair* already."""
        return bool(self._acting) and self.canonical(pair.url)[0] == self.canonical(pair.image)[0]

    def fetched_form(self, canonical: str) -> str | None:
        """Return the fetched form that stands for all of that *canonical* form; ``None`` if none was fetched."""
        is_there = canonical in self.pages.clusters and canonical not in self.dead
        return canonical if is_there else self._first_spellings().get(canonical)

    def _first_spellings(self) -> dict[str, str]:
        if self._spellings is None:
            self._spellings = {}
            for form, cluster in self.pages.clusters.items():
                if cluster is not None and form not in self.dead:
                    self._take_up(form, self._spellings)
        return self._spellings

    def _take_up(self, form: str, spellings: dict[str, str]) -> None:
        """Take note of the page at *form*, and whether it disputes what rules say together."""
        canonical, rules = self.canonical(form)
        other = spellings.setdefault(canonical, form)
        if other != form and len(self._acting) > 1:
            joint = self._joint(form, other, rules)
            if joint is not None and self.are_other(joint):
                self._disputed.add(frozenset(joint.ids))

    def _is_disputed(self, rules: Iterable[WatchedRule]) -> bool:
        self._first_spellings()  # which finds the disputes
        ids = {rule.id for rule in rules}
        return any(disputed <= ids for disputed in self._disputed)

    def are_other(self, joint: Joint) -> bool | None:
        """Tell whether the two pages of *joint* are different ones; ``None`` where nothing is told."""
        changed, other = (self.pages.cluster_at(form) for form in (joint.changed, joint.other))
        if not self.pages.are_told(changed, other):
            return None
        return changed != other and not self.pages.look_alike(changed, other)

    def note_destination(self, form: str, url_id: int, there: str) -> None:
        """Take note that *form*, whose URL has that id, leads *there*, which may be fetched by another link."""
        if len(self._led) < MAX_DEAD:
            self._led[there] = {**self._led.get(there, {}), **self._led.pop(form, {}), form: url_id}

    def pop_sources(self, form: str) -> dict[str, int]:
        """Return the forms that lead to *form*, which was fetched, and the ids of their URLs."""
        return self._led.pop(form, {})

    def note_fetched(self, form: str) -> None:
        self.dead.discard(form)
        if self._spellings is not None:
            self._take_up(form, self._spellings)

    def joint_pair(self, form: str) -> Joint | None:
        """Return what several rules make one with the page at *form*.

        ``None`` if nothing else of its canonical form was fetched, or if one rule joins the two, which sees it itself.
        """
        if len(self._acting) < 2:
            return None
        canonical, rules = self.canonical(form)
        other = self.fetched_form(canonical)
        if other == form:
            other = self._first_spellings().get(canonical)
        return None if other is None or other == form else self._joint(form, other, rules)

    def _joint(self, form: str, other: str, rules: list[WatchedRule]) -> Joint | None:
        others = self.canonical(other)[1]
        if not rules:
            form, rules, other, others = other, others, form, rules
        found = between(form, rules, other, others)
        return Joint(form, other, found) if len(found) > 1 else None

    def tell_apart(self, joint: Joint) -> list[str] | None:
        """Return the forms to fetch that tell which of the rules of *joint* is wrong: each one changes alone. ``None``
        where some were asked for before.
        """
        if joint.ids in self._apart:
            return None
        singles = dict.fromkeys(rule.changed.image(form) for rule, form in joint.rules.items())
        asked = [form for form in singles if form is not None and form not in self.pages.clusters]
        self._apart[joint.ids] = asked
        return asked

    def _is_asked(self, form: str) -> bool:
        return any(form in forms for forms in self._apart.values())

    def note_gone(self, form: str) -> None:
        """Take note that there is no page at *form*: it stands for no other."""
        if len(self.dead) < MAX_DEAD:
            self.dead.add(form)
        if self._spellings is not None and self._spellings.get(canonical := self.canonical(form)[0]) == form:
            del self._spellings[canonical]
