"""How long the documents of an archive are, drawn as Orlandi (2007) draws it (figures 3.3 and 3.4, pp. 37 and 38)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scrapy_replica.lab.visits.visit_curves import pyplot
from scrapy_replica.numeric import IntArray

SHORT = 150
"""The second picture has the documents of fewer terms."""


def plot(lengths: IntArray, exponent: float, file: Path) -> None:
    """Draw how many documents have each of the *lengths*, with the power law of *exponent*, into *file*.

    On the left on logarithmic scales, on the right the short ones on linear ones. Needs matplotlib (extra ``report``).
    """
    plt = pyplot()
    figure, (whole, short) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    values, documents = np.unique(lengths, return_counts=True)
    law = np.arange(1.0, values[-1] + 1) ** -exponent
    whole.loglog(values, documents, ".", markersize=3, label="documents")
    of_law = len(lengths) * (law / law.sum())[values - 1]
    whole.loglog(values, of_law, color="C1", label=f"power law of exponent {exponent:.2f}")
    whole.legend()
    is_short = values < SHORT
    short.plot(values[is_short], documents[is_short], ".-", markersize=3, linewidth=0.7)
    short.set_ylim(bottom=0)
    share = float(documents[is_short].sum() / len(lengths))
    whole.set_title(f"lengths of {len(lengths):,} documents")
    short.set_title(f"below {SHORT}: {share:.0%} of them")
    for axes in (whole, short):
        axes.set(xlabel="terms of a document", ylabel="documents")
        axes.grid(alpha=0.3)
    figure.savefig(file, dpi=90)
    plt.close(figure)
