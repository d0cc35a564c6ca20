"""What a crawl found of a closed web and what it cost, beside a crawl without the add-on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

from scrapy_replica.lab.crawls.crawl_truth import HostTruth

SHARES = (10, 25, 50, 100)
"""Percent of the fetches of plain Scrapy after which the page keys are counted."""


@dataclass(frozen=True)
class Fetched:
    """One crawl."""

    urls: Sequence[str]
    """Of the pages (status 200), in the order they came."""
    cpu_seconds: float | None = None

    def curve(self, key_of: Mapping[str, str]) -> list[int]:
        """Return the number of page keys after 0, 1, 2 ... fetches."""
        seen: set[str] = set()
        found = [0]
        for url in self.urls:
            key = key_of.get(url)
            if key is not None:
                seen.add(key)
            found.append(len(seen))
        return found

    def keys(self, key_of: Mapping[str, str]) -> set[str]:
        """Return the page keys that were found."""
        return {key_of[url] for url in self.urls if url in key_of}


@dataclass(frozen=True)
class Block:
    """A verdict on a host that holds at the end."""

    copy: str
    canonical: str
    pages: int
    """Fetched from the copy until the verdict."""


@dataclass(frozen=True)
class Draw:
    """A crawl to the end from one order of the seeds, and what came of it."""

    ours: Fetched
    plain: Fetched
    """The same spider without the add-on; the pages of the web where none was run."""
    key_of: Mapping[str, str]
    blocks: Sequence[Block] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Lost page key -> why none of its URLs was fetched."""

    @property
    def lost(self) -> set[str]:
        """Page keys that plain Scrapy finds and the add-on does not."""
        return self.plain.keys(self.key_of) - self.ours.keys(self.key_of)

    def figures(self, hosts: HostTruth) -> dict[str, float]:
        """Return the figures of this crawl."""
        return {**self._savings(), **self._early(), **self._cost(), **self._hosts(hosts)}

    def _savings(self) -> dict[str, float]:
        ours, plain = self.ours.keys(self.key_of), self.plain.keys(self.key_of)
        fetched, by_plain = len(self.ours.urls), len(self.plain.urls)
        lost = Counter(self.reasons.get(key, "unknown") for key in self.lost)
        return {
            "kept": len(ours & plain) / max(1, len(plain)),
            "saved_of_oracle": (by_plain - fetched) / max(1, by_plain - len(plain)),
            "fetched": fetched,
            "keys": len(ours),
            "copies": fetched - len(ours),
            "plain.fetched": by_plain,
            "plain.keys": len(plain),
            "plain.copies": by_plain - len(plain),
            "unknown_pages": sum(url not in self.key_of for url in self.ours.urls),
            "lost": len(self.lost),
            **{f"lost.{reason}": count for reason, count in lost.most_common()},
        }

    def _early(self) -> dict[str, float]:
        if self.plain.cpu_seconds is None:
            return {}
        ours, plain = self.ours.curve(self.key_of), self.plain.curve(self.key_of)
        result: dict[str, float] = {}
        for share in SHARES:
            place = len(self.plain.urls) * share // 100
            result[f"keys_at_{share}"] = ours[min(place, len(ours) - 1)]
            result[f"plain.keys_at_{share}"] = plain[place]
            result[f"found_at_{share}"] = result[f"keys_at_{share}"] / max(1, plain[place])
        return result

    def _cost(self) -> dict[str, float]:
        ours, plain = self.ours.cpu_seconds, self.plain.cpu_seconds
        if not ours or not plain:
            return {}
        a_page = ours / max(1, len(self.ours.urls)), plain / max(1, len(self.plain.urls))
        return {
            "cpu_ms_per_page": 1000 * a_page[0],
            "plain.cpu_ms_per_page": 1000 * a_page[1],
            "cpu_ratio": a_page[0] / a_page[1],
            "cpu_of_crawl_ratio": ours / plain,
        }

    def _hosts(self, hosts: HostTruth) -> dict[str, float]:
        right = [block for block in self.blocks if hosts.is_right(block.copy, block.canonical)]
        wrong = [block for block in self.blocks if block not in right]
        kinds = Counter(hosts.kind_of.get(block.copy, "unknown") for block in wrong)
        return {
            "blocks": len(self.blocks),
            "wrong_blocks": len(wrong),
            **{f"wrong_blocks.{kind}": count for kind, count in kinds.most_common()},
            "pages_to_verdict": median(block.pages for block in right) if right else float("nan"),
        }


def figures_of(draws: Sequence[Draw], hosts: HostTruth) -> dict[str, float]:
    """Return the mean of each figure over *draws*; of several draws, also the smallest and the largest."""
    rows = [draw.figures(hosts) for draw in draws]
    result: dict[str, float] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        # A reason or kind that is not among those of a draw counts 0 there.
        values = [row.get(name, 0) for row in rows]
        if len(rows) == 1:
            result[name] = values[0]
            continue
        result[name] = fmean(values)
        result[f"{name}_min"], result[f"{name}_max"] = min(values), max(values)
    return {name: round(value, 5) for name, value in result.items()}


def plot(draws: Sequence[Draw], file: Path) -> None:
    """Draw the page keys over the fetches into *file*: a line for each crawl, with the add-on and without.

    Needs matplotlib (extra ``report``).
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'scrapy-replica[report]'") from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    figure, axes = plt.subplots(figsize=(10, 6.5), layout="constrained")
    for number, draw in enumerate(draws):
        axes.plot(draw.ours.curve(draw.key_of), color="C0", label="" if number else "with the add-on")
        if draw.plain.cpu_seconds is not None:
            axes.plot(draw.plain.curve(draw.key_of), color="0.5", label="" if number else "plain Scrapy")
    axes.set(xlabel="pages fetched", ylabel="different pages found")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(file, dpi=120)
    plt.close(figure)
