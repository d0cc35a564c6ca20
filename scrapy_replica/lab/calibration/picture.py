"""The joint histogram of *Visualizando webpages duplicadas*, 2013: legacy across, simhash up, logarithmic colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scrapy_replica.lab.calibration.figures import BITS, LEGACY_DISTANCE, quadrants
from scrapy_replica.lab.calibration.minhash import N_HASHES
from scrapy_replica.numeric import FloatArray

_BOX = {"facecolor": "white", "edgecolor": "0.6", "alpha": 0.85, "boxstyle": "round,pad=0.3"}
_TITLES = {
    "both": "duplicates for both",
    "simhash_alone": "for simhash alone (false)",
    "legacy_alone": "for legacy alone (missed)",
    "neither": "for neither",
}


def draw_histogram(counts: FloatArray, near_distance: int, recommended: int | None, title: str, base: Path) -> None:
    """Draw *counts*, see :func:`~.figures.histogram`, into *base*.png and *base*.svg.

    Lines show the legacy threshold, the simhash threshold in force, and dashed the recommended one where it is another.
    Needs matplotlib.
    """
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "calibrate"  # the same picture, the same bytes
    from matplotlib import colors  # noqa: PLC0415 - after the backend is chosen
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(10, 6), layout="constrained")
    shown = np.ma.masked_equal(counts.T, 0)
    extent = (-0.5, N_HASHES + 0.5, -0.5, BITS + 0.5)
    scale = colors.LogNorm(vmin=1, vmax=max(10.0, float(counts.max())))
    image = axes.imshow(shown, origin="lower", extent=extent, aspect="auto", norm=scale, cmap="turbo")
    figure.colorbar(image, label="page pairs (logarithmic)", pad=0.01)
    axes.axvline(LEGACY_DISTANCE + 0.5, color="black", linewidth=1.2)
    axes.text(LEGACY_DISTANCE + 1, BITS, f"{LEGACY_DISTANCE} entries", va="top")
    for bits, style in {recommended: "--", near_distance: "-"}.items():
        if bits is not None:
            axes.axhline(bits + 0.5, color="black", linewidth=1.2, linestyle=style)
            axes.text(N_HASHES, bits + 1, f"{bits} bits", ha="right")
    corners = quadrants(counts, near_distance)
    told = "\n".join(f"{title}: {corners[name]:,.0f}" for name, title in _TITLES.items())
    axes.text(0.25, 0.9, told, transform=axes.transAxes, va="top", linespacing=1.5, bbox=_BOX)
    axes.set(
        xlabel="legacy fingerprint: entries of 128 that differ",
        ylabel="simhash: bits of 64 that differ",
        title=title,
        xticks=[*range(0, N_HASHES + 1, 16)],
        yticks=[*range(0, BITS + 1, 8)],
    )
    for suffix in (".png", ".svg"):
        figure.savefig(base.with_suffix(suffix), dpi=110, metadata={"Date": None} if suffix == ".svg" else None)
    plt.close(figure)
