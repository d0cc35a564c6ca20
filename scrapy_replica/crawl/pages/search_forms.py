"""The forms of each site, and which pages they returned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from scrapy_replica.address import host_of
from scrapy_replica.crawldb.forms import FormTable
from scrapy_replica.host_cache import HostCache
from scrapy_replica.pages.forms import DomainQuery, is_login, is_typed, sent_fields
from scrapy_replica.records import Form

MAX_FORMS_OF_SITE = 50
"""Different forms kept of one site; a form differs from another by its method or the names of its fields."""
MAX_SITES = 500
"""Sites kept in memory, about 10 kB each; the others are read again when they are met."""


@dataclass(slots=True)
class Site:
    """What is known of the forms of one host."""

    query: DomainQuery
    kinds: set[tuple[str, ...]] = field(default_factory=set)
    """Method and names of the fields of each form."""
    names: set[str] = field(default_factory=set)
    """Fields of forms that are no logins."""
    login_names: set[str] = field(default_factory=set)
    typed: dict[str, frozenset[str]] = field(default_factory=dict)
    """Path of a form that is sent by GET -> its fields that offer no choice."""

    def add(self, form: Form) -> bool:
        """Take up *form*; ``False`` if one like it is known, or enough are."""
        names = [name for name, _, _ in form.fields]
        kind = (form.method, *names)
        if kind in self.kinds or len(self.kinds) >= MAX_FORMS_OF_SITE:
            return False
        self.kinds.add(kind)
        (self.login_names if form.is_login else self.names).update(names)
        if form.method == "get" and not form.is_login:
            path = _path(form.action)
            typed = frozenset(name for name, _, values in form.fields if len(values) <= 1)
            self.typed[path] = self.typed.get(path, frozenset()) | typed
        return True


class Forms:
    """Keeps forms and domain queries in the crawl database; what is in memory is read from there."""

    def __init__(self, table: FormTable) -> None:
        self._table = table
        self._sites = HostCache(self._read_site, MAX_SITES, lambda _: 1)

    def forget(self, host: str) -> None:
        """Read *host* anew: a page of it was taken back in the crawl database."""
        self._sites.forget(host)

    def _read_site(self, host: str) -> Site:
        site = Site(DomainQuery(dict.fromkeys(self._table.terms(host))))
        for form in self._table.of_host(host):
            site.add(form)
        return site

    def add(self, forms: Iterable[Form]) -> int:
        """Take up the *forms* of a page, their labels into the domain query of the host that each is sent to.

        :return: how many are new.
        """
        new = 0
        for form in forms:
            host = host_of(form.action)
            site = self._sites.of(host)
            if site.add(form):
                new += 1
                self._table.enter(host, form)
                if not form.is_login:
                    self._table.add_terms(host, site.query.add_fields(form.fields))
        return new

    def sent(self, url: str, body: str = "") -> bool:
        """Take what a request sends into the domain query of its site; ``False`` if it is sent to no form.

        A form-encoded *body* is sent to a form. Parameters of a *url* are if a form of the site is sent there by GET
        and one of its fields without choices holds something: a list in another order is no search. Of a form that was
        seen only the fields that a person sees are taken; what is sent with a password leaves no trace.
        """
        host = host_of(url)
        site = self._sites.of(host)
        typed = site.typed.get(_path(url), frozenset())
        if not body and not typed:
            return False  # most URLs with parameters
        sent = sent_fields(url, body)
        names = {name for name, _ in sent}
        if not body and names.isdisjoint(typed):
            return False
        if is_login(names) or (names & site.login_names) - site.names:
            return False
        is_known = not names.isdisjoint(site.names)
        taken = ((n, value) for n, value in sent if is_typed(n, value) and (not is_known or n in site.names))
        self._table.add_terms(host, site.query.add(text for pair in taken for text in pair))
        return True

    def query(self, host: str) -> DomainQuery:
        return self._sites.of(host).query


def _path(url: str) -> str:
    try:
        return urlsplit(url).path or "/"
    except ValueError:
        return ""
