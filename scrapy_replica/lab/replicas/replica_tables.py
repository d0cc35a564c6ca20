"""The tables of the published experiments on any labelled pairs: thresholds, features, aggregation, detection rate.

AUC is the mean over five folds with its standard deviation over them. The figures of a table are
``threshold.0.6.pu.auc`` and ``.auc_sd`` (Carvalho 2014, table 4.1), ``alone.ip3.pu...``, ``alone_fixed...``,
``without.ip3...``, ``without_fixed...`` and ``all...`` (tables 4.2, fixed thresholds, and 4.3), ``plus.outlinks...`` (a
feature of connectivity beside all others; its future work), ``method.pu...`` with ``rdr_10`` to ``rdr_10000`` (table
4.4 and the text) and ``aggregate.mean...``.
"""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_replica.lab.measures import rdr
from scrapy_replica.lab.replicas.em import Start
from scrapy_replica.lab.replicas.em_in_order import Told
from scrapy_replica.lab.replicas.replica_cases import (
    AGGREGATES,
    Cases,
    aggregated,
    aucs,
    bound_scores,
    bsvm_scores,
    em_scores,
)
from scrapy_replica.lab.replicas.replica_links import NAMES as LINKS
from scrapy_replica.numeric import FloatArray

A_MINS = tuple(round(0.1 * step, 1) for step in range(11))
FIXED = {Start.PU: 0.6, Start.NU: 0.5}
"""The thresholds of table 4.2: the best of table 4.1."""
RANKED = (10, 100, 1000, 10_000)
"""Other pairs among which the detection rate looks for a replica."""


def tables(cases: Cases, told: Told = lambda _: None) -> dict[str, float]:
    """Return the figures of every table for the pairs of one collection."""
    own = cases.of([name for name in cases.names if name not in LINKS])
    figures: dict[str, float] = {}
    for name, scores in _all_scores(cases, own, told):
        figures |= {f"{name}.{key}": value for key, value in spread(cases, scores).items()}
        if name.startswith("method."):
            figures |= {f"{name}.rdr_{k}": value for k, value in _detection(cases, scores).items()}
    return figures


def spread(cases: Cases, scores: FloatArray) -> dict[str, float]:
    """Return mean (``auc``) and standard deviation (``auc_sd``) of the AUC over the folds that have both kinds."""
    found = aucs(cases, scores)
    return {"auc": float(found.mean()), "auc_sd": float(found.std(ddof=1)) if len(found) > 1 else 0.0}


def method_scores(cases: Cases) -> dict[str, FloatArray]:
    """Return the scores of the published methods, by name."""
    own = cases.of([name for name in cases.names if name not in LINKS])
    pu, nu = (em_scores(own, start) for start in Start)
    return {
        "pu": pu,
        "nu": nu,
        "pu_nu": aggregated(own, pu, nu, "pareto"),
        "normpaths": own.normpaths,
        "bsvm": bsvm_scores(own),
        "bsvm_drawn": bsvm_scores(own, is_drawn=True),
        "bound": bound_scores(own),
    }


def fixed_scores(cases: Cases) -> dict[str, FloatArray]:
    """Return the scores of the published methods with one threshold for all pairs (Carvalho 2014, figure 4.7)."""
    own = cases.of([name for name in cases.names if name not in LINKS])
    pu, nu = (em_scores(own, start, FIXED[start]) for start in Start)
    return {
        "pu": pu,
        "nu": nu,
        "pu_nu": aggregated(own, pu, nu, "pareto"),
        "normpaths": own.normpaths,
        "bound": bound_scores(own),
    }


def _all_scores(cases: Cases, own: Cases, told: Told) -> Iterator[tuple[str, FloatArray]]:
    told("methods")
    found = method_scores(cases)
    yield from ((f"method.{name}", scores) for name, scores in found.items())
    yield from ((f"aggregate.{how}", aggregated(own, found["pu"], found["nu"], how)) for how in AGGREGATES)
    for start in Start:
        yield f"method.{_low(start)}_in_order", em_scores(own, start, is_in_order=True)
    told("fixed thresholds")
    for a_min in A_MINS:
        for start in Start:
            yield f"threshold.{a_min:g}.{_low(start)}", em_scores(own, start, a_min)
    yield from _em("all", own)
    for name in own.names:
        told(f"feature {name}")
        yield from _em(f"alone.{name}", cases.of([name]))
        rest = own.of([other for other in own.names if other != name])
        yield from _em(f"without.{name}", rest)
        yield f"without.{name}.bound", bound_scores(rest)
    for added in _link_sets(cases):
        told(f"feature {' '.join(added)}")
        name = "links" if len(added) > 1 else added[0]
        yield from _em(f"alone.{name}", cases.of(added))
        more = cases.of([*own.names, *added])
        yield from _em(f"plus.{name}", more)
        yield f"plus.{name}.bound", bound_scores(more)


def _em(name: str, cases: Cases) -> Iterator[tuple[str, FloatArray]]:
    table, _, feature = name.partition(".")
    for start in Start:
        yield f"{name}.{_low(start)}", em_scores(cases, start)
        fixed = ".".join(filter(None, (f"{table}_fixed", feature)))
        yield f"{fixed}.{_low(start)}", em_scores(cases, start, FIXED[start])


def _link_sets(cases: Cases) -> list[tuple[str, ...]]:
    return [*((name,) for name in LINKS), LINKS] if LINKS[0] in cases.names else []


def _low(start: Start) -> str:
    return start.name.lower()


def _detection(cases: Cases, scores: FloatArray) -> dict[int, float]:
    """Return the detection rate among k others, for each k of which there are so many."""
    tested = cases.is_tested
    n_others = int((tested & ~cases.is_replica).sum())
    return {k: rdr(scores[tested], cases.is_replica[tested], k) for k in RANKED if k <= n_others}
