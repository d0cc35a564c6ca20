"""One DUST rule under watch: what its applications turned out to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scrapy_replica.crawl.urls.host_pages import HostPages
from scrapy_replica.crawldb.contract import ACTING, CANDIDATE, DISABLED, WITHDRAWN, RuleRow
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule
from scrapy_replica.urls.rulebook import RuleBook
from scrapy_replica.urls.validation import Pair, RuleWatch, pairs_to_fetch

PROVED = 3
"""Right pairs, and no wrong one, after which a rule acts as a guess."""
CONFIRMED = 5
"""Right pairs after which it is certain; what it was learnt from stands for two of them, a prior for none."""
IMAGES_NEEDED = 2
"""Images that must have been the page of their URL before URLs are rewritten; until then the first of each group is
fetched as it stands: a session id may not matter and yet be obligatory."""
PAIRS_PER_RULE = 6
"""Pairs fetched on purpose to prove one rule."""
MOST_MISSING = -2
"""Images asked for that do not exist, less those that do, at which no more are asked for."""
_MAX_SEEN = 5_000


class Seen(NamedTuple):
    """A fetched URL that the rule changes."""

    form: str
    cluster: int
    url_id: int


class Settled(NamedTuple):
    """Whether a URL that the rule changes was the page that the rule takes it for."""

    url_id: int
    is_same: bool


class WatchedRule:
    """A rule, its record, and the fetched URLs that it would change, by their image."""

    def __init__(self, row: RuleRow) -> None:
        self.id, self.is_manual = row.id, row.is_manual
        self.rule = Rule.from_dict(row.rule)
        self.watch = RuleWatch(self.rule, needed=PROVED, right=row.right, wrong=row.wrong)
        self.watch.is_withdrawn = row.state in {WITHDRAWN, DISABLED}
        self.images = row.images
        self.proofs = list(row.proofs)
        """(image, URLs fetched on purpose for it) of each pair that was to prove it."""
        self._was_acting = row.state == ACTING
        self._book = RuleBook([self.rule])
        self._seen: dict[str, Seen] = {}

    @property
    def is_ended(self) -> bool:
        return self.watch.is_withdrawn

    @property
    def is_acting(self) -> bool:
        return not self.is_ended and (self.is_manual or self.watch.may_act)

    @property
    def is_certain(self) -> bool:
        return self.is_manual or self.watch.right + min(self.rule.support, 2) >= CONFIRMED

    @property
    def has_images(self) -> bool:
        """Whether the images of this rule exist."""
        return self.is_manual or self.images >= IMAGES_NEEDED

    @property
    def level(self) -> tuple[bool, bool, bool]:
        """What it may do: act, for certain, by rewriting."""
        return self.is_acting, self.is_certain, self.has_images

    @property
    def state(self) -> str:
        if self.is_ended:
            return WITHDRAWN
        return ACTING if self.is_acting else CANDIDATE

    @property
    def needs_proof(self) -> bool:
        return len(self.proofs) < PAIRS_PER_RULE and not self.is_ended and not all(self.level)

    @property
    def is_wide(self) -> bool:
        """Whether the rule is one for more than one host."""
        return not self.rule.host or self.rule.host.startswith(".")

    def covers(self, name: str) -> bool:
        """Tell whether the rule is one for the host (and port) *name*."""
        scope = self.rule.host
        return scope in {"", name} or (scope.startswith(".") and f".{name.partition(':')[0]}".endswith(scope))

    def image(self, form: str) -> str | None:
        """Return what the rule makes of *form*; ``None`` if nothing else."""
        image, applied = self._book.canonical(form)
        return image if applied else None

    @property
    def weight(self) -> int:
        """Roughly the bytes that it takes in memory."""
        return 5000 + 300 * len(self._seen)

    def learn(self, host: HostPages, url_ids: Mapping[str, int]) -> None:
        """Take note of what was fetched before the rule was proposed, or before it was read; it proves nothing."""
        for form, cluster in host.clusters.items():
            image = self.image(form) if cluster is not None else None
            if image is not None and cluster is not None:
                self._seen.setdefault(image, Seen(form, cluster, url_ids.get(form, 0)))

    def observe(self, form: str, cluster: int, url_id: int, host: HostPages) -> Settled | None:
        """Hold the page just fetched from *form* against the page that the rule takes it for; keep the score."""
        image = self.image(form)
        before = self._seen.get(form if image is None else image)
        other = host.clusters.get(image) if image is not None else None
        is_image_known = other is not None or image is None
        if other is None and before is not None:
            other = before.cluster
        if image is not None and before is None and len(self._seen) < _MAX_SEEN:
            self._seen[image] = Seen(form, cluster, url_id)
        if other is None or host.is_boilerplate(cluster) or host.is_boilerplate(other):
            return None
        is_same = other == cluster
        self.watch.record(Pair(form, image or (before.form if before is not None else form)), is_same)
        self.images += is_image_known and is_same
        self._close_if_wrong()
        return Settled(before.url_id if image is None and before is not None else url_id, is_same)

    def failed(self, form: str, *, is_acting: bool) -> bool:
        """Take note that there is no page at *form*; tell whether that says something of the rule."""
        # A request spent on nothing weighs more than one that was well spent: a third of the images may be missing.
        is_awaited = any(form == image for image, _ in self.proofs)
        self.images -= 2 if is_acting else is_awaited
        return is_acting or is_awaited

    def _close_if_wrong(self) -> None:
        # One wrong pair among few: it may act no longer, and what stopped acting never comes back.
        if self._was_acting and not self.is_acting:
            self.watch.is_withdrawn = True
        self._was_acting = self.is_acting

    def pairs(self, host: HostPages, waiting: Iterable[str], most: int) -> list[str]:
        """Return at most *most* forms to fetch that prove or refute the rule, within its budget of pairs."""
        fetched: list[str] = []
        if self.images > MOST_MISSING:
            fetched = [seen.form for image, seen in self._seen.items() if image not in host.clusters][:50]
        known = host.clusters.keys() | self._seen.keys()
        asked = {image for image, _ in self.proofs}
        found: list[str] = []
        for pair in pairs_to_fetch(self.rule, [*waiting, *fetched], known, PAIRS_PER_RULE - len(self.proofs)):
            if len(found) >= most:
                break
            is_group_enough = self.images <= MOST_MISSING and pair.image in self._seen
            forms = (pair.url,) if is_group_enough else (pair.url, pair.image)
            new = [form for form in forms if not (form in host.clusters or form in asked or form in found)]
            new = new[: most - len(found)]
            found += new
            asked.add(pair.image)
            self.proofs.append((pair.image, len(new)))
        return found


def argument_names(form: str) -> list[str]:
    """Return the names of the arguments of *form*."""
    return [argument.partition("=")[0] for argument in parse(form).arguments or ()]
