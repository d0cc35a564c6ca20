"""The evaluation of pages that forms returned as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scrapy_replica.lab.replicas.five_attributes import DESCENDANTS, SPLITS, Confusion

_HELD_OUT = {
    "rows": "34 % of each site's elements, learnt from the others (Lutz 2013)",
    "site": "each site by the other sites",
    "vendor": "each vendor by the other vendors",
}
_WHO = {
    "model": "tree and linear model",
    "tree": "decision tree",
    "tree_without_query": "the same without QueryScore",
    "linear": "linear model",
    "five": "five attributes (Lutz 2013)",
    f"five_{DESCENDANTS}": "the same, sum over descendants",
    "cetd": "CETD",
}


_F1 = ("content_f1", "noise_f1", "weighted_f1")


def table(figures: Mapping[str, float]) -> str:
    """Return F1 of every tree, and the confusion matrices of the five attributes beside the published ones."""
    lines: list[str] = []
    for split in SPLITS:
        lines += [f"F1, {_HELD_OUT[split]}", _line("", [], ["content", "noise", "weighted"])]
        for who, label in _WHO.items():
            name = f"{who}.{split}" if who.startswith("five") else f"{who}.leave_{split}_out"
            if f"{name}.content_f1" in figures:
                lines.append(_line(label, [], [f"{figures[f'{name}.{measure}']:.3f}" for measure in _F1]))
        lines.append("")
    lines += [*_transfer(figures), ""]
    lines.append("Elements: noise called noise (NN), noise called content (NC) and so on, and F1")
    lines += ["", *_confusions(figures, "published", "published, table 4.5")]
    for split in SPLITS:
        lines += ["", *_confusions(figures, f"five.{split}", _HELD_OUT[split])]
    return "\n".join(lines)


def _transfer(figures: Mapping[str, float]) -> list[str]:
    """F1 of the content on sites of other vendors, mean and worst."""
    lines = []
    for split, title in (("one", "learnt from one vendor"), ("others", "learnt from all vendors but one")):
        names = [n for n in ("plain", "few", "framed") if f"model.{split}.{n}.mean" in figures]
        lines += [
            f"F1 of the content, {title}: mean and worst site",
            _line("", [], [c for n in names for c in (n, "worst")]),
        ]
        for who, label in _WHO.items():
            if f"{who}.{split}.plain.mean" in figures:
                cells = [f"{figures[f'{who}.{split}.{n}.{m}']:.3f}" for n in names for m in ("mean", "worst")]
                lines.append(_line(label, [], cells))
    return lines


def _confusions(figures: Mapping[str, float], name: str, title: str) -> list[str]:
    lines = [title, _line("", ["NN", "NC", "CC", "CN"], ["content", "weighted"])]
    ending = f".{Confusion._fields[0]}"
    for group in (key.removesuffix(ending) for key in figures if key.startswith(f"{name}.") and key.endswith(ending)):
        label = "all" if group == name else group.rpartition(".")[2]
        counts = [f"{figures[f'{group}.{field}']:,}" for field in Confusion._fields]
        f1 = [f"{figures[f'{group}.{measure}']:.3f}" for measure in (_F1[0], _F1[2])]
        lines.append(_line(label, counts, f1))
    return lines


def _line(label: str, counts: Sequence[str], shares: Sequence[str]) -> str:
    return f"{label:<30}" + "".join(f"{cell:>8}" for cell in counts) + "".join(f"{cell:>9}" for cell in shares)
