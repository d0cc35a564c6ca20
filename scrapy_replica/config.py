"""Every ``REPLICA_*`` setting: typed, checked once, documented here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from scrapy_replica.decision import Mode
from scrapy_replica.records import Noise, Reach
from scrapy_replica.usage import Use

PREFIX = "REPLICA_"

INTERNAL = frozenset(
    {"REPLICA_ARCHIVE", "REPLICA_FALLBACK_REQUEST_FINGERPRINTER_CLASS", "REPLICA_FALLBACK_ROBOTSTXT_PARSER"}
)
"""Settings that the add-on and the commands hand to components; not for users."""


ENUMS = (Mode, Noise, Reach, Use)
"""Settings that take one of a few words."""


WORDS = tuple[str, ...]
"""Settings that take a list; a string is taken apart at white space."""

TEXT = str | None
"""Settings that take text, or are not set."""


class ConfigError(ValueError):
    """A setting or file is wrong: one line that names it and says what to do."""


def _setting(
    default: Any, doc: str, *, low: float | None = None, high: float | None = None, internal: bool = False
) -> Any:
    """Declare a setting; one that is *internal* is for tests and the laboratory: nobody could choose it well."""
    return field(default=default, metadata={"doc": doc, "low": low, "high": high, "internal": internal})


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of one crawl; the field ``min_words`` is the setting ``REPLICA_MIN_WORDS``, and so on."""

    enabled: bool = _setting(True, "``False`` switches the add-on off without taking it out of ``ADDONS``.")
    mode: Mode = _setting(
        Mode.DEMOTE,
        "``observe`` changes nothing and counts what would be saved; ``demote`` lets guesses wait behind everything "
        "else and drops what is certain; ``drop`` drops both.",
    )
    scope: Reach = _setting(
        Reach.ANY,
        "How far from its seeds the crawl goes: ``hosts`` fetches of their hosts only, ``domains`` of the domains that "
        "were registered for them, ``any`` of all the web: :doc:`scope`. ``scrapy replica crawl`` has ``domains``.",
    )
    include: tuple[str, ...] = _setting(
        (), "Patterns of URLs; of what the crawl finds only what one of them matches is fetched: :ref:`patterns`."
    )
    exclude: tuple[str, ...] = _setting(
        (), "Patterns of URLs; of what the crawl finds nothing is fetched that one of them matches: :ref:`patterns`."
    )
    languages: tuple[str, ...] = _setting(
        (), "Two-letter languages; links of pages in another one are not followed: :ref:`languages`."
    )
    host_pages: int = _setting(0, "Most pages to fetch of one host, whatever they are; 0 sets no limit.", low=0)
    sitemaps: bool = _setting(
        False,
        "Begin with what the sitemaps of the seeds' hosts list as well. For ``TopicSpider``; other spiders have "
        "Scrapy's ``SitemapSpider``.",
    )
    crawldb: str | None = _setting(
        None,
        "Address of the Redis database in which several processes share the crawl, "
        "``redis://host:6379/0?prefix=NAME``: :doc:`many-processes`. Without it one process keeps the crawl in its "
        "JOBDIR, or in memory.",
    )
    topic: Path | None = _setting(
        None,
        "What the crawl is to find: some words (``machine learning courses``), or better examples: a folder of "
        "``.txt`` and ``.html`` files, a file of URLs (fetched first), or a JSONL file with ``text`` or ``html`` and "
        "an optional ``label``.",
    )
    background: Path | None = _setting(
        None,
        "Unlabelled pages of the kind that the crawl will meet, in the same formats as ``REPLICA_TOPIC``. Without it "
        "the term statistics that ship with the package stand in.",
    )
    topic_model: Path | None = _setting(
        None,
        "In place of ``REPLICA_TOPIC`` and ``REPLICA_BACKGROUND``: a file that ``scrapy replica export JOB model`` "
        "wrote of another crawl: its topic, and what its links taught.",
    )
    scorer: str | None = _setting(
        None,
        "A score of your own for each page, in place of the topic or beside it: ``module:callable``, called with the "
        "page and its relevance: :ref:`scorer`.",
    )
    strategy: str = _setting(
        "auto",
        "Which link comes next: the name of a strategy, ``module:Class`` of one of your own, or ``auto``: "
        "``link-aware`` with a topic, ``breadth-first`` without.",
    )
    warmup_pages: int = _setting(
        60, "Pages fetched breadth-first before the strategy's scores count.", low=0, internal=True
    )
    default_language: str = _setting("en", "Two-letter language of a topic, and of pages that do not declare one.")
    noise: Noise = _setting(
        Noise.LEARNED,
        "How main text is found: ``learned`` by a trained model; ``cetd`` by text density, a little faster; ``none`` "
        "takes the whole page. A job keeps what it began with.",
    )
    near_distance: int = _setting(
        3,
        "Two pages whose simhashes differ in at most this many of 64 bits are near duplicates. 3 is the most of which "
        "no bit brings above 2 % false ones with ``learned`` (:doc:`calibrate`).",
        low=0,
        high=7,
    )
    min_words: int = _setting(
        20,
        "Pages whose main text has fewer words are never taken for duplicates of others. Whether URLs are one page is "
        "told of such by their items and pictures, too (:doc:`dust`).",
        low=1,
    )
    aliases: Path | None = _setting(
        None, "File of ``mirror canonical`` host names, one pair a line (Nutch host-urlnormalizer lines, too)."
    )
    known: Path | None = _setting(
        None,
        "Index of a collection that ``scrapy replica mine --index`` wrote: links of pages that it has wait behind the "
        "others, so that what the collection lacks is fetched first (:doc:`known`).",
    )
    usable: Use | None = _setting(
        None,
        "What items are for: those of pages whose site refuses that use are left out, and their links are followed "
        "(:doc:`usage`).",
    )
    mirrors: bool = _setting(True, "Detect mirrored hosts while the crawl runs.")
    judge: Path | None = _setting(
        None,
        "File of a judge of hosts that ``scrapy replica mine`` wrote: the crawl begins with what it learnt "
        "(:doc:`mining`), not with the shipped one.",
    )
    probes: int = _setting(
        12, "Most pages to ask of one host only to tell whether it is a copy of another; 0 asks for none.", low=0
    )
    dust: bool = _setting(
        True,
        "Learn while the crawl runs which URLs of a host are one page (session ids, sort orders and the like), and "
        "fetch one of them.",
    )
    rules: Path | None = _setting(
        None,
        "File of rules that ``scrapy replica mine`` or duplicate-url-discarder wrote. The crawl proves them where it "
        "meets their hosts, as it proves its own, before they act.",
    )
    explore: float = _setting(
        0.02,
        "Least share of the URLs that would be dropped which are fetched all the same, to test what decides so; it is "
        "more at first. 0 tests nothing.",
        low=0,
        high=1,
    )
    stop_at: float = _setting(
        0.0,
        "Share of the contents within reach at which the crawl has enough and ends: 0.99, say. It ends when the lower "
        "end of the interval of what it found passes that, and fifty fetches in a row brought nothing new: "
        ":doc:`coverage`. 0 lets it fetch all.",
        low=0,
        high=0.999,
    )
    revisit: bool = _setting(
        False,
        "Ask for the pages of the job in the JOBDIR again, those that may have changed: :doc:`revisiting`.",
    )
    revisit_chance: float = _setting(
        0.02,
        "A page is asked for again when the chance that it changed since it was seen is above this; with 0 all are.",
        low=0,
        high=1,
    )
    path_budget: int = _setting(0, "Most novel pages to fetch below one path prefix; 0 sets no limit.", low=0)
    traps: bool = _setting(
        True, "Let directories wait that bring nothing new, and end calendars, facets and other endless shapes."
    )
    trap_credit: int = _setting(
        20,
        "Fetches that a path prefix may spend before it must bring novel pages; each novel page earns four more.",
        low=1,
        internal=True,
    )
    private_addresses: bool = _setting(
        True,
        "``False`` fetches http and https only, and nothing from loopback, private and link-local addresses but the "
        "hosts of the seeds: :ref:`private-addresses`.",
    )
    ledger: Path | None = _setting(None, "File to which every decision is appended as a line of JSON.")
    warc: str | None = _setting(
        None,
        "Folder to which everything that is fetched is written as WARC files, credentials left out: :doc:`keep`. Files "
        "are moved to a URL (``s3://bucket/x``) when they are whole, and need the extra ``bucket`` for that; else "
        "``warc``.",
    )
    warc_size: int = _setting(1_000_000_000, "Bytes after which the next WARC file begins.", low=1, internal=True)
    seed: int = _setting(
        0,
        "Seed of everything random, at most 32 bits. With 0 each job draws its samples in its own way, so that no site "
        "can know them.",
        low=0,
        high=2**32 - 1,
    )

    @classmethod
    def from_settings(cls, settings: Mapping[Any, Any]) -> Config:
        """Return the configuration that *settings* hold.

        :raises ConfigError: a value does not fit or a ``REPLICA_`` name is unknown.
        """
        names = {PREFIX + f.name.upper(): f.name for f in fields(cls)}
        _refuse_unknown((name for name in settings if str(name).startswith(PREFIX)), names)
        hints = _types()
        values = {}
        for f in fields(cls):
            setting = PREFIX + f.name.upper()
            value = settings.get(setting)
            if value is None:
                continue
            parsed = _parse(setting, value, hints[f.name])
            _check_range(setting, parsed, f.metadata["low"], f.metadata["high"])
            values[f.name] = parsed
        return cls(**values)

    @classmethod
    def documentation(cls) -> Iterable[tuple[str, str, str, str]]:
        """Yield (setting, type, default, meaning) of each setting, for the reference page."""
        hints = _types()
        for f in fields(cls):
            if f.metadata["internal"]:
                continue
            kind = hints[f.name]
            default = f.default.value if isinstance(f.default, Enum) else f.default
            yield PREFIX + f.name.upper(), _type_name(kind), repr(default), f.metadata["doc"]


def _refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    known = [*known, *INTERNAL]
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else "see the settings page for the names"
            raise ConfigError(f"{name} is not a setting of scrapy-replica: {hint}")


@lru_cache(1)
def _types() -> dict[str, Any]:
    """Return the types of the settings: of an enumeration that may be left out, the enumeration."""
    hints = get_type_hints(Config)
    return {name: next((kind for kind in get_args(hint) if kind in ENUMS), hint) for name, hint in hints.items()}


def _type_name(kind: Any) -> str:
    if kind in ENUMS:
        return "one of " + ", ".join(f"``{m.value}``" for m in kind)
    names = {bool: "bool", int: "int", float: "float", str: "str", TEXT: "str", WORDS: "list of str"}
    return names.get(kind, "path")


def _parse(setting: str, value: Any, kind: Any) -> Any:
    try:
        if kind is bool:
            return _parse_bool(value)
        if kind in ENUMS:
            return kind(str(getattr(value, "value", value)).lower())
        if kind in {int, float, str}:
            return kind(value)
        if kind == TEXT:
            return str(value).strip() or None
        if kind == WORDS:
            return tuple(value.split() if isinstance(value, str) else map(str, value))
        if value == "":  # the folder in which the crawl was begun, to Path
            raise ConfigError(f"{setting} is empty: leave it out, or name a file or folder")
        return Path(value).expanduser()
    except ConfigError:
        raise
    except (ValueError, TypeError):
        raise ConfigError(f"{setting} is {value!r}: it takes {_in_words(kind)}") from None


def _in_words(kind: Any) -> str:
    if kind in ENUMS:
        return "one of " + ", ".join(member.value for member in kind)
    return {bool: "True or False", int: "a whole number", float: "a number", str: "text"}.get(kind, "a path")


def _parse_bool(value: Any) -> bool:
    word = str(value).lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise ValueError(word)


def _check_range(setting: str, value: Any, low: float | None, high: float | None) -> None:
    if low is not None and not value >= low:
        raise ConfigError(f"{setting} is {value}: it must be at least {low}")
    if high is not None and not value <= high:
        raise ConfigError(f"{setting} is {value}: it must be at most {high}")
