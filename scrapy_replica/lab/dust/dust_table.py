"""The evaluation of DUST rules as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scrapy_replica.lab.dust.dust import EMPTY, EPSILONS, Evaluation
from scrapy_replica.lab.dust.dust_kinds import KINDS
from scrapy_replica.urls.rule import Rule
from scrapy_replica.words.rules import rule as in_words

_WIDTHS = {"recall": 7, "precision": 10, "removable": 10, "right": 7, "wrong": 7, "rules": 7, "seconds": 8}
_COUNTED = list(_WIDTHS)[:5]


def table(evaluation: Evaluation) -> str:
    """Return every learner and peer, ``combined`` by kind and by host, and the rules of the largest hosts."""
    figures, rules, _ = evaluation
    names = [name.removesuffix(".seconds") for name in figures if name.endswith(".seconds")]
    counts = f"{figures['urls']:,} URLs, {figures['removable']:,} removable within the halves"
    lines = [
        f"{counts}; {figures['unknowable']:,} in all of which no rule can know",
        _head("", list(_WIDTHS)),
    ]
    for name in names:
        if figures[f"{name}.seconds"]:
            lines.append(_line(name, figures, name, list(_WIDTHS)))
        elif name.endswith("_e0"):  # it learns nothing, and is the same at any error
            lines.append(_line(name.removesuffix("_e0"), figures, name, _COUNTED))
    lines += [f"{name.removesuffix('.absent')} is not installed" for name in figures if name.endswith(".absent")]
    fetched = [name for name in figures if name.endswith(".fetched")]
    lines += [f"{name.removesuffix('.fetched')}: {figures[name]:,.0f} URLs fetched for its proof" for name in fetched]
    for name in (f"combined_{suffix}" for suffix in EPSILONS):
        if name in names:
            lines += ["", _head(f"{name} by kind", _COUNTED)]
            lines += [_line(kind, figures, f"{name}.kind.{kind}", _COUNTED) for kind in (*KINDS, EMPTY)]
            lines += ["", _head(f"{name} by host", _COUNTED)]
            hosts = [host for host in rules if f"{name}.host.{host}.recall" in figures]
            lines += [_line(host, figures, f"{name}.host.{host}", _COUNTED) for host in hosts]
    return "\n".join([*lines, "", *_orders(figures), *_top(figures), *_rules(rules)])


def _orders(figures: Mapping[str, float]) -> list[str]:
    """Return the recall of both orders of candidates at each share of wrong removals."""
    found = [name for name in figures if name.startswith("order.")]
    lines = [f"{name.removeprefix('order.'):<36}{figures[name]:>7.3f}" for name in found]
    return ["Recall up to a share of wrong removals, candidates taken in order", *lines, ""] if found else []


def _top(figures: Mapping[str, float]) -> list[str]:
    """Return the figures of the most precise rules."""
    found = [name.removesuffix(".rules") for name in figures if name.startswith("top.") and name.endswith(".rules")]
    keys = ("rules", "right", "wrong", "precision", "recall")
    lines = [_line(f"{float(name.removeprefix('top.')):.0%} of the rules", figures, name, keys) for name in found]
    title = _head("The most precise pairwise rules", keys)
    return [title, *lines, ""] if found else []


def _label(text: str, keys: Sequence[str]) -> str:
    return f"{text:<{80 - sum(_WIDTHS[key] for key in keys)}}"


def _head(label: str, keys: Sequence[str]) -> str:
    return _label(label, keys) + "".join(f"{key:>{_WIDTHS[key]}}" for key in keys)


def _line(label: str, figures: Mapping[str, float], name: str, keys: Sequence[str]) -> str:
    values = [figures[f"{name}.{key}"] for key in keys]
    cells = (f"{value:.3f}" if isinstance(value, float) else f"{value:,}" for value in values)
    return _label(label, keys) + "".join(f"{cell:>{_WIDTHS[key]}}" for key, cell in zip(keys, cells, strict=True))


def _rules(rules: Mapping[str, Sequence[Rule]]) -> list[str]:
    lines = [f"Rules of the {len(rules)} largest hosts (combined, error 0, learnt from one half)"]
    for host, found in rules.items():
        lines += [host, *([] if found else ["  none"])]
        for rule in found:
            lines.append(f"  {in_words(rule.to_dict())}; support {rule.support}, error {rule.error:.3f}")
            lines += [f"      {url} -> {image}" for url, image in rule.examples[:1]]
    return lines


def together_table(figures: Mapping[str, float]) -> str:
    """Return what replica hosts and rules remove together, by each of :data:`dust_combined.WAYS`."""
    from scrapy_replica.lab.dust.dust_combined import WAYS  # noqa: PLC0415 - extras lab, warc

    total, intra, inter, both = (figures[f"together.{key}"] for key in ("duplicates", "intra", "inter", "both"))
    keys = ("intra_only", "inter_only", "both", "wrong", "rr")
    lines = [
        f"Together: {total:,} duplicate URLs, {intra:,} within a host, {inter:,} between hosts, {both:,} both",
    ]
    for way, (method, learner) in WAYS.items():
        lines += ["", f"hosts by {method}, rules by {learner}"]
        lines.append(f"{'error':<7}{'FPR':<7}" + "".join(f"{key:>12}" for key in keys))
        for name in (name for name in figures if name.startswith(f"{way}.") and name.endswith(".rr")):
            error, rate = name.removeprefix(f"{way}.").removesuffix(".rr").split(".fpr_")
            values = [figures[f"{way}.{error}.fpr_{rate}.{key}"] for key in keys]
            lines.append(f"{error:<7}{rate:<7}" + "".join(f"{v:>12,}" for v in values[:-1]) + f"{values[-1]:>12.4f}")
    return "\n".join(lines)
