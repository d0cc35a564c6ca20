"""Rules by multiple sequence alignment (Rodrigues et al. 2013, *Learning URL normalization rules using multiple
alignment of sequences*, SPIRE; 2015, *Removing DUST using multiple alignment of sequences*, TKDE).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from scrapy_replica.lab.dust.dust_learners.learner import learn_by_host
from scrapy_replica.urls.learners.candidates import tokens_of
from scrapy_replica.urls.learners.evidence import HostEvidence, Transformation
from scrapy_replica.urls.learners.proposing import proposals
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule, Step

_MAX_MEMBERS = 10
_MAX_TOKENS = 60
_LIMIT = 300
Column = frozenset[str]
_GAP = ""
_DELIMITERS = frozenset("/?&=;")


def learn(urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3) -> list[Rule]:
    """Align the URLs of every cluster to a consensus, generalise it, keep what holds on enough clusters.

    The most different tokens of a column become wildcards, literals stay where a host uses few values.
    """
    return learn_by_host(
        urls, clusters, epsilon, lambda host: proposals(host, _templates(host), epsilon, support, "duster", 0)
    )


def consensus(sequences: Sequence[Sequence[str]]) -> list[Column]:
    """Return the progressive alignment of *sequences*: one set of tokens per column, the empty string for a gap."""
    ordered = sorted(sequences, key=lambda sequence: (len(sequence), list(sequence)), reverse=True)
    columns: list[Column] = [frozenset({token}) for token in ordered[0]]
    for sequence in ordered[1:]:
        columns = _aligned(columns, sequence)
    return columns


def _aligned(columns: list[Column], sequence: Sequence[str]) -> list[Column]:
    """Needleman-Wunsch of the consensus with one more sequence; a column matches a token that it holds."""
    rows, width = len(columns), len(sequence)
    score = [[0] * (width + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            match = score[i + 1][j + 1] + _match(columns[i], sequence[j])
            score[i][j] = max(match, score[i + 1][j], score[i][j + 1])
    i = j = 0
    found: list[Column] = []
    while i < rows or j < width:
        if i < rows and j < width and score[i][j] == score[i + 1][j + 1] + _match(columns[i], sequence[j]):
            found.append(columns[i] | {sequence[j]})
            i, j = i + 1, j + 1
        elif i < rows and score[i][j] == score[i + 1][j]:
            found.append(columns[i] | {_GAP})
            i += 1
        else:
            found.append(frozenset({_GAP, sequence[j]}))
            j += 1
    return found


def _match(column: Column, token: str) -> int:
    if token in column:
        return 3
    # a delimiter is never aligned with a word, so that keys stay apart
    return -9 if token in _DELIMITERS or any(known in _DELIMITERS for known in column if known) else 1


def _templates(evidence: HostEvidence) -> list[Transformation]:
    frequency = Counter(token for local in evidence.locals for token in set(tokens_of(local)))
    common = max(3, len(evidence.forms) // 20)
    seen_in: dict[Transformation, set[int]] = defaultdict(set)
    for members in evidence.members():
        sequences = [tokens_of(evidence.locals[member]) for member in members[:_MAX_MEMBERS]]
        if max(map(len, sequences)) > _MAX_TOKENS:
            continue
        target = min(sequences, key=lambda sequence: (len("".join(sequence)), sequence))
        columns = consensus(sequences)
        for sequence in sequences:
            for change in _generalised(sequence, target, columns, frequency, common):
                seen_in[change].add(evidence.clusters[members[0]])
    found = [change for change, clusters in seen_in.items() if len(clusters) > 1]
    found.sort(key=lambda change: (-len(seen_in[change]), str(change)))
    return found[:_LIMIT]


def _generalised(
    sequence: list[str], target: list[str], columns: list[Column], frequency: Counter[str], common: int
) -> Iterator[Transformation]:
    """Yield the rules from one member to the canonical one: irrelevant columns literal, and as wildcards."""
    if sequence == target:
        return
    varied = {token for column in columns if len(column) > 1 for token in column}
    for is_loose in (False, True):
        numbers: dict[str, int] = {}
        source = []
        for place, token in enumerate(sequence):
            is_name = sequence[place + 1 : place + 2] == ["="]
            is_copied = token in target and frequency[token] <= common and not (is_loose and token in varied)
            is_free = is_loose and token in varied and not (is_copied and token in target)
            if token in _DELIMITERS or is_name or token in numbers or not (is_copied or is_free):
                source.append(token)
                continue
            numbers[token] = len(numbers)
            source.append(f"{{{numbers[token]}}}")
        wanted = tokens_of(_without(target, varied - set(numbers))) if is_loose else target
        image = [f"{{{numbers[token]}}}" if token in numbers else token for token in wanted]
        if numbers and not any(re.search(r"\{\d+\}", token) for token in sequence + target):
            yield (Step("template", "".join(source), "".join(image)),)


def _without(target: list[str], varied: set[str]) -> str:
    """Return the canonical URL without the arguments whose value varies in the cluster."""
    pattern = parse("".join(target))
    kept = tuple(argument for argument in pattern.arguments or () if argument.partition("=")[2] not in varied - {""})
    return pattern.local if pattern.arguments is None else pattern.with_arguments(kept).local
