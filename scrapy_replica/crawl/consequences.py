"""What follows from findings on hosts and rules: pages are asked for, and what was saved wrongly comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_replica.address import host_of
from scrapy_replica.crawl.fallback import Fallback
from scrapy_replica.crawl.hosts.replicas import ProbeUrl, Replicas
from scrapy_replica.crawl.intake import Intake
from scrapy_replica.crawl.obeying import Obeying
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.policy import ONLY, cause_by, cause_on, links_beside
from scrapy_replica.crawl.probing import EARLY_PAGES, Probe, Probing
from scrapy_replica.crawl.samples import DOUBTED, Samples
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawl.trials import Trials
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.look_ahead import LookAhead
from scrapy_replica.crawl.urls.watched_rule import Settled, WatchedRule
from scrapy_replica.crawldb.contract import URGENT, CrawlDB, State, Waiting
from scrapy_replica.crawldb.orders import ALLOW, BLOCK, DIFFERENT, DISABLE_RULE
from scrapy_replica.crawldb.orders import RULE as RULE_ORDER
from scrapy_replica.crawldb.pages import MISSING
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Novelty, Verdict
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.detector import Findings
from scrapy_replica.sites.evidence import PageMark, path_of
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.urls.rule import Rule
from scrapy_replica.urls.validation import PROVED

OF = "of "
"""Begins the work of bringing back what a cause saved."""

FOR, FOR_NOW = "for", "for-now"
"""Begin that of bringing back what was saved in favour of one page: for good, or until that page may be there again."""

HOST, RULE, RULES = "host ", "rule ", "rules "
"""Begin the causes that are verdicts, rules, and several rules together."""

MOST_BEREFT = 1_000
"""Targets that bring no page looked for at once, when everything was fetched."""

SLICE = 100
"""URLs that come back in one turn: 3 ms."""


@dataclass(slots=True)
class _Work:
    """What one thing that ended saved, on its way back."""

    reason: Reason
    evidence: Mapping[str, object]
    done: int = 0
    """Id of the last URL that came back: what is saved again meanwhile, because the host is blocked anew, stays so."""


def _reason_of(cause: str) -> Reason:
    """Return the reason behind *cause*; a verdict where it is none, as in work for one page."""
    if cause.startswith((RULE, RULES)):
        return Reason.DUST_RULE
    told = cause.partition(" ")[0]
    return Reason(told) if told in {reason.value for reason in Reason} else Reason.REPLICA_HOST


class Consequences:
    """Carries findings out on the frontier; nothing else does.

    A verdict or rule that comes into force needs no work here: what waits is decided once more when it is taken. What
    one saved that ends comes back in slices, written down so that no end of the process loses it.
    """

    def __init__(
        self,
        store: CrawlDB,
        intake: Intake,
        replicas: Replicas,
        dust: Dust,
        trials: Trials,
        samples: Samples,
        fallback: Fallback,
        scope: CrawlScope,
        obeying: Obeying,
        look_ahead: LookAhead,
        counts: Counter[str],
    ) -> None:
        self._store, self._intake, self._counts = store, intake, counts
        self._replicas, self._dust, self._scope = replicas, dust, scope
        self._trials, self._samples, self._fallback = trials, samples, fallback
        self._obeying, self._look_ahead = obeying, look_ahead
        obeying.add(BLOCK, self._block, host=str, keeper=str)
        obeying.add(ALLOW, self._allow, host=str)
        obeying.add(DIFFERENT, self._part, host=str, other=str)
        obeying.add(RULE_ORDER, self._impose, rule=dict)
        obeying.add(DISABLE_RULE, self._disable, id=int)
        self.may_enter_probes = False
        """The spider follows links by itself, so that a page it did not ask for does no harm to its callbacks."""
        self._probing = Probing(store.pages.count(EARLY_PAGES))
        self._work: dict[str, _Work] = {}
        if store.leads:
            self.adopt()

    def adopt(self) -> None:
        """Go on with all work that was begun and not ended, by whatever process; what is done twice does no harm."""
        for work in self._store.saved.unfinished_work():
            self._work.setdefault(work, _Work(_reason_of(work.removeprefix(OF)), {}))

    def of_page(self, observation: Observation) -> None:
        """Carry out what the page brought to light, and settle what it is a sample of."""
        self._of_hosts(observation)
        self._end(self._fallback.fetched(observation))
        self._samples.begin(observation.url_id)
        self._of_target(observation)
        self._probing.paged()
        self._probe()

    def _of_hosts(self, observation: Observation) -> None:
        self._of_judged(observation, *self._replicas.observe(observation.page, observation.url_id))

    def _of_judged(self, observation: Observation, findings: Findings, probes: Iterable[ProbeUrl]) -> None:
        self.of_findings(findings)
        for probe in probes:
            self._probing.of_hosts(Probe(probe, observation.depth + 1, observation.url_id))

    def of_findings(self, findings: Findings) -> None:
        """Carry out what came to light about hosts."""
        self._counts["host/blocked"] += len(findings.verdicts)
        self._counts["host/conflicts"] += len(findings.conflicts)
        self._heed_scope({verdict.keeper for verdict in findings.verdicts})

    # What other processes found

    def of_heard_host(self, observation: Observation, mark: PageMark, neighbours: Neighbours, at: float) -> None:
        """Carry out what a page that another process fetched *at* some time says of hosts."""
        self._of_judged(observation, *self._replicas.heard(observation.page, mark, neighbours, at))

    def of_heard_page(self, observation: Observation) -> None:
        """Carry out what a page of another process brings to light beside that.

        The process that leads settles samples as well: the two pages of one may have been fetched at a time, so that
        neither of the processes that fetched them knew the other.
        """
        self._end(self._fallback.fetched(observation))
        if self._store.leads:
            self._end(self._samples.heard(observation.page, observation.url_id))
            self._probing.paged()
            self._probe()
        key = self._store.urls.key_of(observation.url_id)
        causes = self._saved_for(key)
        self._tried(causes, is_kept=True)
        if key is not None and self._says_nothing(observation) and any(cause.startswith(HOST) for cause in causes):
            twin = observation.twin
            repeats = {"repeats": twin.url if twin is not None else None}
            self._intake.bring_back_late(key, Reason.REPLICA_HOST, repeats)

    def of_heard_failure(self, url_id: int, url: str, key: int | None, status: int | None) -> None:
        """Take note that a fetch of another process brought no page."""
        causes = self._saved_for(key)
        self._tried(causes, is_kept=False)
        self._fallback.failed(url_id)
        if self._store.leads and (status is None or status >= MISSING):
            self._end(self._samples.failed(url_id))
        if key is not None:
            self._intake.bring_back_late(key, _reason_of(causes[0] if causes else ""), {"gone": url})

    def of_heard_scope(self, hosts: Iterable[str]) -> None:
        """Take note that another process reached verdicts for those *hosts*, or left out parts of them."""
        self._heed_scope(hosts)

    def of_heard_end(self, cause: str) -> None:
        """Take note that *cause* ended in another process, which lets come back what it knew of."""
        self._intake.end(cause)
        self._intake.bring_back_late(cause, _reason_of(cause), {"ended": cause})

    def of_heard_samples(self, causes: Iterable[str]) -> None:
        """Take note of samples that other processes drew or settled; end what only all of them together refute."""
        refuted = self._trials.heed(causes)
        if self._store.leads:
            self._end([cause for cause in refuted if not self._intake.has_ended(cause)])

    # Probes and targets

    def _probe(self) -> None:
        """Ask for the probes whose turn it is."""
        while (due := self._probing.due()) is not None:
            probe, is_of_host = due
            is_asked = self._ask(probe)
            if is_of_host:
                self._counts["host/probes"] += is_asked
            else:
                self._counts["dust/probes"] += is_asked or self._ask(
                    probe._replace(page=probe.page._replace(is_known=False))
                )

    def _ask(self, probe: Probe) -> bool:
        page = probe.page
        if page.is_known:
            return self._store.urls.rescore({self._intake.key(page.url): URGENT}) > 0
        return self.may_enter_probes and self._intake.ask_for(
            page.url, page.host, URGENT, depth=probe.depth, parent=probe.parent
        )

    def _of_target(self, observation: Observation) -> None:
        """Look whether the page can stand for what was saved in its favour.

        A page of a kept host that says nothing, or what another one of its host says, may be an answer to whatever is
        asked: its copies are asked for it.
        """
        key = self._store.urls.key_of(observation.url_id)
        causes = self._saved_for(key)
        self._tried(causes, is_kept=True)
        if not self._says_nothing(observation):
            return
        twin = observation.twin
        if any(cause.startswith(HOST) for cause in causes):
            self._bring_back(f"{FOR} {key}", Reason.REPLICA_HOST, {"repeats": twin.url if twin is not None else None})
        else:
            self._fallback.ask(observation.url_id)

    @staticmethod
    def _says_nothing(observation: Observation) -> bool:
        """Tell whether a page has no text, or that of another one of its host."""
        twin = observation.twin
        is_own = twin is None or twin.host == observation.page.host
        return observation.novelty in {Novelty.UNKNOWN, Novelty.EXACT_DUPLICATE} and is_own

    def _saved_for(self, key: int | None) -> list[str]:
        """Return the causes of what was saved in favour of the URL under *key*."""
        return self._store.saved.causes_of(key) if key is not None else []

    def _tried(self, causes: Sequence[str], *, is_kept: bool) -> None:
        for cause in causes:
            if cause.startswith(ONLY):
                self._replicas.tried(cause.removeprefix(ONLY), is_kept=is_kept)

    def of_callback(self, observation: Observation, callback: str, *, asks_more: bool) -> None:
        """Carry out what the page says, now that it is known what *callback* made of it and asked for."""
        if not observation.is_known:
            self._end(self._samples.fetched(observation.page, observation.url_id))
        if observation.gives_news:
            self._give_back(observation.dropped)
        self._heed_scope(self._scope.take_news())
        findings = self._dust.observe(
            observation.page,
            observation.url_id,
            observation.twin,
            callback,
            asks_more=asks_more,
            is_changed=observation.is_changed,
        )
        for watched in findings.ended:
            self._withdraw(watched)
        for settled in findings.settled:
            self._end(self._settle(settled))
        for rules in findings.disputed:
            self._bring_back(f"{OF}{cause_by(rules)}", Reason.DUST_RULE, {"ended": cause_by(rules)})
        for watched in findings.doubted:
            self._samples.look_at(f"{RULE}{watched.id}", Reason.DUST_RULE, DOUBTED)
        self._counts["dust/begun"] += len(set(findings.begun))
        for form in findings.probes:
            page = ProbeUrl(form, host_of(form), is_known=True)
            self._probing.of_forms(Probe(page, observation.depth + 1, observation.url_id))
        self._probe()

    def _settle(self, settled: Settled) -> list[str]:
        """Settle a sample of DUST rules: where several made another page of it, none of them alone is blamed."""
        url_id, outcome, rules = settled
        ended = self._trials.settle(url_id, outcome, cause_by(rules))
        others = self._trials.open_of(url_id) if outcome is Outcome.OTHER or len(rules) > 1 else ()
        for sample in others:
            is_known = sample.cause.startswith(RULES) or outcome is Outcome.SAME
            ended += self._trials.settle(url_id, outcome if is_known else Outcome.UNKNOWN, sample.cause)
        return ended

    def _give_back(self, urls: Sequence[str]) -> None:
        """Let links come back that were dropped because their page seemed to repeat another."""
        for url in urls:
            key = self._intake.key(url)
            known = self._store.urls.find([key]).get(key)
            if known is not None and known.state is State.DROPPED:
                self._store.saved.restore(known.id)
                evidence = {"gives": "an item that no page gave before"}
                decision = Decision(Action.FETCH, Action.FETCH, Reason.EXACT_DUPLICATE_LINKS, evidence=evidence)
                self._intake.record(known.id, url, decision)

    def of_failure(self, url_id: int, status: int | None, location: str | None = None) -> None:
        """Take note that a URL brought no page: what was saved in its favour comes back.

        A redirect to another path is no page either: sites lead whatever they do not have to their front page. Where
        there was a page, which an error says nothing of, what comes back for it is decided about anew another time.
        """
        url, key = self._store.urls.url_of(url_id), self._store.urls.key_of(url_id)
        is_same_path = location is not None and normal_path(path_of(location)) == normal_path(path_of(url))
        if location is not None and is_same_path and self._scope.may_stand(location):
            return
        causes = self._saved_for(key)
        self._tried(causes, is_kept=False)
        self._fallback.failed(url_id)
        if status is None or status >= MISSING:
            self._end(self._samples.failed(url_id))
            self._dust.gone(url, [int(cause.removeprefix(RULE)) for cause in causes if cause.startswith(RULE)])
        was_page = self._store.pages.has_page(url_id)
        if causes:
            # The policy of rules does not ask whether the page is there.
            is_for_now = was_page and all(cause.startswith(HOST) for cause in causes)
            self._bring_back(f"{FOR_NOW if is_for_now else FOR} {key}", _reason_of(causes[0]), {"gone": url})
        elif not was_page:
            self._fallback.ask(url_id)

    def _heed_scope(self, hosts: Iterable[str]) -> None:
        """Take back the verdicts for those kept *hosts* of which a part is out of scope that is inside on the copy.

        What lies behind that part is known of neither host: the links of the one are left out, pages of the other that
        lead there are saved. So are, the other way round, pages of a kept host that were fetched on a copy of which a
        part is out of scope, and in drop mode links of duplicates, without any verdict.
        """
        for host in hosts:
            urls = self._scope.left_out_of(host)
            if urls and self._store.saved.some_of(cause := links_beside(host), 1):
                self.lift(cause)
            for url in self._replicas.fetched_on(host) if urls else ():
                self._not_for(self._intake.key(url), url)  # where its page does not lead, theirs may
            for verdict in self._replicas.judged_copies_of(host):
                copies = (self._replicas.on_copy(verdict, url) for url in urls)
                if any(other is not None and self._scope.may_stand(other) for other in copies):
                    self._take_back(self._replicas.withdraw(verdict.cause))

    def _not_for(self, key: int, url: str) -> None:
        """Bring back what was saved in favour of *url*, under *key*: what it leads to, or itself, is left out."""
        if causes := self._saved_for(key):
            self._bring_back(f"{FOR} {key}", _reason_of(causes[0]), {"left out": url})

    def leave_out(self, taken: Waiting, decision: Decision) -> None:
        """Drop a URL whose turn has come and that does not belong to the crawl; what was saved for it comes back."""
        if decision.reason is not Reason.HOST_PAGES:
            self._scope.note(taken.url)
            self._heed_scope(self._scope.take_news())
        self._intake.record(taken.id, taken.url, decision)
        self._store.urls.drop(taken.id)
        if taken.key is None or self._store.pages.has_page(taken.id):
            return  # nothing stands on it, or it was fetched before
        if self._store.is_shared:
            self._store.catch_up()  # from now on nobody saves anything for it, and what was saved so far is known
        self._end(self._samples.failed(taken.id))
        for waiting in self._trials.awaiting(taken.key):
            self._end(self._trials.settle(waiting, Outcome.FAILED))
        self._not_for(taken.key, taken.url)

    def of_unchanged(self, url_id: int) -> None:
        """Take note that a page is as it was: what waited to be held against it is."""
        self._end(self._samples.confirmed(url_id))

    # What comes back

    def lift(self, cause: str) -> None:
        """Let what was dropped because of *cause* come back, to be decided about anew when its turn comes."""
        self._bring_back(f"{OF}{cause}", _reason_of(cause), {"lifted": cause})

    def _end(self, causes: Sequence[str]) -> None:
        """Carry out that samples ended *causes*."""
        for cause in causes:
            if cause.startswith(HOST):
                self._take_back(self._replicas.withdraw(cause))
            elif cause.startswith(RULE):
                self._withdraw(self._dust.refute(int(cause.removeprefix(RULE))))
            else:
                reason = _reason_of(cause)
                self._counts[f"sample/ended/{reason.value}"] += 1
                self._bring_back(f"of {cause}", reason, {"ended": cause})

    def _take_back(self, verdict: Verdict | None) -> None:
        if verdict is not None:
            self._counts["host/withdrawn"] += 1
            self._bring_back(f"of {verdict.cause}", Reason.REPLICA_HOST, {"withdrawn": verdict.copy})

    def _withdraw(self, watched: WatchedRule | None) -> None:
        if watched is None:
            return
        self._counts["dust/withdrawn"] += 1
        evidence = {
            "withdrawn": watched.id,
            "pairs": watched.right + watched.wrong,
            "wrong": watched.wrong,
            "for example": [f"{pair.url} is not {pair.image}" for pair in watched.wrong_pairs],
        }
        self._bring_back(f"of rule {watched.id}", Reason.DUST_RULE, evidence)

    def _bring_back(self, work: str, reason: Reason, evidence: Mapping[str, object]) -> None:
        if work.startswith(OF):
            self._intake.end(work.removeprefix(OF))
        self._store.saved.begin_work(work)
        self._work[work] = _Work(reason, evidence)

    def audit(self) -> bool:
        """Ask for some of what every verdict and rule saved, when nothing else is left to fetch; tell whether any was.

        They may have stopped being right after the last sample was drawn. The process that leads does it for all.
        """
        if not self._store.leads:
            return False
        if self._store.is_shared and self._look_for_left():
            return True
        hosts, rules = self._replicas.holding(), [row for row in self._store.rules.acting() if not row.is_manual]
        causes = [(verdict.cause, Reason.REPLICA_HOST, verdict.n_aligned) for verdict in hosts]
        causes += [(f"{RULE}{row.id}", Reason.DUST_RULE, PROVED) for row in rules]
        causes += [(cause, Reason.DUST_RULE, PROVED) for cause in self._store.saved.causes() if cause.startswith(RULES)]
        # In drop mode links of duplicates are dropped without a verdict.
        causes += [(cause, Reason.EXACT_DUPLICATE_LINKS, 0) for cause in self._trials.of(Reason.EXACT_DUPLICATE_LINKS)]
        return sum([self._samples.audit(*cause) for cause in causes], start=self._look_into_traps()) > 0

    def _look_into_traps(self) -> bool:
        """Look ahead in what seem to be traps; tell whether anything is to be fetched because of it."""
        is_asked = False
        for cause in self._store.saved.causes():
            if cause.startswith(cause_on(Reason.TRAP_BUDGET, "")):
                is_asked_ahead, has_news = self._look_ahead.look(cause)
                is_asked |= is_asked_ahead or has_news
                if has_news:
                    self.lift(cause)
        return is_asked

    def reopen(self, host: str) -> None:
        """Let come back what traps of *host* suppressed: one of them brought news."""
        self.lift(cause_on(Reason.TRAP_BUDGET, host))

    def _look_for_left(self) -> bool:
        """Go on with what processes that are gone left: work, and what they saved just before it rested on nothing."""
        verdicts = {verdict.cause: is_manual for verdict, is_manual in self._store.verdicts.holding()}
        holding = verdicts.keys() | {f"{RULE}{row.id}" for row in self._store.rules.acting()}
        for cause in self._store.saved.causes():
            if cause.startswith((HOST, RULE)) and cause not in holding:
                self.lift(cause)
            elif not verdicts.get(cause) and self._trials.has_refuted(cause):
                self._end([cause])  # who led was gone before it heard of all samples
        for key in self._store.saved.bereft(MOST_BEREFT):
            self._bring_back(f"{FOR} {key}", Reason.REPLICA_HOST, {"left by": "a process that is gone"})
        self.adopt()
        return self.has_work

    @property
    def has_work(self) -> bool:
        """Whether URLs are still to come back."""
        return bool(self._work)

    def work(self) -> None:
        """Do one slice of what is to be done."""
        if self._work:
            self._slice(next(iter(self._work)))

    def _slice(self, work: str) -> None:
        kind, _, what = work.partition(" ")
        saved, state = self._store.saved, self._work[work]
        if kind in {FOR, FOR_NOW}:
            restored = saved.restore_for(int(what), SLICE, is_exempt=kind == FOR)
        else:
            restored = saved.restore_of(what, SLICE, after=state.done)
        if not restored:
            if self._store.is_shared:
                self._store.commit()  # or others never hear of what was begun and ended between two commits
            saved.end_work(work)
            del self._work[work]
            return
        for url_id, url in restored:
            if url is not None:
                decision = Decision(Action.FETCH, Action.FETCH, state.reason, evidence=state.evidence)
                self._intake.record(url_id, url, decision)
        state.done = restored[-1][0]

    # A person's orders

    def obey(self) -> bool:
        """Carry out what a person told the crawl through its database, and let old verdicts end.

        Another process does so where this one does not lead.

        :return: whether there was any order.
        """
        has_obeyed = False
        if self._store.leads:
            self._free(self._replicas.expire())
            has_obeyed = self._obeying.obey()
        self._store.commit()
        return has_obeyed

    def _block(self, what: Mapping[str, Any]) -> None:
        prefixes = what.get("copy_prefix", ""), what.get("keeper_prefix", "")
        self._free(self._replicas.block(what["host"], what["keeper"], *prefixes))
        self._scope.open_to(what["keeper"])  # which is to bring what the other has

    def _allow(self, what: Mapping[str, Any]) -> None:
        self._free(self._replicas.allow(what["host"]))

    def _part(self, what: Mapping[str, Any]) -> None:
        self._free(self._replicas.part(what["host"], what["other"]))

    def _free(self, ended: Iterable[Verdict]) -> None:
        for verdict in ended:
            self._bring_back(f"of {verdict.cause}", Reason.REPLICA_HOST, {"freed": verdict.copy})

    def _impose(self, what: Mapping[str, Any]) -> str:
        return f"rule {self._dust.impose(Rule.from_dict(what['rule']))}"

    def _disable(self, what: Mapping[str, Any]) -> None:
        self._withdraw(self._dust.disable(what["id"]))
