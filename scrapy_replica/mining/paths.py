"""Paths as the crawl aligns them (``sites.alignment``), in the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from scrapy_replica.sites.alignment import FIRST_SESSIONS, SESSION

if TYPE_CHECKING:
    from ibis.expr.types import IntegerValue, StringValue

NUMBERS = 1 << 16
"""What sampling hashes lie below: that of a last segment is the first 16 bits of its MD5, as every engine has it."""
_NEXT = "%[89AaBb][0-9A-Fa-f]"
_UTF8 = "|".join(
    (
        "[^%?]",
        "%[0-7][0-9A-Fa-f]",
        f"%(?:[Cc][2-9A-Fa-f]|[Dd][0-9A-Fa-f]){_NEXT}",
        f"%(?:[Ee]0%[AaBb][0-9A-Fa-f]|[Ee][Dd]%[89][0-9A-Fa-f]|[Ee][1-9A-Ca-cEeFf]{_NEXT}){_NEXT}",
        f"%[Ff](?:0%[9AaBb][0-9A-Fa-f]|[1-3]{_NEXT}|4%8[0-9A-Fa-f]){_NEXT}{_NEXT}",
    )
)


@ibis.udf.scalar.builtin(name="url_decode")  # type: ignore[untyped-decorator]
def _url_decode(text: str) -> str:  # type: ignore[empty-body]
    """Decode a text whose escapes are UTF-8."""


# An expression that is used twice stands twice in the query: what follows uses each step once, and whole columns.


def normal_path(path: StringValue) -> StringValue:
    """Return what :func:`scrapy_replica.sites.alignment.normal_path` does of a column.

    Where an escape is none, or is no UTF-8, all escapes of the path stay: no engine decodes these.
    """
    path = path.re_replace(FIRST_SESSIONS, "?").re_replace(SESSION, "")
    raw = path.re_replace(r"(?s)\?.*\z", "")
    # a "+" is one here, and a blank in what Java decodes
    is_escaped = path.contains("%") & path.re_search(rf"\A(?:{_UTF8})*(?:\?|\z)")
    stem = ibis.ifelse(is_escaped, _url_decode(raw.replace("+", "%2B")), raw)
    stem = stem.re_replace("/+", "/").re_replace(r"\A/|/\z", "")
    stem = stem.re_replace(r"(?i)\.(?:x?html?|php|aspx?|jsp)\z", "")
    stem = stem.re_replace(r"(?i)(?:\A|/)(?:index|default|home)\z", "")
    query = path.re_replace(r"\A[^?]*", "").re_replace(r"\A\?\z", "").re_replace(r"\A\?", "/?")
    return (stem + query).re_replace(r"\A/\?", "?")


def last_segment(normal: StringValue) -> StringValue:
    """Return what stands behind the last slash."""
    return normal.re_extract(r"([^/]*)\z", 1)


def number_of(normal: StringValue) -> IntegerValue:
    """Return the number by which normalised paths are sampled, below :data:`NUMBERS`: of the last segment alone."""
    digest = last_segment(normal).hexdigest("md5")
    digits = [ibis.literal("0123456789abcdef").find(digest.substr(place, 1)) for place in range(4)]
    number: IntegerValue = digits[0] * 4096 + digits[1] * 256 + digits[2] * 16 + digits[3]
    return number.cast("int32")


def suffixes(normal: StringValue, most: int) -> list[StringValue]:
    """Return the suffixes of normalised paths with 0, 1 ... *most* leading segments cut; empty where there is none.

    These are those of :func:`scrapy_replica.sites.alignment.suffixes`.
    """
    cuts = (normal.re_extract(rf"(?s)\A(?:[^/?]*/){{{n}}}([^?].*)\z", 1) for n in range(1, most + 1))
    return [normal, *cuts]
