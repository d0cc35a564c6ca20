"""Where a machine's URLs lead: the month after this one, the page with the next number, and those far ahead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"([A-Za-z]+)(?:\[\])?=$")
_PARTS = re.compile(r"[-/._]$")
_YEARS = range(1900, 2200)
_MONTHS = 12

Parts = tuple[int, ...]
"""Places, among the numbers of a URL, of its year and month, or of its year, month and day."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A URL that was found one step behind a URL like it.

    >>> walk = walk_of("https://a.example/cal?y=2024&m=12", "https://a.example/cal?y=2024&m=11")
    >>> walk.at(2)
    'https://a.example/cal?y=2025&m=2'
    """

    url: str
    position: int
    """Its month, counted from the year 0, its day, or the one number that changes."""
    step: int
    """How far it is from the page that it was found on, in the same unit; never 0."""
    parts: Parts = ()
    """What its date consists of; empty where it has none."""
    index: int = 0
    """Which number changes where it has no date."""
    is_padded: bool = False

    def is_ahead(self, position: int) -> bool:
        """Tell whether *position* lies further on, the way that leads to this URL."""
        return (position - self.position) * self.step > 0

    def at(self, n: int) -> str | None:
        """Return the URL *n* steps further; ``None`` where there is no such number or year."""
        position = self.position + n * self.step
        if not self.parts:
            return self._with({self.index: position}) if position >= 0 else None
        if len(self.parts) == 2:
            year, month = divmod(position, _MONTHS)
            values: tuple[int, ...] = (year, month + 1)
        else:
            day = date.min + timedelta(days=position)
            values = (day.year, day.month, day.day)
        return self._with(dict(zip(self.parts, values, strict=True))) if values[0] in _YEARS else None

    def _with(self, values: Mapping[int, int]) -> str:
        pieces, end = [], 0
        for index, found in enumerate(_numbers(self.url)):
            if index in values:
                width = len(found[0]) if self.is_padded else 0
                pieces += [self.url[end : found.start()], f"{values[index]:0{width}}"]
                end = found.end()
        return "".join((*pieces, self.url[end:]))


def walk_of(url: str, found_on: str) -> Walk | None:
    """Return the walk that leads from the page at *found_on* to *url*; ``None`` if they differ in more than a step."""
    if _NUMBER.sub("0", url) != _NUMBER.sub("0", found_on):
        return None
    here, before = ([found[0] for found in _numbers(one)] for one in (url, found_on))
    changed = {index for index, (a, b) in enumerate(zip(here, before, strict=True)) if a != b}
    if not changed or any(len(number) > 15 for number in here):
        return None
    is_padded = any(
        number.startswith("0") and len(number) > 1 for index in changed for number in (here[index], before[index])
    )
    parts = _date_parts(url, here)
    if parts and changed <= set(parts):
        if len(parts) == 3 and changed.isdisjoint(parts[2:]):
            parts = parts[:2]
        position, last = _position(parts, here), _position(parts, before)
        if position is not None and last is not None and position != last:
            is_padded |= any(here[part].startswith("0") for part in parts) or _is_written_in_full(url, parts, here)
            return Walk(url, position, position - last, parts, is_padded=is_padded)
    if len(changed) > 1:
        return None
    (index,) = changed
    step = int(here[index]) - int(before[index])
    return Walk(url, int(here[index]), step, index=index, is_padded=is_padded) if step else None


def _numbers(url: str) -> Iterator[re.Match[str]]:
    """Yield the numbers behind the host of *url*."""
    return _NUMBER.finditer(url, url.find("/", url.find("://") + 3))


def _is_written_in_full(url: str, parts: Parts, numbers: list[str]) -> bool:
    """Guess whether 9 would be written 09 where nothing tells: in 2024-10 and 2024/10/12, not in 2024/10 or m=10."""
    has_names = _NAME.search(url[: list(_numbers(url))[parts[0]].start()]) is not None
    return not has_names and (len(parts) > 2 or f"{numbers[parts[0]]}-" in url)


def _position(parts: Parts, numbers: list[str]) -> int | None:
    values = [int(numbers[part]) for part in parts]
    try:
        day = date(values[0], values[1], values[2] if len(values) > 2 else 1)
    except ValueError:
        return None
    return (day - date.min).days if len(values) > 2 else values[0] * _MONTHS + values[1] - 1


def _date_parts(url: str, numbers: list[str]) -> Parts:
    """Return where year, month and day stand among the *numbers* of *url*, by their names or beside each other."""
    spans = [found.span() for found in _numbers(url)]
    names: dict[str, int] = {}
    for index, (start, _) in enumerate(spans):
        named = _NAME.search(url, max(0, start - 20), start)
        if named is not None:
            names.setdefault(named[1][0].lower(), index)
    if "y" in names and "m" in names:
        return tuple(names[part] for part in "ymd" if part in names)
    years = [index for index, number in enumerate(numbers) if len(number) == 4 and int(number) in _YEARS]
    joined = {a for a, b in pairwise(range(len(spans))) if _PARTS.fullmatch(url, spans[a][1], spans[b][0])}
    for year in years:
        if year in joined:
            return (year, year + 1, year + 2) if year + 1 in joined else (year, year + 1)
        if year - 1 in joined:
            return (year, year - 1, year - 2) if year - 2 in joined else (year, year - 1)
    return ()
