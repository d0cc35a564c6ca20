"""Transformations that would make the URLs of one cluster equal."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Container, Generator, Iterator, Sequence

from scrapy_replica.urls.learners.evidence import HostEvidence, Transformation
from scrapy_replica.urls.pattern import UrlPattern, argument_name, size_of
from scrapy_replica.urls.rule import Step

_TOKENS = re.compile(r"[/?&=;]|[^/?&=;]+")
_WORDS = re.compile(r"[/?&=;]|[A-Za-z0-9]+|[^/?&=;A-Za-z0-9]+")
_NUMBERED = re.compile(r"([A-Za-z]*)([0-9]+)")
_WILDCARD = re.compile(r"\{\d+\}")
PAIRS_OF_CLUSTER, MOST = 30, 400
"""Pairs of URLs of a cluster that are looked at, and transformations that are returned."""
_MAX_NAMES = 6
_DELIMITERS = frozenset("/?&=;")
_MAX_RUN = 12
_TOKENS_OF_STEP = 5_000


def tokens_of(local: str) -> list[str]:
    """Return *local* cut at ``/ ? & = ;``, the delimiters kept."""
    return _TOKENS.findall(local)


def _parts_of(local: str) -> list[str]:
    """Return *local* cut into words, delimiters and what else there is, and words like ``page2`` before the number.

    Digits between letters are no numbers: hashes are full of them.
    """
    words = _WORDS.findall(local)
    cut = (numbered.groups() if (numbered := _NUMBERED.fullmatch(word)) else (word,) for word in words)
    return [part for parts in cut for part in parts if part]


def pairs(members: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Yield at most *limit* pairs of *members*: neighbours first, so that every member is met."""
    given = 0
    for distance in range(1, len(members)):
        for place in range(len(members) - distance):
            yield members[place], members[place + distance]
            given += 1
            if given >= limit:
                return


def argument_changes(one: UrlPattern, other: UrlPattern) -> Iterator[Transformation]:
    """Yield what makes the queries of two URLs with one path equal: names dropped, arguments dropped or replaced."""
    left = Counter(one.arguments or ())
    right = Counter(other.arguments or ())
    only_left, only_right = sorted((left - right).elements()), sorted((right - left).elements())
    names = sorted({argument_name(argument) for argument in only_left + only_right} - {""})
    if not names or len(names) > _MAX_NAMES:
        return
    yield tuple(Step("drop", name) for name in names)
    if size_of(one.local) < size_of(other.local):
        only_left, only_right = only_right, only_left
    if only_left:
        yield _exchange(only_left, only_right)


def _exchange(removed: list[str], added: list[str]) -> Transformation:
    steps = []
    for argument in removed:
        name, _, value = argument.partition("=")
        steps.append(Step("drop", name, value))
    for argument in added:
        name, _, value = argument.partition("=")
        steps.append(Step("set", name, value))
    return tuple(steps)


def run_changes(one: Sequence[str], other: Sequence[str]) -> Iterator[Transformation]:
    """Yield the substitution of the token run in which two URLs differ, bare and with its neighbours."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    longer, shorter = (one, other) if _is_larger(one, other) else (other, one)
    if len(longer) - start - end > _MAX_RUN:
        return
    for before, after in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0)):
        left, right = max(start - before, 0), end - after
        if right < 0:
            continue
        source = "".join(longer[left : len(longer) - right])
        target = "".join(shorter[left : len(shorter) - right])
        if source.strip("/?&=;"):
            yield (Step("replace", source, target),)


def left_out_values(one: Sequence[str], other: Sequence[str]) -> Iterator[Transformation]:
    """Yield what leaves out, whatever its value, a part of the path that only one of two URLs has: a session id.

    It is that of a matrix parameter (``;jsessionid=A71``) or of the component below a directory (``/s/A71/item``).
    """
    for sequence, against in ((one, set(other)), (other, set(one))):
        path = sequence[: sequence.index("?")] if "?" in sequence else sequence
        for place, token in enumerate(path):
            if token in against or token in _DELIMITERS or place < 2 or path[place - 2] in _DELIMITERS:
                continue
            name = _literal(path[place - 2])
            if name is None:
                continue
            if path[place - 1] == "=" and path[place - 3] == ";":
                yield (Step("replace", f";{name}={{0}}", ""),)
            elif path[place - 1] == "/":
                yield (Step("replace", f"/{name}/{{0}}/", f"/{name}/"),)


def left_out_endings(one: Sequence[str], other: Sequence[str]) -> Iterator[Transformation]:
    """Yield the template that leaves out the ending of a name (``.html``) that only one of two paths has.

    Numbers above the name may be any, as the year in ``/2024/05/name.html``.
    """
    places = [place for place, (mine, its) in enumerate(zip(one, other, strict=False)) if mine != its]
    if len(one) != len(other) or len(places) != 1 or "?" in one:
        return
    shorter, longer = sorted((one[places[0]], other[places[0]]), key=len)
    ending = longer.removeprefix(shorter)
    if not ending.startswith(".") or not longer.startswith(shorter) or any(_literal(token) is None for token in one):
        return
    any_of = [place for place, token in enumerate(one) if place in places or token.isdigit()]
    kept = [f"{{{any_of.index(place)}}}" if place in any_of else token for place, token in enumerate(one)]
    source = [f"{token}{ending}" if place in places else token for place, token in enumerate(kept)]
    yield (Step("template", "".join(source), "".join(kept)),)


def left_out_parts(one: UrlPattern, other: UrlPattern, rare: Container[str]) -> Iterator[Transformation]:
    """Yield what leaves out, whatever it is, the part of the path in which two URLs differ: a post, a date, a title.

    Both have it, or one of them. The first part stays as it is unless it goes; where that is *rare*, all stay that are
    not. So do names before a value, as in ``/item/7/ref=list``.
    """
    shorter, longer = sorted((one.components, other.components), key=len)
    if one.arguments or other.arguments or any(_literal(part) is None for part in longer):
        return
    place = next((at for at, part in enumerate(shorter) if part != longer[at]), len(shorter))
    rest, is_in_both = longer[:place] + longer[place + 1 :], len(longer) == len(shorter)
    if is_in_both and (place == 0 or len(rest) < 2):
        return  # nothing is left that tells of which page it is
    if rest != (shorter[:place] + shorter[place + 1 :] if is_in_both else shorter) or not longer[place]:
        return
    kept = {at for at, part in enumerate(longer) if part not in rare} if longer[0] in rare else {0}
    wildcards = (f"{{{number}}}" for number in itertools.count())
    parts = []
    for at, part in enumerate(longer):
        name, equals, _ = part.partition("=")
        is_any = part and (at == place or at not in kept)
        parts.append(f"{name if equals else ''}{equals}{next(wildcards)}" if is_any else part)
    yield (Step("template", "/" + "/".join(parts), "/" + "/".join(parts[:place] + parts[place + 1 :])),)


def _is_larger(one: Sequence[str], other: Sequence[str]) -> bool:
    return size_of("".join(one)) > size_of("".join(other))


def template_changes(
    one: Sequence[str], other: Sequence[str], variable: Container[str], left_out: Container[str] = ()
) -> Iterator[Transformation]:
    """Yield the template that turns one token sequence into the other: *variable* tokens that both have are copied,
    those *left_out* may be any where only the larger one has them, and all others are literal. Argument names are never
    wildcards. Nothing is left out in favour of another such token: all versions would be the first one.
    """
    longer, shorter = (one, other) if _is_larger(one, other) else (other, one)
    both = set(shorter)
    places: dict[str, int] = {}
    source = []
    for place, token in enumerate(longer):
        is_name = longer[place + 1 : place + 2] == ["="]
        is_any = token in both or token in left_out
        if token in _DELIMITERS or is_name or not is_any or token in places or token not in variable:
            source.append(_literal(token))
            continue
        places[token] = len(places)
        source.append(f"{{{places[token]}}}")
    if places.keys().isdisjoint(both) or None in source:
        return
    target = [f"{{{places[token]}}}" if token in places else token for token in shorter]
    kept = [token for token in target if not _WILDCARD.fullmatch(token)]
    if any(_literal(token) is None or token in left_out for token in kept):
        return
    yield (Step("template", "".join(str(part) for part in source), "".join(target)),)


def _literal(token: str) -> str | None:
    """Return *token*, None if it would be read as a wildcard."""
    return None if _WILDCARD.search(token) else token


def candidates(evidence: HostEvidence) -> Generator[None, None, list[Transformation]]:
    """Return the transformations seen in at least two clusters, those seen in most first, at most ``MOST``.

    In steps: a thousand URLs in clusters of eight are 3,500 pairs, 0.5 s.
    """
    seen_in: dict[Transformation, set[int]] = defaultdict(set)
    tokens = [tokens_of(local) for local in evidence.locals]
    frequency = Counter(token for sequence in tokens for token in set(sequence))
    common = max(3, len(tokens) // 20)
    rare = {token for token, count in frequency.items() if count <= common}
    n_tokens = 0
    for members in evidence.members():
        cluster = evidence.clusters[members[0]]
        for one, other in pairs(members, PAIRS_OF_CLUSTER):
            n_tokens += len(tokens[one]) + len(tokens[other])
            if n_tokens > _TOKENS_OF_STEP:
                n_tokens = 0
                yield
            left, right = evidence.forms[one], evidence.forms[other]
            changes: list[Transformation] = []
            if left.path == right.path:
                changes += argument_changes(left, right)
            else:
                if left.path.lower() == right.path.lower():
                    changes.append((Step("lower", ""),))
                if left.path.rstrip("/") == right.path.rstrip("/"):
                    changes.append((Step("unslash", ""),))
                changes += run_changes(tokens[one], tokens[other])
                changes += left_out_values(tokens[one], tokens[other])
                changes += left_out_parts(left, right, rare)
                changes += left_out_endings(tokens[one], tokens[other])
                changes += template_changes(tokens[one], tokens[other], rare)
                changes += template_changes(tokens[one], tokens[other], frequency)
                parts, others = (_parts_of(evidence.locals[member]) for member in (one, other))
                numbers = set(filter(str.isdigit, parts + others))
                changes += template_changes(parts, others, numbers)
                if not (left.arguments or right.arguments):  # which have rules of their own
                    changes += template_changes(parts, others, numbers, left_out=numbers)
                    numbers = set(filter(str.isdigit, tokens[one] + tokens[other]))
                    changes += template_changes(tokens[one], tokens[other], rare | numbers, left_out=numbers)
            if len(tokens[one]) == len(tokens[other]) and left.path == right.path:
                changes += run_changes(tokens[one], tokens[other])
            for change in changes:
                seen_in[change].add(cluster)
    found = [change for change, clusters in seen_in.items() if len(clusters) > 1]
    found.sort(key=lambda change: (-len(seen_in[change]), str(change)))
    return sorted(found[:MOST], key=lambda change: (change[0].kind, change[0].value is None))
