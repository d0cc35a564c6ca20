"""What a page states in prices, stock and numbers.

Copies agree in it; a product in the shop of another country does not, although the two texts have nearly the same
shingles. What changes while a page stays the same is no fact: dates and years, clock times, how long ago something was,
how often it was looked at. Facts are compared as they are spelled; a copy spells them alike.
"""

from __future__ import annotations

import re
from itertools import islice

from scrapy_replica.records import Facts

MAX_CHARACTERS = 40_000
"""Of a text that are read."""
MAX_NUMBERS = 300
"""Numbers of a text that are looked at."""

# begins with a digit, so that the text is passed over quickly
_NUMBER = re.compile(r"[0-9](?<![\w.,:/-][0-9])[0-9]{0,14}(?:[.,:/'\u2019-][0-9]{1,15}){0,5}(?!\w{0,15}[0-9])")
_DATE_OR_TIME = re.compile(r"[0-9]+:.*|(?:19|20)[0-9]{2}|[0-9]{1,4}([./-])[0-9]{1,2}\1[0-9]{1,4}")
_CURRENCY = (
    r"(?:(?:US|CA|AU|NZ|HK|[ACRS])?\$|[€£¥₹₩₽₺₪₴₦₫฿]|(?:Rs|Fr|kr)\.?|zł|Kč|Ft|AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK"
    r"|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MAD|MXN|MYR|NOK|NZD|PEN|PHP|PKR|PLN|RON|RSD|RUB|SAR|SEK|SGD|THB"
    r"|TRY|TWD|UAH|USD|VND|ZAR)"
)
_CURRENCY_BEFORE = re.compile(rf"(?<!\w){_CURRENCY}\s?$")
_CURRENCY_AFTER = re.compile(rf"\s?{_CURRENCY}(?!\w)")
_STOCK = re.compile(
    r"\b(?:in stock|out of stock|sold out|unavailable|back-?order|pre-?order|auf lager|vorrätig|lieferbar|ausverkauft"
    r"|en stock|en rupture|épuisé|indisponible|agotado|esaurito|non disponibile|op voorraad|uitverkocht)\b"
)
_OFFER_DATA = re.compile(
    r"^(?:[\w.]+:)*(?:(?:low|high)?price|amount|(?:price)?currency|availability)=.*$", re.IGNORECASE | re.MULTILINE
)

_MONTHS = """jan january januar janvier enero gennaio feb february februar février febrero febbraio mar march märz mars
    marzo apr april avril abril aprile may mai mayo maggio jun june juni juin junio giugno jul july juli juillet julio
    luglio aug august août agosto sep sept september septembre septiembre settembre oct october oktober octobre octubre
    ottobre nov november novembre noviembre dec december dez dezember décembre diciembre dicembre"""
_HOW_LONG = "ago ms sec secs second seconds min mins minute minutes hour hours vor sekunden minuten stunden"
_HOW_OFTEN = """visit visits visitor visitors visited view views viewed hit hits download downloads downloaded user
    users guest guests members online like likes vote votes share shares comment comments reply replies follower
    followers times queries revision revisions counter besucher aufrufe zugriffe klicks vues visites visiteurs visitas
    visite weergaven"""
_PASSING = frozenset(f"{_MONTHS} {_HOW_LONG} {_HOW_OFTEN}".split())
"""Words beside numbers that change while a page stays the same."""
_NEAR = 30
_EDGES = ".,:;()[]#*|\u2013\u2014\"'"


def facts_of(main: str, around: str = "", data: str = "") -> Facts:
    """Return the facts of a page: of its *main* text and the text *around* it, and of *data*, lines of ``name=value``.

    Linear in their size.
    """
    offers, numbers = _read(main)
    offers.update(line.lower() for line in _OFFER_DATA.findall(data[:MAX_CHARACTERS]))
    return Facts(frozenset(offers), frozenset(numbers), frozenset(() if numbers else _read(around)[1]))


def _read(text: str) -> tuple[set[str], set[str]]:
    """Return what *text* offers and the numbers in it."""
    text = text[:MAX_CHARACTERS]
    offers: set[str] = set()
    numbers: set[str] = set()
    for found in islice(_NUMBER.finditer(text), MAX_NUMBERS):
        number, (start, end) = found.group(), found.span()
        if currency := _CURRENCY_BEFORE.search(text, max(0, start - 5), start) or _CURRENCY_AFTER.match(text, end):
            offers.add(f"{number} {currency.group().strip()}")
            numbers.add(number)
        elif number not in numbers and _stays(number, text[max(0, start - _NEAR) : start], text[end : end + _NEAR]):
            numbers.add(number)
    if offers:
        offers.update(_STOCK.findall(text.lower()))
    return offers, numbers


def _stays(number: str, before: str, after: str) -> bool:
    """Tell whether a number is none of those that change while a page stays the same."""
    if _DATE_OR_TIME.fullmatch(number):
        return False
    words = before.rpartition("\n")[2].split()[-2:] + after.partition("\n")[0].split()[:2]
    return not any(word.strip(_EDGES).lower() in _PASSING for word in words)
