"""The fetched URLs of one host, and which of them are one page."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scrapy_replica.crawl.urls.contents import (
    differ_in_callback,
    form_of,
    own_content,
    redirect_content,
)
from scrapy_replica.crawl.urls.leads import Lead
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.validation import is_due, is_proved

MAX_FORMS = 5_000
"""URLs remembered of one host, about 1 MB; what comes later is judged by the rules that these taught."""
MAX_LEADS = 50_000
"""Places that pages of one host lead to, 10 MB; where one leads beyond is taken for new, which no rule gives away."""
MAX_LEARNT = 1_000
"""URLs that one learning sees: 0.1 to 0.5 s in steps of 50 ms at most."""
BOILERPLATE_NAMES = 8
"""One page under more file names than these is a soft 404 or a login, and no duplicate."""


def file_name_of(form: str) -> str:
    return form.partition("?")[0].rstrip("/").rpartition("/")[2]


class HostPages:
    """Forms of the fetched URLs and the cluster of each: the content of the first page of that kind.

    A form whose page is too short to tell has the cluster ``None``.
    """

    def __init__(self) -> None:
        self.clusters: dict[str, int | None] = {}
        self._texts: dict[str, bytes] = {}
        """Forms that lead to a document or to little text in this run -> the hash of its bytes, or of the text."""
        self.unlinked: set[str] = set()
        """Forms that no page led to when they were fetched: the add-on made them up, or the user gave them."""
        self.pages = 0
        self._pages_at_last = 0
        self._cluster_of: dict[int, int] = {}
        self._aliases: dict[str, int | None] = {}
        self._namers: dict[str, str] = {}
        """Alias -> the form of the first page that it is another name of."""
        self._names_right = self._names_wrong = 0
        """Pages beside the first of a name, which say what that says, and which say something else."""
        self._leads: dict[int, int | None] = {}
        """Hash of a place that pages lead to, both of each -> the cluster of these pages; ``None``: several."""
        self._looks: dict[int, int] = {}
        """Cluster of a page that repeats another and leads further -> the cluster of that, while nobody knows what for.
        """
        self._own: dict[tuple[int, int], tuple[int, frozenset[Lead]]] = {}
        """Content, and a hash of the first lead by which a page of it was told apart -> its cluster and those leads."""
        self._by_items: dict[tuple[int, int], int] = {}
        """Content, and a hash of the items, of a page that was told apart in this run -> its cluster."""
        self._sizes: dict[int, int] = {}
        self._names: dict[int, str | set[str]] = {}
        """Cluster -> the name of its pages, or their names: one that was fetched once takes no set."""
        self._twins = 0
        self._twins_at_last = 0

    def cluster(self, content: int | None) -> int | None:
        """Return the cluster of a page with that *content*."""
        return None if content is None else self._cluster_of.get(content, content)

    def told_apart_by(self, content: int, leads: Collection[Lead], items: frozenset[int] = frozenset()) -> int | None:
        """Return the cluster of the page of that *content* that was told apart by some of these *leads*, or by *items*,
        as hashes: a list in another order that an item is made of is that list by its other names, too.

        With another session the page leads there as well, and is no news by then; or as it stands, or as it lies beside
        the page: with an argument of its own, which does not count there, it lies elsewhere.
        """
        if (known := self._by_items.get((content, hash(items)))) is not None:
            return known
        there = set().union(*leads) if self._own else set[int]()
        found = [self._own[content, one] for one in there if (content, one) in self._own]
        shared = [(cluster, own) for cluster, own in found if not any(map(there.isdisjoint, own))]
        return max(shared, key=lambda one: len(one[1]))[0] if shared else None

    def has(self, cluster: int) -> bool:
        return cluster in self._sizes

    def redirect(self, location: str, callback: int, name: str) -> int | None:
        """Return the cluster of what leads to *location*, *name* being that of this host (and port).

        On this host it is that of the page there, if that was fetched. ``None`` where nothing is told: what many URLs
        lead to is a login, and a page by the host's other name (``www.``) may be one that is known here.
        """
        host = parse(location).host
        if host == name:
            return self.clusters.get(form_of(location))
        if host.removeprefix("www.") == name.removeprefix("www."):
            return None
        content = redirect_content(location, callback)
        return content if self._sizes.get(content, 0) < BOILERPLATE_NAMES else None

    def news(self, leads: Iterable[Lead]) -> frozenset[Lead]:
        """Return those of the *leads* of a page that no page before had, nor one that lies elsewhere beside itself."""
        return frozenset(lead for lead in leads if self._leads.keys().isdisjoint(lead))

    def first_met(self, leads: Iterable[Lead]) -> frozenset[Lead]:
        """Return those of the *leads* of a page that no page before had as they stand, whether they are news or not:
        each page may have a version for print beside it, and by its other names leads to that one.
        """
        return frozenset(lead for lead in leads if lead[0] not in self._leads)

    def meet(self, leads: Iterable[Lead], cluster: int | None) -> None:
        """Take note that a page of *cluster* leads there as well: what others lead to hangs on no page of them."""
        for one in (one for lead in leads for one in lead):
            if self._leads.get(one, cluster) != cluster:
                self._leads[one] = None

    def led_before(self, leads: Iterable[Lead]) -> None:
        """Take note that a page led there which is gone: it is no news, and hangs on no page."""
        self._leads.update((one, None) for lead in leads for one in lead if one not in self._leads)

    def hangs_on(self, lead: Lead) -> bool:
        """Tell whether nothing leads there but pages of one cluster."""
        return all(self._leads.get(one, 0) is not None for one in lead)

    def tell_apart(
        self, form: str, content: int, cluster: int, items: frozenset[int] = frozenset(), *, is_open: bool
    ) -> int:
        """Return a cluster of its own for the page at *form*, which repeats those of *cluster* and leads elsewhere, or
        gives *items* of its own.

        *is_open*: it may be the same; what it alone leads to will tell.
        """
        own = own_content(form, content, is_open=is_open)
        if items and not self.is_full:
            self._by_items.setdefault((content, hash(items)), own)
        if is_open:
            self._looks[own] = cluster
        return own

    def look_alike(self, cluster: int | None, other: int | None) -> bool:
        """Tell whether two clusters differ in nothing but where their pages lead to."""
        return self._looks.get(cluster or 0, cluster) == self._looks.get(other or 0, other)

    @property
    def is_full(self) -> bool:
        """Tell whether no page is taken up any more."""
        return len(self.clusters) >= MAX_FORMS

    @property
    def room(self) -> int:
        """Return how many leads more are remembered."""
        return 0 if self.is_full else MAX_LEADS - len(self._leads) // 2

    def add(
        self,
        form: str,
        content: int | None,
        cluster: int | None,
        aliases: Iterable[str] = (),
        leads: Iterable[Lead] = (),
    ) -> None:
        """Take up a fetched page, the forms that lead to it (redirects, ``rel=canonical``), and where it leads.

        One that is known changed: it is what it is now.
        """
        if form in self.clusters:
            self._forget(self.clusters[form])
        elif self.is_full:
            return
        self.pages += 1
        leads = frozenset(leads)
        self._leads.update((one, cluster) for lead in leads for one in lead if one not in self._leads)
        self.clusters[form] = cluster
        if content is None or cluster is None:
            return
        if cluster == own_content(form, content, is_open=True):
            self._looks.setdefault(cluster, self._cluster_of.get(content, cluster))
        if self._cluster_of.setdefault(content, cluster) != cluster and leads:
            for one in min(leads):
                self._own.setdefault((content, one), (cluster, leads))
        self._witness(form, cluster)
        self._check_name(form, form, cluster)
        for alias in aliases:
            self._check_name(alias, form, cluster)
            if alias not in self._aliases:
                self._aliases[alias], self._namers[alias] = cluster, form
                self._witness(alias, cluster)
            elif self._aliases[alias] != cluster:
                # All pages name the front page as canonical, or lead to the login: that says nothing of them.
                self._aliases[alias] = None

    def cluster_at(self, form: str) -> int | None:
        """Return the cluster of the page at *form*, or of the one that it leads to."""
        return self.clusters.get(form, self._aliases.get(form))

    def is_repeat(self, form: str) -> bool:
        """Tell whether the page at *form* is that at another one."""
        cluster = self.clusters.get(form)
        is_met = cluster is not None and self._sizes.get(cluster, 0) > 1  # where other names of its own count as well
        return is_met and any(one == cluster and other != form for other, one in self.clusters.items())

    def _check_name(self, name: str, form: str, cluster: int) -> None:
        """Take note of whether the page at *form*, which *name* is a name of, is the first page of that name."""
        if self._namers.get(name, form) != form:
            is_right = self._aliases[name] == cluster
            self._names_right, self._names_wrong = self._names_right + is_right, self._names_wrong + (not is_right)

    def namer(self, name: str) -> str | None:
        """Return the form of the page that says that *name* is its own, where the pages of the host tell the truth.

        They do where others of the same name turned out to be the same page. Not one at the same path: whether its
        arguments mean nothing is for rules to say, and the second page of a list names the first.
        """
        cluster = self._aliases.get(name)
        if cluster is None or self.is_boilerplate(cluster) or not is_proved(self._names_right, self._names_wrong):
            return None
        namer = self._namers[name]
        return namer if parse(namer).path != parse(name).path else None

    def _forget(self, cluster: int | None) -> None:
        """Take note that a page of *cluster* is none of it any more."""
        self.pages -= 1
        if cluster is not None and cluster in self._sizes:
            self._twins -= self._sizes[cluster] > 1
            self._sizes[cluster] -= 1
            if not self._sizes[cluster]:
                del self._sizes[cluster]

    def _witness(self, form: str, cluster: int) -> None:
        self._sizes[cluster] = self._sizes.get(cluster, 0) + 1
        self._twins += self._sizes[cluster] > 1
        name = file_name_of(form)
        names = self._names.setdefault(cluster, name)
        if isinstance(names, set):
            if len(names) <= BOILERPLATE_NAMES:
                names.add(name)
        elif names != name:
            self._names[cluster] = {names, name}

    def are_told(self, cluster: int | None, other: int | None) -> bool:
        """Tell whether two pages say what they are: not where both have little text (``None``), or are documents, nor
        where one says what many pages say, or where another callback got the same.
        """
        known = [one for one in (cluster, other) if one is not None]
        is_of_two = cluster is not None and other is not None and differ_in_callback(cluster, other)
        return bool(known) and not is_of_two and not any(map(self.is_boilerplate, known))

    def knows(self, form: str, content: int | None) -> bool:
        """Tell whether the page at *form* is known; one under way when the host was read has no content there."""
        return form in self.clusters and (content is None or self.clusters[form] is not None)

    def keep_text(self, forms: Iterable[str], signature: bytes) -> None:
        """Take note that *forms* lead to a document, or little text, of that *signature*."""
        if not self.is_full:
            self._texts.update(dict.fromkeys(forms, signature))

    def are_other_texts(self, form: str, other: str) -> bool:
        """Tell whether two forms lead to documents, or little text, that differ; equal ones may be empty answers."""
        mine, theirs = self._texts.get(form), self._texts.get(other)
        return mine is not None and theirs is not None and mine != theirs

    def is_boilerplate(self, cluster: int) -> bool:
        """Tell whether pages of *cluster* say nothing of the URL that they stand at."""
        names = self._names.get(cluster)
        return isinstance(names, set) and len(names) > BOILERPLATE_NAMES

    def is_due(self) -> bool:
        """Tell whether there is enough that is new to learn from."""
        is_more = self._twins > self._twins_at_last
        return is_more and is_due(self.pages, self._pages_at_last, self._twins, self._twins_at_last)

    def note_lesson(self) -> None:
        self._pages_at_last, self._twins_at_last = self.pages, self._twins

    @property
    def weight(self) -> int:
        """Roughly the bytes that it takes in memory."""
        n_bytes = 650 * len(self.clusters) + 250 * len(self._aliases) + 100 * len(self._leads)
        return 1500 + n_bytes + 150 * (len(self._texts) + len(self._by_items))

    def lesson(self) -> tuple[list[str], list[int]]:
        """Return the forms to learn from and their clusters, at most :data:`MAX_LEARNT`: those with twins first."""
        self.note_lesson()
        fetched = self.clusters
        rows = [(f, c) for f, c in fetched.items() if c is not None and not self.is_boilerplate(c)]
        rows += [
            (f, c)
            for f, c in self._aliases.items()
            if c is not None and f not in fetched and not self.is_boilerplate(c)
        ]
        if len(rows) > MAX_LEARNT:
            twins = [row for row in rows if self._sizes[row[1]] > 1][: MAX_LEARNT // 2]
            single = [row for row in rows if self._sizes[row[1]] == 1]
            rows = twins + single[:: max(1, -(-len(single) // (MAX_LEARNT - len(twins))))]
        return [form for form, _ in rows], [self._looks.get(cluster, cluster) for _, cluster in rows]
