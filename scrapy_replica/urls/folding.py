"""What a page says beside what its URL says: a calendar tells its own date on each page, and that is no news."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone

import mmh3

_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_CLOCK = re.compile(r"\d?\d:\d\d(?::\d\d)?")
_DATE = re.compile(r"\d{1,4}([-/.])\d\d?\1\d{1,4}")
_LONGEST_NUMBER = 9
"""Digits; what is longer is taken for a word."""
_TIMESTAMP = 10
"""Digits of the seconds since 1970."""
_RUN = 4
"""Numbers of which each follows the other: the days of a month, the weeks and hours, the years to choose from."""
_NAMES = """
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
lundi mardi mercredi jeudi vendredi samedi dimanche
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
lunes martes miércoles jueves viernes sábado domingo
gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
lunedì martedì mercoledì giovedì venerdì sabato domenica
janeiro fevereiro março maio junho julho setembro outubro novembro dezembro segunda terça quarta quinta sexta
"""
_OF_DATES = frozenset(name[:length] for name in _NAMES.split() for length in (3, 4, None))
"""Months and days of the week in the languages whose statistics ship with the package, and short for them. In another
language they are words like others, and a calendar ends after it has shown all of them."""
MAX_LINES = 1_000
"""Lines of one page that are looked at; of a longer one is said that it is new."""


class Folding:
    """The lines of a page without what follows from its URL.

    Left out are clock times, the numbers and dates in the URL and the numbers beside them (the month before and after,
    the next page), and runs of numbers that follow each other; and the words that stand in the URL, or with *is_date*
    those that name months and days instead, and dates.
    """

    def __init__(self, url: str, title: str | None, text: str, *, is_date: bool) -> None:
        said = _CLOCK.sub(" ", f"{title or ''}\n{text}".lower())
        lines = (_DATE.sub(" ", said) if is_date else said).split("\n", MAX_LINES)
        self.is_whole = len(lines) <= MAX_LINES
        """The page is not too long to be judged."""
        local = _local(url)
        self._tokens = [_TOKEN.findall(line) for line in lines]
        self._numbers = numbers_of(url)
        found = {int(token) for line in self._tokens for token in line if _is_number(token)}
        self.echoes_url = not found.isdisjoint(self._numbers)
        """A number of the URL, or one beside it, stands on the page."""
        self._numbers |= _runs(found)
        self._words = _OF_DATES if is_date else frozenset(_TOKEN.findall(local))

    def lines(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Yield words and numbers of each line that says something."""
        for tokens in self._tokens:
            words = [token for token in tokens if not _is_number(token) and token not in self._words]
            numbers = [token for token in tokens if _is_number(token) and int(token) not in self._numbers]
            if words or numbers:
                yield tuple(words), tuple(numbers)


def _is_number(token: str) -> bool:
    return token.isdecimal() and len(token) <= _LONGEST_NUMBER


def _local(url: str) -> str:
    return url.partition("://")[2].partition("/")[2].lower()


def numbers_of(url: str) -> frozenset[int]:
    """Return the numbers in the path and query of *url*, the parts of dates among them, and those beside each."""
    numbers: set[int] = set()
    for token in _TOKEN.findall(_local(url)):
        if token.isdecimal() and len(token) in {6, 8}:
            numbers.update(map(int, filter(None, (token[:4], token[4:6], token[6:]))))
        elif token.isdecimal() and len(token) == _TIMESTAMP:
            numbers.update(datetime.fromtimestamp(int(token), tz=timezone.utc).timetuple()[:3])
        if _is_number(token):
            numbers.add(int(token))
    return frozenset(number + step for number in numbers for step in (-1, 0, 1))


def _runs(numbers: set[int]) -> frozenset[int]:
    members: set[int] = set()
    run: list[int] = []
    for number in sorted(numbers):
        if run and number != run[-1] + 1:
            run = []
        run.append(number)
        if len(run) >= _RUN:
            members.update(run[-_RUN:])
    return frozenset(members)


def hash_of(text: str) -> int:
    return mmh3.hash64(text.encode("utf-8", "surrogatepass"), signed=False)[0]
