"""One DUST rule under watch: its record, and what its applications turned out to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from scrapy_replica.claim import ENDED, Standing
from scrapy_replica.crawl.claims.claim_test import MOST_FALSE
from scrapy_replica.crawl.urls.changed_urls import ChangedUrls, Pages
from scrapy_replica.crawl.urls.contents import callback_in
from scrapy_replica.crawl.urls.host_pages import HostPages
from scrapy_replica.crawl.urls.rule_places import LeftOut, Place, Places, place_of
from scrapy_replica.crawldb.rules import RuleRow
from scrapy_replica.decision import Outcome
from scrapy_replica.urls.judge import RuleJudge, traits_of
from scrapy_replica.urls.rule import Rule
from scrapy_replica.urls.validation import LATEST, PROVED, Pair, is_proved, is_refuted, pairs_to_fetch

CONFIRMED = 5
"""Right pairs after which it is certain; what it was learnt from stands for two of them, a prior for none."""
IMAGES_NEEDED = 2
"""Images that must have been the page of their URL before URLs are rewritten; until then the first of each group is
fetched as it stands: a session id may not matter and yet be obligatory."""
PAIRS_PER_RULE = 6
"""Pairs fetched on purpose to prove one rule."""
TOLD_WRONG = 2
"""Wrong pairs that are told as examples."""


class Level(NamedTuple):
    """What a rule may do."""

    is_acting: bool
    is_certain: bool
    has_images: bool
    """It may rewrite URLs."""
    holds_backward: bool
    """What it changes may stand for images."""


class Settled(NamedTuple):
    """Whether a URL that rules change was the page that they take it for."""

    url_id: int
    outcome: Outcome
    rules: tuple[int, ...]
    """Ids of the rules that this is about: several where they changed the URL together."""
    is_named: bool = False
    """It was held against a page that only says that the URL of the rules is its own: that may be wrong, not they."""
    image_id: int | None = None
    """Id of the URL that was fetched last, if that is the one that they leave as it is: it may be the sample."""


class WatchedRule:
    """A rule, its record, and the fetched URLs that it would change, by their image.

    ========= ============================================================= ========
    Standing  Event                                                         Becomes
    ========= ============================================================= ========
    candidate a pair, and then it is proved (:func:`is_proved`)             in force
    candidate a pair, and then it is refuted (:func:`is_refuted`)           refuted
    in force  a pair, and then it is refuted, or proved no more             refuted
    candidate its samples speak against it, or say nothing (:meth:`refute`) refuted
    or in
    force
    any       a person switches it off (:meth:`disable`)                    disabled
    ========= ============================================================= ========

    A person's rule is in force without a proof, and until it is refuted. Refuted and disabled are for good.
    """

    def __init__(self, row: RuleRow) -> None:
        self.id, self.is_manual, self.state = row.id, row.is_manual, Standing(row.state)
        self.rule = Rule.from_dict(row.rule)
        self.right, self.wrong, self.images = row.right, row.wrong, row.images
        self.linked: set[str] = set()
        """The first images among them that pages led to, as far as they were seen in this run.

        All pages of a session lead home, which is one image: one crawl of 276 requests took 821 when it was counted
        with each of them.
        """
        self._backward = Counter[bool]()
        """Whether they were right -> pairs of which the image was fetched last, as far as seen in this run."""
        self.wrong_pairs: list[Pair] = []
        """The first of this run."""
        self.proofs = list(row.proofs)
        """(image, URLs fetched on purpose for it) of each pair that was to prove it."""
        self._latest: tuple[bool, ...] = ()
        """Whether each of the latest pairs was right, as far as it was seen in this run."""
        self.changed = ChangedUrls(self.rule)
        """The fetched URLs that it changes."""
        self.places = Places()
        self._left_out = LeftOut() if self.rule.leaves_out_any else None
        self._further: set[str] = set()
        """Forms that say what their image says, and lead further; pages there that bring news tell that it is another.
        """

    @property
    def is_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_acting(self) -> bool:
        return self.state is Standing.IN_FORCE

    @property
    def has_acted(self) -> bool:
        """Whether it acts or did: a wrong pair among so few right ones would have ended it before."""
        return self.is_manual or self.right >= PROVED

    @property
    def is_certain(self) -> bool:
        return self.is_manual or self.right + min(self.rule.support, 2) >= CONFIRMED

    @property
    def has_images(self) -> bool:
        return self.is_manual or self.images >= IMAGES_NEEDED

    @property
    def are_images_linked(self) -> bool:
        """Whether pages lead to its images, which are not made up by it alone."""
        return self.is_manual or len(self.linked) >= IMAGES_NEEDED

    @property
    def holds_backward(self) -> bool:
        """Whether what it changes stands for images that are met later, as a page with a slash for one without.

        A version for print that is met first says nothing of where its page leads: pairs that were met the other way
        round say nothing of these.
        """
        right, wrong = self._backward[True], self._backward[False]
        return right >= CONFIRMED and wrong <= MOST_FALSE * (right + wrong) and not self.rule.is_gate

    @property
    def level(self) -> Level:
        return Level(self.is_acting, self.is_certain, self.has_images, self.holds_backward)

    @property
    def needs_proof(self) -> bool:
        is_proved = self.is_acting and self.is_certain and self.has_images
        return len(self.proofs) < PAIRS_PER_RULE and not self.is_ended and not is_proved

    def doubt(self, judge: RuleJudge) -> float:
        """Return the share of wrong pairs that *judge* expects, 0..1."""
        rule = self.rule
        learnt = rule.support / (1 - rule.error) if rule.error < 1 else 0.0
        seen = self.right + self.wrong + learnt
        return judge.expected(rule.traits or traits_of(rule), self.wrong + rule.error * learnt, seen)

    @property
    def is_wide(self) -> bool:
        """Whether the rule is one for more than one host."""
        return not self.rule.host or self.rule.host.startswith(".")

    def covers(self, name: str) -> bool:
        scope = self.rule.host
        return scope in {"", name} or (scope.startswith(".") and f".{name.partition(':')[0]}".endswith(scope))

    @property
    def weight(self) -> int:
        """Roughly the bytes that it takes in memory."""
        return 5000 + 300 * (len(self.changed) + len(self.places) + len(self._left_out or ()))

    def _place(self, form: str, image: str, callback: int, *, is_joint: bool = False) -> Place:
        """Return where *form* is: of what the rule makes of it, or, where nothing is known of that, of what several
        rules make of it together (*is_joint*), which may be the only one of both that there is.
        """
        mine = self.changed.image(form) or image
        own = place_of(form, mine, callback)
        if self._left_out is not None:
            own = own._replace(taken=own.taken | self._left_out.names(form, mine))
        return place_of(form, image, callback) if is_joint and own not in self.places else own

    def holds(self, form: str, canonical: str, callback: int, *, is_joint: bool = False) -> bool:
        """Tell whether the rule may be taken to hold where *form* is, by itself or with others (*is_joint*)."""
        return self.is_manual or self.places.holds(self._place(form, canonical, callback, is_joint=is_joint))

    def is_proved_beside(self, form: str, canonical: str, callback: int, *, is_joint: bool = False) -> bool:
        return self.is_manual or self.places.is_right(self._place(form, canonical, callback, is_joint=is_joint))

    # Its record

    def record(
        self, form: str, image: str, callback: int, *, is_same: bool, is_joint: bool = False, is_backward: bool = False
    ) -> None:
        """Take note of whether *form* and its *image*, which others help to make (*is_joint*), are one page.

        *is_backward*: the image was fetched last.
        """
        self._backward[is_same] += is_backward
        self._latest = (*self._latest, is_same)[-LATEST:]
        self.right, self.wrong = self.right + is_same, self.wrong + (not is_same)
        if not is_same and len(self.wrong_pairs) < TOLD_WRONG:
            self.wrong_pairs.append(Pair(form, image))
        self.places.record(self._place(form, image, callback, is_joint=is_joint), is_same=is_same)
        if not self.is_ended:
            self.state = self._after_a_pair()

    def _after_a_pair(self) -> Standing:
        is_passed = self.rule.is_gate and self.wrong > 0 and not self.is_manual
        if is_passed or is_refuted(self.right, self.wrong, self._latest):
            return Standing.REFUTED
        if self.is_manual or is_proved(self.right, self.wrong):
            return Standing.IN_FORCE
        return Standing.REFUTED if self.is_acting else Standing.CANDIDATE

    def refute(self) -> None:
        if not self.is_ended:
            self.state = Standing.REFUTED

    def disable(self) -> None:
        self.state = Standing.DISABLED

    def apply_remote(self, row: RuleRow) -> None:
        self.right, self.wrong, self.images, self.state = row.right, row.wrong, row.images, row.state
        self.proofs = list(row.proofs)

    # Pages

    def replay(self, host: HostPages, url_ids: Mapping[str, int]) -> None:
        """Take note of what was fetched before the rule was proposed, or before it was read.

        It proves nothing, but tells where the rule is right.
        """
        known: dict[str, int | None] = {}
        for form, cluster in host.clusters.items():
            known[form] = cluster
            self.see(form, cluster, url_ids.get(form, 0), known, host)

    def see(
        self, form: str, cluster: int | None, url_id: int, known: Mapping[str, int | None], host: HostPages
    ) -> None:
        """Take note of the page at *form*, among those *known* on its *host*, as :meth:`replay` does."""
        pair = self.changed.pair(form, cluster, url_id, known)
        if pair is None or not host.are_told(pair.cluster, pair.other):
            return
        self._note_linked(pair, host)
        if pair.is_same or not host.look_alike(pair.cluster, pair.other):
            self._backward[pair.is_same] += pair.image == form
            self.places.record(self._place(pair.form, pair.image, pair.callback), is_same=pair.is_same)
        else:
            self._further.add(form)

    def _note_linked(self, pair: Pages, host: HostPages) -> None:
        is_linked = pair.is_same and pair.is_image_known and pair.image not in host.unlinked
        if is_linked and len(self.linked) < IMAGES_NEEDED:
            self.linked.add(pair.image)

    def observe(
        self, form: str, cluster: int | None, url_id: int, host: HostPages, is_stale: Callable[[str], bool]
    ) -> Settled | None:
        """Hold the page just fetched from *form* against the page that the rule takes it for; keep the score.

        Where both have the same little text, or one has what many pages say, nothing is told.
        One that *is_stale* may say the same by now: nothing is known before it is fetched again.
        """
        found = self.changed.pair(form, cluster, url_id, host.clusters)
        if found is None:
            return self._beside_namer(form, cluster, url_id, host)
        are_others = host.are_other_texts(form, found.other_form)
        if not are_others and not host.are_told(found.cluster, found.other):
            return Settled(found.url_id, Outcome.UNKNOWN, (self.id,))
        is_same = found.is_same and not are_others
        if not is_same and is_stale(found.other_form):
            return None
        if not is_same and not are_others and host.look_alike(found.cluster, found.other):
            self._further.add(form)  # lists of links that change with each fetch tell nothing, unless they bring news
            return Settled(found.url_id, Outcome.SAME, (self.id,)) if self.is_acting else None
        self.images += found.is_image_known and is_same
        self._note_linked(found, host)
        self.record(found.form, found.image, found.callback, is_same=is_same, is_backward=found.image == form)
        return Settled(found.url_id, Outcome.SAME if is_same else Outcome.OTHER, (self.id,))

    def observe_redirect(self, form: str, image: str, url_id: int, callback: int, *, is_there: bool) -> Settled:
        """Take note of whether *form* leads to *image*, where its like are said to lead; a page leads nowhere."""
        self.images += is_there
        self.record(form, image, callback, is_same=is_there)
        return Settled(url_id, Outcome.SAME if is_there else Outcome.OTHER, (self.id,))

    def _beside_namer(self, form: str, cluster: int | None, url_id: int, host: HostPages) -> Settled | None:
        """Hold the page against the one that says that the image of *form*, which nobody fetched, is its own name."""
        image = self.changed.image(form)
        namer = host.namer(image) if image is not None and cluster is not None else None
        if namer is None or image is None or cluster is None:
            return None
        if host.clusters.get(namer) != cluster:
            self.places.record(self._place(form, image, callback_in(cluster)), is_same=False)
            return Settled(url_id, Outcome.OTHER, (self.id,), is_named=True) if self.is_acting else None
        self.record(form, image, callback_in(cluster), is_same=True)
        return Settled(url_id, Outcome.SAME, (self.id,), is_named=True)

    def led_to_news(self, form: str, callback: int, *, is_sample: bool) -> bool:
        """Take note that *form* alone led to news; tell whether the rule took it, as a sample or not, for another."""
        image, changed = self.changed.image(form), self.changed.spelling_of(form)
        if image is None and changed is not None:
            pair = Pair(changed, form)  # it stands where the rule takes the page that was fetched before
        elif image is not None:
            pair = Pair(form, image)
        else:
            return False
        is_told = is_sample or form in self._further
        if is_told:
            self._further.discard(form)
            self.record(pair.url, pair.image, callback, is_same=False, is_backward=pair.image == form)
        return is_told

    def may_save(self, waiting: Iterable[str], is_met: Callable[[str], bool]) -> bool:
        """Tell whether the rule would save any of the forms *waiting*: whether it takes different things from URLs, or
        makes of one another that *is_met*, as the rules in force see it.

        Where all of a site have one session a rule about that saves nothing, and each URL that is fetched without it
        begins another: 301 requests in place of 141.
        """
        images = {form: image for form in waiting if (image := self.changed.image(form)) is not None}
        if not images:
            return False
        taken = map(self.changed.taken, chain(images, self.changed.forms))
        first = next(taken)
        return any(one != first for one in taken) or any(map(is_met, images.values()))

    def pairs(self, host: HostPages, waiting: Iterable[str], most: int, is_one: Callable[[Pair], bool]) -> list[str]:
        """Return at most *most* forms to fetch that prove or refute the rule, within its budget of pairs.

        Pairs that *is_one* calls one page, by the rules in force, are none to spend a request on before this one acts.
        """
        fetched = self.changed.forms_without(host.clusters)[:50]
        known = host.clusters.keys() | self.changed.images
        asked = {image for image, _ in self.proofs}
        found: list[str] = []
        wanted = PAIRS_PER_RULE - len(self.proofs)
        says_nothing = None if self.is_acting else is_one
        for pair in pairs_to_fetch(self.rule, [*waiting, *fetched], known, wanted, says_nothing):
            if len(found) >= most:
                break
            new = [form for form in pair if not (form in host.clusters or form in asked or form in found)]
            new = new[: most - len(found)]
            found += new
            asked.add(pair.image)
            self.proofs.append((pair.image, len(new)))
        return found
