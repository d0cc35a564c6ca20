"""The dataset card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scrapy_replica.lab.manuals.packages import Edition
from scrapy_replica.lab.mirrorbench.families import MADE
from scrapy_replica.lab.mirrorbench.score import DRAWS

_CARD = Path(__file__).with_name("card.md")
_OF_MADE = "All texts are made, and under CC0 1.0."
_OF_MANUALS = """\
The texts are manuals. They keep the licence of their package, which `hosts.csv` names and `licences/` has in full; the
web is an aggregate of them, cut to some pages of each and changed as said above. Packages: {packages}."""


def card(version: str, seed: int, splits: Mapping[str, Mapping[str, int]], editions: Sequence[Edition]) -> str:
    """Return the text of ``README.md``; *splits* are the counts of each."""
    rows = [("split", *splits["test"])]
    rows += [(split, *(f"{count:,}" for count in counts.values())) for split, counts in splits.items()]
    lines = [f"| {' | '.join(name.replace('_', ' ') for name in row)} |" for row in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    packages = sorted(
        {f"{edition.package} {edition.version} ({edition.licence})" for edition in editions if edition.registry != MADE}
    )
    return _CARD.read_text(encoding="utf-8").format(
        version=version,
        seed=seed,
        splits="\n".join(lines),
        draws=DRAWS,
        licences=_OF_MANUALS.format(packages=", ".join(packages)) if packages else _OF_MADE,
    )
