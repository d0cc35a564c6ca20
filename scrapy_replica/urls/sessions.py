"""Session ids in URLs: what is left of a URL, or of a text, without those of the visit that it belongs to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from scrapy_replica.urls.interchange import priors

SHARE = 0.25
"""Of the pages of a host: an id that stands in most links of more of them is a session. Later visits meet several."""
MAX_HOSTS = 1_000
"""Hosts whose links are counted; with one more all are counted anew."""
LONGEST = 100_000
"""Characters of a text above which no ids are looked for in it: 10 ms."""
MAX_IDS = 1_000
"""Ids of one host that are counted."""

LOOKED_AT = 20
"""Links of a page that are looked at: more than half of them have a session id where there is one."""

LEAST, LEAST_NAMED = 8, 4
"""Characters of an id that no name tells of, and of one in an argument that is called a session."""

_WORD = re.compile(r"[0-9A-Za-z-]+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
# Not the date of an edition, nor a version such as v1alpha1: another one is news.
_SHORT = re.compile(
    r"(?!(?:19|20)\d\d)(?!.*[A-Za-z]{4})(?:\d+|[A-Za-z]*\d+[A-Za-z]+\d[0-9A-Za-z]*|[A-Za-z]+\d+[A-Za-z]+)"
)


class Sessions:
    """Knows the ids that stand in most links of many pages of a host.

    An id of one commit or document stands in most links of its own page alone. Of arguments that by their name are a
    session (``PHPSESSID``, ``;jsessionid=``) each value of 16 characters or more is one.
    """

    def __init__(self) -> None:
        self._pages, self._ids = Counter[str](), dict[str, Counter[str]]()

    def see(self, host: str, links: Iterable[str]) -> None:
        """Take note of the URLs, each once, that a page of *host* links to."""
        seen = [*islice(links, LOOKED_AT)]
        found = [_ids_of(url) for url in seen] if _ids_of("\n".join(seen)) else []
        if len(self._pages) >= MAX_HOSTS:
            self._pages.clear()
            self._ids.clear()
        self._pages[host] += 1
        counts, ids = Counter(one for ids in found for one in ids), self._ids.setdefault(host, Counter())
        if len(ids) < MAX_IDS:
            ids.update(one for one, n in counts.items() if n > 1 and 2 * n > len(found))

    def without(self, host: str, text: str) -> str:
        """Return *text*, of a page of *host* or its URL, with a star in the place of each session id.

        One of more than 100,000 characters stays as it is.
        """
        ids, least = self._ids.get(host), SHARE * self._pages[host]
        if len(text) > LONGEST or not (ids or "=" in text):
            return text
        named = {one for one in _named().findall(text) if _is_long(one)} if "=" in text else set()
        found = [one for one in {*_WORD.findall(text)} if one in named or (ids and ids[one] > least)]
        for one in sorted(found, key=len, reverse=True):
            text = re.sub(rf"(?<![0-9A-Za-z]){one}(?![0-9A-Za-z])", "*", text)
        return text


def _ids_of(url: str) -> set[str]:
    """Return what may be a session in *url*: what a machine made, and short values of arguments of such a name."""
    named = {one for one in _named().findall(url) if len(one) >= LEAST_NAMED and not one.isalpha()}
    return named | {one for one in _WORD.findall(url) if _is_long(one) or (len(one) >= LEAST and _SHORT.fullmatch(one))}


def _is_long(one: str) -> bool:
    """Tell whether *one* is 16 letters and digits or more, a digit among them, or a UUID."""
    return len(one) >= 16 and bool(_UUID.fullmatch(one) if "-" in one else not one.isalpha())


@lru_cache(1)
def _named() -> re.Pattern[str]:
    """Return what finds ids by the names of their arguments, those of the shipped guesses."""
    keys = (rule.transformation[0].key for rule in priors() if rule.learnt_from == "prior session")
    names = {re.escape(key.removeprefix(";").removesuffix("={0}")) for key in keys if "(" not in key}
    return re.compile(rf"[?&;](?i:{'|'.join(sorted(names))})=({_WORD.pattern})")
