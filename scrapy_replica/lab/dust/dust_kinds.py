"""What two URLs of one page differ in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scrapy_replica.urls.pattern import argument_name, parse

KINDS = ("host", "order", "case", "slash_index", "values", "arguments", "path", "path_arguments", "id_only")
"""From the least difference on: scheme, host name or port; order of the arguments; upper and lower case; a slash or an
index page at the end of the path; values of the same arguments; other arguments, one dropped for example; the path
alone; path and arguments; and URLs that name the page by its number in the database (``/?p=7``), which no rule can
know from another URL of the page.
"""
_BY_NUMBER = re.compile(r"(?:p|page_id)=\d+$")
_END_OF_PATH = re.compile(r"/(?:(?:index|default|home)\.\w+)?$", re.IGNORECASE)


def is_by_number(url: str) -> bool:
    """Tell whether *url* names its page by a number alone, as WordPress does beside its permalinks."""
    return _BY_NUMBER.fullmatch(parse(url).query) is not None


def _keys(url: str, *, is_number: bool) -> list[tuple[str, str]]:
    """Return (kind, what two URLs share that differ in no more than that), from the least difference on."""
    pattern = parse(url)
    ordered = pattern.sorted()
    folded = ordered._replace(path=_END_OF_PATH.sub("", ordered.path))
    keys = [
        ("host", pattern.local),
        ("order", ordered.local),
        ("case", ordered.local.casefold()),
        ("slash_index", folded.local.casefold()),
    ]
    if is_number:
        return keys
    names = "&".join(argument_name(argument) for argument in ordered.arguments or ())
    return [*keys, ("values", f"{pattern.path}?{names}"), ("arguments", pattern.path), ("path", pattern.query)]


def difference(one: str, other: str) -> str:
    """Return the kind of difference between two URLs."""
    numbers = is_by_number(one), is_by_number(other)
    shared = set(_keys(one, is_number=numbers[0]))
    least = (kind for kind, key in _keys(other, is_number=numbers[1]) if (kind, key) in shared)
    return next(least, "id_only" if any(numbers) else "path_arguments")


def kinds_of(urls: Iterable[tuple[str, str]]) -> list[str]:
    """Return for each (URL, cluster) its least difference to a URL of its cluster before it; "" for the first one."""
    seen: dict[str, set[tuple[str, str]]] = {}
    named: set[str] = set()
    kinds = []
    for url, cluster in urls:
        is_number = is_by_number(url)
        keys = _keys(url, is_number=is_number)
        before = seen.setdefault(cluster, set())
        other = "id_only" if is_number or cluster not in named else "path_arguments"
        kinds.append(next((kind for kind, key in keys if (kind, key) in before), other) if before else "")
        before.update(keys)
        if not is_number:
            named.add(cluster)
    return kinds
