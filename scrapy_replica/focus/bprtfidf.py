"""B-PrTFIDF: relevance learnt from positive examples and unlabelled text."""

from __future__ import annotations

import json
import math
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from scrapy_replica.focus.background import examples_and_others

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.focus.background import Background
    from scrapy_replica.records import Terms

# The constants were chosen by average precision on a crawl of 44,155 pages of one university: three topics,
# 30, 5 and 1 examples, shipped statistics alone, with 60 pages of the site, and 3,000 unlabelled pages.
EMPTY_WORDS = 100.0
"""Weight of the words that every page is taken to have beside its own. Without them a page of one word is as relevant
as that word: average precision .14 instead of .49 with shipped statistics, .51 instead of .70 with unlabelled pages."""
FEW_EXAMPLES = 50
"""With more examples the weights are surer, and pages carry fewer empty words, as many times fewer as there are more
examples: F1 with 350 examples of WebKB faculty .75 instead of .61, with 300 of a newsgroup .92 instead of .91."""
PSEUDO_DOCUMENTS = 6.0
"""The statistics of a language count as so many documents per positive example."""
RAREST = 1e-6
"""Share of running words given to a stem that the statistics of a language do not have."""
FEWEST_POSITIVES = 20
"""Against unlabelled documents fewer examples count as so many; a single one would drown in 3,000 documents."""
MANY_DOCUMENTS = 200
"""From so many unlabelled documents on, shares among them are taken for shares among pages."""
ENOUGH_POSITIVES = 5
"""From so many examples on, a stem that only one of them has is taken for chance, and examples can be held out."""
NEGATIVE = 5.0
"""A document known to be off the topic counts as so many unlabelled ones."""
VOCABULARY = 20_000
FOLDS = 5


class BPrTFIDF:
    """Probabilistic TF-IDF with a biased threshold (Zhang & Lee 2005), for a few examples of a topic.

    With the positives P and the unlabelled documents U, Pr[w in x] = x_w / sum x, where x_w = 1 + ln(count), and

    - Pr[x in P | w] = S_P(w) / (S_P(w) + S_U(w)), S_D(w) the sum of Pr[w in y] over the documents y of D;
    - Pr[x in P] = sum over w of Pr[x in P | w] Pr[w in x], Pr[x in U] = 1 - Pr[x in P];
    - relevance = (1 + b Pr[x in P] - Pr[x in U]) / 2 clipped to 0..1, b = (1 + p) / (1 - p).

    Since U is the complement, p decides from which Pr[x in P] on a page is relevant, (1 - p) / 2, and nothing else.
    With at least 200 unlabelled documents p maximises r^2 / Pr[f(x) = 1] on held-out examples and documents (five
    folds). With fewer, or the statistics of a language alone, nothing tells how often f says yes, and the line is drawn
    at the median of held-out examples (the best F1 lay at 0.9-1.0 times that with 10 or 30 examples). Fewer than five
    examples cannot be held out: the line is a fifth of their own mean (measured: a third to a fifteenth).

    Additions to the paper: a term's Pr[x in P | w] is multiplied by the square root of the share of examples that have
    it; every page carries ``EMPTY_WORDS`` words of U, fewer with more than ``FEW_EXAMPLES`` examples; a stem never seen
    in P belongs to U.

    A model that was not fitted finds nothing relevant.
    """

    def __init__(self) -> None:
        self._weights: dict[str, float] = {}
        self._line = 0.5
        self._empty = EMPTY_WORDS
        self.is_blind = False
        """Whether most of the unlabelled documents that were held out pass the line, so that it tells nothing apart."""

    @property
    def p(self) -> float:
        """The bias p of the paper, below 1."""
        return 1.0 - 2.0 * self._line

    def fit(self, positives: Sequence[Terms], background: Background, negatives: Sequence[Terms] = ()) -> None:
        """Learn from *positives* (stem -> count each), *background*, and *negatives*, known to be off the topic.

        Equal examples count once, and documents of the background that are among the examples not at all. Raises
        ValueError when no example has a term, or the background is empty.
        """
        positive, unlabelled = examples_and_others(positives, background)
        if not unlabelled and not background.frequencies:
            raise ValueError("the background is empty: give unlabelled pages or a language with shipped statistics")
        fewest = 2 if len(positive) >= ENOUGH_POSITIVES else 1
        documents = len(unlabelled) / max(len(positive), FEWEST_POSITIVES)
        general = _General(background.frequencies, _sums(negatives)[0])
        self._weights = _weights(positive, unlabelled, general, fewest, documents)
        self._empty = EMPTY_WORDS * min(1.0, FEW_EXAMPLES / len(positive))
        self._line, self.is_blind = _line(positive, unlabelled, general, self._weights, self._empty)

    def relevance(self, terms: Terms) -> float:
        """Return Pr[x in C+] of a page, 0..1; more than 0.5 is relevant. A page without a known term gets 0."""
        return min(1.0, max(0.0, membership(self._weights, terms, self._empty) / (2.0 * self._line)))

    def save(self) -> bytes:
        """Return the fitted model as JSON."""
        return json.dumps(
            {"p": self.p, "empty_words": self._empty, "weights": self._weights}, ensure_ascii=False
        ).encode()

    def load(self, state: bytes) -> None:
        """Take the model that :meth:`save` returned. Raises ``ValueError`` where its numbers are out of their range."""
        model = json.loads(state)
        self._line = (1.0 - float(model["p"])) / 2.0
        self._empty = float(model["empty_words"])
        self._weights = {str(stem): float(weight) for stem, weight in model["weights"].items()}
        is_sound = 0.0 < self._line < 0.5 and 0.0 < self._empty < math.inf
        if not is_sound or not all(map(math.isfinite, self._weights.values())):
            raise ValueError("a B-PrTFIDF model with numbers out of their range")


def membership(weights: Mapping[str, float], terms: Terms, empty_words: float) -> float:
    """Return Pr[x in P] for the Pr[x in P | w] in *weights* of a page with *empty_words* beside its own."""
    # One plain loop: 16 us for 300 stems, chains of map() 20-25 us.
    total, known, get = empty_words, 0.0, weights.get
    for stem, count in terms.items():
        damped = _DAMPED[count] if count < _TABLE else 1.0 + math.log(count)
        total += damped
        weight = get(stem)
        if weight:
            known += weight * damped
    return known / total


_TABLE = 1024
_DAMPED = (0.0, *(1.0 + math.log(count) for count in range(1, _TABLE)))


class _General(NamedTuple):
    """What speaks against a stem beside the unlabelled documents."""

    frequencies: Mapping[str, float]
    negatives: Mapping[str, float]
    """S_D(w) over the documents that are known to be off the topic."""


def _sums(documents: Sequence[Terms]) -> tuple[dict[str, float], dict[str, int]]:
    """Return S_D(w), the sum of Pr[w in y] over the documents, and the number of documents that have w."""
    sums: dict[str, float] = {}
    holders: dict[str, int] = {}
    for terms in documents:
        each = terms.items()
        damped = {stem: _DAMPED[count] if count < _TABLE else 1.0 + math.log(count) for stem, count in each}
        total = sum(damped.values())
        for stem, value in damped.items():
            sums[stem] = sums.get(stem, 0.0) + value / total
            holders[stem] = holders.get(stem, 0) + 1
    return sums, holders


def _weights(
    positive: Sequence[Terms],
    unlabelled: Sequence[Terms],
    general: _General,
    fewest: int,
    documents: float,
) -> dict[str, float]:
    """Return Pr[x in P | w] of the stems that *fewest* examples or more have, at most ``VOCABULARY``.

    *documents*: the unlabelled documents count as so many per example, however many of them are given here.
    """
    n = len(positive)
    s_p, in_p = _sums(positive)
    s_u, in_u = _sums(unlabelled)
    per_example = n * documents / max(1, len(unlabelled))
    frequencies = general.frequencies
    pseudo = PSEUDO_DOCUMENTS * n if frequencies else 0.0
    # Stems of every eighth page beside the examples say nothing (where these are an eighth of the pages, the cut of the
    # source loses what all of them say); in fewer pages the share is that of one site's templates.
    most = n + 0.12 * (n + len(unlabelled)) if len(unlabelled) >= MANY_DOCUMENTS else math.inf
    weights = {}
    for stem, mass in s_p.items():
        if in_p[stem] >= fewest and in_p[stem] + in_u.get(stem, 0) <= most:
            other = per_example * s_u.get(stem, 0.0) + pseudo * max(frequencies.get(stem, 0.0), RAREST)
            other += NEGATIVE * general.negatives.get(stem, 0.0)
            weights[stem] = mass / (mass + other) * math.sqrt(in_p[stem] / n)
    kept = sorted(weights, key=lambda stem: (-weights[stem] * s_p[stem], stem))[:VOCABULARY]
    return {stem: weights[stem] for stem in kept}


def _line(
    positive: Sequence[Terms],
    unlabelled: Sequence[Terms],
    general: _General,
    weights: Mapping[str, float],
    empty: float,
) -> tuple[float, bool]:
    """Return the Pr[x in P] from which on a page is relevant, above 0, and whether most others are."""
    if len(positive) < ENOUGH_POSITIVES:
        return max(mean(membership(weights, terms, empty) for terms in positive) / 5.0, 1e-9), False
    held_p, held_u = _held_out(positive, unlabelled, general, empty)
    if len(unlabelled) < MANY_DOCUMENTS:
        return max(median(held_p), 1e-9), False
    line = max(held_p, key=lambda line: (_criterion(line, held_p, held_u), line))
    return max(line, 1e-9), median(held_u) >= line


def _criterion(line: float, held_p: Sequence[float], held_u: Sequence[float]) -> float:
    """Return r^2 / Pr[f(x) = 1], one document counted on top so that no answer at all is not infinitely good."""
    recall = sum(value >= line for value in held_p) / len(held_p)
    answered = (1 + sum(value >= line for value in held_u)) / (1 + len(held_u))
    return recall**2 / answered


def _held_out(
    positive: Sequence[Terms], unlabelled: Sequence[Terms], general: _General, empty: float
) -> tuple[list[float], list[float]]:
    """Return Pr[x in P] of every example and document by a model that has not seen them."""
    held_p: list[float] = []
    held_u: list[float] = []
    documents = len(unlabelled) / max(len(positive), FEWEST_POSITIVES)
    for fold in range(FOLDS):
        train_p = [terms for i, terms in enumerate(positive) if i % FOLDS != fold]
        train_u = [terms for i, terms in enumerate(unlabelled) if i % FOLDS != fold]
        weights = _weights(train_p, train_u, general, 2, documents)
        held_p += [membership(weights, terms, empty) for terms in positive[fold::FOLDS]]
        held_u += [membership(weights, terms, empty) for terms in unlabelled[fold::FOLDS]]
    return held_p, held_u
