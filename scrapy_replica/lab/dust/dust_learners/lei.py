"""The pattern tree with its rules over path and arguments (Lei et al. 2010, *A pattern tree-based approach to learning
URL normalization rules*, WWW).

The URLs of a host are split top-down by the key of lowest entropy: one child for each *salient* value, one for all
others together (``*``). At every node, keys whose values do not change the page are left out, components of the path
among them; between two leaves that hold the same pages, each key of one is a literal or a copy from the other.
``pattern_tree`` beside it has the arguments only.

*Readings.* Values stand by their frequency, and those before the largest fall of its logarithm are salient; a fall by
less than half is none. A key that a URL lacks is a value, too. A node of fewer URLs than the support is a leaf. A
component of the path that means nothing is written as ``*``, since a path without it would be another one. Where a rule
holds at a node it is not learnt again below it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from scrapy_replica.lab.dust.dust_learners.keyed import ANY, KeyBook, KeyRule, Site, bare, book_of, copied
from scrapy_replica.lab.dust.dust_splits import Row
from scrapy_replica.urls.learners.candidates import pairs

_LEAST_FALL = math.log(2)
_PAIRS = 30
_MAX_LEAF_PAIRS = 400

Pattern = tuple[tuple[str, str | None], ...]
"""Key -> its value, ``*`` for any, None where it is absent: the context of a rule."""


class Node(NamedTuple):
    """A node of the tree: its URLs have this pattern."""

    pattern: Pattern
    members: list[int]
    children: list[Node]

    def leaves(self) -> Iterator[Node]:
        """Yield the nodes without children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            waiting += node.children
            if not node.children:
                yield node


def learn(rows: Sequence[Row], epsilon: float = 0.0, support: int = 3) -> KeyBook:
    """Return the rules of every host of *rows* with an error of at most *epsilon* on *support* groups at least."""
    return book_of(rows, lambda site: list(_rules(site, epsilon, support)))


def _rules(site: Site, epsilon: float, support: int) -> Iterator[tuple[int, KeyRule]]:
    root = tree(site, support)
    yield from _left_out(site, root, epsilon, support)
    for one, other in _alike(site, root):
        rule = _mapped(site, one, other)
        yield from _proved(site, rule, epsilon, support) if rule else ()


def tree(site: Site, support: int) -> Node:
    """Return the pattern tree of a host; a node of fewer than *support* URLs is not split."""
    every = {key for keys in site.keys for key in keys if not key.startswith("path-")}
    root, split = _node(site, (), list(range(len(site.keys))), every)
    waiting = [(root, split)]
    while waiting:
        node, split = waiting.pop()
        if not split or len(node.members) < support:
            continue
        key, counts = min(split.items(), key=lambda entry: (entropy(entry[1]), entry[0]))
        kept = salient(counts)
        parts: defaultdict[str | None, list[int]] = defaultdict(list)
        for member in node.members:
            value = site.keys[member].get(key)
            parts[value if value is None or value in kept else ANY].append(member)
        rest = split.keys() - {key}
        found = [_node(site, (*node.pattern, (key, value)), part, rest) for value, part in parts.items()]
        node.children[:] = [child for child, _ in found]
        waiting += found
    return root


def _node(
    site: Site, pattern: Pattern, members: list[int], keys: Iterable[str]
) -> tuple[Node, dict[str, Counter[str | None]]]:
    """Return a node, and the values of those *keys* that its URLs differ in; what they agree in is in its pattern."""
    counts: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
    wanted = set(keys)
    for member in members:
        for key in wanted & site.keys[member].keys():
            counts[key][site.keys[member][key]] += 1
    for key in wanted:
        absent = len(members) - counts[key].total()
        if absent:
            counts[key][None] = absent
    alike = sorted(key for key in wanted if len(counts[key]) == 1)
    own = (*pattern, *((key, next(iter(counts[key]))) for key in alike))
    return Node(own, members, []), {key: counts[key] for key in wanted - set(alike)}


def entropy(counts: Counter[str | None]) -> float:
    """Return the entropy of values that stand so often, in nats."""
    n = counts.total()
    return -sum(count / n * math.log(count / n) for count in counts.values())


def salient(counts: Counter[str | None]) -> set[str | None]:
    """Return the values before the largest fall in frequency; one value alone is salient."""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], str(entry[0])))
    if len(ordered) == 1:
        return set(counts)
    falls = [math.log(a[1] / b[1]) for a, b in pairwise(ordered)]
    largest = max(falls)
    return {value for value, _ in ordered[: falls.index(largest) + 1]} if largest >= _LEAST_FALL else set()


def _left_out(site: Site, root: Node, epsilon: float, support: int) -> Iterator[tuple[int, KeyRule]]:
    """Yield the rules of each node that leave out the keys in which URLs of one cluster differ there."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        varied = _varied(site, node)
        found: list[tuple[int, KeyRule]] = []
        for keys in dict.fromkeys([tuple(varied), *((key,) for key in varied)]):
            change = tuple((key, ANY if key.startswith("path") else None) for key in keys)
            context = dict(node.pattern) | {key: ANY for key in keys if dict(node.pattern).get(key) is None}
            found = list(_proved(site, KeyRule(tuple(context.items()), change), epsilon, support)) if keys else []
            yield from found
            if found and keys == tuple(varied):
                break
        if not found:
            waiting += [child for child in _parted(node) if len(child.members) > 1]


def _parted(node: Node) -> list[Node]:
    """Return the next nodes below *node* that hold some of its URLs only."""
    while len(node.children) == 1:
        node = node.children[0]
    return node.children


def _varied(site: Site, node: Node) -> list[str]:
    """Return the keys of path and query in which URLs of one cluster differ, in two clusters at least."""
    clusters: defaultdict[object, list[int]] = defaultdict(list)
    for member in node.members:
        clusters[site.clusters[member]].append(member)
    seen: Counter[str] = Counter()
    for members in clusters.values():
        if len(members) > 1:
            keys = {key for member in members for key in site.keys[member] if key.startswith(("path", "?"))}
            own = [key for key in keys if not key.startswith("path-")]
            seen.update(key for key in own if len({site.keys[member].get(key) for member in members}) > 1)
    return sorted(key for key, count in seen.items() if count > 1)


def _alike(site: Site, root: Node) -> list[tuple[Node, Node]]:
    """Return the pairs of leaves that share two clusters or more, the one of longer URLs first."""
    leaf_of = {member: number for number, leaf in enumerate(root.leaves()) for member in leaf.members}
    leaves = list(root.leaves())
    shared: defaultdict[tuple[int, int], set[object]] = defaultdict(set)
    for members in site.members():
        numbers = sorted({leaf_of[member] for member in members})
        for one, other in pairs(numbers, _PAIRS):
            shared[one, other].add(site.clusters[members[0]])
    found = sorted((pair for pair in shared if len(shared[pair]) > 1), key=lambda pair: (-len(shared[pair]), pair))
    return [_longer_first(site, leaves[one], leaves[other]) for one, other in found[:_MAX_LEAF_PAIRS]]


def _longer_first(site: Site, one: Node, other: Node) -> tuple[Node, Node]:
    lengths = [sum(len(site.urls[member]) for member in node.members) / len(node.members) for node in (one, other)]
    return (one, other) if lengths[0] >= lengths[1] else (other, one)


def _mapped(site: Site, source: Node, target: Node) -> KeyRule | None:
    """Return the rule that makes URLs of *target* from those of *source*; None if a value comes from nowhere."""
    places: defaultdict[object, list[int]] = defaultdict(list)
    for member in source.members:
        places[site.clusters[member]].append(member)
    met = [(one, other) for other in target.members for one in places.get(site.clusters[other], ())[:1]]
    change: list[tuple[str, str | None]] = []
    for key in sorted({key for pair in met for member in pair for key in site.keys[member] if "path-" not in key}):
        values = {site.keys[other].get(key) for _, other in met}
        if all(site.keys[one].get(key) == site.keys[other].get(key) for one, other in met):
            continue
        if len(values) == 1:
            change.append((key, values.pop()))
            continue
        origin = next((own for own in site.keys[met[0][0]] if _comes_from(site, met, key, own)), None)
        if origin is None:
            return None
        change.append((key, copied(origin)))
    return KeyRule(source.pattern, tuple(change)) if change else None


def _comes_from(site: Site, met: Sequence[tuple[int, int]], key: str, own: str) -> bool:
    values = [(site.keys[one].get(own), site.keys[other].get(key)) for one, other in met]
    return all(old is not None and new is not None and bare(old) == bare(new) for old, new in values)


def _proved(site: Site, rule: KeyRule, epsilon: float, support: int) -> Iterator[tuple[int, KeyRule]]:
    tally = site.tally(rule)
    if tally.clusters > 1 and tally.clean + tally.mixed >= support and tally.error <= epsilon:
        yield tally.removable, rule._replace(support=tally.clusters, error=tally.error)
