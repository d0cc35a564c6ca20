"""Which strategy finds the topic first: simulated visits of a labelled crawl, the same examples for every strategy."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

import numpy as np

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.lab.archives.collection import Documents, read_parquet
from scrapy_replica.lab.texts.webkb import is_webkb, read_webkb
from scrapy_replica.lab.visits.figures import Figures, figures
from scrapy_replica.lab.visits.omniscient import Omniscient, omniscient_order
from scrapy_replica.lab.visits.visit import NO_LIMITS, Limits, Visit, learning_visit
from scrapy_replica.lab.visits.visit_curves import Curve, curve
from scrapy_replica.lab.visits.visit_draws import Draw, draw
from scrapy_replica.lab.visits.visit_job import MINUTES, VisitJob, forget_peak, peak_bytes
from scrapy_replica.lab.visits.visit_variants import OMNISCIENT, Variant, keep, new
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.pages.terms import terms as count_terms

STRATEGIES = (
    "breadth-first",
    "random",
    "best-first",
    "best-first-anchors",
    "hmm-static",
    "hmm-dynamic",
    "hmm-second-order",
    "link-aware",
    "omniscient",
)
DRAWS = 5
LABELLED = 50
"""Examples of the topic; at most half of all its pages."""
BACKGROUND = 3_000
"""Unlabelled pages; at most half of the collection. 0: the shipped term statistics and the pages of the visit."""
SHARES = (5, 10, 25, 50)
TOLD_SHARE = 10
"""Of these, what the table has room for."""


@dataclass(frozen=True)
class Outcome:
    """One visit of one strategy in one draw, without its order, which may be of millions of pages."""

    visited: int
    """Pages that count."""
    values: Mapping[str, float]
    """``pref``, ``found_at_5`` ... ``_50``, ``f1_area``, ``harvest``, ``seconds``, ``peak_mb``: :func:`evaluate`."""
    curve: Curve


def outcome(measured: Figures, cpu_seconds: float, peak: float) -> Outcome:
    """Return what is told of a visit that took *cpu_seconds* and *peak* bytes."""
    harvest = measured.harvest
    values = {
        "pref": measured.pref,
        **{f"found_at_{share}": measured.found_at(share / 100) for share in SHARES},
        "f1_area": measured.f1_area,
        "harvest": float(harvest[max(0, len(harvest) // 10 - 1)]) if len(harvest) else 0.0,
        "seconds": cpu_seconds,
        "peak_mb": peak / 1e6,
    }
    return Outcome(len(measured.found), values, curve(measured))


def run(
    collection: Documents, relevant: BoolArray, drawn: Draw, variant: Variant, seed: int, limits: Limits, job: VisitJob
) -> Outcome:
    """Run one strategy or take what *job* has of it; the labelled pages are visited like all others but count neither
    way.
    """
    topic = drawn.topic
    topic.variant, topic.seed = variant, seed
    values = job.array(f"relevance-{seed}", topic.of_all_pages)
    models = job.folder / f"{_file_name(variant.online, seed)}.models"

    def begin() -> Visit:
        if variant.strategy == OMNISCIENT:
            found = relevant & ~drawn.labelled
            return Visit(collection, Omniscient(collection, found), found.astype(float), limits, warm_up=0)
        return Visit(collection, new(variant, seed, topic.words, models), values, limits)

    def end(under_way: Visit) -> None:
        if not variant.frozen:
            keep(under_way.strategy, models)

    kept = job.run(_file_name(variant, seed), begin, end)
    return outcome(figures(kept.order, relevant, drawn.labelled), kept.cpu_seconds, kept.peak_bytes)


def _file_name(variant: Variant, seed: int) -> str:
    return f"{variant.name.replace(' ', '-')}-{seed}"


def run_alone(
    collection: Documents, relevant: BoolArray, drawn: Draw, variant: Variant, seed: int, limits: Limits
) -> Outcome:
    """Run one strategy for a topic that is learnt as the visit goes on."""
    start = time.process_time()
    forget_peak()
    topic = drawn.topic
    topic.variant, topic.seed = variant, seed
    if variant.strategy == OMNISCIENT:
        order = omniscient_order(collection, relevant & ~drawn.labelled, limits)
    else:
        topic.learn(())
        order = learning_visit(collection, topic, limits)
    return outcome(figures(order, relevant, drawn.labelled), time.process_time() - start, peak_bytes())


def evaluate(
    file: Path,
    topic: str,
    strategies: Sequence[str | Variant] = STRATEGIES,
    draws: int = DRAWS,
    labelled: int = LABELLED,
    background: int = BACKGROUND,
    limits: Limits = NO_LIMITS,
    cache: Path | None = None,
    job: Path | None = None,
    minutes: float = MINUTES,
) -> dict[str, Any]:
    """Visit the collection in *file* with every strategy, *draws* times, and return figures, inputs and curves.

    *file* is a labelled crawl (Parquet) or the folder of a direct archive. In the folder *job* visits that are over are
    kept, and those under way every so many *minutes*: the same call goes on after an interruption.

    ``figures``: ``<strategy>.pref`` (mean over draws), ``.pref_min``, ``.pref_max``, ``.pref_sd`` (of one draw),
    ``.found_at_5`` ...
    ``_50`` (share of the relevant pages after that percentage of the visit), ``.f1_area``, ``.harvest`` (of the first
    tenth), ``.seconds`` (processor time of a visit), ``.peak_mb`` (most memory of the process, mapped files included,
    largest of the draws), and for each pair ``<a>.over.<b>.pref`` with ``.p``, the exact sign-flip test over the paired
    draws. ``curves``: strategy -> one :class:`Curve` a draw.
    """
    variants = [Variant(each) if isinstance(each, str) else each for each in strategies]
    _check(variants, background, job)
    collection = read(file, cache)
    relevant = collection.relevant(topic)
    inputs = {
        "file": file.name,
        "topic": topic,
        "labels": collection.labels_of(topic),
        "pages": len(collection),
        "relevant": int(relevant.sum()),
        "labelled": min(labelled, int(relevant.sum()) // 2),
        "background": background,
        "most_pages": limits.pages,
        "per_host": limits.per_host,
        "per_domain": limits.per_domain,
    }
    outcomes: dict[str, list[Outcome]] = {variant.name: [] for variant in variants}
    with ExitStack() as stack:
        kept = VisitJob(job or Path(stack.enter_context(TemporaryDirectory())), inputs, minutes)
        for seed in range(draws):
            drawn = draw(collection, relevant, seed, labelled, background)
            for variant in variants:
                given = collection, relevant, drawn, variant, seed, limits
                outcomes[variant.name].append(run(*given, kept) if background else run_alone(*given))
    visited = next(iter(outcomes.values()))[0].visited
    return {
        "figures": _figures(outcomes),
        "inputs": {**inputs, "visited": visited, "draws": draws},
        "curves": {name: [row.curve for row in rows] for name, rows in outcomes.items()},
    }


def _check(variants: Sequence[Variant], background: int, job: Path | None) -> None:
    words = LinkWords(lambda _: 0.0, count_terms)
    for variant in variants:
        if variant.strategy != OMNISCIENT:
            new(variant, 0, words)
        if variant.frozen and (not background or variant.online not in variants):
            raise ValueError(f"{variant.name}: frozen models are those of the same strategy's visit before it")
    if job and not background:
        raise ValueError("with a topic alone (--unlabelled 0) visits cannot be kept in a job: its model is learnt anew")


def read(file: Path, cache: Path | None = None) -> Documents:
    """Return the collection in *file*: a labelled crawl or WebKB (Parquet), or the folder of an archive or a cut."""
    if not file.is_dir():
        return (read_webkb if is_webkb(file) else read_parquet)(file, count_terms, cache)
    from scrapy_replica.lab.archives.direct import opened  # noqa: PLC0415 - an extra

    return opened(file)


def _figures(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, float]:
    result: dict[str, float] = {}
    prefs = {name: np.array([row.values["pref"] for row in rows]) for name, rows in outcomes.items()}
    for name, rows in outcomes.items():
        pref = prefs[name]
        result.update((f"{name}.{key}", float(np.mean([row.values[key] for row in rows]))) for key in rows[0].values)
        result[f"{name}.peak_mb"] = max(row.values["peak_mb"] for row in rows)
        result[f"{name}.pref_min"] = float(pref.min())
        result[f"{name}.pref_max"] = float(pref.max())
        result[f"{name}.pref_sd"] = float(pref.std(ddof=1)) if len(pref) > 1 else 0.0
    for a, b in combinations(outcomes, 2):
        result[f"{a}.over.{b}.pref"] = float((prefs[a] - prefs[b]).mean())
        result[f"{a}.over.{b}.p"] = sign_flip_p(prefs[a] - prefs[b])
    return result


def sign_flip_p(differences: FloatArray) -> float:
    """Return the two-sided p of the mean of paired differences under all 2^n changes of sign (n <= 16 exactly).

    Beyond 16 draws the first 16 are used. Five draws cannot give less than .06.
    """
    differences = differences[:16]
    if not len(differences):
        return 1.0
    signs = np.array(list(product((1.0, -1.0), repeat=len(differences))))
    means = np.abs(signs @ differences)
    return float((means >= abs(differences.sum()) - 1e-12).mean())


def table(result: Mapping[str, Any]) -> str:
    """Return the result as text, the best Pref first."""
    values, inputs = result["figures"], result["inputs"]
    names = sorted(result["curves"], key=lambda name: -values[f"{name}.pref"])
    caps = "".join(f", at most {inputs[f'per_{of}']} a {of}" for of in ("host", "domain") if inputs[f"per_{of}"])
    head = (
        f"{inputs['file']}, topic {inputs['topic']} ({inputs['relevant']} pages), {inputs['visited']} pages visited"
        f"{caps}, {inputs['labelled']} examples, {inputs['background']} unlabelled, {inputs['draws']} draws"
    )
    width = max(map(len, names))
    lines = [
        fill(head, 80, break_on_hyphens=False),
        f"{'strategy':<{width}} {'Pref':>6} {'sd':>6} {TOLD_SHARE:>3} % {'F1':>5} {'time':>7} {'MB':>6}",
    ]
    for name in names:
        found = values[f"{name}.found_at_{TOLD_SHARE}"]
        cpu = str(timedelta(seconds=round(values[f"{name}.seconds"])))
        lines.append(
            f"{name:<{width}} {values[f'{name}.pref']:6.4f} {values[f'{name}.pref_sd']:6.4f} {found:5.3f} "
            f"{values[f'{name}.f1_area']:5.3f} {cpu:>7} {values[f'{name}.peak_mb']:6,.0f}"
        )
    empty = {name: sum(not curve.found[-1] for curve in result["curves"][name]) for name in names}
    told = [f"{name} in {number} of {inputs['draws']} draws" for name, number in empty.items() if number]
    if told:
        lines.append(
            fill(
                f"Pref is 1 where no relevant page was found, so that none came late: {', '.join(told)}.",
                80,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)
