"""URLs as functions from keys to values, and rules over all of their keys, as Dasgupta et al. 2008 and Lei et al. 2010
have them. The rules of a crawl (``urls.rule``) never touch scheme and host, so these have a book of their own.

Keys: ``scheme``, ``port``, ``host1`` (the last name of the host) and so on, ``path1`` (the first component of the path)
and so on, ``?name`` for an argument. ``path-1`` is the last component: the same value by another name. The order of
arguments is no part of a URL here, nor is its fragment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from scrapy_replica.address import host_of
from scrapy_replica.lab.dust.dust_splits import Row
from scrapy_replica.urls.learners.evidence import Tally
from scrapy_replica.urls.pattern import parse

Keys = Mapping[str, str]
ANY = "*"
"""As a condition: the key is there, with whatever value. As a value: what takes the place of one that means nothing."""
MAX_STEPS = 50
_MAX_CHANGES = 64
_COPIED = "<"
_REPEAT = "\0"


def keys_of(url: str) -> dict[str, str]:
    """Return the keys of *url* with their values; that of an argument begins with its ``=``, if it has one."""
    pattern = parse(url)
    scheme, _, authority = pattern.head.partition("://")
    name, _, port = authority.rpartition("@")[2].partition(":")
    keys = {"scheme": scheme.lower()} | ({"port": port} if port else {})
    keys |= {f"host{place}": label for place, label in enumerate(reversed(name.lower().split(".")), 1)}
    keys |= {f"path{place}": component for place, component in enumerate(pattern.components, 1)}
    seen: Counter[str] = Counter()
    for argument in sorted(pattern.arguments or ()):
        name, equals, value = argument.partition("=")
        seen[name] += 1
        keys[f"?{name}" if seen[name] == 1 else f"?{name}{_REPEAT}{seen[name]}"] = equals + value
    return keys


def url_of(keys: Keys) -> str:
    """Return a URL with these *keys*, its arguments sorted: equal for equal keys, different for different ones."""
    labels = [keys[f"host{place}"] for place in range(_count(keys, "host"), 0, -1)]
    path = [keys[f"path{place}"] for place in range(1, _count(keys, "path") + 1)]
    names = sorted(key for key in keys if key.startswith("?"))
    query = "&".join(f"{name[1:].partition(_REPEAT)[0]}{keys[name]}" for name in names)
    port = f":{keys['port']}" if "port" in keys else ""
    return f"{keys.get('scheme', '')}://{'.'.join(labels)}{port}/{'/'.join(path)}{'?' if names else ''}{query}"


def _count(keys: Keys, kind: str) -> int:
    place = 0
    while f"{kind}{place + 1}" in keys:
        place += 1
    return place


def with_ends(keys: Keys) -> dict[str, str]:
    """Return *keys* and those that count the path from its end."""
    n = _count(keys, "path")
    return {**keys, **{f"path{place - n - 1}": keys[f"path{place}"] for place in range(1, n + 1)}}


class KeyRule(NamedTuple):
    """A context C and a transformation T."""

    context: tuple[tuple[str, str | None], ...]
    """Key -> the value it must have, :data:`ANY`, or None where the URL must not have it."""
    change: tuple[tuple[str, str | None], ...]
    """Key -> what it becomes: a literal, ``<key`` for the value of another key, None to delete it. A component of the
    path that is deleted closes up."""
    support: int = 0
    """Different clusters among the groups of URLs that it makes one."""
    error: float = 0.0
    """Share of these groups that mix clusters."""

    def holds(self, keys: Keys) -> bool:
        """Tell whether *keys*, with the ends of the path, answer the context."""
        return all((key in keys) if value == ANY else keys.get(key) == value for key, value in self.context)

    def applied(self, keys: Keys) -> dict[str, str] | None:
        """Return what becomes of *keys* (with the ends of the path), None if what is copied or deleted is not there."""
        changed = {key: value for key, value in keys.items() if not key.startswith("path-")}
        deleted = set()
        for key, wanted in self.change:
            place = f"path{_count(keys, 'path') + 1 + int(key[4:])}" if key.startswith("path-") else key
            value = _written(wanted, key, keys)
            if value is not None:
                changed[place] = value
            elif wanted is None and place in keys:
                deleted.add(place)
            else:
                return None
        return _closed_up(changed, deleted)


def copied(key: str) -> str:
    """Return what stands in a change for the value of *key*."""
    return _COPIED + key


def bare(value: str) -> str:
    """Return a value as it is copied: that of an argument without its ``=``."""
    return value.removeprefix("=")


def _written(wanted: str | None, key: str, keys: Keys) -> str | None:
    if wanted is None or not wanted.startswith(_COPIED):
        return wanted
    source = keys.get(wanted[1:])
    if source is None:
        return None
    return f"={bare(source)}" if key.startswith("?") else bare(source)


def _closed_up(keys: Keys, deleted: set[str]) -> dict[str, str] | None:
    """Return *keys* without those *deleted*, path and host numbered anew; None where a component would be missing."""
    kept = {key: value for key, value in keys.items() if key not in deleted and not key.startswith(("path", "host"))}
    for kind in ("host", "path"):
        places = sorted(int(key[4:]) for key in keys if key.startswith(kind))
        values = [keys[f"{kind}{place}"] for place in places if f"{kind}{place}" not in deleted]
        if places != list(range(1, len(places) + 1)) or not (values or kind == "path"):
            return None
        kept |= {f"{kind}{place}": value for place, value in enumerate(values or [""], 1)}
    return kept


class Site:
    """The distinct URLs of one host of the table, as keys, each with the cluster of its page."""

    def __init__(self, urls: Iterable[str], clusters: Iterable[Hashable]) -> None:
        self.keys: list[dict[str, str]] = []
        self.urls: list[str] = []
        self.clusters: list[Hashable] = []
        self.where: dict[str, int] = {}
        self._images: dict[tuple[tuple[str, str | None], ...], dict[int, str | None]] = {}
        self._holding: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for url, cluster in zip(urls, clusters, strict=True):
            keys = keys_of(url)
            text = url_of(keys)
            if text in self.where:
                continue
            self.where[text] = len(self.keys)
            for key, value in with_ends(keys).items():
                self._holding[key, value].add(len(self.keys))
                self._holding[key, ANY].add(len(self.keys))
            self.keys.append(with_ends(keys))
            self.urls.append(text)
            self.clusters.append(cluster)

    def members(self) -> list[list[int]]:
        """Return the clusters of at least two URLs."""
        found: defaultdict[Hashable, list[int]] = defaultdict(list)
        for place, cluster in enumerate(self.clusters):
            found[cluster].append(place)
        return [places for places in found.values() if len(places) > 1]

    def holding(self, context: Iterable[tuple[str, str | None]]) -> list[int]:
        """Return the URLs that answer *context*."""
        wanted = [(key, value) for key, value in context if value is not None]
        sets = sorted((self._holding.get(condition, set()) for condition in wanted), key=len)
        found = set.intersection(*sets) if sets else set(range(len(self.keys)))
        for key, value in context:
            if value is None:
                found -= self._holding.get((key, ANY), set())
        return sorted(found)

    def _image(self, rule: KeyRule, place: int) -> str | None:
        known = self._images.setdefault(rule.change, {})
        if len(self._images) > _MAX_CHANGES:  # of 10,000 URLs each is a megabyte
            del self._images[next(iter(self._images))]
        if place not in known:
            known[place] = smaller(rule, self.keys[place], self.urls[place])
        return known[place]

    def tally(self, rule: KeyRule) -> Tally:
        """Count the groups of URLs that *rule* makes one, URLs that it leaves as they are with them."""
        images: defaultdict[str, list[int]] = defaultdict(list)
        changed = set()
        for place in self.holding(rule.context):
            image = self._image(rule, place)
            if image is not None:
                images[image].append(place)
                changed.add(place)
        clean = mixed = removable = 0
        seen = set()
        for image, places in images.items():
            itself = self.where.get(image)
            group = places if itself is None or itself in changed else [*places, itself]
            if len(group) < 2:
                continue
            clusters = {self.clusters[place] for place in group}
            if len(clusters) > 1:
                mixed += 1
                continue
            clean += 1
            removable += len(group) - 1
            seen |= clusters
        return Tally(clean, mixed, len(seen), removable)


def smaller(rule: KeyRule, keys: Keys, url: str) -> str | None:
    """Return the URL that *rule* makes of one that answers its context, None unless it is shorter or earlier."""
    changed = rule.applied(keys)
    image = None if changed is None else url_of(changed)
    return image if image is not None and (len(image), image) < (len(url), url) else None


class KeyBook:
    """Rules of several hosts, applied to a fixpoint, each step to a smaller URL so that none can loop."""

    def __init__(self) -> None:
        self._rules: defaultdict[str, list[KeyRule]] = defaultdict(list)
        self._n_rules = 0

    def add(self, hosts: Iterable[str], rules: Sequence[KeyRule]) -> None:
        """Put *rules* in force, those first first, for URLs of *hosts*: all those of one host of the table."""
        self._n_rules += len(rules)
        for host in hosts:
            self._rules[host] += rules

    def __len__(self) -> int:
        return self._n_rules

    def canonical(self, url: str) -> tuple[str, tuple[KeyRule, ...]]:
        """Return the canonical form of *url* and the rules that led there; a URL without rules stays as it is."""
        rules = self._rules.get(host_of(url))
        if not rules:
            return url, ()
        text = url_of(keys_of(url))
        applied: list[KeyRule] = []
        while len(applied) < MAX_STEPS:
            step = _step(rules, text)
            if step is None:
                break
            text, rule = step
            applied.append(rule)
        return text, tuple(applied)


def _step(rules: Sequence[KeyRule], url: str) -> tuple[str, KeyRule] | None:
    keys = with_ends(keys_of(url))
    for rule in rules:
        image = smaller(rule, keys, url) if rule.holds(keys) else None
        if image is not None:
            return image, rule
    return None


def book_of(rows: Iterable[Row], rules_of: Callable[[Site], Iterable[tuple[int, KeyRule]]]) -> KeyBook:
    """Return the rules of every host of *rows*, surest first, then those that save most: *rules_of* yields
    (URLs saved, rule).
    """
    by_host: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_host[row.host].append(row)
    book = KeyBook()
    for _, own in sorted(by_host.items()):
        found = set(rules_of(Site([row.url for row in own], [row.cluster for row in own])))
        ordered = sorted(found, key=lambda entry: (entry[1].error, -entry[0], str(entry[1])))
        book.add({host_of(row.url) for row in own}, [rule for _, rule in ordered])
    return book
