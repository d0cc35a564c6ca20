"""The tables of the published experiments as text, with what was published (Carvalho 2014, chapter 4) beside each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scrapy_replica.lab.replicas.replica_cases import AGGREGATES
from scrapy_replica.lab.replicas.replica_links import NAMES as LINKS
from scrapy_replica.lab.replicas.replica_tables import A_MINS, RANKED

_BY_THRESHOLD = {
    "pu": (None, 0.7559, 0.7594, 0.7689, 0.7643, 0.9455, 0.9683, 0.9260, 0.9351, 0.9050, None),
    "nu": (None, 0.3642, 0.3632, 0.3689, 0.9281, 0.9482, 0.9413, 0.3643, 0.3521, 0.3776, None),
}
_BY_FEATURE = {  # PU and NU alone, PU and NU without it
    "ip3": (0.5132, 0.5116, 0.9706, 0.9411),
    "ip4": (0.5288, 0.5283, 0.9701, 0.9431),
    "nmatch": (0.6565, 0.2312, 0.9646, 0.9391),
    "ndist": (0.7716, 0.6528, 0.9631, 0.9272),
    "fullpath": (0.7187, 0.6274, 0.9550, 0.9206),
    "all": (0.9908, 0.9688, 0.9908, 0.9688),
}
_BY_FEATURE_FIXED = {
    "ip3": (0.5033, 0.5114, 0.9455, 0.8166),
    "ip4": (0.5244, 0.5218, 0.9451, 0.7036),
    "nmatch": (0.5426, 0.5729, 0.9301, 0.6178),
    "ndist": (0.7450, 0.5031, 0.9183, 0.7163),
    "fullpath": (0.6311, 0.6304, 0.9300, 0.5845),
    "all": (0.9683, 0.9482, 0.9683, 0.9482),
}
_BY_METHOD: Mapping[str, tuple[float | None, ...]] = {  # AUC, detection rate among 10 to 10,000
    "pu": (0.9908, 0.9900, 0.9891, 0.9615, 0.7656),
    "nu": (0.9688, 0.6590, 0.4429, 0.4300, 0.4287),
    "pu_nu": (0.9950, 1.0000, 1.0000, 0.9905, 0.8272),
    "pu_in_order": (None,),
    "nu_in_order": (None,),
    "normpaths": (0.9415, 0.6619, 0.4192, 0.4105, 0.4088),
    "bsvm": (0.9824, 0.9805, 0.9622, 0.9349, 0.7034),
    "bsvm_drawn": (None,),
    "bound": (0.9956, 1.0000, 0.9901, 0.9586, 0.7555),
}
_TIMES = {"pu": (8838.98, 112.26), "nu": (9172.37, 131.11)}
_OF_ONE = {"rules": 0.0575, "prediction": 0.0086, "aggregation": 0.0232}

_NONE = (None,) * 4


def text_of(figures: Mapping[str, float], names: Sequence[str]) -> str:
    """Return the tables of a collection whose own features are *names*; 80 columns."""
    parts = [_methods(figures), _aggregates(figures), _thresholds(figures)]
    parts += [_features(figures, names, "", "4.3", _BY_FEATURE)]
    parts += [_features(figures, names, "_fixed", "4.2", _BY_FEATURE_FIXED), _bounds(figures, names)]
    return "\n\n".join("\n".join(part) for part in parts)


def _methods(figures: Mapping[str, float]) -> Iterator[str]:
    yield "Methods: AUC (sd), and detection rate of a replica among k others (table 4.4);"
    yield "published figures are in brackets"
    yield f"{'':<12}{'AUC':>18}" + "".join(f"{f'k = {k}':>12}" for k in RANKED)
    for name, (auc, *rates) in _BY_METHOD.items():
        theirs = zip(RANKED, rates, strict=True) if rates else ((k, None) for k in RANKED)
        found = "".join(_number(figures.get(f"method.{name}.rdr_{k}"), 5) + _bracketed(rate) for k, rate in theirs)
        yield f"{name:<12}{_spread(figures, f'method.{name}', 11)}{_bracketed(auc)}{found}".rstrip()


def _aggregates(figures: Mapping[str, float]) -> Iterator[str]:
    yield "PU and NU as one score: AUC (sd); published is Pareto alone, .995"
    for name in AGGREGATES:
        yield f"{name:<10}{_spread(figures, f'aggregate.{name}')}"


def _thresholds(figures: Mapping[str, float]) -> Iterator[str]:
    yield "One threshold a_min for all pairs: AUC (sd) (table 4.1)"
    yield f"{'a_min':<10}{'PU':>12}{'publ.':>7}{'NU':>12}{'publ.':>7}"
    for place, a_min in enumerate(A_MINS):
        cells = (
            _spread(figures, f"threshold.{a_min:g}.{start}") + _number(theirs[place], 7)
            for start, theirs in _BY_THRESHOLD.items()
        )
        yield f"{a_min:<10.1f}{''.join(cells)}".rstrip()
    best = (_spread(figures, f"all.{start}") + " " * 7 for start in _BY_THRESHOLD)
    yield f"{'entropy':<10}{''.join(best)}".rstrip()


def _features(
    figures: Mapping[str, float],
    names: Sequence[str],
    fixed: str,
    number: str,
    published: Mapping[str, Sequence[float]],
) -> Iterator[str]:
    how = "a_min .6 and .5" if fixed else "best entropy cuts"
    yield f"Features alone, and all but one, {how} (table {number}): AUC (sd)"
    yield f"{'':<8}" + "".join(f"{head:>18}" for head in ("PU alone", "NU alone", "PU without", "NU without"))
    for name in (*names, "all", *(("links",) if f"alone.{LINKS[0]}.pu.auc" in figures else ())):
        theirs = published.get(name, _NONE)
        keys = [f"{table}{fixed}.{name}.{start}" for table in ("alone", "without") for start in ("pu", "nu")]
        if name == "all":
            keys = [f"all{fixed}.{start}" for start in ("pu", "nu")] * 2
        cells = (_spread(figures, key, 11) + _bracketed(value) for key, value in zip(keys, theirs, strict=False))
        yield f"{name:<8}{''.join(cells)}".rstrip()


def _bounds(figures: Mapping[str, float], names: Sequence[str]) -> Iterator[str]:
    yield "What a feature adds to the others: AUC (sd) without it, and with connectivity"
    yield f"{'':<20}{'PU':>12}{'NU':>12}{'bound':>12}"
    starts = ("pu", "nu", "bound")
    everything = {"pu": "all.pu", "nu": "all.nu", "bound": "method.bound"}
    yield f"{'all':<20}" + "".join(_spread(figures, everything[start]) for start in starts)
    for name in names:
        yield f"{f'without {name}':<20}" + "".join(_spread(figures, f"without.{name}.{start}") for start in starts)
    for name in (*LINKS, "links"):
        if f"plus.{name}.pu.auc" in figures:
            yield f"{f'and {name}':<20}" + "".join(_spread(figures, f"plus.{name}.{start}") for start in starts)
            yield f"{f'{name} alone':<20}" + "".join(_spread(figures, f"alone.{name}.{start}") for start in starts[:2])


def times_text(figures: Mapping[str, float], numbers: Sequence[int]) -> str:
    """Return table 4.6 as text, for each number of pairs."""
    lines = [
        "EM in seconds of the processor (table 4.6): classifiers from scratch, updated",
        "(incremental), which label all pairs alike; and a round at a time",
        f"{'pairs':>9} {'vectors':>7}    {'scratch':>9}{'incremental':>12}{'ratio':>7}{'rounds':>8}{'equal':>7}",
    ]
    for number in numbers:
        for start in _TIMES:
            key = f"times.{number}.{start}"
            lines.append(
                f"{number:>9,} {figures[f'times.{number}.vectors']:>7,.0f} {start.upper()} "
                f"{figures[f'{key}.scratch_s']:>9.2f}{figures[f'{key}.incremental_s']:>12.2f}"
                f"{figures[f'{key}.ratio']:>7.0f}{figures[f'{key}.rounds_s']:>8.3f}{figures[f'{key}.equal']:>7.3f}"
            )
    for start, (scratch, incremental) in _TIMES.items():
        ratio = scratch / incremental
        lines.append(f"published         {start.upper()} {scratch:>9.2f}{incremental:>12.2f}{ratio:>7.0f}")
    lines += [
        "",
        "One candidate, in microseconds, both classifiers",
        f"{'pairs':>9}" + "".join(f"{n:>13}" for n in _OF_ONE),
    ]
    for number in numbers:
        cells = "".join(f"{1e6 * figures[f'times.{number}.{name}_s']:>13,.1f}" for name in _OF_ONE)
        lines.append(f"{number:>9,}{cells}")
    return "\n".join([*lines, "published" + "".join(f"{1e6 * seconds:>13,.0f}" for seconds in _OF_ONE.values())])


def _spread(figures: Mapping[str, float], name: str, width: int = 12) -> str:
    if f"{name}.auc" not in figures:
        return " " * width
    return f"{_short(figures[f'{name}.auc'], 4)} {_short(figures[f'{name}.auc_sd'], 3)}".rjust(width)


def _bracketed(value: float | None) -> str:
    return " " * 7 if value is None else f" ({_short(value, 3)})"


def _number(value: float | None, width: int) -> str:
    return "".rjust(width) if value is None else _short(value, 3).rjust(width)


def _short(value: float, digits: int) -> str:
    """Return a share without its leading 0, in as many characters whatever it is."""
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0") else text[:-1]
