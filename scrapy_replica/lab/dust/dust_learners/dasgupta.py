"""Rewrite rules over all keys of a URL (Dasgupta, Kumar, Sasturkar 2008, *De-duping URLs via rewrite rules*, KDD).

Every pair of URLs of one cluster gives a transformation; the sources of each transformation give its contexts, which
are made general where the sources differ. ``rewrite`` beside it has argument changes and one condition only.

*Readings.* A pair is directed to the smaller URL. A key in which the URLs of pairs differ and that has more than eight
values is a session id or the like, and is deleted as well, whatever its value. A component of the path is addressed
from the front and from the end of it, which makes two transformations. A context is the conjunction of all that the
sources of a transformation have in common; where that is wrong too often, it is cut by the values of the key that has
fewest of them. Rules are taken one by one, by their own error, in the order of what they save.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from scrapy_replica.lab.dust.dust_learners.keyed import ANY, KeyBook, KeyRule, Keys, Site, bare, book_of, copied
from scrapy_replica.lab.dust.dust_splits import Row
from scrapy_replica.urls.learners.candidates import pairs

_PAIRS = 30
_MAX_CHANGES = 1_000
_MAX_VALUES = 8
_MAX_CUTS = 3
_MIN_COPIED = 2
"""Characters of a value that is taken for a copy: shorter ones are equal by chance."""

Change = tuple[tuple[str, str | None], ...]


def learn(rows: Sequence[Row], epsilon: float = 0.0, support: int = 3) -> KeyBook:
    """Return the rules of every host of *rows* with an error of at most *epsilon* on *support* groups at least."""
    return book_of(rows, lambda site: list(_rules(site, epsilon, support)))


def _rules(site: Site, epsilon: float, support: int) -> Iterator[tuple[int, KeyRule]]:
    for find in (_rewritten, _meaningless):
        sources: defaultdict[Change, set[int]] = defaultdict(set)
        for members in site.members():
            for one, other in pairs(members, _PAIRS):
                for change, source in find(site, one, other):
                    sources[change].add(source)
        clusters = {change: {site.clusters[source] for source in own} for change, own in sources.items()}
        proved = [change for change in sources if len(clusters[change]) > 1]
        if find is _meaningless:
            proved = [change for change in proved if _has_many_values(site, change, sources[change])]
        proved.sort(key=lambda change: (-len(clusters[change]), str(change)))
        for change in proved[:_MAX_CHANGES]:
            yield from _contexts(site, change, sorted(sources[change]), epsilon, support, _MAX_CUTS)


def _rewritten(site: Site, one: int, other: int) -> Iterator[tuple[Change, int]]:
    """Yield (transformation into the smaller URL, the larger one)."""
    smaller, larger = sorted((one, other), key=lambda place: (len(site.urls[place]), site.urls[place]))
    for change in changes(site.keys[larger], site.keys[smaller]):
        yield change, larger


def _meaningless(site: Site, one: int, other: int) -> Iterator[tuple[Change, int]]:
    """Yield (what deletes the keys in which the two differ, a URL that has them)."""
    for source, against in ((one, other), (other, one)):
        for change in differing(site.keys[source], site.keys[against]):
            yield change, source


def _has_many_values(site: Site, change: Change, sources: Iterable[int]) -> bool:
    return all(len({site.keys[source][key] for source in sources}) > _MAX_VALUES for key, _ in change)


def changes(source: Keys, target: Keys) -> list[Change]:
    """Return the transformations of one URL, as keys with the ends of its path, into another."""
    same = [
        (key, _value_for(key, source, target))
        for key in sorted({*source, *target})
        if not key.startswith("path") and source.get(key) != target.get(key)
    ]
    if _path(source) == _path(target):
        return [tuple(same)] if same else []
    return [(*same, *path) for path in _path_changes(source, target)]


def differing(source: Keys, target: Keys) -> list[Change]:
    """Return what deletes the arguments and components of the path in which one URL differs from another."""
    keys = {key for key in source if source[key] != target.get(key)}
    arguments = tuple((key, None) for key in sorted(keys) if key.startswith("?"))
    left, right = _path(source), _path(target)
    if len(left) != len(right) or keys & {"scheme", "port"} or any(key.startswith("host") for key in keys):
        return []
    places = [place for place, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
    front = tuple((f"path{place + 1}", None) for place in places)
    back = tuple((f"path{place - len(left)}", None) for place in places)
    return list(dict.fromkeys(change for change in ((*arguments, *front), (*arguments, *back)) if change))


def _value_for(key: str, source: Keys, target: Keys) -> str | None:
    value = target.get(key)
    if value is None or key in {"scheme", "port"}:
        return value
    wanted = bare(value)
    if len(wanted) >= _MIN_COPIED and not key.startswith("host"):
        for other, own in source.items():
            if other != key and not other.startswith(("path-", "host")) and bare(own) == wanted:
                return copied(other)
    return value


def _path(keys: Keys) -> list[str]:
    return [value for key, value in keys.items() if key.startswith("path") and not key.startswith("path-")]


def _path_changes(source: Keys, target: Keys) -> Iterator[Change]:
    """Yield the change of the run of components in which two paths differ, counted from the front and from the end."""
    left, right = _path(source), _path(target)
    start = end = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    old, new = left[start : len(left) - end], right[start : len(right) - end]
    front = {f"path{start + place + 1}": place for place in range(max(len(old), len(new)))}
    back = {f"path{place - len(old) - end}": place for place in range(len(old))}
    for places in (front, back):
        if places is back and (len(new) > len(old) or not old):
            continue  # what is added has no place from the end
        if end and len(new) > len(old):
            continue  # components would have to move
        renamed = {**target, **{key: new[place] for key, place in places.items() if place < len(new)}}
        yield tuple(
            (key, _value_for(key, source, renamed) if place < len(new) else None) for key, place in places.items()
        )


def _contexts(
    site: Site, change: Change, sources: Sequence[int], epsilon: float, support: int, cuts: int
) -> Iterator[tuple[int, KeyRule]]:
    """Yield (URLs saved, rule) for every context of *change* that holds."""
    if len({site.clusters[source] for source in sources}) < 2:
        return
    rule = KeyRule(_common(site, sources), change)
    tally = site.tally(rule)
    if tally.clusters < 2 or tally.clean + tally.mixed < support:
        return
    if tally.error <= epsilon:
        yield tally.removable, rule._replace(support=tally.clusters, error=tally.error)
        return
    for part in _cut(site, sources) if cuts else ():
        yield from _contexts(site, change, part, epsilon, support, cuts - 1)


def _common(site: Site, sources: Sequence[int]) -> tuple[tuple[str, str | None], ...]:
    """Return what all *sources* have in common: the value of a key, or that it is there."""
    first, *others = (site.keys[source] for source in sources)
    shared = [key for key in first if all(key in keys for keys in others)]
    return tuple((key, first[key] if all(keys[key] == first[key] for keys in others) else ANY) for key in shared)


def _cut(site: Site, sources: Sequence[int]) -> list[list[int]]:
    """Return *sources* by the values of the key that has fewest of them; a key that is not there is a value, too."""
    best: dict[str | None, list[int]] = {}
    for key in sorted({key for source in sources for key in site.keys[source]}):
        parts: defaultdict[str | None, list[int]] = defaultdict(list)
        for source in sources:
            parts[site.keys[source].get(key)].append(source)
        if 1 < len(parts) <= _MAX_VALUES and (not best or len(parts) < len(best)):
            best = dict(parts)
    return list(best.values())
